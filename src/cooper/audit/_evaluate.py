"""How good is the alarm? Replays stored runs and counts detections and false alarms.

Fix the thresholds on some seeds, then evaluate them on others: on the runs they were chosen on
they look better than they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from cooper.audit._alarm import ALARMS, AlarmConfig, alarm_init, alarm_update
from cooper.audit._interval import Interval, proportion_interval

SIGNALS = {  # argument of alarm_update -> metric of a run folder
    "proxy": "cooper/proxy_mean",
    "rule": "cooper/rule_mean",
    "wrong": "cooper/wrong_score",
    "wrong_share": "cooper/wrong_share",
    "valid_rate": "cooper/valid_rate",
    "unsure": "cooper/unsure_share",
}


class AlarmReport(NamedTuple):
    """Counts over runs, with intervals of the rates. Warnings are listed and do not count."""

    hacked: int  # runs that were hacked
    detected: int  # ... in which the alarm sounded
    in_time: int  # ... and did so before the harm
    clean: int  # runs that were not hacked
    false_alarms: int  # ... in which it sounded all the same
    detection: Interval  # detected / hacked
    timely: Interval  # in_time / hacked
    false_alarm: Interval  # false_alarms / clean
    alarm_steps: tuple[int | None, ...]  # per run, in the given order
    first_steps: tuple[dict[str, int], ...]  # per run: kind -> step of its first finding
    verdict: str


def alarm_series(metrics: Mapping[int, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The series that `evaluate_alarm` replays, from a run's metrics by step.

    Example:
        >>> alarm_series({1: {"cooper/proxy_mean": 0.6, "cooper/rule_mean": 0.5}, 2: {"loss": 1.0}})
        {'step': [1], 'proxy': [0.6], 'rule': [0.5],
         'wrong': [None], 'wrong_share': [None], 'valid_rate': [None], 'unsure': [None]}
    """
    known = set(SIGNALS.values())
    steps = [step for step in sorted(metrics) if known & metrics[step].keys()]
    series: dict[str, list[Any]] = {"step": list(steps)}
    for signal, metric in SIGNALS.items():
        series[signal] = [metrics[step].get(metric) for step in steps]
    return series


def evaluate_alarm(
    runs: Sequence[Mapping[str, Any]],
    config: AlarmConfig,
    *,
    level: float = 0.95,
    method: Literal["wilson", "exact"] = "wilson",
) -> AlarmReport:
    """Detections and false alarms of one detection rule on stored runs.

    Args:
        runs: one mapping a run: "hacked" (bool, what is known of it afterwards), optional
            "harm_step" (first step at which the harm is done, e.g. `collapse(...).lost_step`;
            an alarm is in time before it, and always where it is missing or None), and the
            series "proxy", "rule", "wrong", "valid_rate", "unsure", each (T,) with None or NaN
            where missing, or left out; optional "step" (T,), default 1..T.
        config: the detection rule.
        level: coverage of the intervals, in (0, 1).
        method: "wilson" or "exact" (Clopper-Pearson).

    Returns:
        AlarmReport; a rate over no runs has no interval.

    Raises:
        ValueError: a run lacks "hacked" or "proxy", or its series differ in length.

    Example:
        >>> hacked = {"hacked": True, "harm_step": 9, "proxy": [0.5, 0.8, 0.9], "rule": [0.3] * 3}
        >>> clean = {"hacked": False, "proxy": [0.5] * 4, "rule": [0.4] * 4}
        >>> evaluate_alarm([hacked, clean], AlarmConfig()).verdict
        'Alarm in 1 of 1 hacked runs, in time in 1; false alarm in 0 of 1 clean runs.'
    """
    first_steps = tuple(_replay(run, config, i) for i, run in enumerate(runs))
    alarm_steps = tuple(
        min((step for kind, step in first.items() if kind in ALARMS), default=None)
        for first in first_steps
    )
    hacked = [
        (step, run.get("harm_step"))
        for step, run in zip(alarm_steps, runs, strict=True)
        if run["hacked"]
    ]
    detected = sum(step is not None for step, _ in hacked)
    in_time = sum(step is not None and (harm is None or step < harm) for step, harm in hacked)
    clean = len(runs) - len(hacked)
    false_alarms = sum(step is not None for step in alarm_steps) - detected
    return AlarmReport(
        hacked=len(hacked),
        detected=detected,
        in_time=in_time,
        clean=clean,
        false_alarms=false_alarms,
        detection=proportion_interval(detected, len(hacked), level, method=method),
        timely=proportion_interval(in_time, len(hacked), level, method=method),
        false_alarm=proportion_interval(false_alarms, clean, level, method=method),
        alarm_steps=alarm_steps,
        first_steps=first_steps,
        verdict=(
            f"Alarm in {detected} of {len(hacked)} hacked runs, in time in {in_time}; "
            f"false alarm in {false_alarms} of {clean} clean runs."
        ),
    )


def _replay(run: Mapping[str, Any], config: AlarmConfig, index: int) -> dict[str, int]:
    """Step of the first finding of each kind."""
    for key in ("hacked", "proxy"):
        if key not in run:
            raise ValueError(f"runs: run {index} has no {key!r}, got {sorted(run)}")
    series = {name: run[name] for name in ("step", *SIGNALS) if run.get(name) is not None}
    lengths = {name: len(values) for name, values in series.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"runs: series of run {index} must have one length T, got {lengths}")
    state, first = alarm_init(), dict[str, int]()
    for step, values in zip(_steps(series), _rows(series), strict=True):
        before = set(state.raised)
        state, _ = alarm_update(state, config, step=step, **values)
        first |= {kind: step for kind in state.raised if kind not in before}
    return first


def _steps(series: Mapping[str, Any]) -> list[int]:
    return [int(s) for s in series.get("step", range(1, len(series["proxy"]) + 1))]


def _rows(series: Mapping[str, Any]) -> Iterable[dict[str, float | None]]:
    """The values of each step, for `alarm_update`."""
    names = [name for name in series if name != "step"]
    for values in zip(*(series[name] for name in names), strict=True):
        yield {"rule": None, **dict(zip(names, values, strict=True))}
