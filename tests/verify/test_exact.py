from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cooper.types import Status
from cooper.verify import exact


def test_right_wrong_and_unreadable() -> None:
    assert exact("3/4", "3/4").value == 1.0
    assert exact("0.75", "3/4").value == 0.0
    assert exact("3/4", "  ").value is None
    assert exact("3/4", "").status is Status.UNPARSED


def test_an_empty_completion_is_a_definite_zero() -> None:
    score = exact("\n", "3/4")
    assert (score.value, score.status) == (0.0, Status.NO_ANSWER)


def test_white_space_counts_only_when_asked() -> None:
    assert exact(" a b\n", "a b").value == 1.0
    assert exact(" a b\n", "a b", strip=False).value == 0.0
    assert exact("a  b", "a b").value == 0.0


@given(st.text(min_size=1), st.text(min_size=1))
def test_is_string_equality(a: str, b: str) -> None:
    assert exact(a, b, strip=False).value == float(a == b)
    assert exact(a, a, strip=False).value == 1.0
