from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cooper import arrays

REDUCTIONS = {
    "sum": (arrays.group_sum, np.sum),
    "mean": (arrays.group_mean, np.mean),
    "std": (arrays.group_std, np.std),
    "min": (arrays.group_min, np.min),
    "max": (arrays.group_max, np.max),
}

samples = st.lists(
    st.tuples(
        st.floats(-100, 100, width=32),
        st.integers(-2, 3),
        st.booleans(),
    ),
    min_size=1,
    max_size=30,
)


def unzip(rows):
    values, group, where = zip(*rows, strict=True)
    return np.array(values), np.array(group), np.array(where)


def slow(function, values, group, where):
    """One group after the other, in plain Python; 0 for a group without a valid member."""
    out = np.zeros(len(values))
    for g in set(group.tolist()):
        rows = [i for i in range(len(values)) if group[i] == g]
        valid = [values[i] for i in rows if where[i]]
        out[rows] = function(valid) if valid else 0.0
    return out


def test_by_hand():
    values, group = np.array([1.0, 10.0, 3.0, 30.0, 8.0]), np.array([5, -1, 5, -1, 5])
    where = np.array([True, True, True, True, False])
    expected = {
        "sum": [4, 40, 4, 40, 4],
        "mean": [2, 20, 2, 20, 2],
        "std": [1, 10, 1, 10, 1],
        "min": [1, 10, 1, 10, 1],
        "max": [3, 30, 3, 30, 3],
    }
    for name, (function, _) in REDUCTIONS.items():
        assert function(values, group=group, where=where).tolist() == expected[name], name
    std = arrays.group_std(values, group=group, where=where, ddof=1)
    np.testing.assert_allclose(std, [2**0.5, 200**0.5] * 2 + [2**0.5])


@pytest.mark.parametrize("name", REDUCTIONS)
@settings(deadline=None)
@given(rows=samples)
def test_agrees_with_the_slow_loop(name, rows):
    values, group, where = unzip(rows)
    function, reference = REDUCTIONS[name]
    expected = slow(reference, values, group, where)
    np.testing.assert_allclose(
        function(values, group=group, where=where), expected, rtol=1e-12, atol=1e-12
    )
    tensors = [torch.from_numpy(x) for x in (values, group, where)]
    result = function(tensors[0], group=tensors[1], where=tensors[2])
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


@settings(deadline=None)
@given(rows=samples, garbage=st.sampled_from([np.nan, np.inf, -np.inf, 1e300]))
def test_masked_is_removed(rows, garbage):
    values, group, where = unzip(rows)
    hidden = np.where(where, values, garbage)
    for function in (*(f for f, _ in REDUCTIONS.values()), arrays.zero_variance):
        masked = function(hidden, group=group, where=where)
        if where.any():
            removed = function(values[where], group=group[where])
            np.testing.assert_array_equal(masked[where], removed)
        if masked.dtype != bool:
            assert np.isfinite(masked).all()


