"""Series of a run as lines to draw: without missing values, smoothed, averaged over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SMOOTH = 0.05  # a moving mean spans this share of the points


class Curve(NamedTuple):
    """One line: what was measured, in the order of the steps."""

    steps: NDArray[np.float64]  # (T,)
    values: NDArray[np.float64]  # (T,)


def curve(steps: Sequence[float], values: Sequence[float | None], name: str) -> Curve:
    """The measured values in the order of their steps; None and not finite is missing.

    Example:
        >>> curve([2, 1, 3], [0.5, None, 0.25], "accuracy").values.tolist()
        [0.5, 0.25]
    """
    if len(steps) != len(values):
        raise ValueError(
            f"{name}: got {len(values)} values for {len(steps)} steps, expected as many"
        )
    pairs = zip(steps, values, strict=True)
    rows = sorted((float(s), float(v)) for s, v in pairs if v is not None and math.isfinite(v))
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return Curve(table[:, 0], table[:, 1])


def number(row: Mapping[str, Any], key: str) -> float | None:
    """The finite number at `key`, or None."""
    value = row.get(key)
    return None if value is None or not math.isfinite(value) else float(value)


def metric_curve(metrics: Mapping[int, Mapping[str, Any]], key: str) -> Curve:
    """One metric of a run folder over its steps."""
    steps = sorted(metrics)
    return curve(steps, [metrics[step].get(key) for step in steps], key)


def run_curve(run: Mapping[str, Any], key: str, step_key: str) -> Curve:
    """The series `key` of one seed over `step_key` or "steps"; empty if the run has none."""
    if run.get(key) is None:
        return curve([], [], key)
    steps = run[step_key] if run.get(step_key) is not None else run["steps"]
    return curve(steps, run[key], key)


def smooth(line: Curve) -> Curve:
    """A centred moving mean over a share of the points; at the ends only half the window is left.

    Example:
        >>> line = curve(range(100), [0.0, 1.0] * 50, "reward")
        >>> float(smooth(line).values[50]), len(smooth(line).steps)
        (0.4, 100)
    """
    n = len(line.values)
    half = round(SMOOTH * n) // 2
    total = np.concatenate([[0.0], np.cumsum(line.values)])
    low = np.maximum(np.arange(n) - half, 0)
    high = np.minimum(np.arange(n) + half + 1, n)
    return Curve(line.steps, (total[high] - total[low]) / (high - low))


def mean_curve(lines: Sequence[Curve]) -> Curve:
    """The mean over the steps that every line has: a seed that stopped early does not bend it.

    Example:
        >>> long, short = curve([0, 1, 2], [0, 1, 2], "a"), curve([0, 1], [2, 2], "a")
        >>> mean_curve([long, short]).values.tolist()
        [1.0, 1.5]
    """
    shared = sorted(set.intersection(*(set(line.steps.tolist()) for line in lines)))
    rows = [dict(zip(line.steps.tolist(), line.values.tolist(), strict=True)) for line in lines]
    values = [math.fsum(row[step] for row in rows) / len(rows) for step in shared]
    return Curve(np.array(shared, dtype=np.float64), np.array(values, dtype=np.float64))
