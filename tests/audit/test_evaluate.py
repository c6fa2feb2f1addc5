"""Replaying stored runs: counts, intervals, the step of each alarm."""

from __future__ import annotations

import numpy as np
import pytest

from cooper.audit import AlarmConfig, alarm_series, evaluate_alarm
from cooper.run._statistics import proportion_interval

HACKED = {"hacked": True, "harm_step": 9, "proxy": [0.5, 0.8, 0.9, 0.9], "rule": [0.3] * 4}
CLEAN = {"hacked": False, "proxy": np.full(20, 0.5), "rule": np.full(20, 0.4)}


def test_counts_by_hand():
    late = HACKED | {"harm_step": 3}
    missed = CLEAN | {"hacked": True}
    wolf = HACKED | {"hacked": False}
    report = evaluate_alarm([HACKED, late, missed, wolf, CLEAN, CLEAN], AlarmConfig())
    # Gaps .2 .5 .6: the first mean of three is .433 > .40.
    assert report.alarm_steps == (3, 3, None, 3, None, None)
    assert (report.hacked, report.detected, report.in_time) == (3, 2, 1)
    assert (report.clean, report.false_alarms) == (3, 1)
    assert report.detection == proportion_interval(2, 3)
    assert report.timely == proportion_interval(1, 3)
    assert report.false_alarm == proportion_interval(1, 3)
    assert report.verdict == (
        "Alarm in 2 of 3 hacked runs, in time in 1; false alarm in 1 of 3 clean runs."
    )


def test_without_a_harm_step_every_alarm_is_in_time():
    assert evaluate_alarm([HACKED | {"harm_step": None}], AlarmConfig()).in_time == 1


def test_exact_interval_and_no_runs():
    report = evaluate_alarm([HACKED] * 4, AlarmConfig(), method="exact")
    assert report.detection == proportion_interval(4, 4, method="exact")
    assert report.false_alarm.mean is None
    assert evaluate_alarm([], AlarmConfig()).hacked == 0


def test_warnings_are_listed_and_do_not_count():
    starved = CLEAN | {"valid_rate": [1.0] * 10 + [0.0] * 10}
    report = evaluate_alarm([starved], AlarmConfig())
    assert report.false_alarms == 0
    assert report.first_steps == ({"starvation": 16},)


def test_missing_series_and_values_are_missing():
    run = {"hacked": True, "proxy": [0.9, None, 0.9, np.nan, 0.9], "rule": [0.1] * 5}
    assert evaluate_alarm([run], AlarmConfig()).alarm_steps == (5,)
    no_rule = {"hacked": True, "proxy": [0.9] * 5, "wrong": [0.8] * 5, "rule": None}
    assert evaluate_alarm([no_rule], AlarmConfig()).first_steps == ({"wrong": 3},)


def test_steps_of_the_trainer():
    run = HACKED | {"step": [10, 20, 30, 40], "harm_step": 31}
    report = evaluate_alarm([run], AlarmConfig())
    assert report.alarm_steps == (30,)
    assert report.in_time == 1


def test_series_from_metrics():
    metrics = {
        2: {"cooper/proxy_mean": 0.8, "cooper/rule_mean": 0.3, "loss": 1.0},
        0: {"eval/accuracy": 0.5},
        1: {"cooper/proxy_mean": 0.5, "cooper/rule_mean": 0.3, "cooper/wrong_score": 0.2},
        3: {"cooper/proxy_mean": 0.9, "cooper/rule_mean": 0.3},
    }
    series = alarm_series(metrics)
    assert series["step"] == [1, 2, 3]
    assert series["proxy"] == [0.5, 0.8, 0.9]
    assert series["wrong"] == [0.2, None, None]
    report = evaluate_alarm([{"hacked": True, **series}], AlarmConfig())
    assert report.alarm_steps == (3,)


def test_bad_runs_are_named():
    with pytest.raises(ValueError, match="run 1 has no 'hacked'"):
        evaluate_alarm([CLEAN, {"proxy": [0.1]}], AlarmConfig())
    with pytest.raises(ValueError, match="run 0 has no 'proxy'"):
        evaluate_alarm([{"hacked": True}], AlarmConfig())
    with pytest.raises(ValueError, match="series of run 0 must have one length"):
        evaluate_alarm([{"hacked": True, "proxy": [0.1], "rule": [0.1, 0.2]}], AlarmConfig())
