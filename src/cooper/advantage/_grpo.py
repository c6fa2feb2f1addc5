"""GRPO: how much better than its group is an answer, in the group's standard deviations.

Do not use it without a `floor` when rewards are continuous and nearly equal: noise of 0.001 is
then as loud as the step from wrong to right.
"""

from __future__ import annotations

from cooper import arrays
from cooper.arrays import Array

PAPER = "arXiv:2402.03300"


def grpo(
    rewards: Array,
    *,
    group: Array,
    where: Array | None = None,
    epsilon: float = 1e-4,
    floor: float = 0.0,
) -> Array:
    """Standardise the rewards of each group.

    A_i = (r_i - mean_g) / (max(std_g, floor) + epsilon),   std_g with n - 1

    Recovers TRL's advantages with the defaults, the paper's formula with epsilon=0, and
    `dr_grpo` up to a constant with a large floor. Equal rewards and groups of one give exactly
    0, which the formula alone does not give in floating point.

    Args:
        rewards: (B,) any finite numbers.
        group: (B,) ids of the groups, or `arrays.Groups`.
        where: (B,) False where there is no reward; None: all exist.
        epsilon: Added to the standard deviation, >= 0, in units of reward; 1e-4 is TRL's, 0 the
            paper's.
        floor: Least standard deviation, >= 0, in units of reward; not in the paper.

    Returns:
        (B,) advantages, 0 where there is no reward; at most sqrt(n) in size, and of sum 0 in
        each group.

    Raises:
        ValueError: Naming the argument, what was seen and what was expected.

    Example:
        >>> grpo([1.0, 0.0, 0.7, 0.7], group=[0, 0, 1, 1], epsilon=0).round(4).tolist()
        [0.7071, -0.7071, 0.0, 0.0]

    Source: Shao et al. 2024, DeepSeekMath, arXiv 2402.03300, section 4.1.2.
    """
    if not (epsilon >= 0 and floor >= 0):
        raise ValueError(f"epsilon, floor: expected numbers >= 0, got {epsilon}, {floor}")
    rewards = arrays.floats(rewards, "rewards")
    m = arrays.members(rewards, group, where, "rewards")
    xp, given = m.xp, {"group": m.groups, "where": m.where}
    scale = arrays.group_std(m.values, ddof=1, **given)
    scale = xp.maximum(scale, xp.full_like(scale, floor)) + epsilon
    zero = arrays.zero_variance(m.values, **given) | ~m.where | (scale == 0)
    advantages = (m.values - arrays.group_mean(m.values, **given)) / xp.where(
        zero, xp.ones_like(scale), scale
    )
    return arrays.like(xp.where(zero, xp.zeros_like(advantages), advantages), rewards)
