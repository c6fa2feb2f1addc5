"""One process at a time in a run folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cooper.errors import UserError


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold `folder`, which must exist, until the block or the process ends; leaves no file.

    Where the system cannot lock a folder (Windows, some network disks) nothing is checked.

    Raises:
        UserError: another process holds it.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(
                    f"{folder}: another process is at work there; wait for its end, or choose "
                    "another --out"
                ) from None
        yield
    finally:
        os.close(handle)
