"""Which checkpoint a run goes on from: the newest that is whole."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

# Cooper's state is written last, so that a save cut short lacks it.
NEEDED = ("trainer_state.json", "optimizer.pt", "scheduler.pt", "config.json", "cooper/state.pt")
ADAPTER = "adapter_config.json"  # a LoRA checkpoint has this in place of config.json
_NAME = re.compile(r"checkpoint-([0-9]+)")


def newest_checkpoint(folder: Path, say: Callable[[str], None] = lambda _: None) -> Path | None:
    """The newest whole `checkpoint-N` of `folder`, or None.

    A run that went on from half a checkpoint, without the optimiser say, would not be the run
    that was interrupted, so those are passed over.

    Args:
        folder: holds the checkpoints; need not exist.
        say: told which checkpoints are passed over, and why.
    """
    for place in sorted(folder.glob("checkpoint-*"), key=step_of, reverse=True):
        if step_of(place) < 0:
            continue
        fault = _fault(place)
        if fault is None:
            return place
        say(f"{place}: passed over, {fault}")
    return None


def step_of(checkpoint: Path | None) -> int:
    """The step of a checkpoint folder; 0 for None, -1 for another name."""
    if checkpoint is None:
        return 0
    found = _NAME.fullmatch(checkpoint.name)
    return -1 if found is None else int(found[1])


def _fault(place: Path) -> str | None:
    """What is wrong with a checkpoint, seen without reading the tensors."""
    needed = [ADAPTER if n == "config.json" and (place / ADAPTER).exists() else n for n in NEEDED]
    gone = [name for name in needed if not (place / name).is_file()]
    for kind in ("*.safetensors", "rng_state*.pth"):
        gone += [] if any(place.glob(kind)) else [kind]
    if gone:
        return f"without {', '.join(gone)}"
    files = (file for file in sorted(place.rglob("*")) if file.is_file())
    cut = next((file.name for file in files if not _readable(file)), None)
    return None if cut is None else f"{cut} is damaged"


def _readable(file: Path) -> bool:
    from safetensors import SafetensorError, safe_open

    try:
        if file.suffix == ".json":
            json.loads(file.read_text("utf-8"))
        elif file.suffix == ".safetensors":
            with safe_open(file, "np"):
                pass
        elif file.suffix in (".pt", ".pth"):
            return zipfile.is_zipfile(file)  # its directory is at the end, so a cut one has none
    except (OSError, ValueError, SafetensorError):
        return False
    return True
