"""Data sets by name, for those who have the Hugging Face hub."""

from __future__ import annotations

from typing import Any

from cooper.errors import UserError

PREFIX = "hub:"


def hub(
    name: str, split: str = "train", *, config: str | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """The rows of a data set of the hub (or of a local folder that `datasets` can load).

    Args:
        name: Such as `openai/gsm8k`.
        split: Such as `train`, or a slice `train[:100]`.
        config: Such as `main`, where the data set has several.
        limit: At most this many rows; None: all.

    Returns:
        The rows, to be given to `questions`.

    Raises:
        UserError: The data set cannot be had: offline, unknown, no such split or config.
    """
    if not name:
        raise UserError("hub: the name of the data set is empty")
    try:
        import datasets
    except ImportError as error:
        raise UserError(
            f"{PREFIX}{name}: needs {error.name}; install it with pip install 'cooper-rl[train]'"
        ) from None
    try:
        loaded = datasets.load_dataset(name, config, split=split)
    # OSError covers "offline" and "not found", ValueError an unknown split or config.
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"{PREFIX}{name}: cannot load split {split!r}: {why}; without the hub, give a JSON "
            "Lines file instead"
        ) from None
    rows = [dict(row) for row in loaded]
    if not rows:
        raise UserError(f"{PREFIX}{name}: split {split!r} is empty")
    return rows[:limit]


def hub_rows(source: str) -> list[dict[str, Any]]:
    """The rows of `hub:NAME`, `hub:NAME:SPLIT` or `hub:NAME:CONFIG:SPLIT`."""
    match source.removeprefix(PREFIX).split(":"):
        case [name] if name:
            return hub(name)
        case [name, split] if name and split:
            return hub(name, split)
        case [name, config, split] if name and config and split:
            return hub(name, split, config=config)
    raise UserError(f"{source}: expected hub:NAME, hub:NAME:SPLIT or hub:NAME:CONFIG:SPLIT")
