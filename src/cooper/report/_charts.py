"""Line charts and histograms as inline SVG, coloured by the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cooper.report._svg import Scale, safe, show, spread, tick_texts, ticks

WIDTH, HEIGHT = 480, 268
LEFT, RIGHT, TOP, BOTTOM = 56, 138, 24, 38
POINTS = 400  # more than a screen can show; longer series are averaged down to this
GAP = 16.0  # pixels between two label lines


@dataclass(frozen=True)
class Line:
    """One curve. `colour` 1-6 picks colour and dash pattern; `band` holds (x, low, high)."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: int
    band: Sequence[tuple[float, float, float]] = field(default=())
    dots: bool = False  # measured now and then: show each point, never smooth


def _average(points: Sequence[tuple[float, float]], size: int) -> list[tuple[float, float]]:
    """Means of consecutive runs of `size` points, at the mean step."""
    runs = [points[at : at + size] for at in range(0, len(points), size)]
    return [(sum(x for x, _ in run) / len(run), sum(y for _, y in run) / len(run)) for run in runs]


def smooth(points: Sequence[tuple[float, float]], width: int) -> list[tuple[float, float]]:
    """Centred running mean over `width` points, shorter at the ends.

    Example:
        >>> smooth([(0, 0.0), (1, 3.0), (2, 0.0)], 3)
        [(0, 1.5), (1, 1.0), (2, 1.5)]
    """
    half, total, sums = width // 2, 0.0, [0.0]
    for _, y in points:
        total += y
        sums.append(total)
    result = []
    for index, (x, _) in enumerate(points):
        first, last = max(0, index - half), min(len(points), index + half + 1)
        result.append((x, (sums[last] - sums[first]) / (last - first)))
    return result


def _path(points: Sequence[tuple[float, float]], x: Scale, y: Scale) -> str:
    return "M" + "L".join(f"{x(a)} {y(b)}" for a, b in points)


def _frame(x: Scale, y: Scale, xs: Sequence[float], ys: Sequence[float], axis: str) -> str:
    """Grid lines, tick labels and the name of the horizontal axis."""
    parts = []
    for value, text in zip(ys, tick_texts(ys), strict=True):
        parts.append(f'<path class="grid" d="M{x.start} {y(value)}H{x.end}"/>')
        parts.append(f'<text class="tick" text-anchor="end" x="{x.start - 7}" '
                     f'y="{y(value) + 4}">{text}</text>')  # fmt: skip
    for value, text in zip(xs, tick_texts(xs), strict=True):
        parts.append(f'<path class="axis" d="M{x(value)} {y.start}v4"/>')
        parts.append(f'<text class="tick" text-anchor="middle" x="{x(value)}" '
                     f'y="{y.start + 17}">{text}</text>')  # fmt: skip
    parts.append(f'<path class="axis" d="M{x.start} {y.start}H{x.end}"/>')
    parts.append(f'<text class="tick" text-anchor="end" x="{x.end}" '
                 f'y="{y.start + 32}">{safe(axis)}</text>')  # fmt: skip
    return "".join(parts)


def _svg(body: str, words: str) -> str:
    box = f"0 0 {WIDTH} {HEIGHT}"
    return f'<svg viewBox="{box}" role="img" aria-label="{safe(words)}">{body}</svg>'


def _heights(lines: Sequence[Line], level: float | None) -> list[float]:
    """Ticks that span the vertical range: [0, 1] where the data fills it, else 0 and the data."""
    held = [y for line in lines for _, y in line.points]
    held += [v for line in lines for _, low, high in line.band for v in (low, high)]
    held += [level] if level is not None else []
    if 0 <= min(held) and 0.3 < max(held) <= 1:
        return ticks(0.0, 1.0)
    low, high = min(0.0, *held), max(0.0, *held)
    if low == high:
        high = 1.0
    return ticks(low, high)


