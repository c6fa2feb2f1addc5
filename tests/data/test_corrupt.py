"""The arithmetic ladder of negatives: what each rung does, and what no copy may ever be."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cooper.data import Negative, corrupt, refuted
from cooper.data._numbers import occurs
from cooper.data._rungs import RUNGS

GSM = (
    "She sells 16 - 3 - 4 = <<16-3-4=9>>9 eggs a day.\n"
    "She makes 9 * 2 = $<<9*2=18>>18 a day.\n"
    "A: 18"
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def many(kind: str, text: str, n: int = 40) -> set[str | None]:
    return {RUNGS[kind](text, rng(seed)) for seed in range(n)}


# --- the check ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        ("so 43", "42"),
        ("12 + 30 = 43", "42"),
        ("12 + 30 = 42", "30"),  # an operand is not an answer
        ("It is -42.", "42"),
        ("\\boxed{\\frac{1}{3}}", "1/2"),
        ("40%", "1/2"),
        ("2 minutes", "2 hours"),
        ("#### 1,235", "1234"),
        ("1 1/2", "1/2"),
        ("First 18 eggs. Then 19.", "18"),
        (GSM.replace("18", "19"), GSM),  # a whole solution as reference
    ],
)
def test_sure_contradictions(candidate: str, reference: str) -> None:
    assert refuted(candidate, reference)
    assert not refuted(reference, reference)


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        ("so 42", "42"),
        ("12 + 30", "42"),
        ("41 or 42", "42"),  # a hedge that holds the reference is doubtful
        ("The answer is 42. Check: 42 / 2 = 21.", "42"),
        ("50%", "0.5"),
        ("50", "50%"),
        ("1 1/2", "3/2"),
        ("\\frac{6}{4}", "1.5"),
        ("0.33", "1/3"),
        ("120 minutes", "2 hours"),
        ("$18.00", "18 dollars"),
        ("1,234", "1234"),
        ("- 3 apples", "-3"),
        ("It is 3 thousand", "3000"),
        ("6^2", "36"),
        ("1e3", "1000"),
        ("9 boxes of 2, so eighteen", "18"),
        ("no idea", "42"),
        ("", "42"),
        ("so 43", ""),
        ("so 43", "x + 1"),
        ("so 43", "3 and 4"),
        ("1/0", "42"),
        ("9" * 5000, "42"),
        ("so 43", "9" * 5000),
    ],
)
def test_right_unreadable_or_doubtful_is_not_refuted(candidate: str, reference: str) -> None:
    assert not refuted(candidate, reference)


# --- the rungs ----------------------------------------------------------------------------------


def test_digit_changes_the_final_number_wherever_it_is_stated() -> None:
    found = many("digit", "The sum is 42.\n#### 42")
    assert all(re.fullmatch(r"The sum is (\d\d)\.\n#### \1", text or "") for text in found)
    assert len(found) > 5


def test_digit_of_an_operand_is_carried_through_all_that_follows() -> None:
    consistent = re.compile(
        r"She sells (\d+) - (\d+) - (\d+) = <<\1-\2-\3=(-?\d+)>>\4 eggs a day\.\n"
        r"She makes (-?\d+) \* (\d+) = \$<<\5\*\6=(-?\d+)>>\7 a day\.\nA: \7"
    )
    carried = 0
    for text in many("digit", GSM, 100):
        match = consistent.fullmatch(text or "")
        assert match is not None
        a, b, c, d, e, f, g = map(int, match.groups())
        carried += (a - b - c, d, e * f) == (d, e, g)
    assert carried > 10


def test_sign_goes_before_the_whole_number() -> None:
    assert RUNGS["sign"]("9 * 2 = $18", rng()) == "9 * 2 = -$18"
    assert RUNGS["sign"]("so -42", rng()) == "so 42"
    assert RUNGS["sign"]("it is 1 1/2", rng()) == "it is -1 1/2"
    assert RUNGS["sign"]("\\frac{1}{2}", rng()) == "\\frac{-1}{2}"
    assert RUNGS["sign"]("= 70,000. A: 70000", rng()) == "= -70,000. A: -70000"
    assert RUNGS["sign"]("so 0", rng()) is None


def test_operator_recomputes_the_step_and_what_follows() -> None:
    assert many("operator", "6 * 9 = 54. So 54.") == {
        "6 + 9 = 15. So 15.",
        "6 - 9 = -3. So -3.",
        "6 / 9 = 0.67. So 0.67.",
    }
    repeated = many("operator", "4 + 2 = <<4+2=6>>6\nA: 6")
    assert "4 * 2 = <<4*2=8>>8\nA: 8" in repeated
    assert RUNGS["operator"]("so 42", rng()) is None
    assert RUNGS["operator"]("(2 + 3) * 4 = 20", rng()) is None  # brackets are left alone


def test_operator_follows_a_result_that_the_text_miscalculated() -> None:
    assert "6 - 9 = -3. So -3." in many("operator", "6 * 9 = 55. So 55.")


def test_unit_keeps_the_number_or_slips_in_the_conversion() -> None:
    found = many("unit", "It takes 2 hours.", 100)
    assert {"It takes 2 minutes.", "It takes 1200 minutes.", "It takes 12 minutes."} <= found
    assert "It takes 120 minutes." not in found  # the right conversion
    assert {"It is 50.", "It is 5.", "It is 0.05."} == many("unit", "It is 50%.")
    assert {"$8 + 1", "8 cents + 1", "80 cents + 1"} & many("unit", "$8 + 1")
    assert RUNGS["unit"]("It takes 2 apples.", rng()) is None


def test_step_moves_or_drops_what_bears_the_answer() -> None:
    assert many("step", "One 4.\nTwo 5.\nThree 6.") == {
        "One 4.\nTwo 5.",
        "Three 6.\nTwo 5.\nOne 4.",
        "One 4.\nThree 6.\nTwo 5.",
    }
    assert RUNGS["step"]("Only one.", rng()) is None


def test_truncate_ends_before_the_answer_is_written() -> None:
    assert many("truncate", "It is clearly 42") == {"It", "It is", "It is clearly"}
    assert "First line." in many("truncate", "First line.\nSo 42")
    assert all("18" not in (text or "") for text in many("truncate", GSM))


# --- corrupt ------------------------------------------------------------------------------------


def test_every_rung_is_tried_before_any_again_and_none_is_masked() -> None:
    seen: list[str] = []

    def never(candidate: str, reference: str) -> bool:
        seen.append(candidate)
        return False

    kinds = ("digit", "sign", "operator")
    assert corrupt("9 * 2 = 18", "18", rng=rng(), kinds=kinds, tries=3, wrong=never) is None
    assert len(seen) == 3
    assert "9 * 2 = -18" in seen


def test_a_copy_is_checked_against_the_reference_not_the_text() -> None:
    """From a wrong text a digit change can land on the right answer: it must be refused."""
    out = {corrupt("so 4", "5", rng=rng(seed), kinds=("digit",)) for seed in range(60)}
    assert Negative("so 5", "digit") not in out
    assert Negative("so 6", "digit") in out


def test_a_truncated_copy_needs_no_answer_but_must_not_hold_the_reference() -> None:
    assert corrupt("It is 42", "42", rng=rng(), kinds=("truncate",)) is not None
    blind = {"wrong": lambda c, r: False, "kinds": ("truncate",)}
    assert corrupt("It is 42", "42", rng=rng(), **blind) is not None
    assert corrupt("42 eggs,\nso 43", "42", rng=rng(), kinds=("truncate",)) is None
    assert corrupt("eighteen eggs,\nso 19", "18", rng=rng(), kinds=("truncate",)) is None
    assert corrupt("It is x + 1", "1 + x", rng=rng(), kinds=("truncate",)) is None


def test_own_check_makes_other_answers_usable() -> None:
    out = corrupt("x1 and x2", "x1 and x2", rng=rng(), kinds=("digit",), wrong=lambda c, r: c != r)
    assert out is not None
    assert out.text != "x1 and x2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": ("digit", "typo")}, "kinds"),
        ({"kinds": ()}, "kinds"),
        ({"tries": 0}, "tries"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        corrupt("1", "1", rng=rng(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " " * 20_000,
        "7" * 100_000,
        "1+" * 20_000,
        "1+1=" * 10_000,
        "a. " * 20_000,
        "answer " * 9_000 + "5",
        "\\frac{1}{2}" * 4_000,
        "1/" * 20_000,
        "-" * 50_000,
        "1\n" * 20_000,
        "9*" * 15 + "9=1\n" + "9" * 39 + "*" + "9" * 39 + "=2",
        "x" * 100_000,
        "1e99 2E-99 ٣ ³",
    ],
    ids=range(14),
)
def test_heaps_of_anything_end(text: str) -> None:
    for kind in RUNGS:
        corrupt(text, "18", rng=rng(), kinds=(kind,), tries=1)
        corrupt(text, "18", rng=rng(), kinds=(kind,), tries=1, wrong=lambda c, r: True)
    assert not refuted(text, "")


def test_a_long_number_can_be_changed_where_the_caller_can_tell() -> None:
    text = "9" * 100_000
    out = corrupt(text, text, rng=rng(), kinds=("digit",), wrong=lambda c, r: c != r)
    assert out is not None
    assert sum(a != b for a, b in zip(out.text, text, strict=True)) == 1


# --- properties ---------------------------------------------------------------------------------

numbers = st.integers(-999, 9999)
formats = st.sampled_from(
    [
        "{a} + {b} = {c}",
        "We add {a} and {b}. So the answer is {c}.",
        "{a} + {b} = <<{a}+{b}={c}>>{c} km\n#### {c}",
        "\\boxed{{{c}}}",
        "First {a}.\nThen {b}.\nTherefore {c} dollars",
        "${c}",
        "{c}%",
        "{c}.0 hours",
        "about {c}/1",
        "It is {c}, or {b}.",
    ]
)


def last_number(text: str) -> Fraction | None:
    """The slow, obvious reader: the last number in the text."""
    found = re.findall(r"-?\$?[0-9]+(?:\.[0-9]+)?(?:/[0-9]+)?", text)
    if not found:
        return None
    top, _, bottom = found[-1].replace("$", "").partition("/")
    return Fraction(top) / Fraction(bottom or 1)


@given(formats, numbers, numbers, numbers, st.integers(0, 2**32), st.sampled_from(list(RUNGS)))
def test_never_the_reference_and_the_same_under_the_same_generator(
    form: str, a: int, b: int, reference: int, seed: int, kind: str
) -> None:
    for c in (reference, a + b, reference + 1):  # the text may be right or wrong
        text = form.format(a=a, b=b, c=c)
        for kinds in ((kind,), tuple(RUNGS)):
            out = corrupt(text, str(reference), rng=rng(seed), kinds=kinds)
            assert out == corrupt(text, str(reference), rng=rng(seed), kinds=kinds)
            if out is not None:
                assert out.text != text
                assert out.kind in kinds
                assert last_number(out.text) != reference


@settings(max_examples=200)
@given(
    st.text(alphabet="0123456789+-*/=.,%$x^\\{}() \nabm", max_size=80),
    st.sampled_from(["18", "1/2", "50%", "-3", "2 hours", "", "x"]),
    st.integers(0, 2**32),
)
def test_any_text_gives_a_checked_copy_or_none(text: str, reference: str, seed: int) -> None:
    out = corrupt(text, reference, rng=rng(seed))
    assert not refuted(text, text)
    if out is not None:
        assert out.text.strip() not in ("", text.strip())
        assert out.kind == "truncate" or refuted(out.text, reference)
        assert not occurs(reference, out.text) or out.kind != "truncate"


@given(st.text(max_size=200), st.integers(0, 2**32))
def test_any_unicode_is_safe(text: str, seed: int) -> None:
    corrupt(text, "18", rng=rng(seed))
    corrupt(text, text, rng=rng(seed))


@given(numbers, st.integers(0, 2**32))
def test_a_plain_right_answer_always_gives_a_negative(value: int, seed: int) -> None:
    assert corrupt(f"The answer is {value}.", str(value), rng=rng(seed)) is not None