@settings(deadline=None)
@given(rows=samples)
def test_zero_variance_is_exact(rows):
    values, group, where = unzip(rows)
    expected = slow(lambda valid: len(set(valid)) == 1, values, group, where).astype(bool)
    expected |= slow(len, values, group, where) < 2
    np.testing.assert_array_equal(arrays.zero_variance(values, group=group, where=where), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", [0.1, 0.7, 1.2, 1e-30, -3.3])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 64])
def test_equal_values_have_their_own_mean_and_no_deviation(dtype, constant, size):
    values, group = np.full(size, constant, dtype), np.zeros(size, np.int64)
    assert (arrays.group_mean(values, group=group) == values).all()
    assert (arrays.group_std(values, group=group, ddof=1) == 0).all()
    assert arrays.zero_variance(values, group=group).all()


def test_a_tiny_difference_is_a_difference():
    values = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert not arrays.zero_variance(values, group=[0, 0]).any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_torch_keeps_dtype_and_gradient(dtype):
    values = torch.tensor([1.0, 3.0, 5.0], dtype=getattr(torch, dtype), requires_grad=True)
    mean = arrays.group_mean(values, group=[0, 0, 1])
    assert mean.dtype == values.dtype
    assert mean.tolist() == [2.0, 2.0, 5.0]
    mean.sum().backward()
    assert torch.isfinite(values.grad).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numpy_keeps_dtype(dtype):
    values = np.array([1, 2], dtype)
    for function, _ in REDUCTIONS.values():
        assert function(values, group=[0, 0]).dtype == dtype


def test_sums_are_taken_in_float64():
    values = np.array([1.0, 1e8, -1e8], np.float32)  # 0 in float32
    assert arrays.group_sum(values, group=[0, 0, 0]).tolist() == [1.0] * 3


def test_integers_booleans_and_lists_become_floats():
    assert arrays.group_mean([1, 2], group=[0, 0]).tolist() == [1.5, 1.5]
    assert arrays.group_mean(np.array([True, False]), group=[0, 0]).tolist() == [0.5, 0.5]
    assert arrays.group_mean(torch.tensor([1, 2]), group=[0, 0]).dtype == torch.float32


def test_ids_of_every_kind():
    expected = [1, 0, 1]
    for ids in (
        [7, -3, 7],
        np.array([2**40, 0, 2**40]),
        np.array([9, 1, 9], np.uint8),
        ["b", "a", "b"],
        np.array(["b", "a", "b"], dtype=object),
        torch.tensor([5, 4, 5]),
    ):
        groups = arrays.group_index(ids)
        assert (groups.size, groups.inverse.tolist()) == (2, expected)
        assert groups.counts.tolist() == [1, 2]
        assert arrays.group_index(groups) is groups
    assert arrays.group_sum(torch.ones(3), group=["b", "a", "b"]).tolist() == [2, 1, 2]
    assert arrays.group_sum(np.ones(3), group=torch.tensor([5, 4, 5])).tolist() == [2, 1, 2]


def test_group_any():
    flags, group = np.array([True, False, False, True]), [0, 0, 1, 1]
    assert arrays.group_any(flags, group=group).tolist() == [True] * 4
    where = [True, True, True, False]
    assert arrays.group_any(flags, group=group, where=where).tolist() == [True, True, False, False]


def test_check_returns_sizes_and_skips_none():
    a, b = np.zeros((3, 2)), torch.zeros(3)
    assert arrays.check(a=(a, "B K"), b=(b, "B"), c=(None, "B")) == {"B": 3, "K": 2}


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (
            {"rewards": (np.zeros((2, 3)), "B")},
            r"rewards: expected shape \(B,\), got \(2, 3\) \(B samples\)",
        ),
        (
            {"a": (np.zeros(3), "B"), "b": (np.zeros((4, 2)), "B T")},
            r"b: expected shape \(B, T\) with B = 3 as in a, got \(4, 2\) \(B samples, T tokens\)",
        ),
        (
            {"components": (np.zeros((0, 2)), "B K")},
            r"components: empty: expected shape \(B, K\), B >= 1, got \(0, 2\)",
        ),
    ],
)
def test_check_names_argument_shape_and_expectation(named, message):
    with pytest.raises(ValueError, match=message):
        arrays.check(**named)


@pytest.mark.parametrize("to", [np.asarray, torch.tensor])
@pytest.mark.parametrize(
    ("values", "group", "where", "message"),
    [
        ([], [], None, "group: empty"),
        ([1.0, 2.0], [0], None, r"group: .*B = 2 as in values, got \(1,\)"),
        ([[1.0]], [0], None, r"values: expected shape \(B,\), got \(1, 1\)"),
        ([1.0, np.nan], [0, 0], None, r"values: nan at \[1\].*where=False"),
        ([np.inf, 1.0], [0, 0], [True, False], r"values: inf at \[0\]"),
        ([1.0, 2.0], [0, 0], [True], r"where: expected shape \(2,\), got \(1,\)"),
        ([1.0, 2.0], [0, 0], [1, 0], "where: expected booleans"),
        ([1.0, 2.0], [0.5, 1.0], None, "group: expected integer"),
        ([1j, 2.0], [0, 0], None, "values: expected real numbers"),
    ],
)
def test_bad_input(to, values, group, where, message):
    with pytest.raises(ValueError, match=message):
        arrays.group_mean(to(values), group=to(group), where=None if where is None else to(where))


def test_words_are_not_numbers():
    with pytest.raises(ValueError, match="values: expected real numbers"):
        arrays.group_mean(["a"], group=[0])
