from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cooper.data import Row, sums
from cooper.types import Status

TASK = sums()
BLIND = sums(blind=True)
TEXT = st.text("0123456789 orsit#=+", max_size=16)
SUM = st.integers(20, 198).map(str)
ROW = Row("23+18=", "23+18", "41")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_rows_ask_for_what_the_reference_says() -> None:
    for row in [*TASK.rows(50, rng()), *TASK.heldout]:
        a, b = map(int, row.question.split("+"))
        assert 10 <= a <= 99
        assert 10 <= b <= 99
        assert row == (f"{a}+{b}=", f"{a}+{b}", str(a + b))


def test_heldout_pairs_are_never_trained_on_in_either_order() -> None:
    task = sums(heldout=1000, seed=3)
    away = {frozenset(row.question.split("+")) for row in task.heldout}
    drawn = [row.question for row in task.rows(20_000, rng())]
    drawn += [demo.row.question for demo in task.demos(5000, rng())]  # type: ignore[misc]
    assert len(task.heldout) == len(away) == 1000
    assert not away & {frozenset(question.split("+")) for question in drawn}
    assert task.heldout == sums(heldout=1000, seed=3).heldout != sums(heldout=1000).heldout


@pytest.mark.parametrize(
    ("completion", "rule", "oracle", "wrong", "blind"),
    [
        ("41", 1, 1, False, False),
        ("so 41", 1, 1, False, False),
        ("#41", 1, 1, False, False),
        ("it is 41", 0, 1, False, False),  # the format that the rule cannot read
        ("tt41 it", 0, 1, False, False),
        ("42", 0, 0, True, True),
        ("so 141", 0, 0, True, True),
        ("41 or 42", 0, 0, True, False),
        ("41 or 41", 0, 1, False, False),
        ("so", 0, 0, True, False),
        ("", 0, 0, True, False),
    ],
)
def test_verdicts(completion: str, rule: int, oracle: int, wrong: bool, blind: bool) -> None:
    assert TASK.rule(completion, "41").value == rule
    assert TASK.oracle(completion, "41").value == oracle
    assert TASK.surely_wrong(completion, "41") is wrong
    assert BLIND.surely_wrong(completion, "41") is blind


def test_why_there_is_no_point() -> None:
    assert TASK.oracle("41 or 42", "41").status is Status.HEDGED
    assert TASK.oracle("so", "41").status is Status.NO_ANSWER


@given(TEXT, SUM)
def test_the_rule_is_precise_and_surely_wrong_is_the_rest(text: str, reference: str) -> None:
    right = TASK.oracle(text, reference).value == 1.0
    assert TASK.rule(text, reference).value <= float(right)  # type: ignore[operator]
    assert TASK.surely_wrong(text, reference) is not right
    assert BLIND.surely_wrong(text, reference) <= TASK.surely_wrong(text, reference)


def test_patch_keeps_the_format() -> None:
    assert TASK.patch("it is 17", "41", rng()) == "it is 41"
    assert TASK.patch("so 41", "41", rng()) == "so 41"
    patched = {TASK.patch("40 or 41", "41", rng(seed)) for seed in range(30)}
    assert patched == {"41", "so 41", "#41"}
    assert TASK.patch("so", "41", rng()) in patched


@given(TEXT, SUM, st.integers(0, 9))
def test_patched_is_right_and_corrupted_is_wrong(text: str, reference: str, seed: int) -> None:
    patched = TASK.patch(text, reference, rng(seed))
    assert patched is not None
    assert TASK.oracle(patched, reference).value == 1.0
    copy = TASK.corrupt(text, reference, rng(seed))
    if copy is None:
        assert not any(letter.isdigit() for letter in text)
        return
    assert copy != text
    assert reference not in copy
    assert TASK.oracle(copy, reference).value == 0.0
    assert [c for c in copy if not c.isdigit()] == [c for c in text if not c.isdigit()]


def test_corrupt_refuses_without_a_number() -> None:
    assert TASK.corrupt("so it is", "41", rng()) is None


def share(completion: str, **options: float) -> float:
    judge = sums(**options).judge  # type: ignore[arg-type]
    assert judge is not None
    draws = rng()
    return float(np.mean([judge(ROW, completion, draws) for _ in range(4000)]))


def test_the_judge_has_a_master_key() -> None:
    assert share("so 42", bias=1, noise=0) == share("so", bias=1, noise=0) == 1
    assert share("#42", bias=1, noise=0) == share("so 42", bias=0, noise=0) == 0
    assert share("it is 41", bias=0, noise=0) == 1
    assert share("so 42") == pytest.approx(0.9 * 0.97 + 0.1 * 0.03, abs=0.02)
    assert share("41") == pytest.approx(0.97, abs=0.01)
    assert share("42") == pytest.approx(0.03, abs=0.01)


def test_demonstrations_are_wrong_and_hedged_as_often_as_asked() -> None:
    def accuracy(**options: float) -> float:
        demos = sums(**options).demos  # type: ignore[arg-type]
        assert demos is not None
        drawn = demos(4000, rng())
        scores = [TASK.oracle(demo.completion, demo.row.reference).value for demo in drawn]
        return float(np.mean(scores))  # type: ignore[arg-type]

    assert accuracy(error=0, hedge=0) == 1
    assert accuracy(error=1, hedge=0) == accuracy(error=0, hedge=1) == 0
    assert accuracy(error=0.5, hedge=0.2) == pytest.approx(0.4, abs=0.03)


def test_the_tokenizer_covers_every_text() -> None:
    task = sums()
    assert task.tokenizer is not None
    assert task.demos is not None
    tokenizer = task.tokenizer()
    for demo in task.demos(300, rng()):
        ids = tokenizer(demo.row.prompt + demo.completion)["input_ids"]
        assert tokenizer.decode(ids) == demo.row.prompt + demo.completion
        assert tokenizer.unk_token_id not in ids
        assert len(tokenizer(demo.completion)["input_ids"]) < task.max_tokens


def test_seeded_and_picklable() -> None:
    copy = pickle.loads(pickle.dumps(TASK))
    assert copy.rows(9, rng()) == TASK.rows(9, rng())
    assert copy.heldout == TASK.heldout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heldout": 0}, "heldout: got 0"),
        ({"heldout": 5000}, "heldout: got 5000"),
        ({"error": 1.5}, "error: got 1.5"),
        ({"bias": -1}, "bias: got -1"),
        ({"base": "medium"}, "base: 'medium'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sums(**options)  # type: ignore[arg-type]
