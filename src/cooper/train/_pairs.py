"""Pairs for the reward model, mined from the rollouts that the policy is trained on.

A pair is right against wrong for the same question and reference. A negative that cannot be
shown to be wrong is refused, and its pair with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cooper.train._config import CooperConfig
from cooper.types import Batch, Bools, Floats, Ints

Rewrite = Callable[[str, str, np.random.Generator], str | None]
Accept = Callable[[str, str, str], bool]  # (negative, positive, reference) -> usable?
Assistant = Callable[[list[str], list[str], list[str], np.random.Generator], list[str | None]]


class Pair(NamedTuple):
    """A right and a wrong completion of one question, and which source wrote the pair."""

    question: str
    reference: str
    positive: str
    negative: str
    source: str  # "copy" | "fallback" | "hard" | "other" | "reference"
    group: int


class Verdicts(NamedTuple):
    """What the rules say of B rollouts; a rule that could not tell is False in `right`."""

    right: Bools  # (B,) rule-right
    wrong: Bools  # (B,) surely wrong
    unsure: Bools  # (B,) neither


class Draft(NamedTuple):
    """A positive that still needs its negative."""

    row: int
    positive: str
    source: str


def mine(
    batch: Batch,
    verdicts: Verdicts,
    proxy: Floats,
    *,
    config: CooperConfig,
    patch: Rewrite,
    corrupt: Rewrite,
    accept: Accept,
    rng: np.random.Generator,
    assistant: Assistant | None = None,
) -> list[Pair]:
    """The pairs of a batch: copies first, then hard, other and reference pairs.

    Args:
        batch: B rollouts.
        verdicts: the rules' verdicts on them.
        proxy: (B,) scores in [0, 1] of the reward model before its step; they pick the hard ones.
        config: which sources, and how many pairs of each.
        patch: (completion, reference, rng) -> a right copy in the completion's format, or None.
        corrupt: (completion, reference, rng) -> a wrong copy, or None when it cannot make one.
        accept: (negative, positive, reference) -> whether a written negative may be used.
        rng: all randomness.
        assistant: writes the negatives of the copies in one call; where it returns None,
            `corrupt` does.

    Returns:
        The pairs. A group that offers none adds none.

    Raises:
        ValueError: verdicts, scores or the assistant's answers are not as many as they should be.
    """
    for name, column in (("verdicts", verdicts.right), ("proxy", proxy)):
        if len(column) != len(batch):
            raise ValueError(f"{name}: got {len(column)}, expected one per rollout, {len(batch)}")
    groups = list(_groups(np.asarray(batch.group)))
    drafts: list[Draft] = []
    ready: list[tuple[Draft, str]] = []
    for rows in groups:
        drafts += _copies(batch, rows, verdicts, config=config, patch=patch, rng=rng)
        ready += _hard(batch, rows, verdicts, proxy, count=config.pairs_hard, patch=patch, rng=rng)
        ready += _others(batch, rows, verdicts, count=config.pairs_other)
    negatives = _negatives(batch, drafts, corrupt=corrupt, rng=rng, assistant=assistant)
    if config.pair_reference:
        for rows in groups:
            row = int(rows[np.argmax(proxy[rows])])  # the group's highest-scored rollout
            reference = batch.references[row]
            drafts.append(Draft(row, reference, "reference"))
            negatives.append(corrupt(batch.completions[row], reference, rng))
    for draft, negative in zip(drafts, negatives, strict=True):
        if negative is not None and accept(negative, draft.positive, batch.references[draft.row]):
            ready.append((draft, negative))
    return [
        _pair(batch, draft, negative) for draft, negative in ready if draft.positive != negative
    ]


def valid_rate(pairs: Sequence[Pair], groups: int) -> float:
    """Share of groups that gave the paper's pair: a rule-right rollout and its wrong copy."""
    return len({p.group for p in pairs if p.source == "copy"}) / groups


def _groups(group: Ints) -> list[Ints]:
    """Row numbers of each group, in order of first appearance."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [rows[g] for g in np.argsort(first)]


def _pair(batch: Batch, draft: Draft, negative: str) -> Pair:
    return Pair(
        batch.questions[draft.row],
        batch.references[draft.row],
        draft.positive,
        negative,
        draft.source,
        int(np.asarray(batch.group)[draft.row]),
    )


def _copies(
    batch: Batch,
    rows: Ints,
    verdicts: Verdicts,
    *,
    config: CooperConfig,
    patch: Rewrite,
    rng: np.random.Generator,
) -> Iterator[Draft]:
    """The first rule-right rollouts; without one, a rollout made right, or the reference."""
    right = rows[verdicts.right[rows]]
    for row in right[: config.pairs_copy]:
        yield Draft(int(row), batch.completions[row], "copy")
    if config.pairs_copy and config.fallback and len(right) == 0:
        row = int(rng.choice(rows))
        reference = batch.references[row]
        yield Draft(row, patch(batch.completions[row], reference, rng) or reference, "fallback")


def _negatives(
    batch: Batch,
    drafts: list[Draft],
    *,
    corrupt: Rewrite,
    rng: np.random.Generator,
    assistant: Assistant | None,
) -> list[str | None]:
    written: list[str | None] = [None] * len(drafts)
    if assistant is not None and drafts:
        written = assistant(
            [batch.questions[d.row] for d in drafts],
            [d.positive for d in drafts],
            [batch.references[d.row] for d in drafts],
            rng,
        )
        if len(written) != len(drafts):
            raise ValueError(f"assistant: gave {len(written)} negatives to {len(drafts)} positives")
    return [
        text if text is not None else corrupt(d.positive, batch.references[d.row], rng)
        for d, text in zip(drafts, written, strict=True)
    ]


def _hard(
    batch: Batch,
    rows: Ints,
    verdicts: Verdicts,
    proxy: Floats,
    *,
    count: int,
    patch: Rewrite,
    rng: np.random.Generator,
) -> Iterator[tuple[Draft, str]]:
    """The distinct highest-scored surely wrong rollouts, each against itself made right."""
    wrong = rows[verdicts.wrong[rows]]
    seen: set[str] = set()
    for row in wrong[np.argsort(-proxy[wrong], kind="stable")]:
        text = batch.completions[row]
        if len(seen) == count:
            return
        if text in seen:
            continue
        seen.add(text)
        positive = patch(text, batch.references[row], rng)
        if positive is not None:
            yield Draft(int(row), positive, "hard"), text


def _others(
    batch: Batch, rows: Ints, verdicts: Verdicts, *, count: int
) -> Iterator[tuple[Draft, str]]:
    """Rule-right rollouts against surely wrong rollouts of the same group."""
    right, wrong = rows[verdicts.right[rows]], rows[verdicts.wrong[rows]]
    for good, bad in zip(right[:count], wrong[:count], strict=False):
        yield Draft(int(good), batch.completions[good], "other"), batch.completions[bad]
