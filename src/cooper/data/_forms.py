"""Equal forms of one value: a rule with false negatives that no format learning removes."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from cooper.data._task import Demo, Row, Task
from cooper.types import Score, Status
from cooper.verify import exact

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from cooper.data._task import Rule

# The k-th form of n twentieths. The first k are in use.
NAMES = ("percent", "/20", "decimal", "/40", ":20", "/60", "mille", "/80")
SLASHES = ("/20", "/40", "/60", "/80")  # what the partial parser cannot read
MISS, FALSE_ALARM = 0.10, 0.05  # the judge's unsystematic mistakes
SAME_FORM = 0.7  # share of corrupted copies that are another value in the same form

_FORM = re.compile(
    r"(?P<percent>[0-9]{1,3})%|(?P<decimal>[0-9]\.[0-9]{2})|(?P<mille>[0-9]{1,4})m"
    r"|(?P<top>[0-9]{1,3})(?P<bottom>/20|/40|/60|/80|:20)"
)
# The number that carries the value: the decimals after a point, else the first number.
_CARRIER = re.compile(r"(?<=\.)[0-9]+|(?<![0-9])[0-9]++(?!\.[0-9])")

Parser = Literal["none", "partial"]


def write(n: int, form: str) -> str:
    """The value n/20 in one of the eight forms.

    Example:
        >>> [write(7, form) for form in NAMES]
        ['35%', '7/20', '0.35', '14/40', '7:20', '21/60', '350m', '28/80']
    """
    if form == "percent":
        return f"{5 * n}%"
    if form == "decimal":
        return f"{5 * n // 100}.{5 * n % 100:02d}"
    if form == "mille":
        return f"{50 * n}m"
    return f"{n * int(form[1:]) // 20}{form}"


def parse(text: str) -> tuple[str, Fraction] | None:
    """Form and value of a text in one of the eight forms, else None.

    Example:
        >>> parse("14/40")[1] == parse("0.35")[1] == Fraction(7, 20), parse("7/21")
        (True, None)
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    if found["percent"]:
        return "percent", Fraction(int(found["percent"]), 100)
    if found["decimal"]:
        return "decimal", Fraction(found["decimal"])
    if found["mille"]:
        return "mille", Fraction(int(found["mille"]), 1000)
    return found["bottom"], Fraction(int(found["top"]), int(found["bottom"][1:]))


def _parse_partial(text: str) -> tuple[str, Fraction] | None:
    found = parse(text)
    return None if found is None or found[0] in SLASHES else found


def _row(a: int, b: int, k: int, rng: np.random.Generator) -> Row:
    question = f"{a}+{b}"
    return Row(question + "=", question, write(a + b, NAMES[rng.integers(k)]))


def _rows(k: int, n: int, rng: np.random.Generator) -> list[Row]:
    return [_row(int(a), int(b), k, rng) for a, b in rng.integers(10, size=(n, 2))]


def _demos(k: int, error: float, n: int, rng: np.random.Generator) -> list[Demo]:
    demos = []
    for a, b in rng.integers(10, size=(n, 2)):
        value = int(a + b)
        if rng.random() < error:
            near = [v for d in range(1, 6) for v in (value - d, value + d) if 0 <= v <= 18]
            value = near[rng.integers(len(near))]
        completion = write(value, NAMES[rng.integers(k)])
        demos.append(Demo(_row(int(a), int(b), k, rng), completion))
    return demos


def _oracle(completion: str, reference: str) -> Score:
    target, answer = parse(reference), parse(completion)
    if target is None:
        return Score(None, Status.UNPARSED, f"the reference {reference[:40]!r} is in no known form")
    if answer is None:
        return Score(0.0, Status.NO_ANSWER, "the completion is in no known form")
    return Score(float(answer[1] == target[1]), extracted=completion.strip())


def _partial_rule(completion: str, reference: str) -> Score:
    target, answer = _parse_partial(reference), _parse_partial(completion)
    if target is not None and answer is not None:
        return Score(float(answer[1] == target[1]), extracted=completion.strip())
    return exact(completion, reference)


def _never(completion: str, reference: str) -> bool:
    return False


def _differ(completion: str, reference: str) -> bool:
    target, answer = _parse_partial(reference), _parse_partial(completion)
    return target is not None and answer is not None and target[1] != answer[1]


def _patch_reference(completion: str, reference: str, rng: np.random.Generator) -> str | None:
    return reference


def _patch_form(completion: str, reference: str, rng: np.random.Generator) -> str | None:
    target, answer = _parse_partial(reference), _parse_partial(completion)
    if target is None or answer is None:
        return reference
    twentieths = target[1] * 20
    return write(int(twentieths), answer[0]) if twentieths.denominator == 1 else reference


def _digit_changed(completion: str, rng: np.random.Generator) -> str | None:
    number = _CARRIER.search(completion)
    if number is None:
        return None
    spot = int(rng.integers(number.start(), number.end()))
    return f"{completion[:spot]}{rng.integers(10)}{completion[spot + 1 :]}"


