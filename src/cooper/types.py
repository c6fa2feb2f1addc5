"""What flows through cooper: a batch of rollouts, a score with a status, rewards with a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Ints = NDArray[np.integer]


class Status(StrEnum):
    """Why a score is, or is not, a number."""

    OK = "ok"
    NO_ANSWER = "no_answer"  # the completion holds no answer: a definite 0
    HEDGED = "hedged"  # the completion holds several answers: a definite 0
    UNPARSED = "unparsed"  # the *reference* (or both sides) could not be read: not a number
    NOT_APPLICABLE = "not_applicable"
    TIMEOUT = "timeout"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Score:
    """One verdict: a value in [0, 1], or None with the reason why there is none.

    Example:
        >>> Score(1.0).ok, Score(None, Status.TIMEOUT, "5 s").ok
        (True, False)
    """

    value: float | None
    status: Status = Status.OK
    reason: str = ""
    extracted: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a number."""
        return self.value is not None


@dataclass(frozen=True, slots=True)
class Batch:
    """B rollouts as text, with the id of the group (prompt) each belongs to.

    Example:
        >>> Batch(["1+1"] * 2, ["2"] * 2, ["2", "3"], [0, 0]).take([1]).completions
        ['3']
    """

    questions: list[str]
    references: list[str]
    completions: list[str]
    group: Sequence[int] | Ints  # (B,) any integers; equal = same prompt

    def __post_init__(self) -> None:
        lengths = {
            "questions": len(self.questions),
            "references": len(self.references),
            "completions": len(self.completions),
            "group": len(self.group),
        }
        if len(set(lengths.values())) != 1:
            raise ValueError(f"Batch: all columns must have the same length B, got {lengths}")
        for name in ("questions", "references", "completions"):
            for i, text in enumerate(getattr(self, name)):
                if not isinstance(text, str):
                    raise ValueError(f"Batch: {name}[{i}] is {text!r}, expected text")
        group = np.asarray(self.group)
        if len(group) and (group.ndim != 1 or group.dtype.kind not in "iu"):
            raise ValueError(f"Batch: group must be (B,) integers, got {group.dtype} {group.shape}")
        object.__setattr__(self, "group", np.asarray(self.group, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.completions)

    def take(self, index: Sequence[int] | Ints) -> Batch:
        """The rows at `index`, in that order."""
        rows = np.asarray(index)
        if rows.size and rows.dtype.kind not in "iu":  # a mask would be read as rows 0 and 1
            raise ValueError(f"index: expected integers, got {rows.dtype}")
        rows = rows.astype(np.int64)
        return Batch(
            [self.questions[i] for i in rows],
            [self.references[i] for i in rows],
            [self.completions[i] for i in rows],
            np.asarray(self.group)[rows],
        )


@dataclass(frozen=True, slots=True)
class Rewards:
    """K component scores of B rollouts and what became of them.

    `values` (B, K) holds numbers only where `where` (B, K) is True; `reward` (B,) only where
    `valid` (B,) is True; `advantages` is (B,) or (B, T), 0 where there is no reward.
    """

    names: tuple[str, ...]
    values: Floats  # (B, K)
    where: Bools  # (B, K)
    status: tuple[tuple[Status, ...], ...]  # B rows of K
    reward: Floats  # (B,)
    valid: Bools  # (B,)
    advantages: Floats  # (B,) or (B, T)
    extra: dict[str, Floats] = field(default_factory=dict)

    def component(self, name: str) -> Floats:
        """The values (B,) of one component."""
        if name not in self.names:
            raise ValueError(f"name: {name!r} is not a component; expected one of {self.names}")
        return np.asarray(self.values[:, self.names.index(name)])
