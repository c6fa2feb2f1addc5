"""What may be said and done about a completion that ends with a number."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from cooper.data._spell import write_number
from cooper.data._working import ANSWER, evaluate
from cooper.types import Score, Status
from cooper.verify import numbers, numeric
from cooper.verify._numeric import read_reference

_STATED = re.compile(r"####|\banswer is\b|\banswer:", re.IGNORECASE | re.ASCII)
_OPERAND = re.compile(r" ?[-+*/x×] ?[$(]?[0-9]")  # what follows a number that is worked with
_OPERATION = re.compile(r"([0-9.]{1,12}) ([-+*/]) ([0-9.]{1,12}) = (?=[-$0-9])", re.ASCII)


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


def patch(completion: str, reference: str, rng: np.random.Generator) -> str | None:
    """The completion with its answer, wherever it occurs as a result, replaced by the reference.

    Falls back on a bare `The answer is N.` where that does not make it right.

    Example:
        >>> patch("7 + 2 = 8. The answer is 8.", "9", np.random.default_rng(0))
        '7 + 2 = 9. The answer is 9.'
    """
    target = read_reference(reference)
    if target is None:
        return None
    copy = _rewrite(completion, _answers(completion), write_number(target))
    if final_rule(copy, reference).value == 1.0:
        return copy
    return ANSWER.format(write_number(target))


def corrupt(completion: str, reference: str, rng: np.random.Generator) -> str | None:
    """A copy whose answer is wrong: a digit, the size, the sign or the operator is changed.

    Args:
        completion: Any completion.
        reference: What the copy must not end with.
        rng: Draws the kind of mistake.

    Returns:
        The copy, always different and never right; None when there is no number to change or the
        reference is unreadable.

    Example:
        >>> corrupt("no number", "9", np.random.default_rng(0)) is None
        True
    """
    target, answers = read_reference(reference), _answers(completion)
    if target is None or not answers:
        return None
    final = next(iter(answers)) if len(answers) == 1 else target
    for _ in range(20):
        kind = rng.choice(("digit", "near", "operator", "sign"), p=(0.45, 0.2, 0.3, 0.05))
        text, value = completion, final
        if kind == "digit":
            value = _digit_changed(final, rng)
        elif kind == "near":
            value = final + int(rng.choice((-10, -2, -1, 1, 2, 10)))
        elif kind == "sign":
            value = -final
        else:
            swapped = _operator_changed(completion, final, rng)
            if swapped is None:
                continue
            text, value = swapped
        if value < 0 <= final and kind != "sign":
            continue  # a negative count gives the mistake away
        copy = _rewrite(text, answers, write_number(value))
        if copy != completion and value != target and final_rule(copy, reference).value == 0.0:
            return copy
    return None


def _digit_changed(value: Fraction, rng: np.random.Generator) -> Fraction:
    text = write_number(value)
    spots = [i for i, letter in enumerate(text) if letter.isdigit()]
    spot = spots[rng.integers(len(spots))]
    low = 1 if spot == spots[0] and len(spots) > 1 else 0
    digits = f"{text[:spot]}{rng.integers(low, 10)}{text[spot + 1 :]}"
    top, _, bottom = digits.partition("/")
    return Fraction(top) / Fraction(bottom) if bottom and int(bottom) else Fraction(top)


def _operator_changed(
    text: str, final: Fraction, rng: np.random.Generator
) -> tuple[str, Fraction] | None:
    """The last `a + b = ` whose result is the answer, with another operator and its result."""
    found = None
    for candidate in _OPERATION.finditer(text):
        if evaluate(f"{candidate[1]} {candidate[2]} {candidate[3]}") == final:
            found = candidate
    if found is None:
        return None
    sign = str(rng.choice([sign for sign in "+-*/" if sign != found[2]]))
    value = evaluate(f"{found[1]} {sign} {found[3]}")
    if value is None or value.denominator != 1 or value < 0:
        return None
    return f"{text[: found.start(2)]}{sign}{text[found.end(2) :]}", value
