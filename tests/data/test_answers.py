from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cooper.data import corrupt_number, patch_number, refuted
from cooper.data._answers import final_rule, surely_wrong
from cooper.data._read import Item
from cooper.data._spell import plain_number, write_number
from cooper.data._working import demonstration, equations, evaluate, inferred
from cooper.types import Status

NUMBER = st.integers(0, 400)
TEXT = st.lists(
    st.sampled_from([*"0123456789", "+ ", "- ", "= ", "The answer is ", ". ", "$", "#### ", "/"]),
    max_size=20,
).map("".join)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("completion", "right", "wrong"),
    [
        ("7 + 2 = 9. The answer is 9.", True, False),
        ("#### 9", True, False),
        ("It is $9.00", True, False),
        ("7 + 2 = 8. The answer is 8.", False, True),
        ("9 - 1 = 8. The answer is 8.", False, False),  # the value is there: cannot be sure
        ("18/9 = 2", False, False),
        ("The answer is 8. The answer is 9.", False, True),
        ("The answer is 9. So the answer is 9.0.", True, False),
        ("nine", False, True),
        ("", False, True),
    ],
)
def test_verdicts(completion: str, right: bool, wrong: bool) -> None:
    assert final_rule(completion, "9").value == float(right)
    assert surely_wrong(completion, "9") is wrong


def test_unreadable_references_decide_nothing() -> None:
    assert final_rule("9", "nine").status is Status.UNPARSED
    assert surely_wrong("8", "nine") is False
    assert patch_number("8", "nine", rng()) is None
    assert corrupt_number("8", "nine", rng()) is None


@pytest.mark.parametrize(
    ("completion", "patched"),
    [
        ("7 + 2 = 8. The answer is 8.", "7 + 2 = 9. The answer is 9."),
        ("8 + 2 = 8, so 8", "8 + 2 = 9, so 9"),  # operands stay
        ("It costs $8.", "It costs $9."),
        ("The answer is 7. The answer is 8.", "The answer is 9. The answer is 9."),
        ("none", "The answer is 9."),
        ("9", "9"),
    ],
)
def test_patch(completion: str, patched: str) -> None:
    assert patch_number(completion, "9", rng()) == patched


@given(TEXT, NUMBER.map(str), st.integers(0, 20))
def test_patched_is_right_and_corrupted_is_wrong(text: str, reference: str, seed: int) -> None:
    patched = patch_number(text, reference, rng(seed))
    assert patched is not None
    assert final_rule(patched, reference).value == 1.0
    assert not surely_wrong(patched, reference)
    copy = corrupt_number(text, reference, rng(seed))
    assert copy != text
    if copy is not None:
        score = final_rule(copy, reference)
        assert (score.value, score.status) == (0.0, Status.OK)
        assert refuted(copy, reference)
    assert not (surely_wrong(text, reference) and final_rule(text, reference).value)


def test_corrupt_makes_every_kind_of_mistake() -> None:
    copies = {corrupt_number("7 + 2 = 9. The answer is 9.", "9", rng(seed)) for seed in range(200)}
    assert "7 - 2 = 5. The answer is 5." in copies
    assert "7 * 2 = 14. The answer is 14." in copies
    assert "7 + 2 = 8. The answer is 8." in copies
    assert "7 + 2 = -9. The answer is -9." in copies
    assert corrupt_number("none", "9", rng()) is None
    told = "3 * 12 = 36. 36 - 5 = 31. So 31 eggs."
    assert "3 * 12 = 36." in {corrupt_number(told, "31", rng(seed)) for seed in range(200)}


def test_corrupt_keeps_what_another_unit_or_spelling_could_mean() -> None:
    for text, reference in (("It takes 2 hours.", "2"), ("9 * 2", "18"), ("50%", "0.5")):
        for seed in range(60):
            copy = corrupt_number(text, reference, rng(seed))
            assert copy is None or refuted(copy, reference)
    assert corrupt_number("The answer is 8. The answer is 9.", "9", rng(0)) != "The answer is 9."


def test_few_copies_give_themselves_away_by_a_minus() -> None:
    copies = [corrupt_number("The answer is 9.", "9", rng(seed)) for seed in range(300)]
    assert None not in copies
    assert 0 < sum("-" in str(copy) for copy in copies) < 45


@given(st.integers(-(10**6), 10**6), st.integers(0, 4))
def test_numbers_are_written_plainly(n: int, places: int) -> None:
    value = Fraction(n, 10**places)
    assert Fraction(write_number(value)) == value
    assert plain_number(write_number(value)) == write_number(value)
    assert plain_number(f"so 3\n#### {write_number(value)}") == write_number(value)


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ("14  (seats)", "14"),
        ("$1,200.50", "1200.5"),
        ("25%", "25"),
        ("-3", "-3"),
        ("72 apples.", "72"),
        ("1/2", "0.5"),
        ("2/3", "2/3"),
        (0.5, "0.5"),
        (7, "7"),
        ("3:4", None),
        ("5 r3", None),
        ("1st", None),
        ("about 5", None),
        ("", None),
        (None, None),
        (False, None),
        (float("nan"), None),
        (1e21, "1" + "0" * 21),
        (3.33333, None),
    ],
)
def test_plain_number(answer: object, plain: str | None) -> None:
    assert plain_number(answer) == plain


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7+2", Fraction(9)),
        ("( 14.0 + 21.0 ) / 7.0", Fraction(5)),
        ("-3 * 2", Fraction(-6)),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("1/0", None),
        ("2**9", None),
        ("7 // 2", None),
        ("__import__", None),
        ("", None),
        ("1.2.3", None),
        ("(" * 150, None),
        ("1+" * 300 + "1", None),
    ],
)
def test_evaluate(expression: str, value: Fraction | None) -> None:
    assert evaluate(expression) == value


def test_gold_formulas_are_checked_before_they_are_taught() -> None:
    assert equations("7+2=9", "9") == "7 + 2 = 9."
    assert equations("7+2=8", "8") is None
    assert equations("7+2=9", "8") is None
    assert equations("17/5=3 r2", "3") is None
    assert equations("GCD(63,81)=9", "9") is None
    assert equations("x:first; x+2=4", "2") is None


def test_inferred_formulas_are_the_only_ones() -> None:
    assert inferred("5 eggs and 3 more", "8") == "5 + 3 = 8."
    assert inferred("5 eggs, 3 broke", "2") == "5 - 3 = 2."
    assert inferred("3 of 5 broke", "2") == "5 - 3 = 2."
    assert inferred("6 eggs in 3 boxes", "2") == "6 / 3 = 2."
    assert inferred("1 box of 5", "5") is None  # 1 * 5 or 5 / 1
    assert inferred("2 + 3 + 4 boxes", "9") == "2 + 3 = 5. 5 + 4 = 9."
    assert inferred("no numbers", "9") is None
    assert inferred("1 2 3 4 5 numbers", "3") is None


@given(st.lists(st.integers(0, 60), max_size=5), NUMBER)
def test_inferred_formulas_are_true(values: list[int], reference: int) -> None:
    question = " and ".join(map(str, values))
    completion = demonstration(Item(question, str(reference), ""))
    assert final_rule(completion, str(reference)).value == 1.0
    for step in completion.split(". ")[:-1]:
        left, _, right = step.partition(" = ")
        assert evaluate(left) == Fraction(right)
