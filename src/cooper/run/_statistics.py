"""What a table of runs needs: intervals over seeds, paired differences, and when a run fell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cooper.audit import Interval, mean_interval, proportion_interval

__all__ = [
    "Collapse",
    "Interval",
    "collapse",
    "mean_interval",
    "paired_difference",
    "proportion_interval",
]


def paired_difference(
    a: Mapping[int, float | None], b: Mapping[int, float | None], level: float = 0.95
) -> Interval:
    """The mean of a - b over the seeds that both have, with its Student t interval.

    Pairing by seed removes what the seeds share (start, questions), so the interval is narrower
    than that of two separate means.

    Args:
        a: seed -> value of one arm; None and NaN are missing.
        b: seed -> value of the other arm.
        level: coverage of the interval, in (0, 1).

    Returns:
        Interval(mean, low, high, n) with n the number of shared seeds; all None for n = 0.

    Raises:
        ValueError: a value is infinite, or `level` is not in (0, 1).

    Example:
        >>> paired_difference({0: 0.9, 1: 0.8, 2: 0.7}, {0: 0.7, 1: 0.7, 3: 0.1}).text(2)
        '0.15 [-0.49, 0.79]'
    """
    pairs = [(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())]
    return mean_interval([None if x is None or y is None else x - y for x, y in pairs], level)


class Collapse(NamedTuple):
    """How far a run fell from its best.

    Example:
        >>> run = collapse([(0, 0.6), (20, 0.75), (40, 0.5), (60, 0.15)])
        >>> run.peak, run.peak_step, run.final, run.lost_step, round(run.drop, 2)
        (0.75, 20, 0.15, 40, 0.6)
    """

    peak: float | None  # the largest accuracy; None if nothing was measured
    peak_step: int | None
    final: float | None  # the last one
    lost_step: int | None  # first step at which a third of the best so far was lost; None: never

    @property
    def drop(self) -> float:
        """The peak minus the end, in accuracy; 0 if nothing was measured."""
        return 0.0 if self.peak is None or self.final is None else self.peak - self.final

    def fallen(self, *, by: float = 0.30, share: float = 2 / 3) -> bool:
        """Whether the run ends at least `by`, or the `share` of its peak, below its peak."""
        if not self.peak:
            return False
        return self.drop >= min(by, share * self.peak) - 1e-9


def collapse(series: Iterable[tuple[int, float | None]], *, share: float = 1 / 3) -> Collapse:
    """Peak, end and fall of a series of (step, accuracy), the start included.

    Formula: lost_step = first step t with accuracy_t <= (1 - share) · max of accuracy up to t.
    A later recovery does not change it; a run that starts at 0 and stays there lost nothing.

    Args:
        series: (step, accuracy in [0, 1]) in any order; None and NaN are missing.
        share: the loss that counts, as a share of the best so far, in (0, 1).

    Returns:
        Collapse(peak, peak_step, final, lost_step).

    Raises:
        ValueError: `share` is not in (0, 1).

    Example:
        >>> collapse([(0, 0.12), (20, 0.09), (40, 0.02)]).lost_step
        40
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"share: got {share}, expected a share strictly between 0 and 1")
    rows = sorted((s, float(v)) for s, v in series if v is not None and not math.isnan(v))
    peak: float | None = None
    peak_step: int | None = None
    lost_step: int | None = None
    for step, value in rows:
        if peak is None or value > peak:
            peak, peak_step = value, step
        # The slack keeps a loss of exactly a third from hanging on the last bit.
        elif lost_step is None and value <= (1.0 - share) * peak + 1e-9 and peak > 0.0:
            lost_step = step
    return Collapse(peak, peak_step, rows[-1][1] if rows else None, lost_step)
