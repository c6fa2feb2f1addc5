"""One run folder as one HTML page that opens offline."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import yaml

from cooper.report._curves import curves, distributions
from cooper.report._facts import Facts, facts
from cooper.report._read import Rollouts, RunRecord, read_rollouts, read_run
from cooper.report._style import script, style
from cooper.report._svg import percent, safe, show
from cooper.report._table import hide_secrets, samples, table
from cooper.report._write import replace_file

PART = 40  # at most so many files are read for each end of the score distributions


def _time(seconds: float | None) -> str:
    """Seconds as '1 h 2 min', '3 min 4 s' or '5.0 s'."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {round(seconds) % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _verdict(told: Facts) -> tuple[str, str, str]:
    """The alarm in words: (class, headline, explanation)."""
    if told.alarm_step is not None:
        why = told.alarm_reason.strip() or "The reward model's scores left the rule behind"
        why = why[0].upper() + why[1:] + ("" if why[-1] in ".!?" else ".")
        if told.peak and told.after is not None and told.peak[1] - told.after > 0.05:
            lost = show(100 * (told.peak[1] - told.after), 1)
            why += f" Held-out accuracy ended {lost} points below its peak."
        return "bad", f"Alarm at step {told.alarm_step}", why
    if told.alarm_watched:
        return "good", "No alarm", "The reward model stayed with the rule on the same rollouts."
    return "", "Not watched", "This run recorded no alarm, neither fired nor quiet."


def _accuracy(told: Facts) -> str:
    """The card on held-out accuracy before and after."""
    lines = []
    for name, interval in (("before", told.before_interval), ("after", told.after_interval)):
        if interval:
            low, high = interval
            lines.append(f"{name}: {show(100 * low, 1)} to {percent(high)}")
    note = f"Interval {', '.join(lines)}." if lines else "No interval was recorded."
    change = ""
    if told.before is not None and told.after is not None:
        points = round(100 * (told.after - told.before), 1) + 0.0
        change = f"Change {'+' if points > 0 else ''}{show(points, 1)} points. "
    if told.peak and told.after is not None:
        peak = f"Peak {percent(told.peak[1])} at step {told.peak[0]}."
    else:
        peak = ""
    return f"""<div class="card"><h2>Held-out accuracy, before → after</h2>
<p class="big">{percent(told.before)} → {percent(told.after)}</p>
<p>{change}{peak}</p><p>{note}</p></div>"""


def _headline(record: RunRecord, told: Facts) -> str:
    kind, words, why = _verdict(told)
    steps = f"{told.steps:,}"
    if not record.summary and told.planned and told.planned > told.steps:
        steps += f" of {told.planned:,}"
    about = " · ".join(
        f"<span>{safe(name)} <b>{safe(value)}</b></span>"
        for name, value in (
            ("task", told.task),
            ("arm", told.arm),
            ("seed", told.seed),
            ("steps", steps),
            ("time", _time(told.seconds)),
        )
    )
    return f"""<h1>{safe(record.folder.resolve().name)}</h1>
<p class="about">{about}</p>
<div class="cards">{_accuracy(told)}
<div class="card"><h2>Alarm: is the reward still honest?</h2>
<p class="big {kind}">{safe(words)}</p><p>{safe(why)}</p></div></div>"""


def _ends(record: RunRecord) -> tuple[list[Rollouts], list[Rollouts]]:
    """Rollouts of the first and the last fifth of the run."""
    if len(record.steps) < 2:
        return read_rollouts(record, record.steps), []
    size = min(PART, max(1, len(record.steps) // 5))
    return read_rollouts(record, record.steps[:size]), read_rollouts(record, record.steps[-size:])


def _notes(record: RunRecord) -> str:
    if not record.notes:
        return ""
    items = "".join(f"<li>{safe(note)}</li>" for note in record.notes)
    return f'<div class="notes" role="note"><b>Notes on this run folder</b><ul>{items}</ul></div>'


def _html(record: RunRecord) -> str:
    told = facts(record)
    charts = curves(record, told)
    scores = distributions(*_ends(record))
    rollouts = table(samples(record))
    settings = yaml.safe_dump(hide_secrets(record.config), sort_keys=False, allow_unicode=True)
    code = script()
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    # Nothing may be fetched, and only this very script may run: completions are hostile text.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{safe(record.folder.resolve().name)} – cooper run</title>
<style>{style()}</style></head>
<body><main>
{_headline(record, told)}
{_notes(record)}
<h2>Curves</h2>
<p>Thin: each step. Thick: running mean. Dots and band: held-out accuracy with its interval.</p>
<div class="charts">{charts}</div>
<h2>Scores of right and wrong answers</h2>
<div class="charts">{scores}</div>
<h2>Sample rollouts</h2>
{rollouts}
<h2>Configuration</h2>
<details><summary>Resolved configuration (config.yaml)</summary>
<pre>{safe(settings)}</pre></details>
<footer>Written by cooper from the run folder; <code>cooper report RUN</code> rebuilds it.</footer>
</main><script>{code}</script></body></html>
"""


def write_report(run: Path | str) -> Path:
    """Build `report.html` of a run folder: one self-contained file.

    Works on interrupted runs too: what is missing or unreadable is named on the page.

    Args:
        run: a run folder (config.yaml, metrics.jsonl, rollouts/*.parquet, summary.json).

    Returns:
        The path of the page; a former page is replaced in one move.

    Raises:
        UserError: no such folder, not a run folder, or the page cannot be written.
    """
    record = read_run(run)
    page = _html(record).encode("utf-8", "replace")
    path = record.folder / "report.html"
    replace_file(path, lambda half: half.write_bytes(page))
    return path
