"""Negatives without a model: wrong copies of a solution, checked against the reference.

A reward model learns most from a pair that differs in one thing only, so each rung of this ladder
spoils one thing (a digit, a sign, an operator, a unit, a step, the end) and keeps the rest; a
copy that is not surely wrong is refused. Do not use it alone where the policy can reach mistakes
that no arithmetic slip resembles (hedges, empty phrases, injected text): pair those rollouts
themselves. Nor for answers that are not numbers, unless you bring your own `wrong`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cooper.data._numbers import occurs, refuted, silent
from cooper.data._rungs import RUNGS


class Negative(NamedTuple):
    """A wrong copy and the rung that made it."""

    text: str
    kind: str


def corrupt(
    text: str,
    reference: str,
    *,
    rng: np.random.Generator,
    kinds: Sequence[str] = ("digit", "sign", "operator", "unit", "step", "truncate"),
    tries: int = 8,
    wrong: Callable[[str, str], bool] | None = None,
) -> Negative | None:
    """A wrong copy of a solution, or None if no rung gave one that is surely wrong.

    Rungs are tried in a random order, each once before any again. A copy counts if it differs
    from the text and `wrong(copy, reference)` holds; it is compared with the reference, not with
    the text, so the text itself may be right or wrong. A truncated copy may have no number at
    all: then it counts if the reference is not in it. With `kinds=("digit",)` this is the plain
    digit corruptor; a kind named twice is tried twice as often.

    Args:
        text: the solution to spoil, any text.
        reference: the right answer, or a solution that ends in it.
        rng: the only source of randomness.
        kinds: names of rungs, at least one.
        tries: number of copies made at most, 1 or more.
        wrong: (copy, reference) -> surely wrong?; by default `refuted`.

    Returns:
        The copy and its kind; None if all tries were refused: mask the pair.

    Raises:
        ValueError: for an unknown kind, no kind, or tries below 1.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> corrupt("9 * 2 = 18. The answer is 18.", "18", rng=rng, kinds=("operator",)).text
        '9 / 2 = 4.5. The answer is 4.5.'
        >>> corrupt("I do not know.", "18", rng=rng, kinds=("digit", "sign")) is None
        True

    Source: the place of the assistant model in Cooper, arXiv 2508.05613; the rungs are ours.
    """
    unknown = [kind for kind in kinds if kind not in RUNGS]
    if unknown or not kinds:
        raise ValueError(f"kinds: got {tuple(kinds)!r}, expected one or more of {tuple(RUNGS)}")
    if tries < 1:
        raise ValueError(f"tries: got {tries}, expected 1 or more")
    check = refuted if wrong is None else wrong
    order: list[int] = []
    for _ in range(tries):
        order = order or [int(i) for i in rng.permutation(len(kinds))]
        kind = kinds[order.pop()]
        copy = RUNGS[kind](text, rng)
        if copy is None or not copy.strip() or copy.strip() == text.strip():
            continue
        if kind == "truncate" and occurs(reference, copy):
            continue
        if (kind == "truncate" and silent(copy, reference)) or check(copy, reference):
            return Negative(copy, kind)
    return None
