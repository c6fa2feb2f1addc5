"""The table of sample rollouts: every component and status, sortable and filterable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cooper.report._read import Rollouts, RunRecord, number, read_rollouts
from cooper.report._svg import safe, show

ROWS = 150  # rows in the page; the rest is in the Parquet files
LONG = 260  # characters shown before a completion folds
LONGEST = 6000  # characters of a completion kept in the page

_TEXTS = ("question", "reference", "completion")
_ORDER = (
    "step",
    "group",
    *_TEXTS,
    "rule",
    "rule_status",
    "proxy",
    "proxy_status",
    "reward",
    "advantage",
    "oracle",
    "surely_wrong",
    "unsure",
    "tokens",
)
_WHOLE = ("step", "group", "tokens")
_NAMES = {"proxy": "proxy score"}


def _near(record: RunRecord, wanted: int, taken: set[int]) -> Rollouts | None:
    """The readable, non-empty rollouts whose step is nearest to `wanted` and not yet taken."""
    for step in sorted(set(record.steps) - taken, key=lambda step: (abs(step - wanted), step))[:5]:
        held = read_rollouts(record, [step])
        if held and held[0].rows:
            return held[0]
    return None


def samples(record: RunRecord) -> list[Rollouts]:
    """Rollouts of the first, a middle and the last step, at most `ROWS` rows in all."""
    if not record.steps:
        return []
    middle = record.steps[len(record.steps) // 2]
    picked: list[Rollouts] = []
    for wanted in (record.steps[0], record.steps[-1], middle):
        held = _near(record, wanted, {part.step for part in picked})
        if held:
            picked.append(held)
    share = ROWS // max(1, len(picked))
    return [Rollouts(part.step, part.rows[:share]) for part in sorted(picked, key=lambda p: p.step)]


def _kind(name: str, rows: Sequence[dict[str, Any]]) -> str:
    held = [row.get(name) for row in rows if row.get(name) is not None]
    if held and all(isinstance(value, bool) for value in held):
        return "flag"
    if held and not all(isinstance(value, int | float) for value in held):
        return "text" if name in _TEXTS else "word"
    return "whole" if name in _WHOLE else "number"


def _long(text: str) -> str:
    """Long text folded behind its beginning; very long text keeps its end, where answers are."""
    if len(text) <= LONG:
        return safe(text)
    if len(text) > LONGEST:
        cut = f"\n… ({len(text) - LONGEST:,} characters left out) …\n"
        text = text[: LONGEST // 2] + cut + text[-LONGEST // 2 :]
    return (
        f"<details><summary>{safe(text[: LONG - 60])} … "
        f"<b>({len(text):,} characters)</b></summary>{safe(text)}</details>"
    )


def _cell(value: Any, name: str, kind: str) -> str:
    """One `<td>`; `data-v` is what sorting compares, absent where there is no value."""
    if kind in ("number", "whole"):
        held = number(value)
        if held is None:
            return '<td class="n none">–</td>'
        text = f"{held:.0f}" if kind == "whole" else show(round(held, 3) + 0.0, 3)
        return f'<td class="n" data-v="{held!r}">{text.replace("-", "−")}</td>'
    if value is None:
        return '<td class="none">–</td>'
    if kind == "flag":
        return f'<td data-v="{int(bool(value))}">{"yes" if value else "no"}</td>'
    if kind == "text":
        return f'<td class="t t-{name}" data-v="{safe(str(value)[:80])}">{_long(str(value))}</td>'
    return f'<td data-v="{safe(value)}">{safe(value)}</td>'


def _fooled(row: dict[str, Any]) -> bool:
    """Whether the reward model scores a wrong answer at .5 or more."""
    oracle = number(row.get("oracle"))
    wrong = oracle < 0.5 if oracle is not None else bool(row.get("surely_wrong"))
    return wrong and (number(row.get("proxy")) or 0.0) >= 0.5


def table(parts: Sequence[Rollouts]) -> str:
    """The table with its filter, or a sentence where there are no rollouts."""
    rows = [row for part in parts for row in part.rows]
    if not rows:
        return '<p class="empty">No readable rollouts were recorded.</p>'
    held = {name for row in rows for name in row} - {"prompt"}
    names = [name for name in _ORDER if name in held] + sorted(held - set(_ORDER))
    kinds = {name: _kind(name, rows) for name in names}
    head = "".join(
        f'<th scope="col" aria-sort="none" data-k="{safe(name)}" data-t="{kinds[name]}"'
        f"{' class=n' if kinds[name] in ('number', 'whole') else ''}>"
        f'<button type="button">{safe(_NAMES.get(name, name.replace("_", " ")))}</button></th>'
        for name in names
    )
    body = "".join(
        f"<tr{' class=fooled' if _fooled(row) else ''}>"
        + "".join(_cell(row.get(name), name, kinds[name]) for name in names)
        + "</tr>\n"
        for row in rows
    )
    fooled = sum(map(_fooled, rows))
    steps = ", ".join(str(part.step) for part in parts)
    return f"""<p>{len(rows)} rollouts of steps {steps}. Click a heading to sort, again to reverse.
{fooled} wrong answers that the reward model scores at 0.5 or more carry a bar on the left.
All rollouts are in <code>rollouts/*.parquet</code>.</p>
<form class="find" role="search"><label>Show rows that contain
<input type="search" id="find" autocomplete="off" placeholder="any text"></label>
<label class="only"><input type="checkbox" id="only"> only wrong answers scored 0.5 or more</label>
<output id="shown">{len(rows)} of {len(rows)} rows</output></form>
<div class="wide" role="region" aria-label="Sample rollouts" tabindex="0">
<table id="rollouts"><thead><tr>{head}</tr></thead>
<tbody>
{body}</tbody></table></div>"""


_SECRET = re.compile(r"api_?key|secret|password|credential|(access|auth|hf|bearer)_?token", re.I)


def hide_secrets(tree: Any) -> Any:
    """The configuration with the values of secret-looking keys hidden.

    Example:
        >>> hide_secrets({"api_key": "sk-1", "max_tokens": 8, "token": None})
        {'api_key': '(hidden)', 'max_tokens': 8, 'token': None}
    """
    if isinstance(tree, dict):
        return {
            key: "(hidden)" if value and _SECRET.search(str(key)) else hide_secrets(value)
            for key, value in tree.items()
        }
    if isinstance(tree, list):
        return [hide_secrets(value) for value in tree]
    return tree
