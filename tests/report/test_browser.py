"""The page in a real headless browser: no errors, sorting and filtering work, nothing overlaps."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from cooper.report import _page, append_metrics, write_report
from cooper.report._style import script

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-dev-shm-usage --virtual-time-budget=3000 --enable-logging=stderr"
).split()

Open = Callable[..., tuple[str, list[str]]]


def _open(binary: str, profile: Path, address: str, *options: str) -> tuple[str, list[str]]:
    """The page's DOM after its scripts ran, and what it wrote to the console."""
    done = subprocess.run(
        [binary, *QUIET, f"--user-data-dir={profile}", *options, "--dump-dom", address],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Opens an address in Chromium; skips where there is none that works."""
    binary = next(filter(None, map(shutil.which, NAMES)), None)
    if binary is None:
        pytest.skip(f"no Chromium on the PATH (looked for {', '.join(NAMES)})")
    profile = tmp_path_factory.mktemp("chromium")
    page = profile / "control.html"
    page.write_text("<p id=a>before</p><script>a.textContent='ran';console.error('x')</script>")
    dom, console = _open(binary, profile / "profile", page.as_uri())
    if "ran" not in dom:
        pytest.skip(f"{binary} cannot open a page here")
    assert console, "the console is not captured: the tests below would see nothing"
    return lambda address, *options: _open(binary, profile / "profile", address, *options)


def column(dom: str, name: str) -> list[str]:
    """The texts of one column in the order shown, hidden rows left out."""
    heads = re.findall(r'<th [^>]*data-k="([^"]*)"', dom)
    rows = re.findall(r"<tr(?: class=\"fooled\")?>(<td.*?)</tr>", dom, re.S)
    at = heads.index(name)
    return [unescape(re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)[at]) for row in rows]


def hooked(run: Path, hook: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the page with a line of script added to its own."""
    monkeypatch.setattr(_page, "script", lambda: script() + hook)
    return write_report(run).as_uri()


def test_it_opens_without_errors_and_nothing_hostile_runs(browser: Open, run_folder: Path) -> None:
    dom, console = browser(write_report(run_folder).as_uri())
    assert console == []
    assert "<title>sums-frozen-3 – cooper run</title>" in dom
    assert "72 of 72 rows" in dom
    assert "<img" not in dom
    assert len(column(dom, "proxy")) == 72


@pytest.mark.parametrize("down", [False, True])
def test_the_address_sorts_and_missing_values_stay_last(
    browser: Open, run_folder: Path, down: bool
) -> None:
    address = f"{write_report(run_folder).as_uri()}#sort={'-' if down else ''}proxy"
    dom, console = browser(address)
    assert console == []
    shown = column(dom, "proxy")
    assert shown[-3:] == ["–"] * 3
    numbers = [float(text) for text in shown[:-3]]
    assert numbers == sorted(numbers, reverse=down)
    order = "descending" if down else "ascending"
    assert f'aria-sort="{order}" data-k="proxy"' in dom
    assert dom.count('scope="col" aria-sort="none"') == 14


def test_a_click_sorts_a_second_click_reverses(
    browser: Open, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    click = 'document.querySelector("th[data-k=tokens] button").click();'
    for clicks, order in ((1, "ascending"), (2, "descending")):
        address = hooked(run_folder, click * clicks + "document.title=location.hash", monkeypatch)
        dom, console = browser(address)
        assert console == []
        numbers = [int(text) for text in column(dom, "tokens")]
        assert numbers == sorted(numbers, reverse=clicks == 2)
        assert f'aria-sort="{order}" data-k="tokens"' in dom
        assert f"<title>#sort={'-' * (clicks - 1)}tokens</title>" in dom


def test_it_filters_by_text_and_by_wrong_answers(browser: Open, run_folder: Path) -> None:
    address = write_report(run_folder).as_uri()
    dom, _ = browser(f"{address}#find=UNPARSED")
    assert column(dom, "rule_status") == ["unparsed"] * 3
    assert "3 of 72 rows" in dom
    dom, _ = browser(f"{address}#only=1&sort=proxy")
    assert 0 < len(column(dom, "oracle")) < 72
    assert set(column(dom, "oracle")) == {"0.000"}
    assert float(column(dom, "proxy")[0]) >= 0.5


LAYOUT = """
const bad = [], touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 &&
  a.top < b.bottom - 3 && b.top < a.bottom - 3;
for (const svg of document.querySelectorAll("svg")) {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map(
    t => [t.textContent, t.getBoundingClientRect()]);
  texts.forEach(([name, a], i) => {
    if (a.left < box.left - 1 || a.right > box.right + 1 || a.top < box.top - 1 ||
        a.bottom > box.bottom + 1) bad.push(name + " leaves its chart");
    texts.slice(i + 1).forEach(([other, b]) => touch(a, b) && bad.push(name + " / " + other));
  });
}
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) bad.push("page is " + wide + " wide in " + innerWidth);
parent.postMessage(bad.length ? bad.join("; ") : "clean at " + innerWidth, "*");
"""


@pytest.mark.parametrize("width", [360, 400, 700, 1280])
def test_no_labels_overlap_or_leave_their_chart(
    browser: Open, run_folder: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    address = hooked(run_folder, "{" + LAYOUT + "}", monkeypatch)
    frame = run_folder / "frame.html"  # a window has a least width, a frame has none
    frame.write_text(
        "<script>onmessage = event => document.title = event.data</script>"
        f'<iframe src="{address}" style="border:0" width="{width}" height="900"></iframe>'
    )
    dom, console = browser(frame.as_uri(), "--window-size=1400,1000")
    assert console == []
    assert re.findall("<title>(.*?)</title>", dom) == [f"clean at {width}"]


def test_a_short_run_with_large_values_is_laid_out_as_well(
    browser: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("reward", "cooper/proxy_mean", "cooper/rule_mean", "cooper/truth", "eval/accuracy")
    (tmp_path / "config.yaml").write_text("alarm: {gap: 0.4}\n")
    for step in (1, 2, 3):
        values = {name: 0.001 * step for name in names}
        values |= {"cooper/gap": -12.5, "cooper/rm_loss": 1e-6 * step, "kl": 123456.7}
        values |= {"completions/mean_length": 98765.4, "cooper/alarm": 1.0, "eval/low": 0.0}
        append_metrics(tmp_path, step, values)
    frame = tmp_path / "frame.html"
    frame.write_text(
        "<script>onmessage = event => document.title = event.data</script>"
        f'<iframe src="{hooked(tmp_path, "{" + LAYOUT + "}", monkeypatch)}" width="400"></iframe>'
    )
    dom, console = browser(frame.as_uri())
    assert console == []
    assert re.findall("<title>(.*?)</title>", dom) == ["clean at 400"]
