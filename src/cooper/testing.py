"""The contract that every method of a family keeps, as a check that anyone can run on theirs.

Example:
    >>> import cooper
    >>> check_method(cooper.advantage.grpo, "advantage", floor=0.1)
    >>> check_method(lambda rewards, *, group, where=None: rewards, "advantage")
    Traceback (most recent call last):
    AssertionError: advantage <lambda>: ...
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np

from cooper.arrays import Array

# Uneven and interleaved on purpose, with ids that are no row numbers; 4 is a group of one.
GROUP = np.array([9, -2, 9, 4, 7, -2, 9, 7, 9, -2, 7, 7])
CONSTANTS = (0.1, 0.7, 1.2, 0.3)  # sums of these are not exact in binary
DTYPES = (np.float32, np.float64)
NAMES = ("rule", "proxy", "surely_wrong")


def check_method(
    function: Callable[..., Any],
    family: str,
    *,
    names: Sequence[str] = NAMES,
    isolated: bool = True,
    **options: Any,
) -> None:
    """Run a method through the contract of its family.

    Every method keeps shape, dtype and backend, leaves its inputs untouched, is finite on finite
    input, deterministic, usable in a thread and picklable, gives no warning, follows a
    permutation of the samples, lets groups ignore each other and does not see what is masked.
    An advantage is exactly 0 for equal rewards, for groups of one and where there is no reward,
    and masked samples are as good as removed ones. A combined row without any score is NaN.

    Args:
        function: The method, called as its family says.
        family: "combine" or "advantage".
        names: combine: the names of the columns it is tried on; scores are in [0, 1].
        isolated: Whether groups must ignore each other; False for a method that normalises over
            the whole batch.
        **options: Keyword arguments for the method.

    Raises:
        AssertionError: Naming the method and the part of the contract that it breaks.
        ValueError: If there is no such family.
    """
    if family not in _CONTRACTS:
        raise ValueError(f"family: expected one of {sorted(_CONTRACTS)}, got {family!r}")
    label = f"{family} {getattr(function, '__name__', type(function).__name__)}"
    if family == "combine":
        options["names"] = tuple(names)
    method = _Method(function, label, options)
    rng = np.random.default_rng(0)
    shape = (len(GROUP), len(names)) if family == "combine" else (len(GROUP),)
    for dtype in DTYPES:
        values = rng.random(shape).astype(dtype)
        where = rng.random(shape) < 0.7
        where[:3] = True
        where[GROUP == 7] = False  # a group, and rows, of which nothing is left
        _common(method, values, where, isolated)
        _CONTRACTS[family](method, values, where)
        if find_spec("torch"):
            _torch(method, values, where)
    method.require(_pickles(method, values), "does not survive pickling")


class _Method:
    """A function with its options and a way to say what is wrong with it."""

    def __init__(self, function: Callable[..., Any], label: str, options: dict[str, Any]) -> None:
        self.function, self.label, self.options = function, label, options

    def __call__(self, values: Array, group: Array = GROUP, where: Array | None = None) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return self.function(values, group=group, where=where, **self.options)
            except Warning as warning:
                raise AssertionError(f"{self.label}: warns: {warning}") from warning

    def require(self, holds: object, what: str) -> None:
        if not holds:
            raise AssertionError(f"{self.label}: {what}")


def _common(method: _Method, values: Array, where: Array, isolated: bool) -> None:
    before = values.copy(), GROUP.copy(), where.copy()
    plain, masked = method(values), method(values, GROUP, where)
    for old, new in zip(before, (values, GROUP, where), strict=True):
        method.require(np.array_equal(old, new), "changes its inputs")
    method.require(isinstance(plain, np.ndarray), f"gives {type(plain)} for a NumPy array")
    method.require(plain.shape[:1] == values.shape[:1], f"gives shape {plain.shape}")
    method.require(plain.dtype == values.dtype, f"gives {plain.dtype} for {values.dtype}")
    method.require(np.isfinite(plain).all(), "is not finite on finite input")
    method.require(_same(plain, method(values)), "gives two answers to one question")
    with ThreadPoolExecutor(1) as pool:
        method.require(_same(plain, pool.submit(method, values).result()), "fails in a thread")
    whole = method(values, GROUP, np.ones_like(where))
    method.require(_same(plain, whole), "where=None and an all-true where differ")
    for order in _orders(len(values)):
        moved = method(values[order], GROUP[order], where[order])
        method.require(_close(moved, masked[order]), "depends on the order of the samples")
    relabelled = method(values, GROUP * 1000 + 5, where)
    method.require(_same(relabelled, masked), "depends on what the groups are called")
    for garbage in (np.nan, np.inf, -np.inf, 1e30):
        hidden = np.where(where, values, values.dtype.type(garbage))
        method.require(_same(method(hidden, GROUP, where), masked), f"sees a masked {garbage}")
    if isolated:
        other = np.where(np.expand_dims(GROUP == 9, tuple(range(1, values.ndim))), 0.5, values)
        changed = method(other.astype(values.dtype), GROUP, where)
        apart = GROUP != 9
        method.require(_same(changed[apart], masked[apart]), "lets one group change another")


def _advantage(method: _Method, rewards: Array, where: Array) -> None:
    alone = method(rewards[:1], GROUP[:1])
    method.require((alone == 0).all(), f"gives a group of one {alone}, not 0")
    for constant in CONSTANTS:
        for size in (2, 3, 8, 16):
            same = method(np.full(size, constant, rewards.dtype), np.zeros(size, np.int64))
            method.require((same == 0).all(), f"gives equal rewards of {constant} {same}, not 0")
    masked = method(rewards, GROUP, where)
    method.require((masked[~where] == 0).all(), "gives samples without a reward an advantage")
    method.require(np.isfinite(masked).all(), "is not finite on finite input")
    removed = method(rewards[where], GROUP[where])
    method.require(_close(masked[where], removed), "masked samples differ from removed ones")
    nothing = method(rewards, GROUP, np.zeros_like(where))
    method.require((nothing == 0).all(), "gives an advantage in a batch without rewards")


def _combine(method: _Method, components: Array, where: Array) -> None:
    combined = method(components, GROUP, where)
    empty = ~where.any(axis=1)
    method.require(combined.shape == empty.shape, f"gives shape {combined.shape}, not (B,)")
    method.require(np.isnan(combined[empty]).all(), "takes a row without any score for a number")
    removed = method(components[~empty], GROUP[~empty], where[~empty])
    method.require(_close(combined[~empty], removed), "masked rows differ from removed ones")


def _torch(method: _Method, values: Array, where: Array) -> None:
    import torch

    given = [torch.from_numpy(array.copy()) for array in (values, GROUP, where)]
    before = [tensor.clone() for tensor in given]
    result = method(*given)
    for old, new in zip(before, given, strict=True):
        method.require(torch.equal(old, new), "changes its inputs (torch)")
    method.require(isinstance(result, torch.Tensor), f"gives {type(result)} for a tensor")
    method.require(result.dtype == given[0].dtype, f"gives {result.dtype} for {given[0].dtype}")
    expected = method(values, GROUP, where)
    method.require(_close(result.numpy(), expected), "differs between NumPy and torch")
    method.require(_same(result.numpy() == 0, expected == 0), "has other zeros in torch")


def _pickles(method: _Method, values: Array) -> bool:
    try:
        copy = pickle.loads(pickle.dumps(method.function))
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return _same(_Method(copy, method.label, method.options)(values), method(values))


def _orders(size: int) -> Iterator[Array]:
    yield np.arange(size)[::-1]
    rng = np.random.default_rng(1)
    yield from (rng.permutation(size) for _ in range(3))


def _same(left: Array, right: Array) -> bool:
    return bool(np.array_equal(left, right, equal_nan=left.dtype.kind == "f"))


def _close(left: Array, right: Array) -> bool:
    tolerance = 64 * float(np.finfo(left.dtype).eps)
    return bool(np.allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True))


_CONTRACTS = {"combine": _combine, "advantage": _advantage}
