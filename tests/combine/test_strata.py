from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cooper.combine import strata

NAMES = ("rule", "proxy", "surely_wrong")
scores = st.tuples(st.sampled_from([0.0, 1.0]), st.floats(0, 1), st.sampled_from([0.0, 1.0]))
masks = st.tuples(st.booleans(), st.booleans(), st.booleans())


def one(row, present, *, unsure, right):
    """The rule of three strata, one row at a time; None is missing."""
    rule, proxy, wrong = (x if there else None for x, there in zip(row, present, strict=True))
    if rule == 1:
        return right if proxy is None else right + (1 - right) * proxy
    if wrong == 1:
        return 0.0
    return None if proxy is None else unsure * proxy


def test_by_hand():
    components = np.array(
        [
            [1, 0.0, 0],  # right, whatever the proxy says
            [1, 1.0, 0],
            [0, 1.0, 1],  # surely wrong, whatever the proxy says
            [0, 1.0, 0],  # unsure
            [0, 0.25, 0],
            [1, 0.5, 1],  # a rule-right answer is not wrong
        ]
    )
    np.testing.assert_allclose(strata(components, names=NAMES), [0.9, 1, 0, 0.8, 0.2, 0.95])


def test_missing_by_hand():
    components = np.array([[1, np.nan, 0], [0, np.nan, 1], [0, np.nan, 0], [np.inf, 0.5, np.nan]])
    result = strata(components, names=NAMES, where=np.isfinite(components))
    assert result[:2].tolist() == [0.9, 0]
    assert np.isnan(result[2])  # unsure and nobody to ask: not a 0
    assert result[3] == 0.4  # a rule that timed out leaves it to the proxy


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(scores, masks), min_size=1, max_size=8),
    edges=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
)
def test_agrees_with_the_slow_loop(rows, edges):
    components, where = (np.array(x) for x in zip(*rows, strict=True))
    unsure, right = edges
    expected = [one(*row, unsure=unsure, right=right) for row in rows]
    result = strata(components, names=NAMES, unsure=unsure, right=right, where=where)
    np.testing.assert_allclose(result, np.array(expected, float), atol=1e-15)


@settings(deadline=None)
@given(row=scores, proxy=st.floats(0, 1))
def test_bounds_and_order(row, proxy):
    components = np.array([row, (0, proxy, 0), (1, proxy, 0), (0, proxy, 1)])
    reward, unsure, right, wrong = strata(components, names=NAMES)
    assert 0 <= reward <= 1
    assert wrong == 0 <= unsure <= proxy  # the unsure are never lifted above what the proxy says
    assert right >= 0.9
    assert unsure <= 0.8


def test_monotone_in_the_proxy():
    proxy = np.linspace(0, 1, 50)
    for rule in (0, 1):
        components = np.stack([np.full(50, rule), proxy, np.zeros(50)], axis=1)
        assert (np.diff(strata(components, names=NAMES)) > 0).all()


def test_other_names_and_no_wrong_column():
    components = np.array([[0.5, 1.0], [0.5, 0.0]])
    options = {"names": ("rm", "exact"), "rule": "exact", "proxy": "rm", "wrong": None}
    assert strata(components, **options).tolist() == [0.95, 0.4]


def test_recovers_the_rule():
    rng = np.random.default_rng(0)
    components = np.stack([rng.integers(0, 2, 20), rng.random(20), np.zeros(20)], axis=1)
    assert (strata(components, names=NAMES, unsure=0, right=1) == components[:, 0]).all()


@pytest.mark.parametrize(
    ("components", "options", "message"),
    [
        ([[0, 2.0, 0]], {}, r"components: 'proxy' expected in \[0, 1\], got 2"),
        ([[-1, 0.5, 0]], {}, r"components: 'rule' expected in \[0, 1\]"),
        ([[0, 0.5, 0]], {"unsure": 0.95}, "unsure, right: expected 0 <= unsure <= right <= 1"),
        ([[0, 0.5, 0]], {"right": 1.5}, "unsure, right"),
        ([[0, 0.5, 0]], {"proxy": "rm"}, "proxy: no component 'rm'"),
        ([[0, 0.5, 0]], {"wrong": "bad"}, "wrong: no component 'bad'"),
        ([[0, np.nan, 0]], {}, r"components: nan at \[0, 1\]"),
    ],
)
def test_bad_input(components, options, message):
    with pytest.raises(ValueError, match=message):
        strata(np.array(components), names=NAMES, **options)
