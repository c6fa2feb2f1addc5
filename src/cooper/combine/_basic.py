"""What the methods of this family share: named, checked columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import array_api_compat as compat

from cooper import arrays
from cooper.arrays import Array


class Columns(NamedTuple):
    """Components with 0 where there is no score, and which scores there are."""

    xp: Any
    values: Array  # (B, K)
    where: Array  # (B, K) bool
    names: tuple[str, ...]

    def get(self, name: str, argument: str) -> tuple[Array, Array]:
        """The values and the mask (B,) of the column that `argument` names."""
        if name not in self.names:
            raise ValueError(f"{argument}: no component {name!r}; the names are {self.names}")
        column = self.names.index(name)
        return self.values[:, column], self.where[:, column]


def columns(components: Array, names: Sequence[str], where: Array | None) -> Columns:
    """Check components (B, K) against their names and mask.

    Args:
        components: (B, K) numbers.
        names: K different names.
        where: (B, K) booleans or None.

    Returns:
        The columns.

    Raises:
        ValueError: Naming the argument, what was seen and what was expected.
    """
    components, names = arrays.floats(components, "components"), tuple(names)
    count = arrays.check(components=(components, "B K"))["K"]
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"names: expected K = {count} different names, got {names}")
    present = arrays.mask(where, components)
    arrays.finite(components, present, "components")
    xp = compat.array_namespace(components)
    return Columns(xp, xp.where(present, components, xp.zeros_like(components)), present, names)


def or_missing(xp: Any, rewards: Array, valid: Array) -> Array:
    """`rewards` (B,) with NaN where `valid` (B,) is False."""
    return xp.where(valid, rewards, xp.full_like(rewards, float("nan")))
