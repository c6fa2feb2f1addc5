"""What a task is: rows to train on, rows to measure on, and the rules that read completions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cooper.types import Score

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Row(NamedTuple):
    """One item: the policy's prompt, the bare question the reward model sees, the reference."""

    prompt: Any  # str, or a list of chat messages
    question: str
    reference: str


class Demo(NamedTuple):
    """One supervised example of the warm-up."""

    row: Row
    completion: str


Rule = Callable[[str, str], Score]
"""(completion, reference) -> Score."""
Wrong = Callable[[str, str], bool]
"""(completion, reference) -> whether it is *surely* wrong."""
Patch = Callable[[str, str, np.random.Generator], str | None]
"""(completion, reference, rng) -> a right copy in the completion's format, or None."""
Corrupt = Callable[[str, str, np.random.Generator], str | None]
"""(completion, reference, rng) -> a wrong copy, or None where none can be made."""
Judge = Callable[[Row, str, np.random.Generator], bool]  # noisy labeller of the offline set


@dataclass(frozen=True)
class Task:
    """A training task.

    Only `rule`, `surely_wrong`, `patch` and `corrupt` may touch training; `oracle` measures.
    """

    name: str
    rows: Callable[[int, np.random.Generator], list[Row]]  # n fresh training rows
    heldout: list[Row]
    rule: Rule
    oracle: Rule
    surely_wrong: Wrong
    patch: Patch
    corrupt: Corrupt
    max_tokens: int  # longest completion, in tokens
    demos: Callable[[int, np.random.Generator], list[Demo]] | None = None  # warm-up examples
    judge: Judge | None = None  # labels policy samples for the offline set
    # a ready-made offline set: (row, completion, label in [0, 1])
    offline: Callable[[], list[tuple[Row, str, float]]] | None = None
    # None: the model brings its own
    tokenizer: Callable[[], PreTrainedTokenizerBase] | None = None
    notes: tuple[str, ...] = ()  # what to tell the user: rows left out, and why
