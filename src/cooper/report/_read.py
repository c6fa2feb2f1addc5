"""Read a run folder, whole or interrupted: what cannot be read becomes a note, not a crash."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from cooper.errors import UserError

_FILE = re.compile(r"step_(\d{6,})\.parquet")

Series = list[tuple[int, float]]


@dataclass
class RunRecord:
    """What a run folder holds. `metrics[name]` is (step, value) in rising steps, finite only."""

    folder: Path
    config: dict[str, Any]
    metrics: dict[str, Series]
    steps: list[int]  # steps that have a rollout file, rising
    summary: dict[str, Any]  # empty: the run has not ended
    notes: list[str] = field(default_factory=list)

    def series(self, name: str) -> Series:
        """The points of one metric, empty where it was not recorded."""
        return self.metrics.get(name, [])


@dataclass
class Rollouts:
    """The rollouts of one step, a dict a row."""

    step: int
    rows: list[dict[str, Any]]


def number(value: Any) -> float | None:
    """A finite float, or None for anything else.

    Example:
        >>> number("x"), number(float("nan")), number(2)
        (None, None, 2.0)
    """
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:160]


def _read_config(path: Path, notes: list[str]) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(path.read_text("utf-8", "replace"))
    except FileNotFoundError:
        notes.append("config.yaml is missing.")
        return {}
    except (OSError, yaml.YAMLError) as error:
        notes.append(f"config.yaml cannot be read: {_reason(error)}")
        return {}
    if not isinstance(loaded, dict):
        notes.append("config.yaml holds no mapping of keys to values.")
        return {}
    return loaded


def _read_metrics(path: Path, notes: list[str]) -> dict[str, Series]:
    try:
        lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    except FileNotFoundError:
        notes.append("metrics.jsonl is missing.")
        return {}
    except OSError as error:
        notes.append(f"metrics.jsonl cannot be read: {_reason(error)}")
        return {}
    found: dict[str, dict[int, float]] = {}
    bad = []
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            if place < len(lines):  # the last line without its end is a write cut short
                bad.append(place)
            continue
        step = number(entry.get("step")) if isinstance(entry, dict) else None
        if step is None:
            bad.append(place)
            continue
        for name, value in entry.items():
            kept = number(value)
            if name != "step" and kept is not None:
                found.setdefault(name, {})[int(step)] = kept
    if bad:
        places = ", ".join(map(str, bad[:5])) + (" …" if len(bad) > 5 else "")
        notes.append(f"metrics.jsonl: {len(bad)} unreadable line(s) left out (line {places}).")
    return {name: sorted(points.items()) for name, points in found.items() if points}


def _read_summary(path: Path, notes: list[str]) -> dict[str, Any]:
    try:
        loaded = json.loads(path.read_text("utf-8", "replace"))
    except FileNotFoundError:
        notes.append("The run has not ended, or was interrupted: there is no summary.json.")
        return {}
    except (OSError, ValueError) as error:
        notes.append(f"summary.json cannot be read: {_reason(error)}")
        return {}
    if not isinstance(loaded, dict):
        notes.append("summary.json holds no object.")
        return {}
    return loaded


def read_run(folder: Path | str) -> RunRecord:
    """Read everything of a run folder but its rollouts, which may be large.

    A last line of metrics.jsonl that was cut short is ignored; of two values for the same step
    and name the later line wins.

    Args:
        folder: a folder with config.yaml or metrics.jsonl.

    Returns:
        The record, with a note for each thing that is missing or unreadable.

    Raises:
        UserError: there is no such folder, or it is not a run folder.
    """
    folder = Path(folder)
    try:
        found_there = folder.exists()
    except OSError as error:  # such as a name that is too long
        raise UserError(f"{folder}: {error.strerror or error}") from error
    if not found_there:
        raise UserError(f"{folder}: there is no such run folder")
    if not folder.is_dir():
        raise UserError(f"{folder}: is a file, expected a run folder")
    if not any((folder / name).is_file() for name in ("config.yaml", "metrics.jsonl")):
        raise UserError(f"{folder}: not a run folder (it has no config.yaml and no metrics.jsonl)")
    notes: list[str] = []
    found = (_FILE.fullmatch(path.name) for path in (folder / "rollouts").glob("step_*.parquet"))
    steps = sorted(int(match[1]) for match in found if match)
    return RunRecord(
        folder=folder,
        config=_read_config(folder / "config.yaml", notes),
        metrics=_read_metrics(folder / "metrics.jsonl", notes),
        steps=steps,
        summary=_read_summary(folder / "summary.json", notes),
        notes=notes,
    )


def read_rollouts(record: RunRecord, steps: Sequence[int]) -> list[Rollouts]:
    """Read the rollouts of some steps; an unreadable file adds a note to the record instead.

    Args:
        record: what `read_run` gave.
        steps: which steps; those without a file are skipped.

    Returns:
        One `Rollouts` for each readable file, in the order of `steps`.
    """
    found = []
    for step in steps:
        path = record.folder / "rollouts" / f"step_{step:06d}.parquet"
        if not path.is_file():
            continue
        try:
            rows = pq.ParquetFile(path).read().to_pylist()
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            note = f"rollouts/{path.name} cannot be read: {_reason(error)}"
            if note not in record.notes:
                record.notes.append(note)
            continue
        found.append(Rollouts(step, rows))
    return found
