from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cooper.types import Batch

GOOD: dict[str, Any] = {
    "questions": ["1+1"] * 2,
    "references": ["2"] * 2,
    "completions": ["2", "3"],
    "group": [0, 0],
}


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("completions", ["2"], "same length B"),
        ("completions", ["2", None], r"completions\[1\] is None"),
        ("references", [2, 2], r"references\[0\] is 2, expected text"),
        ("group", [0.2, 0.7], "group must be .* integers, got float64"),
        ("group", [True, False], "got bool"),
        ("group", [[0], [0]], r"got int64 \(2, 1\)"),
    ],
)
def test_a_batch_of_something_else_is_named(column: str, values: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Batch(**{**GOOD, column: values})


def test_a_mask_is_no_index() -> None:
    batch = Batch(**GOOD)
    assert len(batch.take([])) == 0
    assert batch.take(np.array([1])).completions == ["3"]
    with pytest.raises(ValueError, match="index: expected integers, got bool"):
        batch.take(np.array([True, False]))
