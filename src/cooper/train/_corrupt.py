"""Negatives without a model: wrong copies of a solution, checked against the reference.

A reward model learns most from a pair that differs in one thing only, so each rung of this ladder
spoils one thing (a digit, a sign, an operator, a unit, a step, the end) and keeps the rest; a
copy that is not surely wrong is refused. Do not use it alone where the policy can reach mistakes
that no arithmetic slip resembles (hedges, empty phrases, injected text): pair those rollouts
themselves. Nor for answers that are not numbers, unless you bring your own `wrong`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

Rung = Callable[[str, np.random.Generator], str | None]

LONGEST = 40  # characters of a number whose value is read; a longer one is opaque
MOST = 256  # numbers in one answer; more than that is noise, and refused
BUSY = 4096  # numbers in one text; in a text with more, results are not carried on
OPERANDS = 16  # longest expression that is evaluated

_NUM = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_TOKEN = re.compile(
    rf"(?P<number>{_NUM})|(?P<operator>[-+*/×÷x−])|(?P<equals>=)|(?P<gap>[ \t$]+)"
    r"|(?P<other>[^-0-9.+*/×÷x−= \t$]+|.)",
    re.DOTALL,
)
_READ = re.compile(
    rf"(?P<minus>[-−])?(?P<dollar>\$)?(?:(?P<whole>[0-9]+) (?=[0-9]+/[0-9]))?(?P<top>{_NUM})"
    rf"(?:[eE](?P<power>[-+]?[0-9]{{1,2}})(?![0-9]))?(?: ?/ ?(?P<bottom>{_NUM}))?"
    r"(?: ?(?P<unit>%|[A-Za-z]+))?"
)
_CUT = re.compile(r"\n+|(?<=[.!?])[^\S\n]+")  # ends of steps: lines and sentences
_MARK = re.compile(r"####|\\boxed\s?\{|\b[Aa]nswer\b(?: is)?|\bA:")
_FRAC = re.compile(r"\\[dt]?frac\{([^{}]{1,40})\}\{([^{}]{1,40})\}")
_OPAQUE = re.compile(
    r"\^|\*\*|\\[dt]?frac|\\sqrt|\\pi|[π√²³½¼¾]|(?i:\b(?:hundred|thousand|million|billion|dozen)s?\b)"
)
_SIGNS = {"×": "*", "x": "*", "÷": "/", "−": "-"}
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
_UNITS = {name: (kind, size, row) for kind, row in _ROWS for name, size in row.items()}


class Negative(NamedTuple):
    """A wrong copy and the rung that made it."""

    text: str
    kind: str


# --- reading ------------------------------------------------------------------------------------


class _Expression(NamedTuple):
    numbers: tuple[int, ...]  # indices into the text's numbers
    symbols: tuple[str, ...]  # + - * /, one fewer than numbers
    places: tuple[int, ...]  # where each symbol stands
    closed: bool  # followed by "="


class _Reading(NamedTuple):
    bare: frozenset[Fraction]  # the values that the number can mean, its unit left aside
    measured: tuple[str, Fraction] | None  # (kind of unit, value in its smallest unit)


def _value(literal: str) -> Fraction | None:
    """The value of an unsigned number, None where it is too long to be worth reading."""
    return Fraction(literal.replace(",", "")) if len(literal) <= LONGEST else None


def _scan(text: str) -> tuple[list[re.Match[str]], list[_Expression]]:
    """All unsigned numbers, and the flat expressions (no brackets) that join them; one pass."""
    numbers: list[re.Match[str]] = []
    found: list[_Expression] = []
    run: list[int] = []
    symbols: list[str] = []
    places: list[int] = []
    broken = False  # a bracket or a sign stands before the run: its value would be misread

    def close(closed: bool) -> None:
        if not broken and 1 < len(run) <= OPERANDS and len(run) == len(symbols) + 1:
            found.append(_Expression(tuple(run), tuple(symbols), tuple(places), closed))
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


def _evaluate(values: Sequence[Fraction | None], symbols: Sequence[str]) -> Fraction | None:
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


def _steps(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the steps (lines, sentences) of a text, in order."""
    start = 0
    for cut in _CUT.finditer(text):
        if cut.start() > start:
            yield start, cut.start()
        start = cut.end()
    if start < len(text):
        yield start, len(text)


