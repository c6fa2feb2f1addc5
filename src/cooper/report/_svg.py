"""Small pieces of SVG: safe text, numbers, axis ticks, scales, labels that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

# Characters that a browser would drop, or that would reorder the text around them.
_HIDDEN = {code: 0x2400 + code for code in range(32) if code not in (9, 10, 13)} | {
    127: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}


def safe(value: object) -> str:
    """Any value as text that is inert inside HTML, attributes included.

    Example:
        >>> safe('<b onclick="x">')
        '&lt;b onclick=&quot;x&quot;&gt;'
    """
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return escape(text.translate(_HIDDEN), quote=True)


def show(value: float | None, digits: int = 2) -> str:
    """A number with a true minus sign; a dash where there is none.

    Example:
        >>> show(-0.126), show(None), show(1234567.0, 0), show(0.0000012), show(-0.001)
        ('−0.13', '–', '1,234,567', '1.2e−06', '−0.0010')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value != 0 and (abs(value) < 0.5 * 10**-digits or abs(value) >= 1e9):
        tiny = 1e-4 <= abs(value) < 1
        text = f"{value:.{digits + 2}f}" if tiny else f"{value:.1e}"
    else:
        text = f"{value:,.{digits}f}"
    return text.replace("-", "−")


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage: 0.415 becomes '41.5 %' (with a no-break space)."""
    return "–" if value is None else f"{show(100 * value, digits)}\u00a0%"


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values that span [low, high], about `count` of them.

    Example:
        >>> ticks(0.0, 1.0)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = high - low
    if not span > 0:
        return [low]
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * index, 12) for index in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """The ticks with as many decimals as tell them apart, the same for all, and short.

    Example:
        >>> tick_texts([0.0, 0.5]), tick_texts([0.0, 25_000.0]), tick_texts([0.0, 2e-6])
        (['0.0', '0.5'], ['0k', '25k'], ['0', '2e−6'])
    """
    gap = min((b - a for a, b in pairwise(values)), default=1.0)
    most = max(map(abs, values), default=0.0)
    if gap < 1e-3 or most >= 1e9:
        texts = [f"{value:.2g}".replace("e-0", "e-").replace("e+0", "e") for value in values]
        return [text.replace("-", "−") for text in texts]
    unit, name = (1e6, "M") if most >= 1e6 else (1e3, "k") if most >= 1e4 else (1.0, "")
    gap /= unit
    digits = next((d for d in range(6) if abs(round(gap, d) - gap) < gap * 1e-6), 5)
    return [f"{value / unit:,.{digits}f}{name}".replace("-", "−") for value in values]


@dataclass(frozen=True)
class Scale:
    """A linear map from data to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value, one decimal."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return round(self.start + share * (self.end - self.start), 1)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as a greedy sweep can so that all are at least `gap` apart.

    Example:
        >>> spread([10.0, 12.0, 50.0], 8.0, 0.0, 60.0)
        [7.0, 15.0, 50.0]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    clusters: list[tuple[float, list[int]]] = []  # (centre, members), merged while they collide
    for index in order:
        centre, members = wanted[index], [index]
        while clusters:
            other, theirs = clusters[-1]
            if centre - other >= gap * (len(members) + len(theirs)) / 2:
                break
            clusters.pop()
            total = len(members) + len(theirs)
            centre = (centre * len(members) + other * len(theirs)) / total
            members = theirs + members
        half = gap * (len(members) - 1) / 2
        centre = max(low + half, min(high - half, centre))
        clusters.append((centre, members))
    placed = [0.0] * len(wanted)
    for centre, members in clusters:
        for place, index in enumerate(members):
            placed[index] = round(centre + gap * (place - (len(members) - 1) / 2), 1)
    floor = high  # clamping at the bottom may have made clusters touch again
    for index in reversed(order):
        placed[index] = min(placed[index], floor)
        floor = round(placed[index] - gap, 1)
    return placed
