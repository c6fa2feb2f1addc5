"""Equality of the final number, compared exactly."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from cooper.types import Score, Status

Where = Literal["last", "only", "marked"]

LONGEST = 400  # characters of a number; longer ones are garbage and slow to turn into integers

# One optional sign that no operand precedes ("7-3" is 7 and 3), an optional currency sign, then
# digits with or without thousands commas. No two neighbouring parts can match the same text, so
# the scan is linear.
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]}%.])[-+\u2212])?\$?"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+|(?=(?<![0-9])\.[0-9]))"
    r"(?P<decimals>\.[0-9]+)?"
    r"(?P<rest>/[0-9]++(?!/|\.[0-9])|[eE][-+]?[0-9]{1,3}(?![0-9A-Za-z]))?",
    re.ASCII,
)
_MARK = re.compile(r"####|\banswer\s?(?:is\b|:|=)|\bA:|\\boxed\{", re.IGNORECASE | re.ASCII)


class Number(NamedTuple):
    """A number found in a text: where it stands and what it is worth."""

    start: int
    end: int
    text: str
    value: Fraction | None  # None: too long to read


def _value(found: re.Match[str]) -> Fraction | None:
    if found.end() - found.start() > LONGEST:
        return None
    whole = (found["whole"] or "0").replace(",", "")
    rest = found["rest"] or ""
    value = Fraction(whole + (found["decimals"] or ""))
    if rest.startswith("/"):
        divisor = int(rest[1:])
        if divisor == 0:
            return None
        value /= divisor
    elif rest:
        value *= Fraction(10) ** int(rest[1:])
    return -value if found["sign"] in ("-", "\u2212") else value


def numbers(text: str) -> Iterator[Number]:
    """Every number of a text, from left to right, in linear time.

    Reads `1,234`, `-3`, `3.50`, `.5`, `$12`, `50%` (as 50), `3/4` (as one number), `1e3`. A minus
    behind an operand is an operator. Mixed numbers (`1 1/2`) are read as two.

    Args:
        text: Any text.

    Yields:
        Place, text and exact value; the value is None for more than 400 characters or `a/0`.

    Example:
        >>> [str(n.value) for n in numbers("7-3 = 4, or -$1,200.50 and 3/4")]
        ['7', '3', '4', '-2401/2', '3/4']
    """
    for found in _NUMBER.finditer(text):
        yield Number(found.start(), found.end(), found.group(), _value(found))


def _last(text: str) -> Number | None:
    marker = text.rfind("####")
    if marker >= 0:  # the convention of GSM8K: the first number behind the last mark
        return _next(text, marker + 4)
    final = None
    for final in numbers(text):  # noqa: B007  (the last one is wanted)
        pass
    return final


def _next(text: str, start: int) -> Number | None:
    found = _NUMBER.search(text, start)
    return None if found is None else Number(found.start(), found.end(), found[0], _value(found))


def _marked(text: str) -> Number | None:
    end = None
    for mark in _MARK.finditer(text):
        end = mark.end()
    return None if end is None else _next(text, end)


def final_number(text: str, *, where: Where = "last") -> Number | None:
    """The number that is the answer: the last one, or the first behind the last answer mark."""
    return _marked(text) if where == "marked" else _last(text)


def read_reference(reference: str) -> Fraction | None:
    """The one value of a reference, or None: no number, several values, or one too long."""
    if "####" in reference:
        final = _last(reference)
        return None if final is None else final.value
    values = {number.value for number in numbers(reference)}
    return values.pop() if len(values) == 1 else None


def numeric(
    completion: str,
    reference: str,
    *,
    where: Where = "last",
    tolerance: float | Fraction = 0,
) -> Score:
    r"""Whether the number that the completion ends with equals the reference.

    `|number - reference| <= tolerance` in exact fractions, so `0.5`, `.50` and `1/2` are equal
    and `0.3333` is not `1/3`. Percent signs, currencies and units are not converted.

    Args:
        completion: What the policy wrote.
        reference: The reference: a text with one value, or with `####` before it.
        where: `last`: the last number (behind `####`, the first one there); `only`: the one value
            that occurs, several are a hedge; `marked`: the first number behind the last
            `####`, `answer is`, `answer:`, `A:` or `\boxed{`.
        tolerance: The largest absolute difference that counts as equal.

    Returns:
        1.0 or 0.0 with `OK`; 0.0 with `NO_ANSWER` (no number) or `HEDGED` (`only`: several); no
        number with `UNPARSED` when the reference is unreadable.

    Raises:
        ValueError: An unknown `where`, or a `tolerance` that is negative or not finite.

    Example:
        >>> numeric("48 / 2 = 24. The answer is $1,024.00.", "1024").value
        1.0
        >>> numeric("23 or 24", "24", where="only").status
        <Status.HEDGED: 'hedged'>
        >>> numeric("24", "two dozen").status
        <Status.UNPARSED: 'unparsed'>
    """
    if where not in get_args(Where):
        raise ValueError(f"where: {where!r} is unknown; expected one of {get_args(Where)}")
    if isinstance(tolerance, float) and not math.isfinite(tolerance):
        raise ValueError(f"tolerance: {tolerance!r} is not a finite number; expected 0 or more")
    # A float is taken as it is written: .01 means 1/100, not the nearest binary fraction.
    margin = Fraction(str(tolerance)) if isinstance(tolerance, float) else Fraction(tolerance)
    if margin < 0:
        raise ValueError(f"tolerance: {tolerance!r} is negative; expected 0 or more")
    target = read_reference(reference)
    if target is None:
        return Score(None, Status.UNPARSED, f"no single number in the reference {reference[:40]!r}")
    if where == "only":
        found = list(numbers(completion))
        if len({number.value for number in found}) > 1:
            return Score(0.0, Status.HEDGED, "several different numbers")
        answer = found[0] if found else None
    else:
        answer = final_number(completion, where=where)
    if answer is None:
        return Score(0.0, Status.NO_ANSWER, "no number in the completion")
    if answer.value is None:
        return Score(0.0, Status.NO_ANSWER, "a number that cannot be read", answer.text[:40])
    return Score(float(abs(answer.value - target) <= margin), extracted=answer.text)
