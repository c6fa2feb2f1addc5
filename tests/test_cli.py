from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cooper import cli
from cooper.run import Interrupted, load_config, presets
from cooper.run import _compare as comparing
from cooper.run import _job as job

VERBS = ["train", "compare", "report", "presets", "config"]
TINY = [
    "policy.hidden=32",
    "task.options.noise=0.2",
    "warmup.steps=10",
    "warmup.batch=16",
    "reward_model.samples=100",
    "reward_model.hidden=32",
    "cooper.warmup_batches=1",
    "train.steps=2",
    "train.prompts=4",
    "train.generations=4",
    "evaluate.samples=10",
]
SETTINGS = [part for change in TINY for part in ("--set", change)]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Cooper = Callable[..., Ran]


@pytest.fixture
def cooper(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cooper:
    """`cooper("train", "sums")` is that command, run in this process."""

    def run(*arguments: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["cooper", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        code = end.value.code
        return Ran(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, cooper: Cooper) -> None:
    ran = cooper(verb, "--help")
    assert ran.code == 0
    assert f"cooper {verb}" in re.sub(r"\x1b\[[0-9;]*m", "", ran.out)
    assert verb in cooper("--help").out


def test_presets(cooper: Cooper) -> None:
    assert cooper("presets").out.split() == presets()


@pytest.mark.parametrize("preset", presets())
def test_config_prints_yaml_that_loads(preset: str, cooper: Cooper, tmp_path: Path) -> None:
    ran = cooper("config", preset, "--set", "train.steps=12")
    path = tmp_path / "mine.yaml"
    path.write_text(ran.out, encoding="utf-8")
    assert load_config(str(path)) == load_config(preset, ["train.steps=12"])
    assert cooper("config", path).out == ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "sumz"], "unknown preset 'sumz'"),
        (["train", "gone.yaml"], "gone.yaml: no such file"),
        (["train", "sums", "--set", "train.stepz=1"], "unknown key 'train.stepz'"),
        (["train", "sums", "--set", "task.options.x=[red]"], "task.options of 'sums'"),
        (["train", "sums", "--set", "train.generations=1"], "a group of one has no baseline"),
        (["train", "sums", "--arm", "magic"], "arm: "),
        (["train", "sums", "--seed", "-1"], "seed: "),
        (["train", "sums", "--resume"], "runs/sums: no run to resume"),
        (["train", "sums", "--resume", "--fresh"], "choose one"),
        (["train", "smollm2", "--set", "data.train=gone.jsonl"], "gone.jsonl"),
        (["train", "smollm2"], "data.train: missing; give a file with --set data.train=FILE"),
        (["train", "smollm2", "--set", "data.train=hub:a:b:c:d"], "hub:a:b:c:d: expected hub:"),
        (["compare", "sums", "--seed", "4294967296"], "--seed: seed: "),
        (["compare", "sums", "--arms", "rule,[/b]"], "unknown '[/b]'"),
        (["compare", "sums", "--arms", ","], "--arms: none given"),
        (["compare", "sumz"], "unknown preset 'sumz'"),
        (["report", "gone"], "gone"),
        (["config", "sums", "--set", "seed"], "expected key=value"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str],
    said: str,
    cooper: Cooper,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cooper(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert list(tmp_path.rglob("*")) == []  # nothing was begun


@pytest.mark.parametrize("arguments", [["train"], ["trian"], ["train", "sums", "--stepz", "3"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str], cooper: Cooper) -> None:
    ran = cooper(*arguments)
    assert ran.code == 2
    assert "Traceback" not in ran.err


def test_a_run_from_its_command_to_its_page(
    cooper: Cooper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cooper("train", "sums", *SETTINGS)
    folder = tmp_path / "runs" / "sums"
    assert ran.code == 0
    assert ran.out == "runs/sums/report.html\n"
    assert "held-out accuracy" in ran.err
    assert load_config(str(folder / "config.yaml")) == load_config("sums", TINY)

    page = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    assert cooper("report", folder) == (0, f"{folder / 'report.html'}\n", "")
    assert (folder / "report.html").read_bytes() == page

    again = cooper("train", "sums", *SETTINGS)  # the second time is done at once
    assert (again.code, again.out) == (0, "runs/sums/report.html\n")
    assert "already run with these settings; --fresh" in again.err
    other = cooper("train", "sums", *SETTINGS, "--seed", "1")
    assert other.code == 2
    assert "runs/sums: already holds a run with other settings" in other.err
    fresh = cooper("train", "sums", *SETTINGS, "--seed", "1", "--fresh")
    assert fresh.code == 0
    assert json.loads((folder / "summary.json").read_text("utf-8"))["seed"] == 1


def test_resume_needs_no_settings_again(
    cooper: Cooper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a run"

    class Stopping(job.Watch):
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.ask()

    with monkeypatch.context() as patch:
        patch.setattr(job, "Watch", Stopping)
        ran = cooper("train", "sums", *SETTINGS, "--out", folder)
    assert ran.code == 130
    command = f"cooper train sums --resume --out '{folder}'"
    assert ran.err.splitlines()[-1] == f"interrupted at step 1; continue with: {command}"
    clash = cooper("train", "sums", "--set", "train.steps=9", "--resume", "--out", folder)
    assert clash.code == 2
    assert "config.yaml: was made with another configuration; resume without --set" in clash.err
    done = cooper("train", "sums", "--resume", "--out", folder)
    assert done.code == 0
    assert json.loads((folder / "summary.json").read_text("utf-8"))["steps"] == 2


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), Interrupted(3, Path("x"))])
def test_a_comparison_is_continued_by_the_same_command(
    stop: BaseException, cooper: Cooper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise stop

    monkeypatch.setattr(comparing, "train_run", interrupted)
    ran = cooper("compare", "sums", "--arms", "rule", "--out", tmp_path / "out")
    assert ran.code == 130
    hint = f"continue with: cooper compare sums --arms rule --out {tmp_path / 'out'}"
    assert ran.err.splitlines()[-1].startswith("interrupted")
    assert ran.err.splitlines()[-1].endswith(hint)


def test_compare_prints_its_table(
    cooper: Cooper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cooper("compare", "sums", "--arms", "none, rule", "--seeds", "1", *SETTINGS)
    assert ran.code == 0
    assert "| none | 1 |" in ran.out
    files = [f"runs/compare-sums/compare.{end}" for end in ("json", "md", "svg")]
    assert ran.out.splitlines()[-3:] == files
    assert all((tmp_path / file).exists() for file in files)
    result = json.loads((tmp_path / "runs/compare-sums/compare.json").read_text("utf-8"))
    assert list(result["arms"]) == ["none", "rule"]


def elsewhere(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("verb", ["--help", "presets", "train --help"])
def test_light_verbs_load_nothing_heavy(verb: str) -> None:
    ran = elsewhere(
        "import sys; from cooper.cli import app\n"
        f"app({verb.split()!r}, standalone_mode=False)\n"
        "print(sorted({'torch', 'transformers', 'scipy'} & set(sys.modules)))"
    )
    assert ran.stdout.splitlines()[-1] == "[]", ran.stderr


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_package_that_is_not_installed_is_one_line(package: str, tmp_path: Path) -> None:
    ran = elsewhere(
        f"import sys; sys.modules[{package!r}] = None\n"
        f"sys.argv = ['cooper', 'train', 'sums', '--out', {str(tmp_path / 'out')!r}]\n"
        "from cooper.cli import main; main()"
    )
    assert ran.returncode == 2
    assert ran.stderr == f"error: {package} is not installed: pip install 'cooper-rl[train]'\n"


def test_python_m_cooper() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "cooper", "presets"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == presets()
