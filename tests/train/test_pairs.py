"""Pairs from a hand-made batch: which rollouts are picked, what they are paired with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cooper.train import CooperConfig, Pair, Verdicts, mine, valid_rate
from cooper.types import Batch

NONE = {"pairs_copy": 0, "pairs_hard": 0, "pair_reference": False, "fallback": False}

# group 7 has two right, two surely wrong and one unsure rollout; group 3 none that is right
COMPLETIONS = ["w1", "r1", "u1", "r2", "w2", "x1", "x2", "x1", "v1"]
GROUP = [7, 7, 7, 7, 7, 3, 3, 3, 3]
PROXY = np.array([0.2, 0.6, 0.9, 0.7, 0.4, 0.5, 0.3, 0.5, 0.8])


def rollouts() -> Batch:
    return Batch([f"q{g}" for g in GROUP], [f"a{g}" for g in GROUP], COMPLETIONS, GROUP)


def verdicts(batch: Batch) -> Verdicts:
    right = np.array([c[0] == "r" for c in batch.completions])
    wrong = np.array([c[0] in "wx" for c in batch.completions])
    return Verdicts(right, wrong, ~right & ~wrong)


def patch(text: str, reference: str, rng: np.random.Generator) -> str | None:
    return f"{text}>{reference}"


def corrupt(text: str, reference: str, rng: np.random.Generator) -> str | None:
    return f"{text}<"


def pairs_of(
    config: CooperConfig, batch: Batch | None = None, proxy: Any = PROXY, **given: Any
) -> list[Pair]:
    rows = rollouts() if batch is None else batch
    options = {
        "patch": patch,
        "corrupt": corrupt,
        "accept": lambda negative, positive, reference: True,
        "rng": np.random.default_rng(0),
        **given,
    }
    return mine(rows, verdicts(rows), proxy, config=config, **options)


def only(**changes: Any) -> CooperConfig:
    return CooperConfig.model_validate({**NONE, **changes})


# --- the released algorithm ---------------------------------------------------------------------


def test_paper_pairs_the_first_right_rollout_of_a_group_and_skips_the_others() -> None:
    assert pairs_of(CooperConfig.paper()) == [Pair("q7", "a7", "r1", "r1<", "copy", 7)]


def test_a_refused_negative_masks_its_pair() -> None:
    seen = []

    def refuse(negative: str, positive: str, reference: str) -> bool:
        seen.append((negative, positive, reference))
        return False

    assert pairs_of(CooperConfig.paper(), accept=refuse) == []
    assert seen == [("r1<", "r1", "a7")]


@pytest.mark.parametrize("written", [None, "r1"])
def test_no_copy_or_an_equal_one_is_no_pair(written: str | None) -> None:
    assert pairs_of(CooperConfig.paper(), corrupt=lambda *_: written) == []


# --- the other sources --------------------------------------------------------------------------


def test_several_copies_of_a_group() -> None:
    assert [p.positive for p in pairs_of(only(pairs_copy=5))] == ["r1", "r2"]


def test_hard_pairs_are_the_distinct_highest_surely_wrong_against_themselves_made_right() -> None:
    pairs = pairs_of(only(pairs_hard=2))
    assert pairs == [
        Pair("q7", "a7", "w2>a7", "w2", "hard", 7),
        Pair("q7", "a7", "w1>a7", "w1", "hard", 7),
        Pair("q3", "a3", "x1>a3", "x1", "hard", 3),  # v1 scores higher but is unsure; x1 once
        Pair("q3", "a3", "x2>a3", "x2", "hard", 3),
    ]
    assert [p.negative for p in pairs_of(only(pairs_hard=1))] == ["w2", "x1"]


def test_hard_pairs_need_a_patched_copy() -> None:
    assert pairs_of(only(pairs_hard=2), patch=lambda *_: None) == []


def test_a_group_without_a_right_rollout_falls_back_on_a_patched_one() -> None:
    pairs = pairs_of(only(pairs_copy=1, fallback=True))
    assert [p.source for p in pairs] == ["copy", "fallback"]
    row = pairs[1].positive.removesuffix(">a3")
    assert row in ("x1", "x2", "v1")
    assert pairs[1].negative == f"{row}>a3<"
    bare = pairs_of(only(pairs_copy=1, fallback=True), patch=lambda *_: None)
    assert bare[1][2:] == ("a3", "a3<", "fallback", 3)


def test_the_reference_is_right_against_a_corrupted_copy_of_the_top_rollout() -> None:
    pairs = pairs_of(only(pair_reference=True))
    assert pairs == [
        Pair("q7", "a7", "a7", "u1<", "reference", 7),
        Pair("q3", "a3", "a3", "v1<", "reference", 3),
    ]


def test_other_pairs_are_right_against_surely_wrong_of_the_same_group() -> None:
    assert [p[2:5] for p in pairs_of(only(pairs_other=3))] == [
        ("r1", "w1", "other"),
        ("r2", "w2", "other"),
    ]


def test_the_valid_rate_counts_groups_with_the_papers_pair_only() -> None:
    pairs = pairs_of(CooperConfig(pairs_copy=2, pairs_other=1))
    assert {p.source for p in pairs} == {"copy", "fallback", "hard", "other", "reference"}
    assert valid_rate(pairs, 2) == 0.5
    assert valid_rate([], 2) == 0.0


# --- the assistant ------------------------------------------------------------------------------


def test_the_assistant_writes_the_negatives_of_copies_and_the_corruptor_the_rest() -> None:
    asked: list[Any] = []

    def assistant(
        questions: list[str], positives: list[str], references: list[str], rng: Any
    ) -> list[str | None]:
        asked.append((questions, positives, references))
        return ["written", None]

    config = only(pairs_copy=2, pair_reference=True)
    pairs = pairs_of(config, assistant=assistant)
    assert asked == [(["q7", "q7"], ["r1", "r2"], ["a7", "a7"])]  # one call for all
    assert [p.negative for p in pairs] == ["written", "r2<", "u1<", "v1<"]


def test_what_the_assistant_writes_is_checked_too() -> None:
    pairs = pairs_of(
        CooperConfig.paper(),
        assistant=lambda q, p, r, rng: ["a7"] * len(p),
        accept=lambda negative, positive, reference: negative != reference,
    )
    assert pairs == []


def test_an_assistant_that_loses_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="assistant: gave 0 negatives to 1"):
        pairs_of(CooperConfig.paper(), assistant=lambda *_: [])


# --- order --------------------------------------------------------------------------------------


def test_rows_of_groups_may_be_mixed() -> None:
    """Only the order within a group counts: it says which right rollout is the first."""
    order = [5, 0, 6, 1, 2, 7, 3, 8, 4]
    mixed = rollouts().take(order)
    config = CooperConfig(pairs_copy=2, pairs_other=1, fallback=False)
    pairs = pairs_of(config)
    assert set(pairs_of(config, mixed, PROXY[order])) == set(pairs)
    relabelled = Batch(
        mixed.questions, mixed.references, mixed.completions, -np.asarray(mixed.group)
    )
    turned = {p._replace(group=-p.group) for p in pairs_of(config, relabelled, PROXY[order])}
    assert turned == set(pairs)


def test_mixed_rows_with_the_groups_in_the_same_order_draw_the_same_numbers() -> None:
    def drawn(text: str, reference: str, rng: np.random.Generator) -> str | None:
        return f"{text}{rng.integers(1000)}"

    order = [0, 5, 1, 6, 2, 7, 3, 8, 4]
    given = {"patch": drawn, "corrupt": drawn}
    mixed = pairs_of(CooperConfig(), rollouts().take(order), PROXY[order], **given)
    assert mixed == pairs_of(CooperConfig(), **given)


def test_columns_of_another_length_are_named() -> None:
    batch = rollouts()
    with pytest.raises(ValueError, match="proxy: got 8, expected one per rollout, 9"):
        pairs_of(CooperConfig(), batch, PROXY[1:])
    with pytest.raises(ValueError, match="verdicts: got 9, expected one per rollout, 1"):
        mine(
            batch.take([0]),
            verdicts(batch),
            PROXY[:1],
            config=CooperConfig(),
            patch=patch,
            corrupt=corrupt,
            accept=lambda *_: True,
            rng=np.random.default_rng(0),
        )
