from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cooper.data import Row, forms
from cooper.data._forms import NAMES, parse, write
from cooper.types import Status

TASK = forms()
PARTIAL = forms(parser="partial", rule="partial")
VALUE = st.integers(0, 18)
FORM = st.sampled_from(NAMES)
TEXT = st.text("0123456789%/:.m", max_size=7)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_eight_forms_of_a_value() -> None:
    texts = [write(7, form) for form in NAMES]
    assert texts == ["35%", "7/20", "0.35", "14/40", "7:20", "21/60", "350m", "28/80"]
    assert [write(0, form) for form in NAMES][:4] == ["0%", "0/20", "0.00", "0/40"]
    assert write(1, "decimal") == "0.05"


@given(VALUE, FORM)
def test_parse_undoes_write(n: int, form: str) -> None:
    assert parse(write(n, form)) == (form, Fraction(n, 20))


@pytest.mark.parametrize(
    "text", ["", "7", "7/21", "0.355", "7/", "%", "35 %", "-5%", "7:40", "1/0"]
)
def test_other_texts_are_in_no_form(text: str) -> None:
    assert parse(text) is None


def test_questions_and_references() -> None:
    rows = forms(k=4).rows(2000, rng())
    found = Counter(parse(row.reference) for row in rows)
    for row in rows:
        a, b = map(int, row.question.split("+"))
        assert row.prompt == f"{a}+{b}="
        assert parse(row.reference)[1] == Fraction(a + b, 20)  # type: ignore[index]
    used = Counter(form for form, _ in found.elements())  # type: ignore[misc]
    assert set(used) == set(NAMES[:4])
    assert min(used.values()) > 400


def test_all_hundred_questions_are_held_out() -> None:
    assert len({row.question for row in TASK.heldout}) == len(TASK.heldout) == 100
    assert TASK.heldout == forms().heldout != forms(seed=1).heldout


@pytest.mark.parametrize(
    ("completion", "reference", "exact", "partial", "oracle", "wrong"),
    [
        ("35%", "35%", 1, 1, 1, False),
        ("0.35", "35%", 0, 1, 1, False),
        ("7:20", "350m", 0, 1, 1, False),
        ("7/20", "35%", 0, 0, 1, False),  # slash fractions are beyond the partial parser
        ("7/20", "7/20", 1, 1, 1, False),
        ("0.40", "35%", 0, 0, 0, True),
        ("8/20", "35%", 0, 0, 0, False),
        ("0.40", "7/20", 0, 0, 0, False),
        ("35", "35%", 0, 0, 0, False),
        ("", "35%", 0, 0, 0, False),
    ],
)
def test_verdicts(
    completion: str, reference: str, exact: int, partial: int, oracle: int, wrong: bool
) -> None:
    assert TASK.rule(completion, reference).value == exact
    assert PARTIAL.rule(completion, reference).value == partial
    assert TASK.oracle(completion, reference).value == oracle
    assert PARTIAL.surely_wrong(completion, reference) is wrong
    assert TASK.surely_wrong(completion, reference) is False


def test_an_unreadable_reference_has_no_truth() -> None:
    assert TASK.oracle("35%", "about a third").status is Status.UNPARSED
    assert TASK.oracle("35%", "about a third").value is None


@given(TEXT, VALUE, FORM)
def test_both_rules_are_precise(text: str, n: int, form: str) -> None:
    reference = write(n, form)
    truth = TASK.oracle(text, reference).value
    strict, loose = TASK.rule(text, reference).value, PARTIAL.rule(text, reference).value
    assert strict <= loose <= truth  # type: ignore[operator]
    assert not (truth and PARTIAL.surely_wrong(text, reference))


def test_patches() -> None:
    assert TASK.patch("40%", "7/20", rng()) == "7/20"
    assert PARTIAL.patch("40%", "7:20", rng()) == "35%"
    assert PARTIAL.patch("40%", "7/20", rng()) == "7/20"
    assert PARTIAL.patch("8/20", "35%", rng()) == "35%"
    assert PARTIAL.patch("what", "35%", rng()) == "35%"


@given(TEXT, VALUE, FORM)
def test_patched_is_right(text: str, n: int, form: str) -> None:
    reference = write(n, form)
    for task in (TASK, PARTIAL):
        patched = task.patch(text, reference, rng())
        assert patched is not None
        assert task.oracle(patched, reference).value == 1.0


