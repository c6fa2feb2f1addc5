"""A tiny reward model, a hand-made batch of sums, and `make(config)` for a `Cooper` on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from cooper.data import sums
from cooper.models import VerifyRM, tiny_classifier
from cooper.train import Cooper, CooperConfig
from cooper.types import Batch

TASK = sums(heldout=10)

# One rule-right group with a wrong and a hedged answer; one whose right answers the rule cannot
# read; one that is right throughout.
GROUPS = [
    ("12+30", "42", ["so 41", "so 42", "42", "41 or 42"]),
    ("11+11", "22", ["so 23", "#24", "it is 22", "it is 22"]),
    ("10+10", "20", ["20", "#20", "so 20", "20"]),
]


def to_batch(groups: list[tuple[str, str, list[str]]]) -> Batch:
    rows = [(q, a, c, g) for g, (q, a, texts) in enumerate(groups) for c in texts]
    questions, references, completions, ids = (list(column) for column in zip(*rows, strict=True))
    return Batch(questions, references, completions, ids)


@pytest.fixture
def batch() -> Batch:
    """12 rollouts in 3 groups."""
    return to_batch(GROUPS)


@pytest.fixture
def starved() -> Batch:
    """The group without a rule-right rollout alone."""
    return to_batch(GROUPS[1:2])


@pytest.fixture
def make_rm() -> Callable[..., VerifyRM]:
    """`make_rm(seed)`: a reward model whose scores differ clearly from row to row."""

    def make(seed: int = 0) -> VerifyRM:
        assert TASK.tokenizer is not None
        tokens = TASK.tokenizer()
        model: Any = tiny_classifier(
            tokens, hidden=16, layers=1, heads=2, max_positions=64, seed=seed
        )
        with torch.no_grad():
            model.score.weight.mul_(20)
        return VerifyRM(model, tokens, max_length=64)

    return make


@pytest.fixture
def make(make_rm: Callable[..., VerifyRM]) -> Callable[..., Cooper]:
    """`make(config, **options)`: Cooper on the task *sums*; the same call gives the same object."""

    def build(config: CooperConfig | None = None, **options: Any) -> Cooper:
        given = {
            "rm": make_rm(),
            "rule": TASK.rule,
            "surely_wrong": TASK.surely_wrong,
            "patch": TASK.patch,
            "corrupt": TASK.corrupt,
            **options,
        }
        return Cooper(config=config, **given)

    return build


@pytest.fixture
def weights() -> Callable[[Any], np.ndarray[Any, Any]]:
    """All weights of a reward model, or of a `Cooper`'s, as one vector."""

    def flat(owner: Any) -> np.ndarray[Any, Any]:
        rm = getattr(owner, "rm", owner)
        return torch.cat([p.detach().flatten() for p in rm.model.parameters()]).numpy().copy()

    return flat
