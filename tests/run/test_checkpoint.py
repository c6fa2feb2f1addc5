from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from cooper.run._checkpoint import newest_checkpoint, step_of


def made(folder: Path, step: int) -> Path:
    """What a checkpoint looks like from outside."""
    place = folder / f"checkpoint-{step}"
    (place / "cooper").mkdir(parents=True)
    for name in ("trainer_state.json", "config.json"):
        (place / name).write_text("{}")
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "cooper/state.pt"):
        with zipfile.ZipFile(place / name, "w") as file:
            file.writestr("data", "0" * 100)
    save_file({"weight": np.zeros(9)}, place / "model.safetensors")
    return place


def test_the_newest_by_number(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path / "none") is None
    made(tmp_path, 9)
    newest = made(tmp_path, 10)
    (tmp_path / "checkpoint-copy").mkdir()
    assert newest_checkpoint(tmp_path) == newest
    assert (step_of(newest), step_of(None)) == (10, 0)


@pytest.mark.parametrize(
    "name",
    [
        "trainer_state.json",
        "config.json",
        "optimizer.pt",
        "scheduler.pt",
        "rng_state.pth",
        "cooper/state.pt",
        "model.safetensors",
    ],
)
@pytest.mark.parametrize("how", ["gone", "cut", "empty"])
def test_half_a_checkpoint_is_passed_over_and_told(name: str, how: str, tmp_path: Path) -> None:
    older, file = made(tmp_path, 2), made(tmp_path, 4) / name
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2] if how == "cut" else b"")
    if how == "gone":
        file.unlink()
    said: list[str] = []
    assert newest_checkpoint(tmp_path, said.append) == older
    assert len(said) == 1
    assert said[0].startswith(f"{tmp_path / 'checkpoint-4'}: passed over, ")


def test_adapters_are_enough(tmp_path: Path) -> None:
    place = made(tmp_path, 3)
    (place / "config.json").rename(place / "adapter_config.json")
    (place / "model.safetensors").rename(place / "adapter_model.safetensors")
    assert newest_checkpoint(tmp_path) == place
