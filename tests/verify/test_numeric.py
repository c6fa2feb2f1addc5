from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cooper.types import Status
from cooper.verify import numbers, numeric


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("no digits - none", []),
        ("7-3=4", ["7", "3", "4"]),
        ("7 - 3 = -4", ["7", "3", "-4"]),
        ("-3, (-2) and $-5 or -$6", ["-3", "-2", "-5", "-6"]),
        ("\u22127", ["-7"]),
        ("1,234 and 1,234,567.50", ["1234", "2469135/2"]),
        ("12,34 and 1234,567", ["12", "34", "1234", "567"]),
        ("3.50. Then .5, and 4.", ["7/2", "1/2", "4"]),
        ("50% of $12", ["50", "12"]),
        ("3/4. and 10/5", ["3/4", "2"]),
        ("on 3/4/2024", ["3", "4/2024"]),
        ("1e3 and 2.5E-1, 3em", ["1000", "1/4", "3"]),
        ("007", ["7"]),
    ],
)
def test_numbers(text: str, values: list[str]) -> None:
    assert [number.value for number in numbers(text)] == [Fraction(value) for value in values]


def test_numbers_know_their_place() -> None:
    text = "so $1,024 or -3"
    assert [text[n.start : n.end] for n in numbers(text)] == ["$1,024", "-3"]


@pytest.mark.parametrize(
    ("completion", "reference", "value", "status"),
    [
        ("48 / 2 = 24 clips", "24", 1.0, Status.OK),
        ("It costs $1,024.00.", "1024", 1.0, Status.OK),
        ("24, I think, or 25", "24", 0.0, Status.OK),
        ("0.3333", "1/3", 0.0, Status.OK),
        (".50", "1/2", 1.0, Status.OK),
        ("-24", "24", 0.0, Status.OK),
        ("work\n#### 72\nchecked in 3 ways", "so 5\n#### 72", 1.0, Status.OK),
        ("#### none", "72", 0.0, Status.NO_ANSWER),
        ("two dozen", "24", 0.0, Status.NO_ANSWER),
        ("", "24", 0.0, Status.NO_ANSWER),
        ("1/0", "0", 0.0, Status.NO_ANSWER),
        ("24", "two dozen", None, Status.UNPARSED),
        ("24", "", None, Status.UNPARSED),
        ("24", "24 or 25", None, Status.UNPARSED),
        ("24", "24 = 24.0", 1.0, Status.OK),
    ],
)
def test_last(completion: str, reference: str, value: float | None, status: Status) -> None:
    score = numeric(completion, reference)
    assert (score.value, score.status) == (value, status)


def test_only_rejects_hedges_but_not_repetition() -> None:
    assert numeric("41 or 42", "42", where="only").status is Status.HEDGED
    assert numeric("41 or 42", "42", where="only").value == 0.0
    assert numeric("42, yes 42.0", "42", where="only").value == 1.0
    assert numeric("none", "42", where="only").status is Status.NO_ANSWER


def test_marked_needs_a_mark() -> None:
    assert numeric("The answer is 42, not 41", "42", where="marked").value == 1.0
    assert numeric(r"\boxed{42} or 1", "42", where="marked").value == 1.0
    assert numeric("9*2\nA: 18", "18", where="marked").value == 1.0
    assert numeric("so 42", "42", where="marked").status is Status.NO_ANSWER


def test_tolerance_is_taken_as_written() -> None:
    assert numeric("1.01", "1", tolerance=0.01).value == 1.0
    assert numeric("1.0100001", "1", tolerance=0.01).value == 0.0
    assert numeric("0.33", "1/3", tolerance=Fraction(1, 100)).value == 1.0


def test_wrong_options_are_named() -> None:
    with pytest.raises(ValueError, match="where: 'first'"):
        numeric("1", "1", where="first")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tolerance: nan is not a finite number"):
        numeric("1", "1", tolerance=float("nan"))
    with pytest.raises(ValueError, match="tolerance: -1"):
        numeric("1", "1", tolerance=-1)


@pytest.mark.parametrize("garbage", ["9", "1,", "1,111", "-", "$", "1/", ".1", "#", "A: ", "9 "])
def test_long_garbage_is_read_and_never_right(garbage: str) -> None:
    # A quadratic scan of this much text would not end in a test's time.
    text = garbage * (200_000 // len(garbage))
    assert numeric(text, "5").value == 0.0
    assert numeric(text, "5", where="only").value == 0.0
    assert numeric(text, "5", where="marked").value == 0.0


def test_a_number_too_long_to_read_is_no_answer_and_no_reference() -> None:
    assert numeric("9" * 5000, "9").status is Status.NO_ANSWER
    assert numeric("9", "9" * 5000).value is None


@given(st.text())
def test_any_text_gives_a_verdict(text: str) -> None:
    score = numeric(text, "7")
    assert score.value in (0.0, 1.0)
    assert numeric(text, text).value in (None, 0.0, 1.0)


@given(
    st.integers(-(10**9), 10**9), st.sampled_from(["{}", "{:,}", "${}", "{}.", "{}.00", "= {} km"])
)
def test_spellings_of_an_integer_are_equal(n: int, spelling: str) -> None:
    assert numeric("3 + 4, so " + spelling.format(n), str(n)).value == 1.0
    assert numeric("3 + 4, so " + spelling.format(n), str(n + 1)).value == 0.0


@given(st.fractions(min_value=-100, max_value=100), st.fractions(min_value=-100, max_value=100))
def test_fractions_are_compared_exactly(a: Fraction, b: Fraction) -> None:
    assert numeric(str(a), str(b)).value == float(a == b)
