"""How a figure looks: its size, its axes, the names at the ends of its lines, its file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, PALE = "#333333", "#E4E4E4"


class End(NamedTuple):
    """Where a line ends and what to write there."""

    text: str
    colour: str
    x: float
    y: float


def blank(title: str) -> Figure:
    """An empty figure, 900 px wide at the size a README shows it, twice that in the file."""
    figure = Figure(figsize=(9.0, 3.9), dpi=200, layout="constrained", facecolor="white")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
    return figure


def dress(axes: Axes, title: str) -> None:
    """Limits from the data with 0 in view, a faint grid, no box."""
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel("policy step", fontsize=9.5, color=INK)
    axes.tick_params(labelsize=9, colors=INK, length=0)
    axes.grid(axis="y", color=PALE, lw=0.8)
    axes.set_axisbelow(True)
    axes.locator_params(nbins=6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#999999")
    axes.margins(x=0.01, y=0.05)
    low, high = axes.dataLim.y0, axes.dataLim.y1
    if math.isfinite(low) and math.isfinite(high):
        low, high = min(0.0, low), max(high, 0.05)
        axes.set_ylim(low - 0.02 * (high - low), high + 0.06 * (high - low))


def label(axes: Axes, ends: Sequence[End]) -> None:
    """Write each line's name at its end, moved up or down where names would overlap."""
    bottom, top = axes.get_ylim()
    order = sorted(ends, key=lambda end: end.y)
    places = spread([(end.y - bottom) / (top - bottom) for end in order], 0.066)
    left, right = axes.get_xlim()
    for end, place in zip(order, places, strict=True):
        early = end.x < right - 0.05 * (right - left)  # a long leader must not pass for a line
        axes.annotate(
            end.text,
            xy=(end.x, end.y),
            xycoords="data",
            xytext=(1.035, place),
            textcoords="axes fraction",
            color=end.colour,
            fontsize=9.5,
            fontweight="bold",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": end.colour,
                "lw": 0.6,
                "ls": ":" if early else "-",
                "shrinkA": 0,
                "relpos": (0, 0.5),
            },
        )


def spread(wanted: Sequence[float], distance: float) -> list[float]:
    """Increasing places in [0, 1] near the wanted ones, at least `distance` apart if they fit."""
    up, down = list(wanted), list(wanted)
    for i in range(1, len(up)):
        up[i] = max(up[i], up[i - 1] + distance)
        down[-i - 1] = min(down[-i - 1], down[-i] - distance)
    # Both keep the distance, so their average does; it shares the shift between the neighbours.
    places = [(u + d) / 2 for u, d in zip(up, down, strict=True)]
    for i in range(len(places)):
        places[i] = max(places[i], i * distance)
    for i in range(len(places)):
        places[-i - 1] = min(places[-i - 1], 1.0 - i * distance)
    return places


def save(figure: Figure, path: Path) -> Path:
    """Write the figure in the format of the suffix; the same figure gives the same bytes."""
    suffix = path.suffix.lower()
    if suffix not in (".svg", ".png"):
        raise ValueError(f"path: got {path.name!r}, expected a name that ends in .svg or .png")
    path.parent.mkdir(parents=True, exist_ok=True)
    # matplotlib puts random ids and the date into a file unless told otherwise.
    with mpl.rc_context({"svg.hashsalt": "cooper"}):
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(path, format=suffix[1:], metadata=metadata)
    return path