@given(VALUE, FORM, st.sampled_from(["mixed", "digits"]), st.integers(0, 99))
def test_a_corrupted_reference_is_wrong_in_the_same_form(
    n: int, form: str, corruptor: str, seed: int
) -> None:
    reference = write(n, form)
    copy = forms(corruptor=corruptor).corrupt(reference, reference, rng(seed))  # type: ignore[arg-type]
    assert copy is not None
    assert copy != reference
    shape = parse(copy)
    assert shape is None or (shape[0] == form and shape[1] != Fraction(n, 20))
    assert [c for c in copy if not c.isdigit()] == [c for c in reference if not c.isdigit()]


@given(TEXT, VALUE, FORM, st.integers(0, 9))
def test_corrupted_copies_differ_from_text_and_reference(
    text: str, n: int, form: str, seed: int
) -> None:
    copy = TASK.corrupt(text, write(n, form), rng(seed))
    if copy is None:
        assert not any(letter.isdigit() for letter in text)
    else:
        assert copy not in (text, write(n, form))


def test_corrupt_digits_keeps_the_denominator() -> None:
    task = forms(corruptor="digits")
    copies = {task.corrupt("7/20", "35%", rng(seed)) for seed in range(60)}
    assert copies == {f"{digit}/20" for digit in range(10)} - {"7/20"}
    copies = {task.corrupt("0.35", "35%", rng(seed)) for seed in range(99)}
    assert all(copy is not None and copy.startswith("0.") for copy in copies)
    assert task.corrupt("%", "35%", rng()) is None


def test_corrupt_is_safe_on_long_text() -> None:
    assert TASK.corrupt("9" * 200_000 + ".5", "35%", rng()) is not None


def share(completion: str, **options: float) -> float:
    judge = forms(**options).judge  # type: ignore[arg-type]
    assert judge is not None
    draws = rng()
    row = Row("3+4=", "3+4", "7/20")
    return float(np.mean([judge(row, completion, draws) for _ in range(4000)]))


def test_the_judge() -> None:
    assert share("7/20") == 1  # what the rule calls right
    assert share("0.35") == pytest.approx(0.90, abs=0.02)
    assert share("35%") == pytest.approx(0.90, abs=0.02)
    assert share("8/20") == pytest.approx(0.05, abs=0.02)
    assert share("nothing") == pytest.approx(0.05, abs=0.02)
    assert share("40%", bias=0.7) == pytest.approx(0.70, abs=0.03)
    assert share("40%", bias=0) == 0


def test_demonstrations() -> None:
    task = forms(error=0.2)
    assert task.demos is not None
    drawn = task.demos(4000, rng())
    pairs = [(parse(demo.completion), parse(demo.row.reference)) for demo in drawn]
    gaps = [abs(a[1] - b[1]) * 20 for a, b in pairs if a and b]
    assert len(gaps) == 4000
    assert np.mean([gap > 0 for gap in gaps]) == pytest.approx(0.2, abs=0.02)
    assert max(gaps) == 5
    used = Counter(a[0] for a, _ in pairs if a)
    assert min(used[form] for form in NAMES) > 400


@pytest.mark.parametrize("tokens", ["numbers", "characters"])
def test_the_tokenizer_covers_every_text(tokens: str) -> None:
    task = forms(tokens=tokens)  # type: ignore[arg-type]
    assert task.tokenizer is not None
    tokenizer = task.tokenizer()
    texts = [f"{n // 2}+{n - n // 2}={write(n, form)}" for n in range(19) for form in NAMES]
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        assert tokenizer.decode(ids) == text
        assert tokenizer.unk_token_id not in ids
        assert len(tokenizer(text.split("=")[1])["input_ids"]) < task.max_tokens
    if tokens == "numbers":
        assert len(tokenizer("350m")["input_ids"]) == len(tokenizer("0.05")["input_ids"]) == 2


def test_seeded_and_picklable() -> None:
    copy = pickle.loads(pickle.dumps(PARTIAL))
    assert copy.rows(9, rng()) == PARTIAL.rows(9, rng())
    assert copy.rule("0.35", "35%").value == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 9}, "k: got 9"),
        ({"error": 2}, "error: got 2"),
        ({"parser": "full"}, "parser: 'full'"),
        ({"rule": "any"}, "rule: 'any'"),
        ({"tokens": "bytes"}, "tokens: 'bytes'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        forms(**options)  # type: ignore[arg-type]