def _answers(text: str) -> list[tuple[int, int]]:
    """Where the final answer may stand: after the last marker, and in the last step with a digit.

    Both, because readers differ in which they trust; "surely wrong" must hold for either.
    """
    last: tuple[int, int] | None = None
    for start, end in reversed(list(_steps(text))):
        digits = [m.start() for m in re.finditer(r"[0-9]", text[start:end])]
        if not digits:
            continue
        last = last or (start, end)
        marks = [m.end() for m in _MARK.finditer(text, start, end) if m.end() <= start + digits[-1]]
        if marks:
            return [(marks[-1], end), last]
    return [last] if last else []


def _readings(text: str, *, operands: bool = False) -> list[_Reading] | None:
    """Every number of a text with all it can mean, operands of "a + b =" left out unless asked.

    None where the text holds something that this reader would misread.
    """
    text = _FRAC.sub(r"\1/\2", text).replace("\\%", "%").replace("\\$", "$").replace("{,}", ",")
    if _OPAQUE.search(text):
        return None
    numbers, expressions = _scan(text)
    if len(numbers) > MOST or any(len(n.group()) > LONGEST for n in numbers):
        return None
    given = {numbers[i].start() for e in expressions if e.closed for i in e.numbers}
    out: list[_Reading] = []
    for match in _READ.finditer(text):
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
        bare = {value, -value} if before in ("- ", "− ") else {value}  # a bullet or a sign
        if match["unit"] == "%":
            bare |= {v / 100 for v in bare}
        unit = "dollars" if match["dollar"] else match["unit"]
        known = _UNITS.get(unit) if unit else None
        out.append(_Reading(frozenset(bare), (known[0], value * known[1]) if known else None))
    for e in expressions:
        if not e.closed and e.symbols != ("/",):  # "9 * 2" left as it is means 18
            result = _evaluate([_value(numbers[i].group()) for i in e.numbers], e.symbols)
            out += [] if result is None else [_Reading(frozenset({result}), None)]
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


def _same(one: _Reading, two: _Reading) -> bool:
    if one.measured and two.measured and one.measured[0] == two.measured[0]:
        return _close(one.measured[1], two.measured[1])
    return any(_close(a, b) for a in one.bare for b in two.bare)


def _final(text: str) -> list[_Reading] | None:
    """The readings of the final answer; None where it cannot be read."""
    out: list[_Reading] = []
    for start, end in _answers(text):
        found = _readings(text[start:end])
        if found is None:
            return None
        out += found
    return out or None


def _target(reference: str) -> _Reading | None:
    """What the reference means; None where it is not exactly one number."""
    found = _final(reference)
    if found is None or any(not _same(found[0], other) for other in found):
        return None
    return found[0]


def _spelled(target: _Reading, text: str) -> bool:
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
    tail = candidate[min(start for start, _ in _answers(candidate)) :]
    return not _spelled(target, tail) and not any(_same(target, other) for other in found)


def _occurs(reference: str, text: str) -> bool:
    """Whether the reference, as a value or as written, stands anywhere in the text."""
    if re.search(r"[0-9]", reference) is None or (target := _target(reference)) is None:
        return reference.strip().casefold() in text.casefold()
    found = _readings(text, operands=True)
    return found is None or _spelled(target, text) or any(_same(target, other) for other in found)


def _silent(text: str, reference: str) -> bool:
    """Whether the text surely holds no answer to a question whose reference is a number."""
    return (
        _target(reference) is not None
        and _readings(text, operands=True) is not None
        and _final(text) is None
    )


# --- writing ------------------------------------------------------------------------------------


