"""Settings: the released algorithm by name, and what is refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from cooper.train import CooperConfig


def test_paper_is_the_released_algorithm() -> None:
    paper = CooperConfig.paper()
    assert (paper.pairs_copy, paper.pairs_hard, paper.pairs_other) == (1, 0, 0)
    assert {paper.pair_reference, paper.fallback, paper.anchored_only} == {False}
    assert (paper.when, paper.updates, paper.warmup_batches) == ("after", 1, 0)
    assert (paper.reward, paper.check, paper.advantage) == ("proxy", "positive", "grpo")
    assert paper.anchor_bce == paper.replay == paper.gate == paper.std_floor == 0
    assert (paper.learning_rate, paper.weight_decay, paper.clip) == (1e-5, 0.01, 1.0)


def test_changes_go_on_top_of_a_named_setting() -> None:
    changed = CooperConfig.paper(updates=3)
    assert changed == CooperConfig.paper().model_copy(update={"updates": 3})
    frozen = CooperConfig.frozen()
    assert frozen == CooperConfig.paper(updates=0, warmup_batches=0)
    assert CooperConfig.frozen(warmup_batches=5).warmup_batches == 5


def test_it_is_known_whether_there_is_a_source_of_pairs() -> None:
    none = CooperConfig(pairs_copy=0, pairs_hard=0, pairs_other=0, pair_reference=False)
    assert not none.makes_pairs
    for source in ({"pairs_copy": 1}, {"pairs_hard": 1}, {"pairs_other": 1}):
        assert none.model_copy(update=source).makes_pairs
    assert none.model_copy(update={"pair_reference": True}).makes_pairs


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("pairs_hard", -1),
        ("updates", -1),
        ("warmup_updates", 0),
        ("learning_rate", 0.0),
        ("clip", 0.0),
        ("anchor_bce", -0.1),
        ("gate", 1.1),
        ("std_floor", -1.0),
        ("when", "during"),
        ("check", "nothing"),
        ("reward", "truth"),
        ("typo", 1),
    ],
)
def test_what_cannot_be_is_refused_by_name(setting: str, value: object) -> None:
    with pytest.raises(ValidationError, match=setting):
        CooperConfig.model_validate({setting: value})


def test_the_strata_must_be_in_order() -> None:
    with pytest.raises(ValidationError, match="unsure"):
        CooperConfig(unsure=0.95)
    assert CooperConfig(unsure=0.95, right=0.95).unsure == 0.95


def test_settings_do_not_change_afterwards() -> None:
    with pytest.raises(ValidationError):
        CooperConfig().updates = 2