def line_chart(
    lines: Sequence[Line],
    *,
    words: str,
    level: tuple[float, str] | None = None,
    mark: tuple[float, str] | None = None,
    digits: int = 2,
) -> str:
    """Curves over steps with their names and last values written at their ends.

    Args:
        lines: 1 to 6 curves, each with at least one point.
        words: what the chart shows, for readers who cannot see it.
        level: a horizontal line (value, name), such as an alarm threshold.
        mark: a vertical line (step, name), such as the step of the alarm.
        digits: decimals of the last values.

    Returns:
        An `<svg>` element.
    """
    heights = _heights(lines, level[0] if level else None)
    longest = max(x for line in lines for x, _ in line.points)
    first = min(0.0, *(x for line in lines for x, _ in line.points))
    x = Scale(first, max(longest, mark[0] if mark else 0.0, 1.0), LEFT, WIDTH - RIGHT)
    y = Scale(heights[0], heights[-1], HEIGHT - BOTTOM, TOP)
    steps = [tick for tick in ticks(x.low, x.high, 4) if x.low <= tick <= x.high]
    steps = [tick for tick in steps if tick == int(tick)]
    parts = [_frame(x, y, steps, heights, "step")]
    ends: list[tuple[float, float, str, str]] = []  # (x, y, class, text)
    if level:
        parts.append(f'<path class="level" d="M{x.start} {y(level[0])}H{x.end}"/>')
        ends.append((x.end, y(level[0]), "level", f"{level[1]} {show(level[0], digits)}"))
    for line in lines:
        if line.band:
            upper = [(at, top) for at, _, top in line.band]
            lower = [(at, bottom) for at, bottom, _ in reversed(line.band)]
            parts.append(f'<path class="band c{line.colour}" d="{_path(upper + lower, x, y)}Z"/>')
    for line in lines:
        points = list(line.points)
        if not line.dots and len(points) > 30:
            raw = _average(points, -(-len(points) // POINTS))
            parts.append(f'<path class="raw c{line.colour}" d="{_path(raw, x, y)}"/>')
            points = smooth(raw, max(5, len(raw) // 20))
        if len(points) > 1:
            parts.append(f'<path class="line c{line.colour}" d="{_path(points, x, y)}"/>')
        if line.dots or len(points) == 1:
            parts += [f'<circle class="dot c{line.colour}" cx="{x(a)}" cy="{y(b)}" r="2.6"/>'
                      for a, b in points]  # fmt: skip
        at, last = points[-1]
        ends.append((x(at), y(last), f"c{line.colour}", f"{line.label} {show(last, digits)}"))
    places = spread([end[1] for end in ends], GAP, TOP + 4, HEIGHT - BOTTOM - 4)
    for (at, height, kind, text), place in zip(ends, places, strict=True):
        parts.append(f'<path class="lead {kind}" d="M{at + 3} {height}L{x.end + 9} {place}"/>')
        parts.append(
            f'<text class="name {kind}" x="{x.end + 12}" y="{place + 4}">{safe(text)}</text>'
        )
    if mark:
        here = x(mark[0])
        anchor = "start" if here < (x.start + x.end) / 2 else "end"
        parts.append(f'<path class="mark" d="M{here} {TOP - 6}V{y.start}"/>')
        shift = 5 if anchor == "start" else -5
        parts.append(f'<text class="name mark" text-anchor="{anchor}" x="{here + shift}" '
                     f'y="{TOP - 8}">{safe(mark[1])}</text>')  # fmt: skip
    return _svg("".join(parts), words)


def bins(values: Sequence[float], low: float, high: float, count: int) -> list[float]:
    """The share of values in each of `count` equal bins of [low, high].

    Example:
        >>> bins([0.1, 0.9, 1.0, 0.9], 0.0, 1.0, 2)
        [0.25, 0.75]
    """
    counts = [0] * count
    for value in values:
        place = int((value - low) / (high - low) * count) if high > low else 0
        counts[min(count - 1, max(0, place))] += 1
    return [held / max(1, len(values)) for held in counts]


def histogram(
    groups: Sequence[tuple[str, Sequence[float], int]],
    *,
    words: str,
    span: tuple[float, float],
    top: float,
    count: int = 20,
) -> str:
    """Overlaid outlines of score distributions, each as a share of its own class.

    Args:
        groups: (name, values, colour), drawn in order; empty ones are named with n = 0.
        words: what the chart shows, for readers who cannot see it.
        span: the range of the scores.
        top: the highest share on the vertical axis, in [0, 1].
        count: how many bins.

    Returns:
        An `<svg>` element.
    """
    marks = ticks(0.0, 100 * top, 4)
    x = Scale(*span, LEFT, WIDTH - RIGHT)
    y = Scale(0.0, marks[-1], HEIGHT - BOTTOM, TOP)
    across = [tick for tick in ticks(*span, 5) if span[0] <= tick <= span[1]]
    parts = [_frame(x, y, across, marks, "score of the reward model")]
    parts.append(f'<text class="tick" x="4" y="{TOP - 10}">% of class</text>')
    width = (span[1] - span[0]) / count
    for place, (name, values, colour) in enumerate(groups):
        if values:
            shape = f"M{x(span[0])} {y(0.0)}"
            for index, share in enumerate(bins(values, *span, count)):
                shape += f"V{y(100 * share)}H{x(span[0] + (index + 1) * width)}"
            shape += f"V{y(0.0)}"
            parts.append(f'<path class="band c{colour}" d="{shape}Z"/>')
            dash = "" if place else " dash"  # told apart in grey as well
            parts.append(f'<path class="line c{colour}{dash}" d="{shape}"/>')
        mean = show(sum(values) / len(values)) if values else "–"
        at = TOP + 10 + 60 * place
        parts.append(f'<text class="name c{colour}" x="{x.end + 12}" y="{at}">{safe(name)}</text>')
        for row, fact in enumerate((f"n = {len(values):,}", f"mean {mean}"), 1):
            parts.append(f'<text class="tick" x="{x.end + 12}" y="{at + 16 * row}">{fact}</text>')
    return _svg("".join(parts), words)
