"""Dr. GRPO: GRPO without the division, which favours questions that are nearly solved or hopeless.

Do not use it when groups differ in the scale of their rewards: the loudest group then rules.
"""

from __future__ import annotations

from cooper import arrays
from cooper.arrays import Array

PAPER = "arXiv:2503.20783"


def dr_grpo(rewards: Array, *, group: Array, where: Array | None = None) -> Array:
    """Subtract the mean of each group.

    A_i = r_i - mean_g

    Equal rewards and groups of one give exactly 0. The paper's other half, dividing the loss by
    a constant instead of the length, belongs to the trainer (TRL: `loss_type="dr_grpo"`).

    Args:
        rewards: (B,) any finite numbers.
        group: (B,) ids of the groups, or `arrays.Groups`.
        where: (B,) False where there is no reward; None: all exist.

    Returns:
        (B,) advantages in units of reward, of sum 0 in each group; 0 where there is no reward.

    Raises:
        ValueError: Naming the argument, what was seen and what was expected.

    Example:
        >>> dr_grpo([1.0, 0.0, 0.7], group=[0, 0, 1]).tolist()
        [0.5, -0.5, 0.0]

    Source: Liu et al. 2025, Understanding R1-Zero-Like Training, arXiv 2503.20783, section 3.
    """
    rewards = arrays.floats(rewards, "rewards")
    m = arrays.members(rewards, group, where, "rewards")
    advantages = m.values - arrays.group_mean(m.values, group=m.groups, where=m.where)
    return arrays.like(m.xp.where(m.where, advantages, m.xp.zeros_like(advantages)), rewards)
