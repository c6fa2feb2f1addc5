from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cooper.advantage import dr_grpo, grpo
from cooper.arrays import group_std

samples = st.lists(
    st.tuples(st.floats(-5, 5, width=32), st.integers(0, 3), st.booleans()), min_size=1, max_size=20
)


def test_by_hand():
    advantages = dr_grpo(np.array([1.0, 10.0, 3.0, 2.0]), group=["a", "b", "a", "a"])
    assert advantages.tolist() == [-1.0, 0.0, 1.0, 0.0]


@settings(deadline=None)
@given(samples)
def test_agrees_with_the_slow_loop(rows):
    rewards, group, where = (np.array(x) for x in zip(*rows, strict=True))
    expected = [
        r - np.mean([s for s, h, v in rows if h == g and v]) if w else 0.0 for r, g, w in rows
    ]
    result = dr_grpo(rewards, group=group, where=where)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_is_grpo_times_the_standard_deviation():
    rewards = np.random.default_rng(0).random(24)
    group = np.arange(24) % 5
    scaled = grpo(rewards, group=group, epsilon=0) * group_std(rewards, group=group, ddof=1)
    np.testing.assert_allclose(dr_grpo(rewards, group=group), scaled, atol=1e-12)


def test_a_large_floor_turns_grpo_into_it():
    rewards, group = np.array([0.0, 1.0, 0.5]), [0, 0, 0]
    floored = grpo(rewards, group=group, floor=10, epsilon=0) * 10
    np.testing.assert_allclose(dr_grpo(rewards, group=group), floored)


def test_bad_input():
    with pytest.raises(ValueError, match=r"rewards: inf at \[1\]"):
        dr_grpo([0.0, np.inf], group=[0, 0])
