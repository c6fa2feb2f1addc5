"""The presets that ship with cooper, found without loading anything heavy."""

from __future__ import annotations

from importlib import resources


def presets() -> list[str]:
    """Names of the presets that ship with cooper.

    Example:
        >>> "sums" in presets()
        True
    """
    folder = resources.files("cooper") / "presets"
    return sorted(
        p.name.removesuffix(".yaml") for p in folder.iterdir() if p.name.endswith(".yaml")
    )


def preset_text(name: str) -> str:
    """The YAML of a preset."""
    return (resources.files("cooper") / "presets" / f"{name}.yaml").read_text("utf-8")
