"""Intervals of a mean and of a share. Missing values are left out and never counted as 0."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A mean (or share) of n values with the ends of its interval; None where unknown.

    Example:
        >>> Interval(0.77, 0.71, 0.83, 5).text(), Interval(0.77, None, None, 1).text(2)
        ('0.770 [0.710, 0.830]', '0.77')
    """

    mean: float | None  # None if n = 0
    low: float | None  # None if n is too small to say
    high: float | None
    n: int

    def text(self, digits: int = 3) -> str:
        """The interval for a table: "mean [low, high]", "mean" alone, or "-" if there is none."""
        if self.mean is None:
            return "-"
        if self.low is None or self.high is None:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def measured(name: str, value: float | None) -> float | None:
    """`value` as a float; None (and NaN, the mean of nothing) is missing; infinity is an error."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError(f"{name}: got {value}, expected a finite number, or None if missing")
    return float(value)


def check_level(level: float) -> float:
    """`level` if it lies strictly between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: got {level}, expected a share strictly between 0 and 1")
    return level


def mean_interval(values: Iterable[float | None], level: float = 0.95) -> Interval:
    """The mean of some values with its Student t interval.

    Formula: mean ± t(n - 1, (1 + level) / 2) · s / √n, with s the standard deviation (n - 1).
    One value has a mean and no interval; equal values have an interval of width 0.

    Args:
        values: any number of values; None and NaN are missing and left out.
        level: coverage of the interval, in (0, 1).

    Returns:
        Interval(mean, low, high, n) with n the number of values present.

    Raises:
        ValueError: a value is infinite, or `level` is not in (0, 1).

    Example:
        >>> mean_interval([0.70, 0.80, 0.75, None]).text(2)
        '0.75 [0.63, 0.87]'
        >>> mean_interval([0.7])
        Interval(mean=0.7, low=None, high=None, n=1)
    """
    check_level(level)
    kept = np.array([v for v in (measured("values", x) for x in values) if v is not None])
    n = len(kept)
    if n == 0:
        return Interval(None, None, None, 0)
    # Equal values have exactly this mean and no spread, whatever the rounding of a sum says.
    equal = kept.min() == kept.max()
    mean = float(kept[0] if equal else kept.mean())
    if n == 1:
        return Interval(mean, None, None, 1)
    spread = 0.0 if equal else float(kept.std(ddof=1))
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, (1.0 + level) / 2.0)) * spread / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def proportion_interval(
    successes: int,
    n: int,
    level: float = 0.95,
    *,
    method: Literal["wilson", "exact"] = "wilson",
) -> Interval:
    """A share of n trials with its Wilson score interval, or the exact one (Clopper-Pearson).

    Formula (Wilson): (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n), p = successes / n.
    Both stay in [0, 1] and are wider than a point at 0 of n and n of n. The exact one never
    covers less than `level`; Wilson does so on average and is narrower.

    Args:
        successes: how many, 0 to n.
        n: how many trials; with 0 nothing is known and every field is None.
        level: coverage of the interval, in (0, 1).
        method: "wilson" or "exact".

    Returns:
        Interval(mean, low, high, n) with mean the share.

    Raises:
        ValueError: `successes` is not within 0..n, `level` or `method` is not as above.

    Example:
        >>> proportion_interval(37, 37).text()
        '1.000 [0.906, 1.000]'
        >>> proportion_interval(0, 34, method="exact").text()
        '0.000 [0.000, 0.103]'

    Source: Wilson, J. Am. Stat. Assoc. 22 (1927); Clopper and Pearson, Biometrika 26 (1934).
    """
    check_level(level)
    if not 0 <= successes <= n:
        raise ValueError(f"successes: got {successes} of n = {n}, expected 0 <= successes <= n")
    if method not in ("wilson", "exact"):
        raise ValueError(f"method: got {method!r}, expected 'wilson' or 'exact'")
    if n == 0:
        return Interval(None, None, None, 0)
    from scipy.special import betaincinv, ndtri

    share = successes / n
    tail = (1.0 - level) / 2.0
    if method == "exact":
        low = float(betaincinv(successes, n - successes + 1, tail)) if successes > 0 else 0.0
        high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
        return Interval(share, low, high, n)
    z = -float(ndtri(tail))
    scale = 1.0 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(share, low, high, n)
