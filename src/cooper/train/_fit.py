"""Offline training of a reward model on labelled completions: BCE, as VerifyRM was trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from cooper.models import bce
from cooper.train._step import Labelled

if TYPE_CHECKING:
    from cooper.models import VerifyRM

Progress = Callable[[int, int, float], None]  # (step, steps, loss)


def fit(
    rm: VerifyRM,
    rows: Sequence[Labelled],
    *,
    epochs: float,
    batch: int,
    learning_rate: float,
    seed: int,
    weight_decay: float = 0.01,
    clip: float = 1.0,
    warmup: float = 0.03,
    progress: Progress | None = None,
) -> list[float]:
    """Train `rm` in place: L = BCE(f(q, a, o), label), linear warm-up, then cosine to 0.

    Args:
        rm: the reward model.
        rows: N labelled completions, labels in [0, 1].
        epochs: passes over the rows; a fraction of one is possible.
        batch: rows per optimiser step.
        learning_rate: peak rate (the paper: 2e-5 for a 1.5B model).
        seed: of the order of the rows.
        weight_decay: of AdamW (the paper: 0.01).
        clip: gradient norm.
        warmup: share of the steps that warm up.
        progress: called after each step.

    Returns:
        The loss of every step.

    Raises:
        ValueError: no rows, a label outside [0, 1], or a number that is not above 0.
        FloatingPointError: the model has diverged.

    Source: Cooper, arXiv:2508.05613, training of VerifyRM.
    """
    if not rows:
        raise ValueError("rows: got 0 labelled completions, expected at least 1")
    outside = next((i for i, row in enumerate(rows) if not 0 <= row.label <= 1), None)
    if outside is not None:
        raise ValueError(
            f"rows: the label of row {outside} is {rows[outside].label}, expected 0 to 1"
        )
    for name, value in {"epochs": epochs, "batch": batch, "learning_rate": learning_rate}.items():
        if not value > 0:
            raise ValueError(f"{name}: got {value}, expected more than 0")
    rng = np.random.default_rng(seed)
    steps = max(1, math.ceil(epochs * len(rows) / batch))
    weights = [p for p in rm.model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=learning_rate, weight_decay=weight_decay)
    first = max(1, round(warmup * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda s: min((s + 1) / first, 0.5 * (1 + math.cos(math.pi * min(1.0, s / steps)))),
    )
    losses: list[float] = []
    order: list[int] = []
    rm.model.train()
    for step in range(steps):
        if len(order) < batch:
            order += rng.permutation(len(rows)).tolist()
        chosen, order = [rows[i] for i in order[:batch]], order[batch:]
        logits = _logits(rm, chosen)
        labels = torch.tensor([r.label for r in chosen], dtype=logits.dtype, device=logits.device)
        loss = bce(logits, labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, clip)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            raise FloatingPointError(f"fit: the loss of step {step + 1} is {losses[-1]}")
        if progress is not None:
            progress(step + 1, steps, losses[-1])
    rm.model.eval()
    return losses


def _logits(rm: VerifyRM, rows: Sequence[Labelled]) -> torch.Tensor:
    return rm.logits(
        rm.encode(
            [r.question for r in rows],
            [r.reference for r in rows],
            [r.completion for r in rows],
        )
    )
