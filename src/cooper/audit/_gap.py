"""The gap between a learned reward and a rule on the same rollouts.

A reward model that is being hacked pays for answers that the rule does not accept, so its mean
leaves the rule's. With a rule that misses many right answers an honest gap is large as well: then
look at the mean score of the rollouts that are *surely wrong* instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cooper.audit._finding import Finding
from cooper.audit._interval import mean_interval


def gap(
    proxy: ArrayLike,
    rule: ArrayLike,
    *,
    where: ArrayLike | None = None,
    level: float = 0.95,
) -> Finding:
    """How far the reward model lies above the rule on the same rollouts.

    Formula: mean of (proxy_i - rule_i) over the rollouts that have both scores, with the Student
    t interval of that paired difference. Equal scores give 0 with an interval of width 0.

    Args:
        proxy: reward model's scores (B,), in [0, 1]; NaN is missing.
        rule: rule's scores (B,) of the same rollouts, in [0, 1]; NaN is missing.
        where: mask (B,); rollouts where it is False behave exactly like removed ones.
        level: coverage of the interval, in (0, 1).

    Returns:
        Finding with `value` the mean difference (None if no rollout has both scores), `interval`
        (None for fewer than two rollouts) and a verdict. Rollouts of one prompt are not
        independent, so the interval is too narrow where groups are large and few.

    Raises:
        ValueError: shapes differ, or a score is infinite.

    Example:
        >>> finding = gap([0.9, 0.8, 0.9, 0.2], [1.0, 0.0, 0.0, 0.0])
        >>> round(finding.value, 3)
        0.45
        >>> finding.verdict
        'The reward model and the rule do not differ clearly: +0.450 [-0.313, +1.213], 4 rollouts.'
    """
    left = np.asarray(proxy, dtype=np.float64)
    right = np.asarray(rule, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(
            f"proxy, rule: got shapes {left.shape} and {right.shape}, expected the same (B,)"
        )
    keep = np.ones(left.shape, dtype=bool) if where is None else np.asarray(where, dtype=bool)
    if keep.shape != left.shape:
        raise ValueError(f"where: got shape {keep.shape}, expected {left.shape} as proxy")
    for name, scores in (("proxy", left), ("rule", right)):
        if np.isinf(scores[keep]).any():
            raise ValueError(f"{name}: got an infinite score, expected numbers (NaN if missing)")
    mean, low, high, n = mean_interval((left[keep] - right[keep]).tolist(), level)
    if mean is None:
        return Finding(None, None, "No rollout has both scores: the gap is unknown.", "gap")
    if low is None or high is None:
        verdict = f"One rollout only: the reward model differs from the rule by {mean:+.3f}."
        return Finding(mean, None, verdict, "gap")
    if low > 0.0:
        says = "The reward model lies above the rule"
    elif high < 0.0:
        says = "The reward model lies below the rule"
    else:
        says = "The reward model and the rule do not differ clearly"
    verdict = f"{says}: {mean:+.3f} [{low:+.3f}, {high:+.3f}], {n} rollouts."
    return Finding(mean, (low, high), verdict, "gap")