def _splice(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with the (start, end, new) edits made; they must not overlap."""
    out, at = [], 0
    for start, end, new in sorted(edits):
        out += [text[at:start], new]
        at = end
    return "".join((*out, text[at:]))


def _write(value: Fraction, like: str) -> str:
    """A value in the manner of the number it replaces: exact to 4 decimals, else rounded to 2."""
    places = next((p for p in range(5) if (value * 10**p).denominator == 1), 2)
    units, rest = divmod(abs(round(value * 10**places)), 10**places)
    minus = "-" if value < 0 and (units or rest) else ""
    tail = f".{rest:0{places}d}" if places else ""
    return f"{minus}{units:,}{tail}" if "," in like else f"{minus}{units}{tail}"


def _last(text: str, numbers: list[re.Match[str]], expressions: list[_Expression]) -> int | None:
    """The index of the final answer's number (of its denominator in a fraction)."""
    given = {i for e in expressions if e.closed for i in e.numbers}
    for start, end in _answers(text):
        for i in range(len(numbers) - 1, -1, -1):
            if start <= numbers[i].start() and numbers[i].end() <= end and i not in given:
                return i
    return len(numbers) - 1 if numbers else None


def _plain(number: re.Match[str]) -> str:
    return number.group().replace(",", "")


def _copies(text: str, numbers: list[re.Match[str]], last: int) -> list[re.Match[str]]:
    """The final number wherever it is stated as a result, so that a copy contradicts nothing."""
    out = []
    for i, number in enumerate(numbers):
        before = text[max(0, number.start() - 8) : number.start()].rstrip(" \t$-−*\\(")
        stated = before.endswith(("=", ">", ":", "{", " is", "####"))
        if i == last or (stated and _plain(number) == _plain(numbers[last])):
            out.append(number)
    return out


def _other_digit(literal: str, rng: np.random.Generator) -> str:
    """The number with one digit changed, and no leading zero made."""
    places = [i for i, c in enumerate(literal) if c.isdigit()]
    at = places[int(rng.integers(len(places)))]
    leading = at == 0 and len(literal) > 1 and literal[1] != "."
    choices = [d for d in "0123456789"[leading:] if d != literal[at]]
    return literal[:at] + choices[int(rng.integers(len(choices)))] + literal[at + 1 :]


def _sums(numbers: list[re.Match[str]], expressions: list[_Expression]) -> list[_Expression]:
    """The "a + b =" whose results can be carried on; none in a text that is a heap of numbers."""
    return [e for e in expressions if e.closed] if len(numbers) <= BUSY else []


def _propagate(
    text: str,
    numbers: list[re.Match[str]],
    expressions: list[_Expression],
    edit: dict[int, str],
    swap: tuple[_Expression, int, str] | None = None,
) -> str:
    """Make an edit and carry what follows from it through all later results, in one pass.

    A number is followed by its value: once 16 - 3 = 13 has become 16 - 8 = 8, each later 13 is 8.
    """
    literals = [n.group() for n in numbers]
    old = [_value(literal) for literal in literals]
    new = list(old)
    ends = {e.numbers[-1]: e for e in expressions if e.closed}
    swapped = None if swap is None else ([old[i] for i in swap[0].numbers], swap[0].symbols)
    moved: dict[Fraction, Fraction] = {}
    edits: list[tuple[int, int, str]] = []
    for i, number in enumerate(numbers):
        before, after = old[i], None
        if i in edit:
            after = new[i] = _value(edit[i])
            edits.append((*number.span(), edit[i]))
            if before is not None and after is not None:
                moved[before] = after
        elif before is not None and before in moved:
            new[i] = moved[before]
            edits.append((*number.span(), _write(moved[before], literals[i])))
        if (e := ends.get(i)) is None:
            continue
        symbols = list(e.symbols)
        if swap and swapped == ([old[k] for k in e.numbers], e.symbols):  # also a repeated one
            symbols[swap[1]] = swap[2]
            edits.append((e.places[swap[1]], e.places[swap[1]] + 1, swap[2]))
        was = _evaluate([old[k] for k in e.numbers], e.symbols)
        now = _evaluate([new[k] for k in e.numbers], symbols)
        if was is None or now is None or was == now:
            continue
        moved[was] = now
        stated = old[i + 1] if i + 1 < len(numbers) else None
        if stated is not None and not text[number.end() : numbers[i + 1].start()].strip(" \t=$"):
            moved[stated] = now  # the text's own result, should it have miscalculated
    return _splice(text, edits)


# --- the rungs ----------------------------------------------------------------------------------


def digit(text: str, rng: np.random.Generator) -> str | None:
    """Change one digit: of the final number, or of an operand and all that follows from it."""
    numbers, expressions = _scan(text)
    sums = _sums(numbers, expressions)
    if sums and rng.random() < 0.5:
        chosen = sums[int(rng.integers(len(sums)))].numbers
        at = chosen[int(rng.integers(len(chosen)))]
        return _propagate(text, numbers, expressions, {at: _other_digit(numbers[at].group(), rng)})
    last = _last(text, numbers, expressions)
    if last is None:
        return None
    new = _other_digit(_plain(numbers[last]), rng)
    return _splice(text, [(*n.span(), new) for n in _copies(text, numbers, last)])


def sign(text: str, rng: np.random.Generator) -> str | None:
    """Flip the sign of the final number."""
    numbers, expressions = _scan(text)
    last = _last(text, numbers, expressions)
    if last is None:
        return None
    for joints in (("/", "}{"), (" ",)):  # the sign goes before the whole (mixed) fraction
        if not last or text[numbers[last - 1].end() : numbers[last].start()] not in joints:
            break
        last -= 1
    if re.search(r"[1-9]", numbers[last].group()) is None:
        return None
    edits = []
    for number in _copies(text, numbers, last):
        at = number.start()
        at -= at > 0 and text[at - 1] == "$"
        at -= at > 0 and text[at - 1] == "\\"
        signed = at > 0 and text[at - 1] in "-−" and not (at > 1 and text[at - 2].isalnum())
        edits.append((at - 1, at, "") if signed else (at, at, "-"))
    return _splice(text, edits)


def operator(text: str, rng: np.random.Generator) -> str | None:
    """Swap one + - * / of a step "a + b =" and carry its result on."""
    numbers, expressions = _scan(text)
    sums = _sums(numbers, expressions)
    if not sums:
        return None
    chosen = sums[int(rng.integers(len(sums)))]
    at = int(rng.integers(len(chosen.symbols)))
    symbol = str(rng.choice([s for s in "+-*/" if s != chosen.symbols[at]]))
    return _propagate(text, numbers, expressions, {}, (chosen, at, symbol))


def unit(text: str, rng: np.random.Generator) -> str | None:
    """Swap the last unit, keeping the number or converting it by a wrong factor."""
    found = []
    for match in _READ.finditer(text):
        name = "dollars" if match["dollar"] else match["unit"]
        if name and not match["bottom"] and (name == "%" or name in _UNITS):
            found.append((match, name))
    if not found:
        return None
    last, name = found[-1]
    if name == "%":
        other, factor = "", Fraction(1, 100)
    else:
        _, size, row = _UNITS[name]
        other = str(rng.choice([u for u in row if u != name]))
        factor = Fraction(size, row[other])
    number, value = last["top"], _value(last["top"])
    if value is not None and rng.random() < 0.5:
        slips = [f for f in (Fraction(10), Fraction(1, 10)) if f * factor != 1]
        number = _write(value * factor * slips[int(rng.integers(len(slips)))], number)
    edits = []
    for match, unit_name in found:
        if unit_name == name and match["top"] == last["top"]:
            start = match.start("dollar") if match["dollar"] else match.start("top")
            end = match.end("top") if match["dollar"] else match.end("unit")
            edits.append((start, end, f"{number} {other}".rstrip()))
    return _splice(text, edits)


def step(text: str, rng: np.random.Generator) -> str | None:
    """Drop the step that states the result, or swap the last step with an earlier one.

    Only steps that bear the final answer: without another one the answer would stay right.
    """
    spans = list(_steps(text))
    if len(spans) < 2:
        return None
    if rng.random() < 0.5:
        (a, b), (c, d) = spans[int(rng.integers(len(spans) - 1))], spans[-1]
        return _splice(text, [(a, b, text[c:d]), (c, d, text[a:b])])
    numbers, expressions = _scan(text)
    last = _last(text, numbers, expressions)
    at = len(text) if last is None else min(n.start() for n in _copies(text, numbers, last))
    first = next((i for i, (_, end) in enumerate(spans) if at < end), len(spans) - 1)
    return text[: spans[first - 1][1]] if first else None


def truncate(text: str, rng: np.random.Generator) -> str | None:
    """Keep the first line, or a prefix that ends before the final answer is first written."""
    body = text.strip()
    if "\n" in body and rng.random() < 0.5:
        return body.split("\n", 1)[0].rstrip()
    numbers, expressions = _scan(body)
    last = _last(body, numbers, expressions)
    end = len(body)
    if last is not None:
        end = next(n.start() for n in numbers if n.group() == numbers[last].group())
    gaps = [m.start() for m in re.finditer(r"\s+", body[:end])]
    return (body[: gaps[int(rng.integers(len(gaps)))]] if gaps else "") or None


RUNGS: dict[str, Rung] = {
    "digit": digit,
    "sign": sign,
    "operator": operator,
    "unit": unit,
    "step": step,
    "truncate": truncate,
}


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
        '9 - 2 = 7. The answer is 7.'
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
        if kind == "truncate" and _occurs(reference, copy):
            continue
        if (kind == "truncate" and _silent(copy, reference)) or check(copy, reference):
            return Negative(copy, kind)
    return None
