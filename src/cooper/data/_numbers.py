"""Reading the numbers of a solution, and telling when its final answer is surely wrong.

Made for the negatives of `corrupt` and `assisted`: whatever is doubtful counts as "not surely
wrong". Do not use it as a reward: it says nothing about what is right (`cooper.verify` does).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

LONGEST = 40  # characters of a number whose value is read; a longer one is opaque
MOST = 256  # numbers in one answer; more than that is noise, and refused
OPERANDS = 16  # longest expression that is evaluated

_NUM = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_TOKEN = re.compile(
    rf"(?P<number>{_NUM})|(?P<operator>[-+*/\u00d7\u00f7x\u2212])|(?P<equals>=)|(?P<gap>[ \t$]+)"
    r"|(?P<other>[^-0-9.+*/\u00d7\u00f7x\u2212= \t$]+|.)",
    re.DOTALL,
)
READ = re.compile(
    rf"(?P<minus>[-\u2212])?(?P<dollar>\$)?(?:(?P<whole>[0-9]+) (?=[0-9]+/[0-9]))?(?P<top>{_NUM})"
    rf"(?:[eE](?P<power>[-+]?[0-9]{{1,2}})(?![0-9]))?(?: ?/ ?(?P<bottom>{_NUM}))?"
    r"(?: ?(?P<unit>%|[A-Za-z]+))?"
)
_CUT = re.compile(r"\n+|(?<=[.!?])[^\S\n]+")  # ends of steps: lines and sentences
_MARK = re.compile(r"####|\\boxed\s?\{|\b[Aa]nswer\b(?: is)?|\bA:")
_FRAC = re.compile(r"\\[dt]?frac\{([^{}]{1,40})\}\{([^{}]{1,40})\}")
_OPAQUE = re.compile(
    r"\^|\*\*|\\[dt]?frac|\\sqrt|\\pi|[\u03c0\u221a\u00b2\u00b3\u00bc-\u00be]|(?i:\b(?:hundred|thousand|million|billion|dozen)s?\b)"
)
_ALGEBRA = re.compile(  # a reference with a variable is no number
    r"(?<![A-Za-z])[A-Za-z]\s?(?:[-+*]|/\s?[0-9])|[-+*]\s?[A-Za-z](?![A-Za-z])"
    r"|[0-9]\s?/\s?[A-Za-z](?![A-Za-z])|[0-9][xyznabk](?![A-Za-z])|[A-Za-z][(_]"
)
_SIGNS = {"\u00d7": "*", "x": "*", "\u00f7": "/", "\u2212": "-"}
_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|dozen"
_PARTS = "half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?|percent"
# Rows of units that can be mistaken for one another, with their size in the smallest of the kind.
_ROWS: tuple[tuple[str, dict[str, int]], ...] = (
    ("length", {"mm": 1, "cm": 10, "m": 1000, "km": 1_000_000}),
    ("length", {"centimeters": 10, "meters": 1000, "kilometers": 1_000_000}),
    ("length", {"centimeter": 10, "meter": 1000, "kilometer": 1_000_000}),
    ("foot", {"inches": 1, "feet": 12, "yards": 36}),
    ("time", {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}),
    ("time", {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}),
    ("money", {"cents": 1, "dollars": 100}),
    ("money", {"cent": 1, "dollar": 100}),
    ("mass", {"g": 1, "kg": 1000}),
    ("mass", {"grams": 1, "kilograms": 1000}),
    ("volume", {"ml": 1, "l": 1000}),
    ("volume", {"milliliters": 1, "liters": 1000}),
)
UNITS = {name: (kind, size, row) for kind, row in _ROWS for name, size in row.items()}


class Expression(NamedTuple):
    numbers: tuple[int, ...]  # indices into the text's numbers
    symbols: tuple[str, ...]  # + - * /, one fewer than numbers
    places: tuple[int, ...]  # where each symbol stands
    closed: bool  # followed by "="


class Reading(NamedTuple):
    bare: frozenset[Fraction]  # the values that the number can mean, its unit left aside
    measured: tuple[str, Fraction] | None  # (kind of unit, value in its smallest unit)


def value_of(literal: str) -> Fraction | None:
    """The value of an unsigned number, None where it is too long to be worth reading."""
    return Fraction(literal.replace(",", "")) if len(literal) <= LONGEST else None


def scan(text: str) -> tuple[list[re.Match[str]], list[Expression]]:
    """All unsigned numbers, and the flat expressions (no brackets) that join them; one pass."""
    numbers: list[re.Match[str]] = []
    found: list[Expression] = []
    run: list[int] = []
    symbols: list[str] = []
    places: list[int] = []
    broken = False  # a bracket or a sign stands before the run: its value would be misread

    def close(closed: bool) -> None:
        if not broken and 1 < len(run) <= OPERANDS and len(run) == len(symbols) + 1:
            found.append(Expression(tuple(run), tuple(symbols), tuple(places), closed))
        for part in (run, symbols, places):
            part.clear()

    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "number":
            if len(run) > len(symbols):  # two numbers in a row
                close(False)
                broken = False
            run.append(len(numbers))
            numbers.append(token)
        elif kind == "operator":
            if len(run) == len(symbols):
                close(False)
                broken = True
            else:
                symbols.append(_SIGNS.get(token.group(), token.group()))
                places.append(token.start())
        elif kind != "gap":
            close(kind == "equals")
            broken = False
    close(False)
    return numbers, found


def evaluate(values: Sequence[Fraction | None], symbols: Sequence[str]) -> Fraction | None:
    """The value of a flat expression, * and / first; None where there is none of sane size."""
    terms: list[Fraction] = []
    for value, symbol in zip(values, ("+", *symbols), strict=True):
        if value is None or (symbol == "/" and value == 0):
            return None
        if symbol in "+-":
            terms.append(value if symbol == "+" else -value)
        else:
            terms[-1] = terms[-1] * value if symbol == "*" else terms[-1] / value
        if abs(terms[-1]) > 10**LONGEST or terms[-1].denominator > 10**LONGEST:
            return None
    return sum(terms, Fraction(0))


def steps(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the steps (lines, sentences) of a text, in order."""
    start = 0
    for cut in _CUT.finditer(text):
        if cut.start() > start:
            yield start, cut.start()
        start = cut.end()
    if start < len(text):
        yield start, len(text)


