"""The completions of the warm-up: a short working and the answer, from gold only."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import NamedTuple

from cooper.data._read import Item
from cooper.data._spell import write_number
from cooper.verify import numbers

ANSWER = "The answer is {}."

_EXPRESSION = re.compile(r"[0-9.+*/() -]{1,200}", re.ASCII)
_PIECE = re.compile(r"[0-9.]+|[-+*/()]")
_SIGNS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}


def evaluate(expression: str) -> Fraction | None:
    """The exact value of `+ - * /` and brackets over numbers, or None.

    Example:
        >>> evaluate("( 76.0 - 25.0 ) / 2"), evaluate("2**9"), evaluate("1/0")
        (Fraction(51, 2), None, None)
    """
    if not _EXPRESSION.fullmatch(expression):
        return None
    try:
        return _walk(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, RecursionError, ValueError):
        return None


def _walk(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _SIGNS[_OPERATORS[type(node.op)]](_walk(node.left), _walk(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_walk(node.operand)
    raise ValueError("not arithmetic")


def _tidy(expression: str) -> str:
    pieces = [
        write_number(Fraction(piece)) if piece[0] in "0123456789" else piece
        for piece in _PIECE.findall(expression)
    ]
    while pieces[:1] == ["("] and _closes_last(pieces):
        pieces = pieces[1:-1]
    return " ".join(pieces).replace("( ", "(").replace(" )", ")")


def _closes_last(pieces: list[str]) -> bool:
    depth = 0
    for i, piece in enumerate(pieces):
        depth += (piece == "(") - (piece == ")")
        if depth == 0:
            return i == len(pieces) - 1
    return False


def equations(working: str, reference: str) -> str | None:
    """A gold formula written out, or None where it is not plain arithmetic that gives the answer.

    Example:
        >>> equations("3*4=12; 12-2=10", "10"), equations("( ( 4.0 + 5.0 ) * 7.0 )", "63")
        ('3 * 4 = 12. 12 - 2 = 10.', '(4 + 5) * 7 = 63.')
    """
    steps = []
    value: Fraction | None = None
    for step in working.split(";"):
        left, _, right = step.partition("=")
        value = evaluate(left)
        if value is None or (right.strip() and evaluate(right) != value):
            return None
        steps.append(f"{_tidy(left)} = {write_number(value)}.")
    return " ".join(steps) if value is not None and write_number(value) == reference else None


class _Term(NamedTuple):
    """A partial result: its text, its value, and its value with other numbers put in."""

    text: str
    value: Fraction
    other: Fraction  # equal for two formulas exactly when they are the same formula
    steps: str = ""


# Put in for a question's numbers to tell a + b from a * b where 2 + 2 = 2 * 2.
_OTHERS = (Fraction(101, 7), Fraction(103, 11), Fraction(107, 13), Fraction(109, 17))


def _combined(left: _Term, right: _Term) -> Iterator[_Term]:
    """What one operation makes of two terms; only sensible amounts, nothing below zero."""
    for sign, (a, b) in product("+-*/", ((left, right), (right, left))):
        if (sign in "+*" and a is right) or (sign == "/" and b.value == 0):
            continue
        value = _SIGNS[sign](a.value, b.value)
        if value >= 0:
            text = write_number(value)
            steps = f"{a.steps}{b.steps}{a.text} {sign} {b.text} = {text}. "
            yield _Term(text, value, _SIGNS[sign](a.other, b.other), steps)


def inferred(question: str, reference: str) -> str | None:
    """The only formula over a question's numbers that gives the reference, or None.

    One operation on two of at most four numbers; failing that, two operations on all of three.

    Example:
        >>> inferred("There are 7 caps and Linda puts 7 more inside.", "14")
        '7 + 7 = 14.'
        >>> inferred("2 boxes of 2 caps", "4") is None  # 2 + 2 or 2 * 2
        True
        >>> inferred("3 boxes of 12 eggs, 5 of them broken", "31")
        '3 * 12 = 36. 36 - 5 = 31.'
    """
    values = [number.value for number in numbers(question) if number.value is not None]
    if not 2 <= len(values) <= len(_OTHERS):
        return None
    target = Fraction(reference)
    terms = [_Term(write_number(v), v, o) for v, o in zip(values, _OTHERS, strict=False)]
    singles = [term for a, b in combinations(terms, 2) for term in _combined(a, b)]
    found = [term for term in singles if term.value == target]
    if not found and len(terms) == 3:
        found = [
            term
            for a, b, c in permutations(terms)
            for first in _combined(a, b)
            if first.value.denominator == 1
            for term in _combined(first, c)
            if term.value == target
        ]
    formulas = {term.other for term in found}
    return found[0].steps.strip() if len(formulas) == 1 else None


def demonstration(item: Item, *, steps: bool = False) -> str:
    """The completion that the warm-up teaches for an item.

    Args:
        item: Question, reference and gold working.
        steps: Use a solution in words where there is one (GSM8K), without its `<<...>>` notes.

    Returns:
        The gold formula, else the inferred operation, else nothing, and then the answer.

    Example:
        >>> demonstration(Item("Seven red and two green apples ...", "9", "7+2=9"))
        '7 + 2 = 9. The answer is 9.'
    """
    working = equations(item.working, item.reference) if item.working else None
    if working is None and steps and item.working:
        working = strip_notes(item.working)
    if working is None:
        working = inferred(item.question, item.reference)
    answer = ANSWER.format(item.reference)
    return f"{working} {answer}" if working else answer


def strip_notes(text: str) -> str:
    """A solution without its calculator notes, also those that are never closed.

    Example:
        >>> strip_notes("48/2 = <<48/2=24>>24 clips")
        '48/2 = 24 clips'
    """
    return re.sub(r"<<[^<>]*>>|<<\S*", "", text)
