from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

from cooper.report import append_metrics, write_report, write_rollouts
from cooper.report._charts import Line, line_chart
from cooper.report._style import DARK, LIGHT
from cooper.report._svg import spread, tick_texts, ticks


class Elements(HTMLParser):
    """Collects every element with its attributes, and checks that they nest."""

    VOID = ("meta", "input", "path", "circle", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_has_its_parts_in_order(run_folder: Path) -> None:
    path = write_report(run_folder)
    assert path == run_folder / "report.html"
    page = path.read_text("utf-8")
    parts = [
        "<h1>sums-frozen-3</h1>",
        "60.0\u00a0% → 25.1\u00a0%",
        "Interval before: 56.0 to 64.0\u00a0%, after: 21.1 to 29.1\u00a0%.",
        "Alarm at step 66",
        "The gap was above 0.15 for 3 steps. Held-out accuracy ended 46.1 points below its peak.",
        "Held-out accuracy and rewards",
        "Gap: reward model minus rule",
        "threshold 0.15",
        "Health of the data",
        "Reward model: accuracy",
        "Completion length (tokens)",
        "KL from the starting policy",
        "First part of the run (steps 5 to 20)",
        "Last part of the run (steps 105 to 120)",
        "72 rollouts of steps 5, 65, 120.",
        "Resolved configuration",
    ]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert "Not recorded: anchored." in page
    assert "verysecret" not in page
    assert not [file for file in run_folder.iterdir() if file.name.endswith(".tmp")]


def test_the_page_is_self_contained_and_hostile_text_is_inert(run_folder: Path) -> None:
    page = write_report(run_folder).read_text("utf-8")
    elements = Elements(page)
    tags = [tag for tag, _ in elements.found]
    assert tags.count("script") == 1
    assert not {"img", "link", "iframe", "object", "base"} & set(tags)
    for _, attributes in elements.found:
        assert not {"src", "href", "srcset", "action"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import", page)
    assert "&lt;script&gt;document.title=&#x27;hacked&#x27;&lt;/script&gt;" in page
    assert "\x00" not in page
    assert "\u202e" not in page


def test_an_interrupted_run_is_told_from_its_metrics(run_folder: Path) -> None:
    (run_folder / "summary.json").unlink()
    lines = (run_folder / "metrics.jsonl").read_text().splitlines()
    (run_folder / "metrics.jsonl").write_text("\n".join(lines[:50]) + '\n{"step')
    for path in (run_folder / "rollouts").iterdir():
        path.unlink()
    page = write_report(run_folder).read_text("utf-8")
    assert "there is no summary.json" in page
    assert "<b>45 of 120</b>" in page
    assert "No alarm" in page
    assert "No readable rollouts were recorded." in page


def test_a_bare_run_leaves_out_what_it_lacks(tmp_path: Path) -> None:
    append_metrics(tmp_path, 1, {"reward": 0.5})
    page = write_report(tmp_path).read_text("utf-8")
    assert page.count("Not recorded in this run.") == 7
    assert page.count("<svg") == 1
    assert "Not recorded: held out, proxy, rule, truth." in page
    assert "Not watched" in page
    assert "– → –" in page
    Elements(page)


def test_odd_summaries_and_values_do_not_break_it(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("task: {name: '<i>x</i>'}\nseed: [1]\n3: null\n")
    summary = {"steps": "many", "accuracy": None, "alarm_step": None, "alarm_reason": None}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    for step in range(1, 2000):
        append_metrics(tmp_path, step, {"kl": -1e-7 * step, "cooper/rm_loss": 1e12})
    rows: dict[str, list[Any]] = {
        "completion": ["x" * 50_000, None],
        "rule": [1.0, 0.0],
        "proxy": [7.0, -3.0],
    }
    write_rollouts(tmp_path, 7, {**rows, "odd<name>": ["a", None], "odd<name>_status": [None] * 2})
    page = write_report(tmp_path).read_text("utf-8")
    assert "&lt;i&gt;x&lt;/i&gt;" in page
    assert "(44,000 characters left out)" in page
    assert "No alarm" in page
    assert len(page) < 150_000
    Elements(page)


def test_a_null_is_a_dash_without_a_value_to_sort_by(run_folder: Path) -> None:
    page = write_report(run_folder).read_text("utf-8")
    assert page.count('<td class="n none">–</td>') == 3 * 3  # rule, proxy, reward in three steps


def test_ticks_and_labels() -> None:
    assert ticks(-0.03, 0.22) == [-0.05, 0.0, 0.05, 0.1, 0.15, 0.2, 0.25]
    assert tick_texts([-0.05, 0.0, 0.05]) == ["−0.05", "0.00", "0.05"]
    assert tick_texts([0.0, 2.5, 5.0]) == ["0.0", "2.5", "5.0"]
    placed = spread([100.0, 100.0, 100.0, 0.0, 99.0], 16.0, 0.0, 100.0)
    ordered = sorted(placed)
    assert all(b - a >= 15.9 for a, b in pairwise(ordered))
    assert ordered[-1] == 100.0
    assert min(placed) == placed[3] == 0.0


def test_a_single_point_is_drawn_as_a_dot() -> None:
    chart = line_chart([Line("held out", [(0, 0.4)], 1, dots=True)], words="one")
    assert chart.count("<circle") == 1
    assert "held out 0.40" in chart


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_of_text_can_be_read_on_its_surface() -> None:
    for theme in (LIGHT, DARK):
        for name in ("ink", "soft", "bad", "good", "c1", "c2", "c3", "c4", "c5", "c6"):
            for surface in ("surface", "tint"):
                pair = sorted((_luminance(theme[name]), _luminance(theme[surface])))
                assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, (name, surface)
