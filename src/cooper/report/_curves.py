"""The panels of curves and the score distributions of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cooper.report._charts import Line, bins, histogram, line_chart
from cooper.report._facts import Facts
from cooper.report._read import Rollouts, RunRecord, number
from cooper.report._svg import safe, show


@dataclass(frozen=True)
class Panel:
    """One chart: its curves as (label, metric, colour), title with unit, and what to look for."""

    title: str
    note: str
    curves: tuple[tuple[str, str, int], ...]
    digits: int = 2
    alarm: str = ""  # the kind of alarm that watches this panel


PANELS = (
    Panel(
        "Held-out accuracy and rewards (0 to 1)",
        "Proxy: mean score of the reward model. Healthy: all rise together. Hacked: the proxy "
        "rises while the held-out accuracy does not.",
        (
            ("held out", "eval/accuracy", 1),
            ("reward", "reward", 2),
            ("proxy", "cooper/proxy_mean", 3),
            ("rule", "cooper/rule_mean", 4),
            ("truth", "cooper/truth", 5),
        ),
    ),
    Panel(
        "Gap: reward model minus rule",
        "Mean score minus mean rule verdict on the same rollouts; the alarm watches it.",
        (("gap", "cooper/gap", 3),),
        alarm="gap",
    ),
    Panel(
        "Score of surely wrong answers (0 to 1)",
        "Mean score of the reward model on rollouts that are surely wrong; watched as well.",
        (("wrong", "cooper/wrong_score", 3),),
        alarm="wrong",
    ),
    Panel(
        "Health of the data (shares, 0 to 1)",
        "Valid: groups that gave a training pair. Unsure: neither surely wrong nor right.",
        (
            ("valid pairs", "cooper/valid_rate", 1),
            ("unsure", "cooper/unsure_share", 2),
            ("format", "cooper/format_share", 4),
            ("anchored", "cooper/anchored_share", 5),
        ),
    ),
    Panel(
        "Reward model: accuracy (0 to 1)",
        "Share of pairs ordered rightly: fresh ones from this policy, and a fixed set.",
        (
            ("fresh pairs", "cooper/rm_accuracy_fresh", 1),
            ("fixed set", "cooper/rm_accuracy_fixed", 2),
        ),
    ),
    Panel(
        "Reward model: loss (nats)",
        "Mean loss of the reward model's own update.",
        (("loss", "cooper/rm_loss", 3),),
        digits=3,
    ),
    Panel(
        "Completion length (tokens)",
        "Mean over the rollouts of a step.",
        (("length", "completions/mean_length", 1),),
        digits=1,
    ),
    Panel(
        "KL from the starting policy (nats)",
        "Mean per token, as the trainer reports it.",
        (("KL", "kl", 2),),
        digits=3,
    ),
)


def _line(record: RunRecord, label: str, metric: str, colour: int) -> Line:
    measured = metric.startswith("eval/")
    band = []
    if measured:
        lows, highs = dict(record.series("eval/low")), dict(record.series("eval/high"))
        band = [(float(s), lows[s], highs[s]) for s in sorted(lows.keys() & highs.keys())]
    points = [(float(step), value) for step, value in record.series(metric)]
    return Line(label, points, colour, band if len(band) > 1 else (), dots=measured)


def _figure(title: str, chart: str, note: str) -> str:
    return f"<figure><h3>{safe(title)}</h3>{chart}<figcaption>{note}</figcaption></figure>"


def curves(record: RunRecord, told: Facts) -> str:
    """Every panel as a `<figure>`; one without any series becomes a sentence."""
    parts = []
    for panel in PANELS:
        lines = [_line(record, *curve) for curve in panel.curves if record.series(curve[1])]
        lost = [label for label, metric, _ in panel.curves if not record.series(metric)]
        note = safe(panel.note)
        if lost and lines:
            note += f' <span class="lost">Not recorded: {safe(", ".join(lost))}.</span>'
        if not lines:
            empty = '<p class="empty">Not recorded in this run.</p>'
            parts.append(_figure(panel.title, empty, note))
            continue
        ends = ", ".join(f"{line.label} ends at {show(line.points[-1][1], 3)}" for line in lines)
        limit = told.thresholds.get(panel.alarm)
        mark = told.alarm_step if panel.alarm or panel is PANELS[0] else None
        chart = line_chart(
            lines,
            words=f"{panel.title}: {ends}.",
            level=(limit, "threshold") if limit is not None else None,
            mark=(float(mark), f"alarm, step {mark}") if mark is not None else None,
            digits=panel.digits,
        )
        if panel.alarm and limit is None:
            note += ' <span class="lost">No threshold is set or recorded.</span>'
        parts.append(_figure(panel.title, chart, note))
    return "".join(parts)


def _split(parts: Sequence[Rollouts], judge: str) -> tuple[list[float], list[float]]:
    """Scores of the reward model for right and for wrong answers; unjudged ones are left out."""
    right: list[float] = []
    wrong: list[float] = []
    for part in parts:
        for row in part.rows:
            score, verdict = number(row.get("proxy")), number(row.get(judge))
            if score is not None and verdict is not None:
                (right if verdict >= 0.5 else wrong).append(score)
    return right, wrong


def distributions(first: Sequence[Rollouts], last: Sequence[Rollouts]) -> str:
    """Score histograms of right and wrong answers, for the run's first and its last part."""
    everything = [row for part in (*first, *last) for row in part.rows]
    judge = "oracle" if any(number(row.get("oracle")) is not None for row in everything) else "rule"
    halves = [(_split(part, judge), part) for part in (first, last) if part]
    scores = [value for (right, wrong), _ in halves for value in (*right, *wrong)]
    if not scores:
        return '<p class="empty">No rollouts with both a score and a verdict were recorded.</p>'
    span = (min(0.0, *scores), max(1.0, *scores))
    sets = [values for pair, _ in halves for values in pair if values]
    top = max(max(bins(values, *span, 20)) for values in sets)
    parts = []
    for name, ((right, wrong), part) in zip(("First", "Last"), halves, strict=False):
        steps = f"{part[0].step}" if len(part) == 1 else f"{part[0].step} to {part[-1].step}"
        parts.append(
            _figure(
                f"{name} part of the run (steps {steps})",
                histogram(
                    [("wrong", wrong, 3), ("right", right, 1)],
                    words=f"Scores of {len(right)} right and {len(wrong)} wrong answers.",
                    span=span,
                    top=top,
                ),
                f"Right and wrong as the {judge} says. Wrong answers with high scores are what "
                "a policy learns to exploit.",
            )
        )
    return "".join(parts)
