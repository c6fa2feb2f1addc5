"""The completions of the warm-up: a short working and the answer, from gold only."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction

from cooper.data._read import Item
from cooper.data._spell import write_number
from cooper.verify import numbers

ANSWER = "The answer is {}."
MOST_NUMBERS = 4  # in a question, for its equation to be inferred; with more, chance finds one

_EXPRESSION = re.compile(r"[0-9.+*/() -]{1,200}", re.ASCII)
_PIECE = re.compile(r"[0-9.]+|[-+*/()]")
_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
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
        return _OPERATORS[type(node.op)](_walk(node.left), _walk(node.right))
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


def inferred(question: str, reference: str) -> str | None:
    """The one operation on two numbers of the question that gives the reference, or None.

    Example:
        >>> inferred("There are 7 caps and Linda puts 7 more inside.", "14")
        '7 + 7 = 14.'
        >>> inferred("2 boxes of 2 caps", "4") is None  # 2 + 2 or 2 * 2
        True
    """
    values = [number.value for number in numbers(question) if number.value is not None]
    if len(values) > MOST_NUMBERS:
        return None
    found = set()
    for i, a in enumerate(values):
        for b in values[i + 1 :]:
            for left, right, signs in ((a, b, "+-*/"), (b, a, "-/")):
                for sign in signs:
                    text = f"{write_number(left)} {sign} {write_number(right)}"
                    value = evaluate(text)
                    if value is not None and write_number(value) == reference:
                        found.add(f"{text} = {reference}.")
    return found.pop() if len(found) == 1 else None


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
    """A solution without its calculator notes.

    Example:
        >>> strip_notes("48/2 = <<48/2=24>>24 clips")
        '48/2 = 24 clips'
    """
    return re.sub(r"<<[^<>]*>>", "", text)
