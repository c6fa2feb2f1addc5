"""The figures: files of the right kind, every arm named, alarms marked, nothing global touched."""

from __future__ import annotations

import inspect
import itertools
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex

from cooper.run import _canvas, _curves, _figure
from cooper.run._canvas import spread
from cooper.run._curves import curve, mean_curve, smooth
from cooper.run._figure import (
    COLOURS,
    _comparison,
    _training,
    comparison_figure,
    training_figure,
)

ARMS = ("none", "rule", "frozen", "repaired", "cooper-paper", "cooper", "oracle")


def seed(level, **more):
    return {"steps": [0, 10, 20], "accuracy": [level, level, level + 0.1], **more}


def rewarded(level, **more):
    return seed(level, reward=[level] * 20, reward_steps=list(range(1, 21)), **more)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_the_seven_arms_have_colours_of_their_own():
    assert set(COLOURS) == set(ARMS)
    assert len(set(COLOURS.values())) == len(ARMS)


def test_every_arm_is_named_in_its_colour_in_both_halves():
    runs = {arm: [rewarded(0.1 * i), rewarded(0.1 * i)] for i, arm in enumerate(ARMS)}
    runs["mine"] = [rewarded(0.5)]
    left, right = _comparison(runs, "title").axes
    for axes in (left, right):
        assert sorted(texts(axes)) == sorted(runs)
        for text in axes.texts:
            if text.get_text() in COLOURS:
                assert to_hex(text.get_color()).upper() == COLOURS[text.get_text()]


def test_one_thin_line_a_seed_and_one_mean_an_arm():
    left, _ = _comparison({"rule": [seed(0.2), seed(0.4)]}, "title").axes
    assert len(left.lines) == 3
    mean = max(left.lines, key=lambda line: line.get_linewidth())
    assert mean.get_ydata().tolist() == pytest.approx([0.3, 0.3, 0.4])


def test_alarm_steps_are_marked_on_the_line_of_their_seed():
    left, right = _comparison({"frozen": [rewarded(0.2, alarm_step=15)]}, "title").axes
    marks = [line for line in left.lines if line.get_marker() == "v"]
    assert [m.get_xdata()[0] for m in marks] == [15]
    assert marks[0].get_ydata()[0] == pytest.approx(0.25)  # halfway from .2 to .3
    assert [line.get_marker() for line in right.lines].count("v") == 1
    assert left.get_legend().get_texts()[0].get_text() == "alarm"
    quiet = _comparison({"rule": [seed(0.2, alarm_step=None)]}, "title").axes[0]
    assert quiet.get_legend() is None


def test_an_arm_measured_once_is_a_level_and_one_without_reward_is_left_out():
    once = {"steps": [0], "accuracy": [0.4]}
    left, right = _comparison({"none": [once], "rule": [rewarded(0.2)]}, "title").axes
    level = next(line for line in left.lines if line.get_linestyle() == "--")
    assert set(level.get_ydata()) == {0.4}
    assert texts(right) == ["rule"]


def test_missing_values_are_left_out_not_drawn_as_zero():
    run = {"steps": [0, 1, 2], "accuracy": [0.5, None, float("nan")], "reward": [None, 0.4, 0.4]}
    left, right = _comparison({"rule": [run, seed(0.5)]}, "title").axes
    for axes in (left, right):
        assert all(min(line.get_ydata()) >= 0.4 for line in axes.lines)


def test_seeds_that_stopped_early_do_not_bend_the_mean():
    short = {"steps": [0, 10], "accuracy": [0.9, 0.9]}
    left, _ = _comparison({"frozen": [short, seed(0.1)]}, "title").axes
    mean = max(left.lines, key=lambda line: line.get_linewidth())
    assert mean.get_xdata().tolist() == [0, 10]


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_files_are_written_and_repeat_to_the_byte(tmp_path, suffix):
    runs = {"rule": [rewarded(0.2)], "frozen": [rewarded(0.3, alarm_step=4)]}
    one = comparison_figure(runs, tmp_path / "new" / f"a.{suffix}", title="sums")
    two = comparison_figure(runs, tmp_path / f"b.{suffix}", title="sums")
    assert one.read_bytes() == two.read_bytes()
    if suffix == "svg":
        assert ET.parse(one).getroot().tag.endswith("svg")
    else:
        assert one.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(one.read_bytes()[16:20]) == 1800  # twice the width of a README


