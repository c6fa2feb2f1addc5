"""The figures of a run and of a comparison, drawn without pyplot: no global state, no display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from cooper.run._canvas import INK, End, blank, dress, label, save
from cooper.run._curves import mean_curve, metric_curve, number, run_curve, smooth

# Okabe and Ito's colours, told apart with every kind of colour vision; an arm keeps its own.
COLOURS = {
    "none": "#8C8C8C",
    "rule": "#0072B2",
    "frozen": "#D55E00",
    "repaired": "#56B4E9",
    "cooper-paper": "#CC79A7",
    "cooper": "#009E73",
    "oracle": "#000000",
}
OTHERS = ("#E69F00", "#7A3E9D", "#6B6B2A", "#8B4513")  # for arms that are not in the list

_MARK: dict[str, Any] = {"marker": "v", "markersize": 7, "markeredgecolor": "white", "ls": "none"}
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 9, "handletextpad": 0.1}


def comparison_figure(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], path: Path, *, title: str
) -> Path:
    """Held-out accuracy and training reward against steps: a colour an arm, a thin line a seed.

    The thick line is the mean of an arm over the steps that all its seeds have; the reward is
    smoothed by a moving mean. Triangles mark the step at which a seed's alarm sounded. An arm
    measured only once (no training) is drawn as a dashed level.

    Args:
        runs: arm -> one mapping a seed, with "steps" and "accuracy" (T,), "reward" (S,) with its
            "reward_steps" (default: "steps"), and "alarm_step" (int or None). Only the first two
            are needed. None and NaN as a value are missing.
        path: file to write; its suffix, .svg or .png, is the format.
        title: what is compared, above the figure.

    Returns:
        `path`.

    Raises:
        ValueError: there is no run, series differ in length, or the suffix is another one.

    Example:
        >>> import tempfile
        >>> run = {"steps": [0, 10], "accuracy": [0.5, 0.7], "reward": [0.4, 0.6]}
        >>> file = Path(tempfile.mkdtemp()) / "compare.svg"
        >>> comparison_figure({"rule": [run], "cooper": [run]}, file, title="sums").name
        'compare.svg'
    """
    return save(_comparison(runs, title), path)


def training_figure(
    metrics: Mapping[int, Mapping[str, Any]], path: Path, *, title: str = ""
) -> Path:
    """One run: held-out accuracy with its interval, and what the training saw, against steps.

    Args:
        metrics: step -> metrics of a run folder: "eval/accuracy" with "eval/low" and "eval/high",
            "cooper/proxy_mean", "cooper/rule_mean", "reward", "cooper/alarm". All but one may be
            missing, everywhere or at some steps.
        path: file to write; its suffix, .svg or .png, is the format.
        title: name of the run, above the figure.

    Returns:
        `path`.

    Raises:
        ValueError: no metric to draw, or the suffix is another one.

    Example:
        >>> import tempfile
        >>> metrics = {0: {"eval/accuracy": 0.5}, 1: {"reward": 0.4}, 2: {"eval/accuracy": 0.6}}
        >>> training_figure(metrics, Path(tempfile.mkdtemp()) / "training.png").name
        'training.png'
    """
    return save(_training(metrics, title), path)


def _comparison(runs: Mapping[str, Sequence[Mapping[str, Any]]], title: str) -> Figure:
    if not any(runs.values()):
        raise ValueError("runs: got no run, expected at least one arm with one seed")
    figure = blank(title)
    left, right = figure.subplots(1, 2)
    colours = _colours(runs)
    _panel(left, runs, colours, "held-out accuracy", "accuracy", "steps")
    _panel(right, runs, colours, "training reward (moving mean)", "reward", "reward_steps")
    if any(run.get("alarm_step") is not None for seeds in runs.values() for run in seeds):
        mark = Line2D([], [], **_MARK, color="#777777", label="alarm")
        left.legend(handles=[mark], loc="lower right", bbox_to_anchor=(1.03, 0.985), **_LEGEND)
    return figure


def _panel(
    axes: Axes,
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    colours: Mapping[str, str],
    title: str,
    key: str,
    step_key: str,
) -> None:
    """One half of the comparison: the series `key` of every seed and the mean of every arm."""
    ends: list[End] = []
    levels: list[tuple[str, str, float]] = []
    for arm, seeds in runs.items():
        pairs = [(run, run_curve(run, key, step_key)) for run in seeds]
        pairs = [(run, curve) for run, curve in pairs if len(curve.steps)]
        if key == "reward":
            pairs = [(run, smooth(curve)) for run, curve in pairs]
        if not pairs:
            continue
        mean, colour = mean_curve([curve for _, curve in pairs]), colours[arm]
        if all(len(curve.steps) == 1 for _, curve in pairs):
            levels.append((arm, colour, float(mean.values[0])))
            continue
        for run, curve in pairs:
            if len(pairs) > 1:
                axes.plot(*curve, color=colour, lw=0.7, alpha=0.3, zorder=2)
            at = run.get("alarm_step")
            if at is not None:
                y = float(np.interp(at, *curve))
                axes.plot([at], [y], **_MARK, color=colour, zorder=5)
        if len(mean.steps):
            axes.plot(*mean, color=colour, lw=2.2, zorder=4, solid_capstyle="round")
        end = mean if len(mean.steps) else pairs[0][1]
        ends.append(End(arm, colour, float(end.steps[-1]), float(end.values[-1])))
    for _, colour, level in levels:
        axes.axhline(level, color=colour, lw=1.6, ls=(0, (4, 3)), zorder=3)
    dress(axes, title)
    right = axes.get_xlim()[1]
    label(axes, [*ends, *(End(arm, colour, right, level) for arm, colour, level in levels)])


def _training(metrics: Mapping[int, Mapping[str, Any]], title: str) -> Figure:
    figure = blank(title)
    axes = figure.subplots()
    ends = []
    for key, name, colour in (
        ("reward", "reward", "#8C8C8C"),
        ("cooper/rule_mean", "rule", COLOURS["rule"]),
        ("cooper/proxy_mean", "reward model", COLOURS["frozen"]),
        ("eval/accuracy", "held-out accuracy", COLOURS["cooper"]),
    ):
        curve = metric_curve(metrics, key)
        if not len(curve.steps):
            continue
        if key == "eval/accuracy":
            _band(axes, metrics, colour)
            axes.plot(*curve, color=colour, lw=2.4, marker="o", markersize=5, zorder=4)
        else:
            axes.plot(*curve, color=colour, lw=0.7, alpha=0.3, zorder=2)
            curve = smooth(curve)
            axes.plot(*curve, color=colour, lw=1.8, zorder=3)
        ends.append(End(name, colour, float(curve.steps[-1]), float(curve.values[-1])))
    if not ends:
        raise ValueError("metrics: got none of reward, proxy, rule and accuracy to draw")
    dress(axes, "mean per step; thick lines are moving means")
    alarms = metric_curve(metrics, "cooper/alarm")
    fired = alarms.steps[alarms.values >= 0.5]
    if len(fired):
        axes.axvline(fired[0], color=INK, lw=1.1, ls=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"alarm, step {fired[0]:g}",
            xy=(fired[0], 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4, -10),
            textcoords="offset points",
            fontsize=9,
            color=INK,
        )
    label(axes, ends)
    return figure


def _band(axes: Axes, metrics: Mapping[int, Mapping[str, Any]], colour: str) -> None:
    """The interval of the accuracy, where both ends are known."""
    rows = [(s, number(metrics[s], "eval/low"), number(metrics[s], "eval/high")) for s in metrics]
    known = sorted((s, lo, hi) for s, lo, hi in rows if lo is not None and hi is not None)
    if known:
        steps, low, high = zip(*known, strict=True)
        axes.fill_between(steps, low, high, color=colour, alpha=0.16, lw=0, zorder=1)


def _colours(arms: Mapping[str, Any]) -> dict[str, str]:
    others = [arm for arm in arms if arm not in COLOURS]
    return COLOURS | {arm: OTHERS[i % len(OTHERS)] for i, arm in enumerate(others)}
