"""Every exported method keeps its family's contract, and the contract can be broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import cooper
from cooper.testing import NAMES, check_method

# what a method cannot be called without, and further settings worth a run
OPTIONS = {
    ("combine", "weighted"): [{"weights": dict(zip(NAMES, (1, 0.5, -0.25), strict=True))}],
    ("combine", "strata"): [{}, {"wrong": None, "unsure": 1, "right": 1}],
    ("advantage", "grpo"): [{}, {"epsilon": 0}, {"epsilon": 0, "floor": 0.1}],
}
METHODS = [
    pytest.param(getattr(namespace, name), family, options, id=f"{family}-{name}-{i}")
    for family, namespace in (("combine", cooper.combine), ("advantage", cooper.advantage))
    for name in namespace.__all__
    for i, options in enumerate(OPTIONS.get((family, name), [{}]))
]


@pytest.mark.parametrize(("function", "family", "options"), METHODS)
def test_every_method_keeps_the_contract(function, family, options):
    check_method(function, family, **options)


@pytest.mark.parametrize("family", ["combine", "advantage"])
def test_families_export_what_their_files_hold(family):
    namespace = getattr(cooper, family)
    files = {path.stem[1:] for path in Path(namespace.__file__).parent.glob("_[a-z]*.py")}
    assert set(namespace.__all__) == files - {"basic"}
    for name in namespace.__all__:
        function = getattr(namespace, name)
        assert function.__name__ == name
        assert f"`{name}`" in namespace.__doc__
        assert "Example:" in function.__doc__
        assert "Source:" in function.__doc__
        assert hasattr(sys.modules[function.__module__], "PAPER")


# Broken methods, each in one way. They must be at module level: the contract pickles them.


def standardise(rewards, group, where=None, epsilon=0.0):
    """What most engines do: reductions by mask, no exact zero."""
    where = np.ones(len(rewards), bool) if where is None else np.asarray(where)
    group = np.asarray(group)
    out = np.zeros(len(rewards), np.asarray(rewards).dtype)
    for g in np.unique(group):
        rows = (group == g) & where
        if rows.sum() > 1:
            r = np.asarray(rewards)[rows]
            out[rows] = (r - r.mean()) / (r.std(ddof=1) + epsilon)
    return torch.from_numpy(out) if isinstance(rewards, torch.Tensor) else out


def divides_by_zero(rewards, *, group, where=None):
    return standardise(rewards, group, where)


def inexact_zero(rewards, *, group, where=None):
    return standardise(rewards, group, where, epsilon=1e-8)


def ignores_the_mask(rewards, *, group, where=None):
    return cooper.advantage.grpo(rewards, group=group)


def counts_the_masked(rewards, *, group, where=None):
    if where is None:
        return cooper.advantage.dr_grpo(rewards, group=group)
    xp = torch if isinstance(rewards, torch.Tensor) else np
    zeroed = xp.where(where, rewards, xp.zeros_like(rewards))
    return cooper.advantage.dr_grpo(zeroed, group=group) * where


def over_the_batch(rewards, *, group, where=None):
    return cooper.advantage.dr_grpo(rewards, group=np.zeros(len(rewards), int), where=where)


def by_position(rewards, *, group, where=None):
    first = rewards[0] if where is None or where[0] else 0
    result = cooper.advantage.dr_grpo(rewards, group=group, where=where)
    result[rewards == first] *= 2
    return result


def widens(rewards, *, group, where=None):
    return np.asarray(cooper.advantage.grpo(rewards, group=group, where=where), np.float64)


def numpy_only(rewards, *, group, where=None):
    return np.asarray(cooper.advantage.grpo(rewards, group=group, where=where))


def writes(rewards, *, group, where=None):
    result = cooper.advantage.grpo(rewards, group=group, where=where)
    rewards[0] += 1
    return result


CALLS = []


def remembers(rewards, *, group, where=None):
    CALLS.append(1)
    return cooper.advantage.grpo(rewards, group=group, where=where) * len(CALLS)


def missing_is_zero(components, *, names, group=None, where=None):
    combined = cooper.combine.strata(components, names=names, where=where)
    return (torch if isinstance(combined, torch.Tensor) else np).nan_to_num(combined)


def sees_hidden_scores(components, *, names, group=None, where=None):
    hidden = components[:, 0] > 1e9
    return cooper.combine.strata(components, names=names, where=where) + hidden


BROKEN = [
    (divides_by_zero, "advantage", "warns|finite|equal rewards"),
    (inexact_zero, "advantage", "equal rewards of 0.[0-9]"),
    (ignores_the_mask, "advantage", "where|mask|reward"),
    (counts_the_masked, "advantage", "masked samples differ from removed"),
    (over_the_batch, "advantage", "one group change another"),
    (by_position, "advantage", "order|one group change another"),
    (widens, "advantage", "gives float64 for float32"),
    (numpy_only, "advantage", "for a tensor"),
    (writes, "advantage", "changes its inputs"),
    (remembers, "advantage", "two answers"),
    (missing_is_zero, "combine", "without any score for a number"),
    (sees_hidden_scores, "combine", "sees a masked"),
]


@pytest.mark.parametrize(
    ("function", "family", "message"), BROKEN, ids=[b[0].__name__ for b in BROKEN]
)
def test_a_broken_method_fails(function, family, message):
    # `where=False` beside NaN may also raise inside the broken method: that is a failure too
    with pytest.raises((AssertionError, ValueError), match=message):
        check_method(function, family)


def test_what_cannot_be_pickled_fails():
    with pytest.raises(AssertionError, match="pickling"):
        check_method(lambda r, *, group, where=None: widest(r, group, where), "advantage")


def widest(rewards, group, where):
    return cooper.advantage.grpo(rewards, group=group, where=where)


def test_batch_wide_methods_may_say_so():
    check_method(over_the_batch_but_exact, "advantage", isolated=False)
    with pytest.raises(AssertionError, match="one group change another"):
        check_method(over_the_batch_but_exact, "advantage")


def over_the_batch_but_exact(rewards, *, group, where=None):
    everybody = np.zeros(len(rewards), int)
    return cooper.advantage.dr_grpo(rewards, group=everybody, where=where)


def test_unknown_family():
    with pytest.raises(ValueError, match="family: expected one of"):
        check_method(widest, "shapes")


# The package itself


def test_import_is_light():
    heavy = ("torch", "transformers", "trl", "scipy", "pydantic", "yaml", "matplotlib", "rich")
    code = f"import sys, cooper; print([m for m in {heavy} if m in sys.modules])"
    source = str(Path(cooper.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "[]"


def test_namespace():
    assert cooper.__version__
    assert {"Batch", "Rewards", "Score", "Status", "combine", "arrays"} <= set(dir(cooper))
    assert cooper.combine.strata.__module__ == "cooper.combine._strata"
    with pytest.raises(AttributeError, match="no attribute 'shapes'"):
        cooper.shapes  # noqa: B018
