"""The rungs of the negative ladder: each spoils one thing in a solution, and checks nothing.

Do not use a rung's copy as a negative as it is: by accident it may be right. `corrupt` checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from cooper.data._numbers import READ, UNITS, Expression, answers, evaluate, scan, steps, value_of

Rung = Callable[[str, np.random.Generator], str | None]

BUSY = 4096  # numbers in one text; in a text with more, results are not carried on


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


def _last(text: str, numbers: list[re.Match[str]], expressions: list[Expression]) -> int | None:
    """The index of the final answer's number (of its denominator in a fraction)."""
    given = {i for e in expressions if e.closed for i in e.numbers}
    for start, end in answers(text):
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
        if i != last:
            if _plain(number) != _plain(numbers[last]):
                continue
            before = text[max(0, number.start() - 8) : number.start()].rstrip(" \t$-\u2212*\\(")
            if not before.endswith(("=", ">", ":", "{", " is", "####")):
                continue
        out.append(number)
    return out


def _other_digit(literal: str, rng: np.random.Generator) -> str:
    """The number with one digit changed, and no leading zero made."""
    places = [i for i, c in enumerate(literal) if c.isdigit()]
    at = places[int(rng.integers(len(places)))]
    leading = at == 0 and len(literal) > 1 and literal[1] != "."
    choices = [d for d in "0123456789"[leading:] if d != literal[at]]
    return literal[:at] + choices[int(rng.integers(len(choices)))] + literal[at + 1 :]


def _sums(numbers: list[re.Match[str]], expressions: list[Expression]) -> list[Expression]:
    """The "a + b =" whose results can be carried on; none in a text that is a heap of numbers."""
    return [e for e in expressions if e.closed] if len(numbers) <= BUSY else []


def _propagate(
    text: str,
    numbers: list[re.Match[str]],
    expressions: list[Expression],
    edit: dict[int, str],
    swap: tuple[Expression, int, str] | None = None,
) -> str:
    """Make an edit and carry what follows from it through all later results, in one pass.

    A number is followed by its value: once 16 - 3 = 13 has become 16 - 8 = 8, each later 13 is 8.
    """
    literals = [n.group() for n in numbers]
    old = [value_of(literal) for literal in literals]
    new = list(old)
    ends = {e.numbers[-1]: e for e in expressions if e.closed}
    swapped = None if swap is None else ([old[i] for i in swap[0].numbers], swap[0].symbols)
    moved: dict[Fraction, Fraction] = {}
    edits: list[tuple[int, int, str]] = []
    for i, number in enumerate(numbers):
        before, after = old[i], None
        if i in edit:
            after = new[i] = value_of(edit[i])
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
        was = evaluate([old[k] for k in e.numbers], e.symbols)
        now = evaluate([new[k] for k in e.numbers], symbols)
        if was is None or now is None or was == now:
            continue
        moved[was] = now
        stated = old[i + 1] if i + 1 < len(numbers) else None
        if stated is not None and not text[number.end() : numbers[i + 1].start()].strip(" \t=$"):
            moved[stated] = now  # the text's own result, should it have miscalculated
    return _splice(text, edits)


def digit(text: str, rng: np.random.Generator) -> str | None:
    """Change one digit: of the final number, or of an operand and all that follows from it."""
    numbers, expressions = scan(text)
    sums = _sums(numbers, expressions)
    if sums and rng.random() < 0.5:
        chosen = sums[int(rng.integers(len(sums)))]
        key = [numbers[i].group() for i in chosen.numbers]
        first = next(e for e in sums if [numbers[i].group() for i in e.numbers] == key)
        at = first.numbers[int(rng.integers(len(key)))]  # a repeated step changes from its start
        return _propagate(text, numbers, expressions, {at: _other_digit(numbers[at].group(), rng)})
    last = _last(text, numbers, expressions)
    if last is None:
        return None
    new = _other_digit(_plain(numbers[last]), rng)
    return _splice(text, [(*n.span(), new) for n in _copies(text, numbers, last)])


def sign(text: str, rng: np.random.Generator) -> str | None:
    """Flip the sign of the final number."""
    numbers, expressions = scan(text)
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
        signed = at > 0 and text[at - 1] in "-\u2212" and not (at > 1 and text[at - 2].isalnum())
        edits.append((at - 1, at, "") if signed else (at, at, "-"))
    return _splice(text, edits)


def operator(text: str, rng: np.random.Generator) -> str | None:
    """Swap one + - * / of a step "a + b =" and carry its result on."""
    numbers, expressions = scan(text)
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
    for match in READ.finditer(text):
        name = "dollars" if match["dollar"] else match["unit"]
        if name and not match["bottom"] and (name == "%" or name in UNITS):
            found.append((match, name))
    if not found:
        return None
    last, name = found[-1]
    if name == "%":
        other, factor = "", Fraction(1, 100)
    else:
        _, size, row = UNITS[name]
        other = str(rng.choice([u for u in row if u != name]))
        factor = Fraction(size, row[other])
    number, value = last["top"], value_of(last["top"])
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
    spans = list(steps(text))
    if len(spans) < 2:
        return None
    if rng.random() < 0.5:
        (a, b), (c, d) = spans[int(rng.integers(len(spans) - 1))], spans[-1]
        return _splice(text, [(a, b, text[c:d]), (c, d, text[a:b])])
    numbers, expressions = scan(text)
    last = _last(text, numbers, expressions)
    at = len(text) if last is None else min(n.start() for n in _copies(text, numbers, last))
    first = next((i for i, (_, end) in enumerate(spans) if at < end), len(spans) - 1)
    return text[: spans[first - 1][1]] if first else None


def truncate(text: str, rng: np.random.Generator) -> str | None:
    """Keep the first line, or a prefix that ends before the final answer is first written."""
    body = text.strip()
    if "\n" in body and rng.random() < 0.5:
        return body.split("\n", 1)[0].rstrip()
    numbers, expressions = scan(body)
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
