"""One optimiser step of the reward model: its loss by hand, what it moves, what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from cooper.models import VerifyRM, bradley_terry
from cooper.train import CooperConfig, Labelled, Pair, make_optimizer, update
from cooper.types import Batch

PAIRS = [
    Pair("12+30", "42", "so 42", "so 41", "copy", 0),
    Pair("11+11", "22", "#22", "#24", "hard", 1),
    Pair("10+10", "20", "20", "20 or 21", "hard", 2),
]
REPLAY = [Labelled("9+9", "18", "so 18", 1.0), Labelled("9+9", "18", "so 19", 0.25)]
MakeRM = Callable[..., VerifyRM]
Weights = Callable[[Any], np.ndarray[Any, Any]]


def logits(rm: VerifyRM, rows: list[tuple[str, str, str]]) -> np.ndarray[Any, Any]:
    questions, references, completions = (list(column) for column in zip(*rows, strict=True))
    p = rm.score(Batch(questions, references, completions, [0] * len(rows)))
    return np.log(p / (1 - p))


def sides(rm: VerifyRM, pairs: list[Pair]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return (
        logits(rm, [(p.question, p.reference, p.positive) for p in pairs]),
        logits(rm, [(p.question, p.reference, p.negative) for p in pairs]),
    )


def softplus(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.log1p(np.exp(x))


def step(
    rm: VerifyRM, pairs: list[Pair], replay: list[Labelled] | None = None, **changes: Any
) -> Any:
    config = CooperConfig.paper(**{"learning_rate": 3e-3, **changes})
    return update(rm, make_optimizer(rm, config), pairs, config=config, replay=replay or [])


def test_the_papers_loss_by_hand(make_rm: MakeRM) -> None:
    rm = make_rm()
    good, bad = sides(rm, PAIRS)
    done = step(rm, PAIRS)
    assert done.loss == pytest.approx(softplus(bad - good).mean(), abs=1e-5)
    assert (done.ordered, done.pairs) == (int((good > bad).sum()), 3)  # before the step
    assert 0 < done.ordered < 3
    assert not done.skipped


def test_a_pair_left_out_is_a_pair_masked(make_rm: MakeRM) -> None:
    """The release masks a group without a positive; here its pair does not exist."""
    rm = make_rm()
    good, bad = (torch.tensor(side) for side in sides(rm, PAIRS))
    masked = bradley_terry(good, bad, where=torch.tensor([True, False, True]))
    assert step(rm, [PAIRS[0], PAIRS[2]]).loss == pytest.approx(masked.item(), abs=1e-5)


def test_all_terms_by_hand(make_rm: MakeRM) -> None:
    rm = make_rm()
    good, bad = sides(rm, PAIRS)
    old = logits(rm, [row[:3] for row in REPLAY])
    label = np.array([row.label for row in REPLAY])
    expected = (
        softplus(bad - good).mean()
        + 0.5 * np.concatenate([softplus(-good), softplus(bad)]).mean()
        + (label * softplus(-old) + (1 - label) * softplus(old)).mean()
    )
    done = step(rm, PAIRS, REPLAY, anchor_bce=0.5)
    assert done.loss == pytest.approx(expected, abs=1e-5)
    assert done.pairs == 3


def test_pairs_order_and_anchoring_moves_levels(make_rm: MakeRM) -> None:
    levels = {}
    for anchor in (0.0, 1.0):
        rm = make_rm()
        with torch.no_grad():
            rm.model.score.weight.mul_(0.05)
        config = CooperConfig.paper(learning_rate=3e-3, anchor_bce=anchor)
        optimizer = make_optimizer(rm, config)
        for _ in range(60):
            done = update(rm, optimizer, PAIRS, config=config)
        assert done.ordered == 3
        good, bad = sides(rm, PAIRS)
        levels[anchor] = float(np.abs(good + bad).mean())  # 0 when right and wrong mirror
        if anchor:
            assert (good > 1).all()
            assert (bad < -1).all()
    assert levels[1.0] < levels[0.0]


@pytest.mark.parametrize(("label", "sign"), [(1.0, 1), (0.0, -1)])
def test_replayed_labels_are_respected(make_rm: MakeRM, label: float, sign: int) -> None:
    rm = make_rm()
    row = Labelled("9+9", "18", "so 18", label)
    before = logits(rm, [row[:3]])
    assert step(rm, [], [row]).pairs == 0
    assert sign * (logits(rm, [row[:3]]) - before)[0] > 0


def test_nothing_to_learn_from_changes_nothing(make_rm: MakeRM, weights: Weights) -> None:
    rm = make_rm()
    before = weights(rm)
    done = step(rm, [])
    assert done.skipped
    assert np.array_equal(weights(rm), before)


def test_a_gradient_that_is_not_finite_is_not_followed(make_rm: MakeRM, weights: Weights) -> None:
    rm = make_rm()
    config = CooperConfig.paper(learning_rate=1e-2)
    optimizer = make_optimizer(rm, config)
    before = weights(rm)
    weight: Any = rm.model.score.weight
    hook = weight.register_hook(lambda gradient: gradient * math.nan)
    done = update(rm, optimizer, PAIRS, config=config)
    assert done.skipped
    assert math.isnan(done.grad_norm)
    assert np.array_equal(weights(rm), before)
    assert not optimizer.state  # no moments either
    hook.remove()
    assert not update(rm, optimizer, PAIRS, config=config).skipped
    assert not np.array_equal(weights(rm), before)


def test_the_gradient_is_clipped_and_cleared(make_rm: MakeRM) -> None:
    rm = make_rm()
    config = CooperConfig.paper(clip=1e-3)
    parameters = list(rm.model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    before = [p.detach().clone() for p in parameters]
    done = update(rm, optimizer, PAIRS, config=config)
    assert done.grad_norm > 1e-3  # reported as it was
    moved = sum(
        float((p.detach() - q).square().sum()) for p, q in zip(parameters, before, strict=True)
    )
    assert math.sqrt(moved) == pytest.approx(1e-3, rel=1e-2)
    assert all(p.grad is None for p in parameters)
    assert not rm.model.training


def test_the_optimiser_is_the_released_one(make_rm: MakeRM) -> None:
    rm = make_rm()
    next(rm.model.parameters()).requires_grad_(False)
    (group,) = make_optimizer(rm, CooperConfig.paper()).param_groups
    assert (group["lr"], group["betas"], group["weight_decay"]) == (1e-5, (0.9, 0.999), 0.01)
    assert len(group["params"]) == len(list(rm.model.parameters())) - 1
    assert all(p.dtype is torch.float32 for p in group["params"])
