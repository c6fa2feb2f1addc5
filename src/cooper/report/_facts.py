"""What a run came to: the few facts that the top of its page states, from summary or metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cooper.report._read import RunRecord, Series, number


@dataclass(frozen=True)
class Facts:
    """The headline's content; None where the run does not say."""

    task: str
    arm: str
    seed: str
    steps: int
    planned: int | None
    seconds: float | None
    before: float | None
    before_interval: tuple[float, float] | None
    after: float | None
    after_interval: tuple[float, float] | None
    peak: tuple[int, float] | None  # step, held-out accuracy
    alarm_watched: bool
    alarm_step: int | None
    alarm_reason: str
    thresholds: dict[str, float | None]  # of the alarm, by kind


def _mappings(tree: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping of the configuration with its dotted path, outermost first."""
    if isinstance(tree, Mapping):
        yield path, tree
        for key, value in tree.items():
            yield from _mappings(value, f"{path}.{key}" if path else str(key))


def _setting(record: RunRecord, name: str) -> str:
    """A name from the summary, else the outermost such key of the configuration."""
    held = record.summary.get(name)
    for _, mapping in _mappings(record.config):
        if held is not None:
            break
        held = mapping.get(name)
    if isinstance(held, Mapping):
        held = held.get("name")
    return "–" if held is None or isinstance(held, list | dict) else str(held)


def threshold(record: RunRecord, kind: str) -> float | None:
    """The alarm's threshold on `kind` ("gap" or "wrong"), in score units, None if off or unknown.

    Looked for in this order: the metric `cooper/alarm_KIND`, the summary's `alarm_KIND`, and the
    configuration: key KIND of a section whose name holds "alarm", or a key `alarm_KIND`.
    """
    name = f"alarm_{kind}"
    logged = record.series(f"cooper/{name}")
    if logged:
        return logged[-1][1]
    found = [number(record.summary.get(name))]
    for path, mapping in _mappings(record.config):
        found.append(number(mapping.get(kind)) if "alarm" in path else None)
        found.append(number(mapping.get(name)))
    return next((value for value in found if value is not None), None)


def _interval(record: RunRecord, step: int) -> tuple[float, float] | None:
    low, high = (dict(record.series(f"eval/{end}")).get(step) for end in ("low", "high"))
    return None if low is None or high is None else (low, high)


def _elapsed(points: Series) -> float | None:
    """The last time stamp, where the series is a clock and not a time per step."""
    values = [value for _, value in points]
    rising = all(a <= b for a, b in pairwise(values))
    return values[-1] if len(values) > 1 and rising else None


def facts(record: RunRecord) -> Facts:
    """Collect the facts; an interrupted run has no summary and is told from its metrics."""
    summary = record.summary
    measured = record.series("eval/accuracy")
    before, after = number(summary.get("base_accuracy")), number(summary.get("accuracy"))
    start = measured[0] if measured else None
    if before is None and start and start[0] <= 1:
        before = start[1]
    if after is None and measured:
        after = measured[-1][1]
    same = before is not None and start is not None and abs(start[1] - before) < 1e-6
    ends = measured and after is not None and abs(measured[-1][1] - after) < 1e-6
    fired = [step for step, value in record.series("cooper/alarm") if value > 0]
    told = number(summary.get("alarm_step"))
    seen = [points[-1][0] for points in record.metrics.values()]
    steps = number(summary.get("steps"))
    planned = _setting(record, "max_steps")
    if planned == "–":
        planned = _setting(record, "steps")
    return Facts(
        task=_setting(record, "task"),
        arm=_setting(record, "arm"),
        seed=_setting(record, "seed"),
        steps=int(steps) if steps is not None else max([*seen, *record.steps], default=0),
        planned=int(planned) if planned.isdecimal() else None,
        seconds=number(summary.get("seconds")) or _elapsed(record.series("seconds")),
        before=before,
        before_interval=_interval(record, start[0]) if same and start else None,
        after=after,
        after_interval=_interval(record, measured[-1][0]) if ends else None,
        peak=max(measured, key=lambda point: point[1]) if measured else None,
        alarm_watched="alarm_step" in summary or bool(record.series("cooper/alarm")),
        alarm_step=int(told) if told is not None else (fired[0] if fired else None),
        alarm_reason=str(summary.get("alarm_reason") or ""),
        thresholds={kind: threshold(record, kind) for kind in ("gap", "wrong")},
    )
