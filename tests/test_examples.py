"""The examples and the benchmark run, are short, and say what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LONGEST = 80  # lines
SLOW = ("03_trl",)
SAYS = {  # a line that each example must print
    "01_rewards": r"by recipe: .* valid: \[ True  True  True False False False\]",
    "02_cooper_step": r"step 30: \d+ pairs.*\n(.*\n)*23\+18 +41 or 42 +0 +0\.\d+ +1 +0\.00",
    "03_trl": r"(?m)^  60 ",
    "04_alarm": r"(?s)honest: no alarm.*hacked: Alarm at step.*gap=None: no alarm",
}


def _output(script: Path, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=cwd,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script.name}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_every_example_is_expected_to_say_something():
    assert [path.stem for path in EXAMPLES] == sorted(SAYS)


@pytest.mark.parametrize(
    "script",
    [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem in SLOW)) for p in EXAMPLES],
)
def test_example_runs_and_leaves_nothing(script: Path, tmp_path: Path):
    assert len(script.read_text(encoding="utf-8").splitlines()) < LONGEST
    output = _output(script, cwd=tmp_path)
    assert re.search(SAYS[script.stem], output), output
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_step_cost_prints_the_ratios(tmp_path: Path):
    output = _output(ROOT / "benchmarks" / "step_cost.py", "--small", cwd=tmp_path)
    for arm in ("a: TRL module", "a16: TRL module, bf16", "b: Cooper, paper", "c: Cooper, default"):
        lines = re.findall(
            rf"(?m)^{re.escape(arm)} +[0-9.]+ +[0-9.]+ \([0-9.]+ to [0-9.]+\)$", output
        )
        assert len(lines) == 2, output  # by wall clock and by processor time
    assert re.search(r"default: [1-9]\d* pairs", output)
