"""One update of the reward model on pairs and replayed rows, and its optimiser."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

from cooper.models import bce, bradley_terry
from cooper.train._config import CooperConfig
from cooper.train._pairs import Pair

if TYPE_CHECKING:
    from cooper.models import VerifyRM


class Labelled(NamedTuple):
    """A completion with the probability in [0, 1] that it is right."""

    question: str
    reference: str
    completion: str
    label: float


class Update(NamedTuple):
    """What one optimiser step saw; `ordered` counts pairs ranked rightly *before* the step."""

    loss: float
    ordered: int
    pairs: int
    grad_norm: float
    skipped: bool  # the gradient was not finite


def make_optimizer(rm: VerifyRM, config: CooperConfig) -> torch.optim.AdamW:
    """AdamW on fp32 master weights: lr 1e-5, betas (0.9, 0.999), decay 0.01 as released."""
    parameters = [p for p in rm.model.parameters() if p.requires_grad]
    return torch.optim.AdamW(
        parameters, lr=config.learning_rate, betas=(0.9, 0.999), weight_decay=config.weight_decay
    )


def update(
    rm: VerifyRM,
    optimizer: torch.optim.Optimizer,
    pairs: Sequence[Pair],
    *,
    config: CooperConfig,
    replay: Sequence[Labelled] = (),
) -> Update:
    """One optimiser step of the reward model.

    L = BT(f+, f-) + w * BCE([f+, f-], [1, 0]) + BCE(f_replay, label), on raw logits f; with
    w = 0 and no replay it is the loss of Cooper. No pairs and no replay: nothing happens.

    Args:
        rm: the reward model; its gradients are cleared.
        optimizer: over rm's weights.
        pairs: P right/wrong pairs.
        config: `anchor_bce` (w) and `clip`.
        replay: R labelled rows of the offline set.

    Returns:
        Loss, and how many of the pairs the model ordered rightly before this step.
    """
    if not pairs and not replay:
        return Update(0.0, 0, 0, 0.0, skipped=True)
    rows = [
        *((p.question, p.reference, p.positive) for p in pairs),
        *((p.question, p.reference, p.negative) for p in pairs),
        *((r.question, r.reference, r.completion) for r in replay),
    ]
    questions, references, completions = (list(column) for column in zip(*rows, strict=True))
    rm.model.train()
    logits = rm.logits(rm.encode(questions, references, completions))
    n = len(pairs)
    good, bad, old = logits[:n], logits[n : 2 * n], logits[2 * n :]
    loss = bradley_terry(good, bad)
    if config.anchor_bce and n:
        labels = torch.cat([torch.ones_like(good), torch.zeros_like(bad)])
        loss = loss + config.anchor_bce * bce(logits[: 2 * n], labels)
    if replay:
        labels = torch.tensor([r.label for r in replay], dtype=old.dtype, device=old.device)
        loss = loss + bce(old, labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = float(torch.nn.utils.clip_grad_norm_(_weights(optimizer), config.clip))
    finite = math.isfinite(norm)
    if finite:
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    rm.model.eval()
    return Update(float(loss.detach()), int((good > bad).sum()), n, norm, skipped=not finite)


def _weights(optimizer: torch.optim.Optimizer) -> Iterable[torch.Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]
