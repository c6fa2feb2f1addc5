"""Weighted sum: the textbook way to make one reward of several.

Do not use it when one component can be farmed: a large enough sum of the others pays for a
wrong answer. `strata` cannot be bought.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import array_api_compat as compat

from cooper.arrays import Array
from cooper.combine._basic import columns, or_missing

PAPER: tuple[str, ...] = ()  # textbook; the conventions are TRL's


def weighted(
    components: Array,
    *,
    names: Sequence[str],
    weights: Mapping[str, float],
    group: Array | None = None,
    where: Array | None = None,
) -> Array:
    """Sum the components that exist, each times its weight.

    r_b = Σ_k w_k c_bk over the k with where_bk

    Weights are not spread over the components present: a missing component adds nothing, as in
    TRL. A row in which no component with a non-zero weight exists is missing (NaN), not 0.
    Recovers one component alone with one non-zero weight, and its negative with -1.

    Args:
        components: (B, K) any numbers.
        names: The K names of the columns.
        weights: One finite weight for every name; 0 carries a component along for the log only.
        group: Not used; every method of the family takes it.
        where: (B, K) False where there is no score; None: all exist.

    Returns:
        (B,) rewards, NaN where missing.

    Raises:
        ValueError: If shapes do not agree, or weights and names do not match.

    Example:
        >>> import numpy as np
        >>> scores = np.array([[1.0, 0.5], [0.0, 0.8]])
        >>> weighted(scores, names=["rule", "style"], weights={"rule": 1, "style": 0.1}).tolist()
        [1.05, 0.08000000000000002]

    Source: textbook; TRL's `reward_weights` with `sum_then_normalize`.
    """
    if not isinstance(weights, Mapping):
        raise ValueError(f"weights: expected a mapping of names to numbers, got {weights!r}")
    c = columns(components, names, where)
    unknown = [name for name in weights if name not in c.names]
    absent = [name for name in c.names if name not in weights]
    if unknown or absent:
        raise ValueError(
            f"weights: expected one for each of {c.names}, got {dict(weights)}"
            + (f"; unknown: {unknown}" if unknown else "")
            + (f"; without a weight (give 0 to only log it): {absent}" if absent else "")
        )
    if not all(math.isfinite(w) for w in weights.values()) or not any(weights.values()):
        raise ValueError(f"weights: expected finite numbers, not all 0, got {dict(weights)}")
    used = [k for k, name in enumerate(c.names) if weights[name] != 0]
    row = c.xp.asarray(
        [float(weights[c.names[k]]) for k in used],
        dtype=c.values.dtype,
        device=compat.device(c.values),
    )
    total = c.xp.sum(c.values[:, used] * row, axis=1, dtype=c.values.dtype)
    return or_missing(c.xp, total, c.xp.any(c.where[:, used], axis=1))
