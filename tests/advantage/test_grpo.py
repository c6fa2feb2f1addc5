from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cooper.advantage import dr_grpo, grpo
from cooper.arrays import group_index, group_sum

# multiples of 1/8: shifts and scales below are exact
grid = st.integers(-40, 40).map(lambda n: n / 8)
samples = st.lists(st.tuples(grid, st.integers(0, 3), st.booleans()), min_size=1, max_size=24)


def unzip(rows):
    return tuple(np.array(x) for x in zip(*rows, strict=True))


def slow(rewards, group, where, epsilon, floor):
    out = np.zeros(len(rewards))
    for i in range(len(rewards)):
        mates = [r for r, g, w in zip(rewards, group, where, strict=True) if g == group[i] and w]
        if where[i] and len(set(mates)) > 1:
            out[i] = (rewards[i] - np.mean(mates)) / (max(np.std(mates, ddof=1), floor) + epsilon)
    return out


def test_by_hand():
    advantages = grpo(np.array([1.0, 3.0, 2.0, 9.0]), group=[0, 0, 0, 1], epsilon=0)
    assert advantages.tolist() == [-1.0, 1.0, 0.0, 0.0]


def test_floor_by_hand():
    rewards = [0.5, 0.52]
    loud = grpo(rewards, group=[0, 0], epsilon=0)
    quiet = grpo(rewards, group=[0, 0], epsilon=0, floor=0.1)
    np.testing.assert_allclose(loud, [-(0.5**0.5), 0.5**0.5])
    np.testing.assert_allclose(quiet, [-0.1, 0.1])


@settings(deadline=None)
@given(samples, st.sampled_from([0.0, 1e-4]), st.sampled_from([0.0, 0.1, 2.0]))
def test_agrees_with_the_slow_loop(rows, epsilon, floor):
    rewards, group, where = unzip(rows)
    result = grpo(rewards, group=group, where=where, epsilon=epsilon, floor=floor)
    np.testing.assert_allclose(result, slow(rewards, group, where, epsilon, floor), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_agrees_with_trl(dtype):
    """TRL 1.16: (r - nanmean) / (unbiased std + 1e-4) over rows of `num_generations`."""
    rewards = torch.rand(6, 8, generator=torch.Generator().manual_seed(0), dtype=dtype)
    mean, std = rewards.mean(dim=1, keepdim=True), rewards.std(dim=1, keepdim=True)
    expected = ((rewards - mean) / (std + 1e-4)).flatten()
    order = torch.randperm(48, generator=torch.Generator().manual_seed(1))
    group = torch.arange(6).repeat_interleave(8)
    result = grpo(rewards.flatten()[order], group=group[order])
    torch.testing.assert_close(result, expected[order])


def test_agrees_with_scipy():
    rewards = np.random.default_rng(0).random((5, 7))
    expected = stats.zscore(rewards, axis=1, ddof=1).ravel()
    result = grpo(rewards.ravel(), group=np.repeat(np.arange(5), 7), epsilon=0)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("constant", [0.1, 0.3, 0.7, 1.2])
@pytest.mark.parametrize("size", [1, 2, 5, 8, 64])
def test_equal_rewards_give_exactly_zero(dtype, constant, size):
    rewards = torch.full((size,), constant, dtype=dtype)
    for epsilon in (0, 1e-9, 1e-4):
        assert (grpo(rewards, group=[0] * size, epsilon=epsilon) == 0).all()
    assert (dr_grpo(rewards, group=[0] * size) == 0).all()


@settings(deadline=None)
@given(samples, grid, st.sampled_from([0.25, 2.0, 16.0]))
def test_shift_and_scale_do_not_matter(rows, shift, scale):
    rewards, group, where = unzip(rows)
    one = grpo(rewards, group=group, where=where, epsilon=0)
    two = grpo(rewards * scale + shift, group=group, where=where, epsilon=0)
    np.testing.assert_allclose(one, two, atol=1e-12)


@settings(deadline=None)
@given(samples)
def test_sum_is_zero_and_size_is_bounded(rows):
    rewards, group, where = unzip(rows)
    advantages = grpo(rewards, group=group, where=where)
    np.testing.assert_allclose(group_sum(advantages, group=group), 0, atol=1e-9)
    counts = group_sum(where, group=group)
    assert (np.abs(advantages) <= np.sqrt(np.maximum(counts, 1))).all()


@settings(deadline=None)
@given(samples, st.sampled_from([np.nan, np.inf, 1e300]))
def test_masked_is_removed(rows, garbage):
    rewards, group, where = unzip(rows)
    masked = grpo(np.where(where, rewards, garbage), group=group, where=where)
    assert (masked[~where] == 0).all()
    if where.any():
        removed = grpo(rewards[where], group=group[where])
        np.testing.assert_array_equal(masked[where], removed)


def test_takes_indexed_groups():
    group = np.array([3, 1, 3, 1])
    rewards = np.array([0.0, 1.0, 2.0, 5.0])
    assert (grpo(rewards, group=group_index(group)) == grpo(rewards, group=group)).all()


def test_differences_below_the_least_float_stay_finite():
    rewards = np.array([0.0, 5e-324])
    assert np.isfinite(grpo(rewards, group=[0, 0], epsilon=0)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rewards": np.ones((2, 2))}, r"rewards: expected shape \(B,\), got \(2, 2\)"),
        ({"rewards": np.array([])}, r"group: .*B = 0|rewards: empty"),
        ({"group": [0]}, r"group: expected shape \(B,\) with B = 2 as in rewards, got \(1,\)"),
        ({"rewards": [np.nan, 1.0]}, r"rewards: nan at \[0\]"),
        ({"where": [True]}, r"where: expected shape \(2,\), got \(1,\)"),
        ({"epsilon": -1}, "epsilon, floor: expected numbers >= 0"),
        ({"floor": np.nan}, "epsilon, floor: expected numbers >= 0"),
    ],
)
def test_bad_input(arguments, message):
    arguments = {"rewards": [1.0, 2.0], "group": [0, 0], **arguments}
    with pytest.raises(ValueError, match=message):
        grpo(arguments.pop("rewards"), **arguments)