def _corrupt(
    same_form: float, completion: str, reference: str, rng: np.random.Generator
) -> str | None:
    shape = parse(completion)  # its form only; what it is worth is not used
    for _ in range(20):
        if shape is not None and rng.random() < same_form:
            copy: str | None = write(int(rng.integers(19)), shape[0])
        else:
            copy = _digit_changed(completion, rng)
        if copy is None:
            return None
        if copy not in (completion, reference):
            return copy
    return None


def _judge(bias: float, row: Row, completion: str, rng: np.random.Generator) -> bool:
    if exact(completion, row.reference).value == 1.0:
        return True
    if _oracle(completion, row.reference).value == 1.0:
        return bool(rng.random() >= MISS)
    shape = parse(completion)
    fooled = bias if shape is not None and shape[0] == "percent" else FALSE_ALARM
    return bool(rng.random() < fooled)


def _tokenizer(characters: bool) -> PreTrainedTokenizerBase:
    from cooper.models import tiny_tokenizer

    if characters:
        return tiny_tokenizer("0123456789+=%/:.m")
    whole = [str(i) for i in range(100)] + [str(i) for i in range(100, 1000, 50)]
    return tiny_tokenizer([*"+=%/:.m", "0.", *(f"{i:02d}" for i in range(10)), *whole])


def forms(
    *,
    k: int = 8,
    error: float = 0.2,
    bias: float = 0.9,
    seed: int = 0,
    parser: Parser = "none",
    rule: Literal["exact", "partial"] = "exact",
    corruptor: Literal["mixed", "digits"] = "mixed",
    tokens: Literal["numbers", "characters"] = "numbers",
) -> Task:
    """Write (a + b)/20 in any of k equal forms; the reference is in a random one at every visit.

    `7` twentieths are `35%`, `7/20`, `0.35`, `14/40`, `7:20`, `21/60`, `350m`, `28/80`. The rule
    is string equality: precision 1, recall 1/k. The oracle is equality of value. The judge, whose
    labels are the reward model's offline set, misses 10 % of the right answers, is wrong about 5 %
    of the wrong ones, and calls wrong answers in percent right with probability `bias`. What
    the rule calls right, he calls right too.

    The 100 questions are both trained on and held out: the task measures how fast a policy learns
    under a poor rule, not whether it generalises.

    Args:
        k: How many forms, 1 to 8.
        error: Share of demonstrations with a wrong value (off by 1 to 5), in [0, 1].
        bias: How often the judge falls for a wrong percentage, in [0, 1].
        seed: Draws the forms of the held-out references; the oracle does not see them.
        parser: What the negative rule and the patches may use: `none`: nothing is surely wrong and
            the only right copy is the reference; `partial`: a parser of every form but a/b.
        rule: `exact`, or `partial`: also right when the partial parser reads both as equal.
        corruptor: `mixed`: 70 % another value in the same form, 30 % one digit changed; `digits`:
            digits only. A copy of a wrong answer can come out right, which is not looked for.
        tokens: One token per number, or one per character.

    Returns:
        The task.

    Raises:
        ValueError: An option outside what is listed here.

    Example:
        >>> task = forms(parser="partial")
        >>> task.rule("7/20", "35%").value, task.oracle("7/20", "35%").value
        (0.0, 1.0)
        >>> task.surely_wrong("0.40", "35%"), task.surely_wrong("8/20", "35%")
        (True, False)
    """
    if not 1 <= k <= len(NAMES):
        raise ValueError(f"k: got {k}; expected 1 to {len(NAMES)} forms")
    for name, share in {"error": error, "bias": bias}.items():
        if not 0 <= share <= 1:
            raise ValueError(f"{name}: got {share}; expected a share in [0, 1]")
    choices = {
        "parser": (parser, ("none", "partial")),
        "rule": (rule, ("exact", "partial")),
        "corruptor": (corruptor, ("mixed", "digits")),
        "tokens": (tokens, ("numbers", "characters")),
    }
    for name, (chosen, allowed) in choices.items():
        if chosen not in allowed:
            raise ValueError(f"{name}: {chosen!r} is unknown; expected one of {allowed}")
    rng = np.random.default_rng(seed)
    rules: dict[str, Rule] = {"exact": exact, "partial": _partial_rule}
    return Task(
        name="forms",
        rows=partial(_rows, k),
        heldout=[_row(a, b, k, rng) for a in range(10) for b in range(10)],
        rule=rules[rule],
        oracle=_oracle,
        surely_wrong=_differ if parser == "partial" else _never,
        patch=_patch_form if parser == "partial" else _patch_reference,
        corrupt=partial(_corrupt, SAME_FORM if corruptor == "mixed" else 0.0),
        max_tokens=7,
        demos=partial(_demos, k, error),
        judge=partial(_judge, bias),
        tokenizer=partial(_tokenizer, tokens == "characters"),
    )
