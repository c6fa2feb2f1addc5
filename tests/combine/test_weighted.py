from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cooper.combine import weighted

NAMES = ("rule", "proxy", "length")
WEIGHTS = {"rule": 1.0, "proxy": 0.5, "length": -0.25}


def test_by_hand():
    components = np.array([[1.0, 0.5, 2.0], [0.0, 1.0, 4.0]])
    assert weighted(components, names=NAMES, weights=WEIGHTS).tolist() == [0.75, -0.5]


def test_missing_adds_nothing_and_an_empty_row_is_missing():
    components = np.array([[1.0, np.nan, 2.0], [np.nan, np.inf, np.nan]])
    where = np.array([[True, False, True], [False, False, False]])
    result = weighted(components, names=NAMES, weights=WEIGHTS, where=where)
    assert result[0] == 0.5
    assert np.isnan(result[1])


def test_a_component_only_for_the_log_makes_no_reward():
    where = np.array([[False, False, True]])
    weights = {"rule": 1, "proxy": 1, "length": 0}
    assert np.isnan(weighted(np.ones((1, 3)), names=NAMES, weights=weights, where=where)).all()


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_agrees_with_trl(seed):
    """TRL: NaN is missing, the weighted nansum, and NaN where all are missing."""
    rng = np.random.default_rng(seed)
    where = rng.random((6, 3)) < 0.5
    per_func = torch.from_numpy(np.where(where, rng.normal(size=(6, 3)), np.nan))
    expected = (per_func * torch.tensor(list(WEIGHTS.values())).unsqueeze(0)).nansum(dim=1)
    expected[torch.isnan(per_func).all(dim=1)] = torch.nan
    ours = weighted(per_func, names=NAMES, weights=WEIGHTS, where=torch.from_numpy(where))
    torch.testing.assert_close(ours, expected, equal_nan=True)


@settings(deadline=None)
@given(st.floats(-3, 3, width=32), st.floats(-3, 3, width=32))
def test_linear_in_each_component(a, b):
    def reward(rule):
        return weighted(np.array([[rule, 0.5, 1.0]]), names=NAMES, weights=WEIGHTS)[0]

    assert reward(a) - reward(b) == pytest.approx(WEIGHTS["rule"] * (a - b))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": {"rule": 1, "proxy": 1}}, r"weights: .*without a weight.*\['length'\]"),
        ({"weights": {**WEIGHTS, "style": 1}}, r"weights: .*unknown: \['style'\]"),
        ({"weights": {**WEIGHTS, "rule": np.nan}}, "weights: expected finite"),
        ({"weights": dict.fromkeys(NAMES, 0)}, "weights: expected finite numbers, not all 0"),
        ({"names": ("rule", "proxy")}, "names: expected K = 3 different names"),
        ({"names": ("rule", "rule", "proxy")}, "names: expected K = 3 different names"),
        ({"where": np.ones(2, bool)}, r"where: expected shape \(2, 3\), got \(2,\)"),
        ({"components": np.ones(3)}, r"components: expected shape \(B, K\), got \(3,\)"),
        ({"components": np.ones((0, 3))}, "components: empty"),
        ({"components": np.full((2, 3), np.nan)}, r"components: nan at \[0, 0\]"),
    ],
)
def test_bad_input(change, message):
    arguments = {"components": np.ones((2, 3)), "names": NAMES, "weights": WEIGHTS, **change}
    with pytest.raises(ValueError, match=message):
        weighted(arguments.pop("components"), **arguments)
