"""Append to a run folder so that an interruption at any moment loses nothing already written."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cooper.errors import UserError

# The columns every reader may count on. Their types are fixed: a column that happens to hold
# nothing but nulls in one step must not change its type between files.
TYPES: dict[str, pa.DataType] = {
    "step": pa.int64(),
    "group": pa.int64(),
    "prompt": pa.string(),
    "question": pa.string(),
    "reference": pa.string(),
    "completion": pa.string(),
    "rule": pa.float64(),
    "rule_status": pa.string(),
    "proxy": pa.float64(),
    "proxy_status": pa.string(),
    "reward": pa.float64(),
    "advantage": pa.float64(),
    "oracle": pa.float64(),
    "surely_wrong": pa.bool_(),
    "unsure": pa.bool_(),
    "tokens": pa.int64(),
}


def _text(value: Any) -> str | None:
    """Any value as text that UTF-8 can hold (chat messages become JSON)."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return str(text).encode("utf-8", "replace").decode("utf-8")


def _finite(value: Any) -> float | None:
    number = None if value is None else float(value)
    return number if number is not None and math.isfinite(number) else None


def _column(name: str, values: Sequence[Any]) -> pa.Array:
    plain: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    kind = TYPES.get(name)
    if kind is None:  # a further component: its kind is told by what it holds
        held = [value for value in plain if value is not None]
        if held and all(isinstance(value, bool) for value in held):
            kind = pa.bool_()
        elif any(isinstance(value, str) for value in held) or name.endswith("_status"):
            kind = pa.string()
        else:
            kind = pa.float64()
    if kind == pa.string():
        plain = [_text(value) for value in plain]
    elif kind == pa.float64():
        plain = [_finite(value) for value in plain]
    elif kind == pa.bool_():
        plain = [None if value is None else bool(value) for value in plain]
    else:
        plain = [None if value is None else int(value) for value in plain]
    return pa.array(plain, type=kind)


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, then put it in `path`'s place: whole or not at all.

    Raises:
        UserError: the file cannot be written; what was at `path` is untouched.
    """
    half = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(half)
        os.replace(half, path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # gone after the replacement, or never there
            half.unlink()


def write_rollouts(folder: Path | str, step: int, rows: Mapping[str, Sequence[Any]]) -> Path:
    """Write the rollouts of one step to `folder/rollouts/step_NNNNNN.parquet`.

    The file appears whole or not at all: it is written under another name in the same folder and
    then renamed. A step written again (after a resume) replaces the former file.

    Args:
        folder: the run folder; made if missing.
        step: the training step, at least 0.
        rows: column name -> B values. Known columns have fixed types; other numbers become
            float, NaN and infinities null. `step` is added where it is missing.

    Returns:
        The file's path.

    Raises:
        ValueError: columns of unequal length, or a negative step.
        UserError: the file cannot be written (full disk, no permission).

    Example:
        >>> import tempfile
        >>> write_rollouts(tempfile.mkdtemp(), 3, {"completion": ["4"], "rule": [1.0]}).name
        'step_000003.parquet'
    """
    if step < 0:
        raise ValueError(f"step: got {step}, expected at least 0")
    lengths = {name: len(values) for name, values in rows.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"rows: all columns must have the same length B, got {lengths}")
    size = next(iter(lengths.values()), 0)
    columns = {"step": [step] * size, **rows}
    table = pa.table({name: _column(name, values) for name, values in columns.items()})
    path = Path(folder) / "rollouts" / f"step_{step:06d}.parquet"
    replace_file(path, lambda half: pq.write_table(table, half, compression="zstd"))
    return path


def append_metrics(folder: Path | str, step: int, metrics: Mapping[str, float | None]) -> None:
    r"""Append one JSON line `{"step": step, ...}` to `folder/metrics.jsonl` and flush it.

    Args:
        folder: the run folder; made if missing.
        step: the training step.
        metrics: name -> number; NaN, infinities and None become null.

    Raises:
        UserError: the file cannot be written (full disk, no permission).

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> append_metrics(folder, 1, {"reward": 0.5, "kl": float("nan")})
        >>> (Path(folder) / "metrics.jsonl").read_text()
        '{"step": 1, "reward": 0.5, "kl": null}\n'
    """
    values = {name: _finite(value) for name, value in metrics.items() if name != "step"}
    line = json.dumps({"step": int(step), **values}, allow_nan=False) + "\n"
    path = Path(folder) / "metrics.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            # A killed run may have left half a line; it must not swallow this one.
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = "\n" + line
            file.write(line.encode("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from error


class RolloutWriter:
    """`write_rollouts` and `append_metrics` bound to one run folder (picklable, no open files).

    Example:
        >>> import tempfile
        >>> writer = RolloutWriter(tempfile.mkdtemp())
        >>> writer.rollouts(1, {"completion": ["4"]}).name
        'step_000001.parquet'
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def rollouts(self, step: int, rows: Mapping[str, Sequence[Any]]) -> Path:
        """Write the rollouts of one step; see `write_rollouts`."""
        return write_rollouts(self.folder, step, rows)

    def metrics(self, step: int, metrics: Mapping[str, float | None]) -> None:
        """Append one line of metrics; see `append_metrics`."""
        append_metrics(self.folder, step, metrics)
