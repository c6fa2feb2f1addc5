"""Shape checks and arithmetic over groups with explicit ids: the only place that reduces.

NumPy in, NumPy out; torch in, torch out, on the same device and in the same dtype. Sums are
taken in float64. A row whose `where` is False behaves exactly as if it were not there: it may
hold NaN or infinity. A valid row may not. Everything is linear in B but for sorting the ids.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np

Array = Any  # a NumPy array or a torch tensor; no type says "the same kind comes out"

LETTERS = {
    "B": "samples",
    "G": "groups",
    "K": "components",
    "T": "tokens",
    "S": "steps",
    "N": "candidates",
}


class Groups(NamedTuple):
    """The groups of B samples, numbered from 0 in the order of their ids."""

    size: int  # G
    inverse: Array  # (B,) int64, 0..G-1
    counts: Array  # (G,) int64, samples of each group, masked ones too


class Members(NamedTuple):
    """What a reduction works on: checked, in float64, with 0 where `where` is False."""

    xp: Any  # the array namespace
    values: Array  # (B,)
    groups: Groups
    where: Array  # (B,) bool


def check(**named: tuple[Array | None, str]) -> dict[str, int]:
    """Check shapes against the shape language and return the sizes of its letters.

    B samples, G groups, K components, T tokens, S steps, N candidates.

    Args:
        **named: For each argument of the caller, the array (None is skipped) and its shape,
            letters with a space between them. Equal letters must have equal sizes, at least 1.

    Returns:
        The size of each letter.

    Raises:
        ValueError: Naming the argument, the shape seen and the shape expected.

    Example:
        >>> check(rewards=(np.zeros(8), "B"), group=(np.zeros(8), "B"))
        {'B': 8}
        >>> check(rewards=(np.zeros(8), "B"), where=(np.zeros((7, 2)), "B K"))
        Traceback (most recent call last):
        ValueError: where: expected shape (B, K) with B = 8 as in rewards, got (7, 2) ...
    """
    sizes: dict[str, tuple[int, str]] = {}
    for name, (array, spec) in named.items():
        if array is None:
            continue
        letters, shape = spec.split(), tuple(array.shape)
        expected = f"expected shape ({', '.join(letters)}{',' if len(letters) == 1 else ''})"
        legend = "(" + ", ".join(f"{x} {LETTERS[x]}" for x in letters if x in LETTERS) + ")"
        if len(shape) != len(letters):
            raise ValueError(f"{name}: {expected}, got {shape} {legend}")
        for letter, seen in zip(letters, shape, strict=True):
            if seen == 0:
                raise ValueError(f"{name}: empty: {expected}, {letter} >= 1, got {shape} {legend}")
            size, first = sizes.setdefault(letter, (seen, name))
            if size != seen:
                raise ValueError(
                    f"{name}: {expected} with {letter} = {size} as in {first}, got {shape} {legend}"
                )
    return {letter: size for letter, (size, _) in sizes.items()}


def floats(values: Array, name: str = "values") -> Array:
    """`values` as a floating array: float dtypes are kept, integers and lists become the default.

    Args:
        values: NumPy array, torch tensor, or a (nested) list of numbers.
        name: What to call it in an error.

    Returns:
        A NumPy array or a torch tensor.

    Raises:
        ValueError: If these are not real numbers.
    """
    if not compat.is_torch_array(values):
        values = np.asarray(values)
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{name}: expected real numbers, got dtype {values.dtype}")
    xp = compat.array_namespace(values)
    if xp.isdtype(values.dtype, "complex floating"):
        raise ValueError(f"{name}: expected real numbers, got dtype {values.dtype}")
    if xp.isdtype(values.dtype, "real floating"):
        return values
    return xp.astype(values, xp.empty(0).dtype)  # the backend's default float


def wide(values: Array) -> Array:
    """`values` in float64 (float32 on Apple's GPU, which has nothing wider)."""
    xp = compat.array_namespace(values)
    narrow = getattr(compat.device(values), "type", "cpu") == "mps"
    return xp.astype(values, xp.float32 if narrow else xp.float64)


def like(result: Array, template: Array) -> Array:
    """`result` in the dtype of `template`."""
    return compat.array_namespace(result).astype(result, template.dtype, copy=False)


def mask(where: Array | None, template: Array, name: str = "where") -> Array:
    """`where` as booleans beside `template`: same backend, device and shape; None is all True.

    Args:
        where: Booleans of the shape of `template`, any backend, or None.
        template: The array that is masked.
        name: What to call it in an error.

    Returns:
        A boolean array.

    Raises:
        ValueError: If it holds anything but booleans, or has another shape.
    """
    xp = compat.array_namespace(template)
    if where is None:
        return xp.ones(tuple(template.shape), dtype=xp.bool, device=compat.device(template))
    where = _beside(where, template)
    if where.dtype != xp.bool:
        raise ValueError(f"{name}: expected booleans, got dtype {where.dtype}")
    if where.shape != template.shape:
        raise ValueError(
            f"{name}: expected shape {tuple(template.shape)}, got {tuple(where.shape)}"
        )
    return where


def finite(values: Array, where: Array, name: str = "values") -> None:
    """Raise ValueError if a value whose `where` is True is NaN or infinite."""
    xp = compat.array_namespace(values)
    bad = where & ~xp.isfinite(values)
    if bool(xp.any(bad)):
        row = int(xp.argmax(xp.astype(xp.reshape(bad, (-1,)), xp.int8)))
        index = tuple(int(i) for i in np.unravel_index(row, tuple(values.shape)))
        raise ValueError(
            f"{name}: {float(values[index])} at {list(index)}, expected finite numbers; "
            "a missing score is marked by where=False, not by NaN"
        )


def group_index(group: Array) -> Groups:
    """Number the groups of B samples.

    Args:
        group: (B,) integers or strings, in any order; equal ids are one group. An answer of this
            function is given back as it is, so that ids are sorted once.

    Returns:
        G, the number (B,) of each sample's group and the counts (G,).

    Raises:
        ValueError: If it is empty, not of one dimension, or holds other things than ids.

    Example:
        >>> group_index(["b", "a", "b"]).inverse.tolist()
        [1, 0, 1]
    """
    if isinstance(group, Groups):
        return group
    if compat.is_torch_array(group):
        check(group=(group, "B"))
        if not compat.array_namespace(group).isdtype(group.dtype, "integral"):
            raise ValueError(f"group: expected integer ids, got dtype {group.dtype}")
        tensor: Array = group  # torch leaves `unique` without types
        unique, inverse, counts = tensor.unique(return_inverse=True, return_counts=True)
        return Groups(unique.shape[0], inverse, counts)
    ids = np.asarray(group)
    if ids.dtype.kind == "O":
        ids = np.asarray(ids.tolist())  # verl keeps its ids as objects
    check(group=(ids, "B"))
    if ids.dtype.kind not in "iuUS":
        raise ValueError(f"group: expected integer or string ids, got dtype {ids.dtype}")
    _, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    return Groups(len(counts), inverse.reshape(-1), counts)


def members(values: Array, group: Array, where: Array | None, name: str = "values") -> Members:
    """Check and widen what a function over groups is given.

    Args:
        values: (B,) numbers.
        group: (B,) ids.
        where: (B,) booleans or None.
        name: What to call `values` in an error.

    Returns:
        The same, ready for the reductions below, which take its fields.

    Raises:
        ValueError: Naming the argument, what was seen and what was expected.
    """
    values = floats(values, name)
    groups = group_index(group)
    check(**{name: (values, "B"), "group": (groups.inverse, "B")})
    valid = mask(where, values)
    finite(values, valid, name)
    xp = compat.array_namespace(values)
    groups = Groups(groups.size, _beside(groups.inverse, values), _beside(groups.counts, values))
    values = wide(values)
    return Members(xp, xp.where(valid, values, xp.zeros_like(values)), groups, valid)


def group_sum(values: Array, *, group: Array, where: Array | None = None) -> Array:
    """Sum of the valid values of each sample's group.

    Args:
        values: (B,) numbers.
        group: (B,) ids, or a `Groups`.
        where: (B,) False leaves a sample out; None keeps all.

    Returns:
        (B,) the group's sum at each of its samples, masked ones too; 0 for a group without a
        valid member.

    Raises:
        ValueError: Naming the argument, what was seen and what was expected.

    Example:
        >>> group_sum(np.array([1.0, 2.0, 5.0]), group=[0, 0, 1]).tolist()
        [3.0, 3.0, 5.0]
    """
    m = members(values, group, where)
    return like(_take(m, _total(m, m.values)), floats(values))


def group_mean(values: Array, *, group: Array, where: Array | None = None) -> Array:
    """Mean of the valid values of each sample's group, never outside their range.

    Args and Raises as `group_sum`.

    Returns:
        (B,); 0 for a group without a valid member.

    Example:
        >>> group_mean([1.0, 2.0, np.inf], group=[0, 0, 0], where=[True, True, False]).tolist()
        [1.5, 1.5, 1.5]
    """
    m = members(values, group, where)
    return like(_take(m, _mean(m)), floats(values))


def group_std(values: Array, *, group: Array, where: Array | None = None, ddof: int = 0) -> Array:
    """Standard deviation of the valid values of each sample's group.

    Args and Raises as `group_sum`, and

    Args:
        values: (B,) numbers.
        group: (B,) ids, or a `Groups`.
        where: (B,) False leaves a sample out; None keeps all.
        ddof: The sum of squares is divided by n - ddof; 1 is the unbiased estimate.

    Returns:
        (B,); exactly 0 where the group's values are equal and where n <= ddof.

    Example:
        >>> group_std([1.0, 3.0, 7.0], group=[0, 0, 1], ddof=1).round(4).tolist()
        [1.4142, 1.4142, 0.0]
    """
    m = members(values, group, where)
    xp = m.xp
    zero = xp.zeros_like(m.values)
    deviation = xp.where(m.where, m.values - _take(m, _mean(m)), zero)
    freedom = _count(m) - ddof
    squares = _total(m, deviation * deviation)
    variance = squares / xp.where(freedom > 0, freedom, xp.ones_like(freedom))
    std = xp.where(freedom > 0, xp.sqrt(variance), xp.zeros_like(variance))
    return like(_take(m, std), floats(values))


def group_min(values: Array, *, group: Array, where: Array | None = None) -> Array:
    """Smallest valid value of each sample's group; arguments as `group_sum`.

    Returns:
        (B,); 0 for a group without a valid member.
    """
    m = members(values, group, where)
    return like(_take(m, _filled(m, _extreme(m, "amin"))), floats(values))


def group_max(values: Array, *, group: Array, where: Array | None = None) -> Array:
    """Largest valid value of each sample's group; arguments as `group_sum`.

    Returns:
        (B,); 0 for a group without a valid member.
    """
    m = members(values, group, where)
    return like(_take(m, _filled(m, _extreme(m, "amax"))), floats(values))


def group_any(flags: Array, *, group: Array, where: Array | None = None) -> Array:
    """Whether any valid sample of each sample's group is True.

    Args:
        flags: (B,) booleans.
        group: (B,) ids, or a `Groups`.
        where: (B,) False leaves a sample out; None keeps all.

    Returns:
        (B,) booleans.

    Example:
        >>> group_any([True, False, False], group=[0, 0, 1]).tolist()
        [True, True, False]
    """
    return group_max(flags, group=group, where=where) > 0


def zero_variance(values: Array, *, group: Array, where: Array | None = None) -> Array:
    """Whether the valid values of each sample's group are all equal: max - min == 0, exactly.

    A float epsilon cannot decide this: the computed standard deviation of eight times 0.7 is
    not 0, while rewards may really differ by 1e-6. Fewer than two valid members count as equal.

    Args:
        values: (B,) numbers.
        group: (B,) ids, or a `Groups`.
        where: (B,) False leaves a sample out; None keeps all.

    Returns:
        (B,) booleans.

    Example:
        >>> zero_variance([0.7, 0.7, 0.1, 0.2], group=[0, 0, 1, 1]).tolist()
        [True, True, False, False]
    """
    m = members(values, group, where)
    return _take(m, (_extreme(m, "amax") == _extreme(m, "amin")) | (_count(m) < 2))


# What follows works on Members and gives one number for each of the G groups.


def _total(m: Members, values: Array) -> Array:
    if m.xp is _NUMPY:
        return np.bincount(m.groups.inverse, weights=values, minlength=m.groups.size)
    return values.new_zeros(m.groups.size).index_add(0, m.groups.inverse, values)


def _count(m: Members) -> Array:
    return _total(m, m.xp.astype(m.where, m.values.dtype))


def _extreme(m: Members, reduce: str) -> Array:
    start = np.inf if reduce == "amin" else -np.inf
    values = m.xp.where(m.where, m.values, m.xp.full_like(m.values, start))
    if m.xp is _NUMPY:
        out = np.full(m.groups.size, start)
        (np.minimum if reduce == "amin" else np.maximum).at(out, m.groups.inverse, values)
        return out
    out = values.new_full((m.groups.size,), start)
    return out.scatter_reduce(0, m.groups.inverse, values, reduce)


def _mean(m: Members) -> Array:
    # Rounding can carry the mean of equal numbers off that number; the range holds it.
    count = _count(m)
    mean = _total(m, m.values) / m.xp.where(count > 0, count, m.xp.ones_like(count))
    mean = m.xp.minimum(m.xp.maximum(mean, _extreme(m, "amin")), _extreme(m, "amax"))
    return _filled(m, mean)


def _filled(m: Members, per_group: Array) -> Array:
    return m.xp.where(m.xp.isfinite(per_group), per_group, m.xp.zeros_like(per_group))


def _take(m: Members, per_group: Array) -> Array:
    return per_group[m.groups.inverse]


def _beside(array: Array, template: Array) -> Array:
    """`array` on the backend and device of `template`."""
    if compat.is_torch_array(template):
        return compat.array_namespace(template).asarray(array, device=compat.device(template))
    return np.asarray(compat.to_device(array, "cpu") if compat.is_torch_array(array) else array)


_NUMPY = compat.array_namespace(np.zeros(1))
