"""One thread per test process, no hub, and the folders of real data that tests may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

# NumPy, torch and the hub read these once, when a test module first imports them.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """`shared_data(NAME)` is $COOPER_DATA/NAME, or ../shared/data/NAME beside the checkout."""
    base = Path(os.environ.get("COOPER_DATA", ROOT.parent / "shared" / "data"))

    def folder(name: str) -> Path:
        if not (base / name).is_dir():
            pytest.skip(
                f"no data set {name!r} in {base} (set COOPER_DATA to the folder that has it)"
            )
        return base / name

    return folder