def test_training_figure_by_parts(tmp_path):
    metrics = {0: {"eval/accuracy": 0.5, "eval/low": 0.4, "eval/high": 0.6}}
    for step in range(1, 11):
        metrics[step] = {
            "reward": 0.1 * step,
            "cooper/proxy_mean": 0.5,
            "cooper/rule_mean": 0.4,
            "cooper/alarm": float(step >= 7),
        }
    metrics[10] |= {"eval/accuracy": 0.3, "eval/low": 0.2, "eval/high": 0.4}
    axes = _training(metrics, "run").axes[0]
    assert sorted(texts(axes)) == [
        "alarm, step 7", "held-out accuracy", "reward", "reward model", "rule",
    ]  # fmt: skip
    assert len(axes.collections) == 1, "the interval of the accuracy"
    assert training_figure(metrics, tmp_path / "run.png", title="run").stat().st_size > 10_000


def test_training_figure_with_one_metric_only():
    axes = _training({5: {"reward": 0.5}, 9: {"reward": 0.6, "cooper/alarm": None}}, "").axes[0]
    assert texts(axes) == ["reward"]


def test_bad_input_is_named(tmp_path):
    with pytest.raises(ValueError, match="runs: got no run"):
        comparison_figure({"rule": []}, tmp_path / "a.svg", title="")
    with pytest.raises(ValueError, match="metrics: got none"):
        training_figure({1: {"loss": 2.0}}, tmp_path / "a.svg")
    with pytest.raises(ValueError, match=r"path: got 'a\.jpg'"):
        comparison_figure({"rule": [seed(0.5)]}, tmp_path / "a.jpg", title="")
    with pytest.raises(ValueError, match="accuracy: got 1 values for 2 steps"):
        comparison_figure(
            {"rule": [{"steps": [0, 1], "accuracy": [0.1]}]}, tmp_path / "a.svg", title=""
        )


def test_drawing_touches_no_global_state(tmp_path):
    before = dict(mpl.rcParams)
    comparison_figure({"rule": [seed(0.5)]}, tmp_path / "a.svg", title="")
    assert dict(mpl.rcParams) == before
    for module in (_canvas, _curves, _figure):
        assert "pyplot" not in vars(module)
        assert "matplotlib.pyplot" not in inspect.getsource(module)


@settings(deadline=None)
@given(st.lists(st.floats(-0.2, 1.2), max_size=12))
def test_names_keep_their_distance_and_stay_inside(wanted):
    places = spread(sorted(wanted), 0.066)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    assert all(b - a >= 0.066 - 1e-9 for a, b in itertools.pairwise(places))


def test_names_that_are_apart_stay_where_they_are():
    assert spread([0.1, 0.5, 0.9], 0.066) == pytest.approx([0.1, 0.5, 0.9])


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=80))
def test_smoothing_against_a_slow_loop(values):
    half = round(0.05 * len(values)) // 2
    slow = [np.mean(values[max(0, i - half) : i + half + 1]) for i in range(len(values))]
    assert smooth(curve(range(len(values)), values, "x")).values == pytest.approx(slow)


def test_mean_curve_uses_shared_steps():
    one, two = curve([0, 2, 4], [0.0, 0.2, 0.4], "x"), curve([4, 1, 2], [0.6, 0.9, 0.4], "x")
    assert mean_curve([one, two]).steps.tolist() == [2, 4]
    assert mean_curve([one, two]).values.tolist() == pytest.approx([0.3, 0.5])
