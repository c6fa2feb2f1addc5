"""The paired gap: by hand, against scipy, masked = removed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cooper.audit import gap

scores = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), max_size=30)


def test_by_hand():
    # Differences .2 .4 .6: mean .4, s = .2, t(2) = 4.303, half width .2 / sqrt(3) * 4.303 = .497.
    finding = gap([0.4, 0.5, 0.7], [0.2, 0.1, 0.1])
    assert finding.kind == "gap"
    assert finding.value == pytest.approx(0.4)
    assert finding.interval == pytest.approx((0.4 - 0.4968, 0.4 + 0.4968), abs=1e-4)
    assert "do not differ clearly" in finding.verdict
    assert "3 rollouts" in finding.verdict


def test_verdict_names_the_side():
    rng = np.random.default_rng(0)
    rule = rng.uniform(size=200)
    assert gap(rule + 0.3, rule - rng.uniform(0, 0.1, 200)).verdict.startswith(
        "The reward model lies above the rule: +0.3"
    )
    assert "below the rule" in gap(rule - 0.3, rule + rng.uniform(0, 0.1, 200)).verdict


def test_agrees_with_scipy():
    rng = np.random.default_rng(1)
    proxy, rule = rng.uniform(size=50), rng.integers(0, 2, size=50)
    expected = stats.ttest_rel(proxy, rule).confidence_interval(0.9)
    assert gap(proxy, rule, level=0.9).interval == pytest.approx((expected.low, expected.high))


def test_equal_scores_are_exactly_zero():
    scores = np.full(7, 0.1, dtype=np.float32)
    assert gap(scores, scores)[:2] == (0.0, (0.0, 0.0))


def test_nothing_and_one():
    assert gap([], []).value is None
    assert gap([0.5, np.nan], [np.nan, 0.5]).value is None
    assert gap([0.5], [0.5], where=[False]).verdict.startswith("No rollout")
    one = gap([0.9], [0.5])
    assert one.interval is None
    assert one.value == pytest.approx(0.4)


@settings(deadline=None)
@given(scores)
def test_masked_is_removed_and_so_is_nan(rows):
    proxy = np.array([p for p, _, _ in rows])
    rule = np.array([r for _, r, _ in rows])
    keep = np.array([k for _, _, k in rows], dtype=bool)
    removed = gap(proxy[keep], rule[keep])
    assert gap(proxy, rule, where=keep) == removed
    assert gap(np.where(keep, proxy, np.nan), rule) == removed
    assert gap(np.where(keep, proxy, np.inf), rule, where=keep) == removed


def test_inputs_stay_as_they_are():
    proxy, rule, keep = np.ones(3), np.zeros(3), np.array([True, False, True])
    gap(proxy, rule, where=keep)
    assert (proxy == 1).all()
    assert (rule == 0).all()
    assert keep.tolist() == [True, False, True]


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="proxy, rule: got shapes"):
        gap([0.1, 0.2], [0.1])
    with pytest.raises(ValueError, match="where: got shape"):
        gap([0.1, 0.2], [0.1, 0.2], where=[True])
    with pytest.raises(ValueError, match="rule: got an infinite score"):
        gap([0.1], [np.inf])
    with pytest.raises(ValueError, match="level: got 95"):
        gap([0.1], [0.2], level=95)
