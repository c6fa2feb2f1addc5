"""Losses of a reward model: on pairs (Bradley-Terry) and on labels (binary cross-entropy).

Both take raw logits and a mask. A masked row behaves exactly like a removed one: it takes part
neither in the sum nor in the count, and its gradient is 0 even where its logit is not finite.
"""

from __future__ import annotations

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

PAPER = "arXiv:2508.05613"


def bradley_terry(
    positive: torch.Tensor,
    negative: torch.Tensor,
    *,
    where: torch.Tensor | None = None,
    margin: float | torch.Tensor = 0.0,
    center: float = 0.0,
) -> torch.Tensor:
    """Mean of -log sigmoid(f+ - f- - margin) over the pairs that count.

    L = sum_j m_j (-log sigmoid(f+_j - f-_j - margin_j) + center (f+_j + f-_j)^2) / sum_j m_j, and
    0 when no pair counts. margin = center = 0 is the paper's loss. The released code divides by
    sum_j m_j + 1e-6, which is the same to six digits. `center` is what TRL calls
    `center_rewards_coefficient`: pairs alone fix only differences, and it keeps the level from
    drifting.

    Args:
        positive: (P,) logits of the right completions.
        negative: (P,) logits of the wrong ones.
        where: (P,) bool, the pairs that count; None means all.
        margin: How much higher the right one should be, in logits; a number or (P,).
        center: Weight of the squared sum of the two logits, >= 0.

    Returns:
        () the loss, in nats, with a gradient to both inputs.

    Raises:
        ValueError: Shapes differ.

    Example:
        >>> loss = bradley_terry(torch.tensor([2.0, 9.0]), torch.tensor([2.0, 0.0]),
        ...                      where=torch.tensor([True, False]))
        >>> round(loss.item(), 4)
        0.6931

    Source: Cooper, arXiv 2508.05613; Bradley and Terry, 1952; the centring of Eisenstein et al.,
    arXiv 2312.09244.
    """
    if positive.shape != negative.shape:
        raise ValueError(
            "bradley_terry: positive and negative must have the same shape (P,), got "
            f"{tuple(positive.shape)} and {tuple(negative.shape)}"
        )
    keep = _mask(positive, where)
    right, wrong = positive.where(keep, 0.0), negative.where(keep, 0.0)
    each = -logsigmoid(right - wrong - margin)
    if center:
        each = each + center * (right + wrong).square()
    return _mean(each, keep.to(each.dtype))


def bce(
    logits: torch.Tensor,
    labels: torch.Tensor,
    *,
    where: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Weighted mean of the binary cross-entropy over the rows that count.

    L = sum_i m_i w_i (-y_i log sigmoid(f_i) - (1 - y_i) log sigmoid(-f_i)) / sum_i m_i w_i, and 0
    when nothing counts. Without weights and mask it is torch's own.

    Args:
        logits: (B,) logits.
        labels: (B,) probability in [0, 1] that the completion is right; soft labels are allowed.
        where: (B,) bool, the rows that count; None means all.
        weight: (B,) weights >= 0; None means 1.

    Returns:
        () the loss, in nats.

    Raises:
        ValueError: Shapes differ.

    Example:
        >>> round(bce(torch.zeros(2), torch.tensor([1.0, 0.0])).item(), 4)
        0.6931

    Source: Cooper, arXiv 2508.05613, the offline training of VerifyRM.
    """
    if logits.shape != labels.shape:
        raise ValueError(
            "bce: logits and labels must have the same shape (B,), got "
            f"{tuple(logits.shape)} and {tuple(labels.shape)}"
        )
    keep = _mask(logits, where)
    share = keep.to(logits.dtype)
    if weight is not None:
        share = share * _same(logits, weight, "weight").to(logits).where(keep, 0.0)
    each = binary_cross_entropy_with_logits(
        logits.where(keep, 0.0), labels.to(logits).where(keep, 0.0), reduction="none"
    )
    return _mean(each, share)


def _mask(values: torch.Tensor, where: torch.Tensor | None) -> torch.Tensor:
    if where is None:
        return torch.ones_like(values, dtype=torch.bool)
    return _same(values, where, "where").to(values.device, torch.bool)


def _same(values: torch.Tensor, other: torch.Tensor, name: str) -> torch.Tensor:
    if other.shape != values.shape:
        raise ValueError(
            f"{name}: got shape {tuple(other.shape)}, expected that of the logits, "
            f"{tuple(values.shape)}"
        )
    return other


def _mean(each: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    total = share.sum()
    return (each * share).sum() / total.where(total > 0, 1.0)
