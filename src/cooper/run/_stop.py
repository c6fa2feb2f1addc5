"""How a run ends before its time: Ctrl-C and a full disk."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cooper.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT)
# torch and safetensors report a failed write in words of their own
WRITE_FAILED = (
    "PytorchStreamWriter",
    "inline_container.cc",
    "StorageFull",
    "No space left",
    "Disk quota",
)


class Interrupted(Exception):
    """The user stopped the run; everything up to `step` is saved in `folder`."""

    def __init__(self, step: int, folder: Path) -> None:
        super().__init__(step, folder)  # the arguments: worker processes pickle it
        self.step, self.folder = step, folder

    def __str__(self) -> str:
        return f"interrupted at step {self.step}"


@contextmanager
def stoppable(ask: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls `ask`; a second one ends the process as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def first(signum: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        ask()

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn a full disk, or a folder that cannot be written, into one line.

    Raises:
        UserError: says where, and that what was written stays.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        if getattr(error, "errno", None) in FULL or any(w in str(error) for w in WRITE_FAILED):
            raise UserError(
                f"{folder}: the disk is full; what was written stays, make room and resume"
            ) from error
        if isinstance(error, OSError):
            why = error.strerror or str(error).strip().partition("\n")[0]
            raise UserError(f"{error.filename or folder}: {why}") from error
        raise


@contextmanager
def divergence() -> Iterator[None]:
    """Turn a model whose numbers have run away into one line that says what to change.

    Raises:
        UserError: says which model and which settings.
    """
    try:
        yield
    except FloatingPointError as error:
        raise UserError(
            f"{error}; lower its learning_rate (cooper, reward_model or warmup), and give --fresh"
        ) from error
    except RuntimeError as error:
        if "probability tensor contains" not in str(error):  # torch's words
            raise
        raise UserError(
            "the policy has diverged, its probabilities are not numbers; lower "
            "train.learning_rate or warmup.learning_rate, and give --fresh"
        ) from error
