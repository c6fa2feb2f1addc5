"""What may be said and done about a completion that ends with a number."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from cooper.data._corrupt import corrupt
from cooper.data._numbers import refuted
from cooper.data._spell import write_number
from cooper.data._working import ANSWER
from cooper.types import Score, Status
from cooper.verify import numbers, numeric
from cooper.verify._numeric import read_reference

_STATED = re.compile(r"####|\banswer is\b|\banswer:", re.IGNORECASE | re.ASCII)
_OPERAND = re.compile(r" ?[-+*/x×] ?[$(]?[0-9]")  # what follows a number that is worked with
# No truncated copies: they often have no answer to read. Few signs: where counts are asked for, a
# minus would give the mistake away.
KINDS = (*("digit",) * 9, *("operator",) * 6, *("unit", "step") * 2, "sign")


def _stated(text: str) -> set[Fraction]:
    """The values that a text calls its answer."""
    ends = [mark.end() for mark in _STATED.finditer(text)]
    values, found = set(), iter(numbers(text))
    number = next(found, None)
    for end in ends:
        while number is not None and number.start < end:
            number = next(found, None)
        if number is not None and number.value is not None:
            values.add(number.value)
    return values


def _values(text: str) -> list[Fraction]:
    return [number.value for number in numbers(text) if number.value is not None]


def final_rule(completion: str, reference: str) -> Score:
    """Whether the last number is the reference; 0 when different answers are stated.

    Example:
        >>> final_rule("7 + 2 = 9. The answer is 9.", "9").value
        1.0
        >>> final_rule("The answer is 8. The answer is 9.", "9").status
        <Status.HEDGED: 'hedged'>
    """
    score = numeric(completion, reference)
    if score.ok and len(_stated(completion)) > 1:
        return Score(0.0, Status.HEDGED, "different answers are stated", score.extracted)
    return score


def surely_wrong(completion: str, reference: str) -> bool:
    """Whether no reading can be right: no number, conflicting answers, or the value is absent.

    Example:
        >>> [surely_wrong(text, "9") for text in ("none", "7 + 2 = 8", "9 or 8")]
        [True, True, False]
    """
    target = read_reference(reference)
    if target is None:
        return False
    if len(_stated(completion)) > 1:
        return True
    parts = completion.replace("/", " ")  # "24/2" also holds 24 and 2
    return target not in _values(completion) and target not in _values(parts)


def _rewrite(text: str, old: set[Fraction], new: str) -> str:
    """The text with each number whose value is in `old` replaced; operands and $ signs stay."""
    pieces, end = [], 0
    for number in numbers(text):
        if number.value in old and not _OPERAND.match(text, number.end):
            sign = "$" if "$" in number.text else ""
            pieces += [text[end : number.start], sign + new]
            end = number.end
    return "".join([*pieces, text[end:]])


def _answers(text: str) -> set[Fraction]:
    """The values to replace: the final number's and those of stated answers."""
    score = numeric(text, "0")
    final = _values(score.extracted or "")
    return {*final[:1], *_stated(text)}


def patch_number(completion: str, reference: str, rng: np.random.Generator) -> str | None:
    """The completion with its answer, wherever it occurs as a result, replaced by the reference.

    Falls back on a bare `The answer is N.` where that does not make it right.

    Example:
        >>> patch_number("7 + 2 = 8. The answer is 8.", "9", np.random.default_rng(0))
        '7 + 2 = 9. The answer is 9.'
    """
    target = read_reference(reference)
    if target is None:
        return None
    copy = _rewrite(completion, _answers(completion), write_number(target))
    if final_rule(copy, reference).value == 1.0:
        return copy
    return ANSWER.format(write_number(target))


def corrupt_number(completion: str, reference: str, rng: np.random.Generator) -> str | None:
    """A copy with a mistake in its working or its answer, from the arithmetic ladder.

    Args:
        completion: any completion, right or wrong.
        reference: what the copy must not end with.
        rng: draws the kind of mistake.

    Returns:
        The copy, always different, with a final number that can be read and is wrong; None when
        there is no number to change, or the reference is not one number.

    Example:
        >>> corrupt_number("7 + 2 = 9. The answer is 9.", "9", np.random.default_rng(20))
        '7 - 2 = 5. The answer is 5.'
        >>> corrupt_number("no number", "9", np.random.default_rng(0)) is None
        True
    """
    made = corrupt(
        completion, reference, rng=rng, kinds=KINDS, tries=len(KINDS), wrong=_readably_wrong
    )
    return None if made is None else made.text


def _readably_wrong(copy: str, reference: str) -> bool:
    """Wrong by the task's rule and by the ladder's own check, which knows units and rounding."""
    score = final_rule(copy, reference)
    return score.value == 0.0 and score.status is Status.OK and refuted(copy, reference)
