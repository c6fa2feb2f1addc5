"""A run of four steps of a very small policy, and one start that the tests share."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from cooper.run import RunConfig, load_config
from cooper.run._prepare import prepare

TINY = (
    "task.options.noise=0.2",  # enough right labels for a self-test pair that orders
    "policy.hidden=32",
    "warmup.steps=20",
    "warmup.batch=32",
    "warmup.learning_rate=1e-2",
    "reward_model.hidden=32",
    "reward_model.samples=200",
    "reward_model.batch=32",
    "reward_model.epochs=6",
    "reward_model.learning_rate=3e-3",
    "reward_model.fixed=20",
    "cooper.warmup_batches=2",
    "train.steps=4",
    "train.prompts=4",
    "train.generations=4",
    "train.save_every=2",
    "evaluate.every=2",
    "evaluate.samples=20",
)


@pytest.fixture(scope="session")
def tiny() -> Callable[..., RunConfig]:
    """`tiny("arm=rule", ...)` is the tiny configuration with changes."""

    def make(*changes: str) -> RunConfig:
        return load_config("sums", [*TINY, *changes])

    return make


@pytest.fixture(scope="session")
def tiny_arguments() -> list[str]:
    return [part for change in TINY for part in ("--set", change)]


@pytest.fixture(scope="session")
def made_start(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[..., RunConfig]) -> Path:
    folder = tmp_path_factory.mktemp("made") / "start"
    prepare(tiny(), folder)
    return folder


@pytest.fixture
def start(made_start: Path, tmp_path: Path) -> Path:
    """A copy of the start that a test may change."""
    return shutil.copytree(made_start, tmp_path / "start")


def lines(folder: Path, without: Iterable[str] = ("seconds", "step_time")) -> list[dict[str, Any]]:
    """The metrics of a run folder without the clock's, later lines merged into earlier ones."""
    merged: dict[int, dict[str, Any]] = {}
    for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        merged.setdefault(entry["step"], {}).update(entry)
    kept = [merged[step] for step in sorted(merged)]
    return [{k: v for k, v in entry.items() if k not in without} for entry in kept]


@pytest.fixture(scope="session")
def metrics() -> Callable[[Path], list[dict[str, Any]]]:
    return lines
