"""Replace a folder whole or not at all, and small contexts around a model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers.utils import logging


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A scratch folder beside `folder` that takes its place when the block ends well.

    A block that raises, on a full disk say, leaves `folder` as it was. The old folder is moved
    aside, not overwritten; should the process die between the two moves, `recover` puts it back.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.new-"))
    try:
        scratch.chmod(0o755)  # mkdtemp's 0700 would hide the model from other users
        yield scratch
        recover(folder)
        if folder.exists():
            folder.rename(_aside(folder))
        scratch.rename(folder)
        shutil.rmtree(_aside(folder), ignore_errors=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def recover(folder: Path) -> None:
    """Undo a replacement that was cut off between its two moves."""
    aside = _aside(folder)
    if not aside.exists():
        return
    if folder.exists():
        shutil.rmtree(aside)
    else:
        aside.rename(folder)


def _aside(folder: Path) -> Path:
    folder = Path(os.path.abspath(folder))  # "." has no name
    return folder.with_name(f".{folder.name}.old")


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars of transformers inside the block."""
    bars: Any = logging  # transformers.utils.logging has no annotations
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()
