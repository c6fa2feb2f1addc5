"""Reward engineering for reinforcement learning: verify, learn, combine, co-train, audit.

Families load when they are first used: `import cooper` needs NumPy only.

Example:
    >>> import cooper
    >>> cooper.advantage.dr_grpo([1.0, 0.0], group=[7, 7]).tolist()
    [0.5, -0.5]
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from cooper.types import Batch as Batch
from cooper.types import Rewards as Rewards
from cooper.types import Score as Score
from cooper.types import Status as Status

__version__ = "0.1.0"

FAMILIES = (
    "verify",
    "combine",
    "advantage",
    "models",
    "train",
    "audit",
    "data",
    "integrations",
    "report",
    "run",
)
_MODULES = (*FAMILIES, "arrays", "errors", "recipe", "testing", "types")

__all__ = ["Batch", "Rewards", "Score", "Status", *_MODULES]  # noqa: PLE0604 (all strings)


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return import_module(f"cooper.{name}")
    raise AttributeError(f"module 'cooper' has no attribute {name!r}; it has {sorted(__all__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