def answers(text: str) -> list[tuple[int, int]]:
    """Where the final answer may stand: after the last marker, and in the last step with a digit.

    Both, because readers differ in which they trust; "surely wrong" must hold for either.
    """
    last: tuple[int, int] | None = None
    for start, end in reversed(list(steps(text))):
        digits = [m.start() for m in re.finditer(r"[0-9]", text[start:end])]
        if not digits:
            continue
        last = last or (start, end)
        marks = [m.end() for m in _MARK.finditer(text, start, end) if m.end() <= start + digits[-1]]
        if marks:
            return [(marks[-1], end), last]
    return [last] if last else []


def _readings(text: str, *, operands: bool = False) -> list[Reading] | None:
    """Every number of a text with all it can mean, operands of "a + b =" left out unless asked.

    None where the text holds something that this reader would misread.
    """
    text = _FRAC.sub(r"\1/\2", text).replace("\\%", "%").replace("\\$", "$").replace("{,}", ",")
    if _OPAQUE.search(text):
        return None
    numbers, expressions = scan(text)
    if len(numbers) > MOST or any(len(n.group()) > LONGEST for n in numbers):
        return None
    given = {numbers[i].start() for e in expressions if e.closed for i in e.numbers}
    out: list[Reading] = []
    for match in READ.finditer(text):
        if match.start("top") in given and not operands:
            continue
        value = Fraction(match["top"].replace(",", ""))
        if match["power"]:
            value *= Fraction(10) ** int(match["power"])
        if match["bottom"]:
            bottom = Fraction(match["bottom"].replace(",", ""))
            if bottom == 0:
                return None
            value = value / bottom + Fraction(match["whole"] or 0)
        before = text[max(0, match.start() - 2) : match.start()]
        if match["minus"] and not (before and (before[-1].isalnum() or before[-1] in ")]}")):
            value = -value
        bare = {value, -value} if before in ("- ", "\u2212 ") else {value}  # a bullet or a sign
        if match["unit"] == "%":
            bare |= {v / 100 for v in bare}
        unit = "dollars" if match["dollar"] else match["unit"]
        known = UNITS.get(unit) if unit else None
        out.append(Reading(frozenset(bare), (known[0], value * known[1]) if known else None))
    for e in expressions:
        if not e.closed and e.symbols != ("/",):  # "9 * 2" left as it is means 18
            result = evaluate([value_of(numbers[i].group()) for i in e.numbers], e.symbols)
            out += [] if result is None else [Reading(frozenset({result}), None)]
    return out


