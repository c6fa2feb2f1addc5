"""Intervals against scipy and by hand; the fall of a run by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cooper.run._statistics import (
    Collapse,
    Interval,
    collapse,
    mean_interval,
    paired_difference,
    proportion_interval,
)

finite = st.floats(-100, 100)


def test_mean_by_hand():
    # 1 2 3: mean 2, s = 1, t(2, .975) = 4.30265, half width 4.30265 / sqrt(3) = 2.48414.
    assert mean_interval([1, 2, 3]) == pytest.approx((2, -0.48414, 4.48414, 3), abs=1e-5)


@settings(deadline=None)
@given(st.lists(finite, min_size=2, max_size=20).filter(lambda v: max(v) - min(v) > 1e-3))
def test_mean_against_scipy(values):
    got = mean_interval(values, 0.9)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_small_samples():
    assert mean_interval([]) == Interval(None, None, None, 0)
    assert mean_interval([0.5]) == Interval(0.5, None, None, 1)
    assert mean_interval([0.1] * 3) == Interval(0.1, 0.1, 0.1, 3)


@settings(deadline=None)
@given(st.lists(finite, max_size=10), st.sampled_from([None, math.nan]))
def test_missing_is_removed(values, missing):
    assert mean_interval([missing, *values, missing]) == mean_interval(values)


def test_text():
    assert mean_interval([]).text() == "-"
    assert Interval(0.5, None, None, 1).text() == "0.500"
    assert Interval(0.5, 0.25, 0.75, 4).text(2) == "0.50 [0.25, 0.75]"


@pytest.mark.parametrize(("k", "n"), [(0, 34), (37, 37), (1, 10), (5, 10), (9, 10), (0, 1), (1, 1)])
@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_proportion_against_scipy(k, n, method, level):
    got = proportion_interval(k, n, level, method=method)
    expected = stats.binomtest(k, n).proportion_ci(level, method=method)
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (got.mean, got.n) == (k / n, n)


@settings(deadline=None)
@given(st.integers(0, 200), st.integers(0, 200), st.sampled_from(["wilson", "exact"]))
def test_proportion_stays_in_range_and_mirrors(k, more, method):
    got = proportion_interval(k, k + more, method=method)
    if got.mean is None:
        assert got == Interval(None, None, None, 0)
        return
    assert 0 <= got.low <= got.mean <= got.high <= 1
    other = proportion_interval(more, k + more, method=method)
    assert (other.low, other.high) == pytest.approx((1 - got.high, 1 - got.low), abs=1e-12)


def test_paired_by_hand():
    # Shared seeds 1, 2: differences .1 and .3.
    got = paired_difference({0: 0.9, 1: 0.8, 2: 0.7}, {1: 0.7, 2: 0.4, 3: 0.1})
    assert got.n == 2
    assert got.mean == pytest.approx(0.2)
    half = stats.t.ppf(0.975, 1) * 0.1
    assert (got.low, got.high) == pytest.approx((0.2 - half, 0.2 + half))


def test_paired_without_a_pair():
    assert paired_difference({0: 0.5}, {1: 0.5}).mean is None
    assert paired_difference({0: 0.5, 1: None}, {0: None, 1: 0.5}).n == 0
    assert paired_difference({0: 0.5}, {0: 0.25}) == Interval(0.25, None, None, 1)


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 9), finite), st.dictionaries(st.integers(0, 9), finite))
def test_paired_is_antisymmetric(a, b):
    one, two = paired_difference(a, b), paired_difference(b, a)
    assert one.n == two.n == len(a.keys() & b.keys())
    if one.mean is not None:
        assert one.mean == pytest.approx(-two.mean)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="values: got inf"):
        mean_interval([math.inf])
    with pytest.raises(ValueError, match="level: got 1"):
        mean_interval([1.0], 1)
    with pytest.raises(ValueError, match="successes: got 3 of n = 2"):
        proportion_interval(3, 2)
    with pytest.raises(ValueError, match="method: got 'wald'"):
        proportion_interval(1, 2, method="wald")
    with pytest.raises(ValueError, match="share: got 0"):
        collapse([], share=0)


def test_collapse_by_hand():
    run = collapse([(0, 0.6), (20, 0.75), (40, 0.55), (60, 0.5), (80, 0.1), (100, 0.2)])
    # A third of .75 is lost at .50, reached at step 60.
    assert run == Collapse(0.75, 20, 0.2, 60)
    assert run.drop == pytest.approx(0.55)
    assert run.fallen()


def test_loss_counts_from_the_best_so_far():
    # .3 is half of the first best; the later peak does not undo it.
    assert collapse([(0, 0.6), (20, 0.3), (40, 0.9)]).lost_step == 20
    assert not collapse([(0, 0.6), (20, 0.3), (40, 0.9)]).fallen()


def test_fallen_by_points_or_by_share():
    assert collapse([(0, 0.6), (1, 0.3)]).fallen()
    assert not collapse([(0, 0.6), (1, 0.31)]).fallen()
    assert collapse([(0, 0.12), (1, 0.04)]).fallen(), "two thirds of a weak start"
    assert not collapse([(0, 0.12), (1, 0.05)]).fallen()


def test_collapse_without_a_fall():
    assert collapse([]) == Collapse(None, None, None, None)
    assert collapse([(0, None), (1, math.nan)]).drop == 0.0
    assert collapse([(0, 0.0), (1, 0.0)]) == Collapse(0.0, 0, 0.0, None)
    assert not collapse([(0, 0.0), (1, 0.0)]).fallen()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.floats(0, 1)), unique_by=lambda r: r[0]))
def test_collapse_does_not_care_about_order_or_missing_values(rows):
    holes = [(100 + i, None) for i in range(3)]
    assert collapse(rows[::-1] + holes) == collapse(rows)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_collapse_against_a_slow_loop(values):
    lost = None
    for t in range(1, len(values)):
        best = max(values[:t])
        if best > 0 and values[t] <= best * 2 / 3 + 1e-9 and values[t] <= best:
            lost = t
            break
    run = collapse(enumerate(values))
    assert (run.peak, run.final) == (max(values), values[-1])
    # A best of 1e-9 and less is lost by rounding alone; no accuracy is that small.
    if max(values) > 1e-6:
        assert run.lost_step == lost
