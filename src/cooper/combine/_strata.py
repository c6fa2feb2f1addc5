"""Asymmetric strata: the rule decides where it can, the reward model where the rule is unsure.

This project's own design, related to HERO (arXiv 2510.07242), which also keeps the reward
model inside bands set by the rule. Unlike there, the band of the unsure starts at 0: a band
that lifts every unsure answer above every wrong one becomes a refuge for answers without a
number. Do not use it when `wrong` marks right answers: nothing can lift these again.
"""

from __future__ import annotations

from collections.abc import Sequence

from cooper.arrays import Array
from cooper.combine._basic import columns, or_missing

PAPER: tuple[str, ...] = ()  # this project's own
RELATED = "arXiv:2510.07242"


def strata(
    components: Array,
    *,
    names: Sequence[str],
    rule: str = "rule",
    proxy: str = "proxy",
    wrong: str | None = "surely_wrong",
    unsure: float = 0.8,
    right: float = 0.9,
    group: Array | None = None,
    where: Array | None = None,
) -> Array:
    """Let the rule decide where it can and the proxy p where it cannot.

    r = right + (1 - right) p   rule-right (rule > 1/2)
    r = 0                       surely wrong (wrong > 1/2) and not rule-right
    r = unsure · p              otherwise: never more than the proxy says

    A score that does not exist decides nothing: a rule that timed out is not "right". Where the
    proxy does not exist: `right` for the rule-right, 0 for the surely wrong, and the unsure are
    missing (NaN). Recovers the rule alone with unsure=0, right=1 and a proxy that always exists,
    and the bare proxy with unsure=1 for rows on which the rule is silent.

    Args:
        components: (B, K) scores in [0, 1].
        names: The K names of the columns; others than the three below are carried along.
        rule: Name of the rule's column.
        proxy: Name of the reward model's column, a probability.
        wrong: Name of the column that is 1 for surely wrong answers; None: there is none.
        unsure: Scale of the proxy where the rule is unsure, 0 <= unsure <= right.
        right: Floor of rule-right answers, at most 1.
        group: Not used; every method of the family takes it.
        where: (B, K) False where there is no score; None: all exist.

    Returns:
        (B,) rewards in [0, 1], NaN where missing.

    Raises:
        ValueError: If shapes do not agree, a column is not there, or a score is outside [0, 1].

    Example:
        >>> import numpy as np
        >>> scores = np.array([[1, 0.5, 0], [0, 0.9, 1], [0, 0.5, 0]])
        >>> strata(scores, names=["rule", "proxy", "surely_wrong"]).tolist()
        [0.95, 0.0, 0.4]

    Source: this project, docs/results.md; related: HERO, arXiv 2510.07242.
    """
    if not 0 <= unsure <= right <= 1:
        raise ValueError(
            f"unsure, right: expected 0 <= unsure <= right <= 1, got {unsure}, {right}"
        )
    c = columns(components, names, where)
    xp = c.xp
    verdict, has_verdict = c.get(rule, "rule")
    p, has_proxy = c.get(proxy, "proxy")
    is_right = has_verdict & (verdict > 0.5)
    is_wrong = xp.zeros_like(is_right)
    read = [verdict, p]
    if wrong is not None:
        flag, has_flag = c.get(wrong, "wrong")
        is_wrong = has_flag & (flag > 0.5) & ~is_right
        read.append(flag)
    for name, column in zip((rule, proxy, wrong), read, strict=False):
        if bool(xp.any((column < 0) | (column > 1))):
            raise ValueError(
                f"components: {name!r} expected in [0, 1], got {float(xp.min(column)):g} to "
                f"{float(xp.max(column)):g}"
            )
    # p is 0 where it does not exist, so the first line gives `right` there
    rewards = xp.where(is_right, right + (1 - right) * p, unsure * p)
    rewards = xp.where(is_wrong, xp.zeros_like(rewards), rewards)
    return or_missing(xp, rewards, is_right | is_wrong | has_proxy)