def _close(a: Fraction, b: Fraction) -> bool:
    """Equal, or one is the other rounded to the (one to six) decimals it is written with."""
    if a == b:
        return True
    for short in (a, b):
        for places in range(1, 7):
            if (short * 10**places).denominator == 1:
                if short.denominator > 1 and abs(a - b) * 2 * 10**places <= 1:
                    return True
                break
    return False


def _same(one: Reading, two: Reading) -> bool:
    if one.measured and two.measured and one.measured[0] == two.measured[0]:
        return _close(one.measured[1], two.measured[1])
    return any(_close(a, b) for a in one.bare for b in two.bare)


def _final(text: str) -> list[Reading] | None:
    """The readings of the final answer; None where it cannot be read."""
    out: list[Reading] = []
    for start, end in answers(text):
        found = _readings(text[start:end])
        if found is None:
            return None
        out += found
    return out or None


def _target(reference: str) -> Reading | None:
    """What the reference means; None where it is not exactly one number."""
    spans = answers(reference)
    if any(_ALGEBRA.search(_FRAC.sub(r"\1/\2", reference[start:end])) for start, end in spans):
        return None
    found = _final(reference)
    if found is None or any(not _same(found[0], other) for other in found):
        return None
    return found[0]


def _spelled(target: Reading, text: str) -> bool:
    """Whether the text may write the number in words ("eighteen", "one half")."""
    value = abs(max(target.bare))
    if value.denominator > 1:
        words = _PARTS
    else:
        words = _WORDS[int(value)] if value < len(_WORDS) else _TENS
    return re.search(rf"\b(?:{words})\b", text, re.IGNORECASE) is not None


def refuted(candidate: str, reference: str) -> bool:
    r"""Whether the candidate's final answer is surely not the reference.

    True only if the reference is one number, the candidate has a final answer that can be read,
    and no number of it means the same: fractions, percent, units and rounding are taken into
    account, and whatever is doubtful counts as "not surely wrong".

    Args:
        candidate: a completion, any text.
        reference: the right answer, or a solution that ends in it.

    Returns:
        True for a sure contradiction; False for a right, unreadable or doubtful candidate.

    Example:
        >>> refuted("9 * 2 = 19", "18"), refuted("9 * 2 = 18", "18"), refuted("no idea", "18")
        (True, False, False)
        >>> refuted("50%", "1/2"), refuted("17 or 18", "18"), refuted("2 minutes", "2 hours")
        (False, False, True)
    """
    target, found = _target(reference), _final(candidate)
    if target is None or found is None:
        return False
    tail = candidate[min(start for start, _ in answers(candidate)) :]
    return not _spelled(target, tail) and not any(_same(target, other) for other in found)


def occurs(reference: str, text: str) -> bool:
    """Whether the reference, as a value or as written, stands anywhere in the text."""
    if re.search(r"[0-9]", reference) is None or (target := _target(reference)) is None:
        return reference.strip().casefold() in text.casefold()
    found = _readings(text, operands=True)
    return found is None or _spelled(target, text) or any(_same(target, other) for other in found)


def silent(text: str, reference: str) -> bool:
    """Whether the text surely holds no answer to a question whose reference is a number."""
    return (
        _target(reference) is not None
        and _readings(text, operands=True) is not None
        and _final(text) is None
    )
