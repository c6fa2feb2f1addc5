"""Offline training: it learns the labels, as often as asked, the same under the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cooper.models import VerifyRM
from cooper.train import Labelled, fit
from cooper.types import Batch

MakeRM = Callable[..., VerifyRM]
ROWS = [
    Labelled(f"{a}+{a}", str(2 * a), f"so {2 * a + slip}", float(slip == 0))
    for a in range(10, 18)
    for slip in (0, 1)
]


def scores(rm: VerifyRM, rows: list[Labelled]) -> np.ndarray[Any, Any]:
    columns = [list(column) for column in zip(*(row[:3] for row in rows), strict=True)]
    return rm.score(Batch(columns[0], columns[1], columns[2], [0] * len(rows)))


def test_it_learns_the_labels(make_rm: MakeRM) -> None:
    rm = make_rm()
    losses = fit(rm, ROWS, epochs=60, batch=8, learning_rate=1e-2, seed=0)
    assert len(losses) == 120
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:10])
    labels = np.array([row.label for row in ROWS])
    assert ((scores(rm, ROWS) > 0.5) == (labels > 0.5)).mean() > 0.9
    assert not rm.model.training


def test_a_soft_label_is_a_level(make_rm: MakeRM) -> None:
    rm = make_rm()
    row = Labelled("9+9", "18", "so 18", 0.3)
    fit(rm, [row], epochs=300, batch=1, learning_rate=1e-2, seed=0)
    assert scores(rm, [row])[0] == pytest.approx(0.3, abs=0.02)


def test_the_same_seed_gives_the_same_weights(make_rm: MakeRM, weights: Any) -> None:
    made = {}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        rm = make_rm()
        losses = fit(rm, ROWS, epochs=1, batch=4, learning_rate=1e-3, seed=seed)
        made[name] = (losses, weights(rm))
    assert made["a"][0] == made["b"][0] != made["c"][0]
    assert np.array_equal(made["a"][1], made["b"][1])


@pytest.mark.parametrize(
    ("epochs", "batch", "steps"), [(1, 16, 1), (0.25, 4, 1), (1, 5, 4), (2, 16, 2), (1, 99, 1)]
)
def test_steps_and_progress(make_rm: MakeRM, epochs: float, batch: int, steps: int) -> None:
    seen: list[tuple[int, int, float]] = []
    losses = fit(
        make_rm(),
        ROWS,
        epochs=epochs,
        batch=batch,
        learning_rate=1e-3,
        seed=0,
        progress=lambda *args: seen.append(args),
    )
    assert seen == [(i + 1, steps, loss) for i, loss in enumerate(losses)]
    assert len(losses) == steps


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": []}, "rows: got 0"),
        ({"rows": [ROWS[0], ROWS[1]._replace(label=2.0)]}, "row 1 is 2.0"),
        ({"batch": 0}, "batch: got 0"),
        ({"epochs": 0}, "epochs: got 0"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_bad_input_is_named(make_rm: MakeRM, changes: dict[str, Any], message: str) -> None:
    given = {"rows": ROWS, "epochs": 1, "batch": 4, "learning_rate": 1e-3, "seed": 0, **changes}
    with pytest.raises(ValueError, match=message):
        fit(make_rm(), given.pop("rows"), **given)


def test_a_diverged_model_is_told_at_once(make_rm: MakeRM) -> None:
    with pytest.raises(FloatingPointError, match=r"fit: the loss of step \d+ is nan"):
        fit(make_rm(), ROWS, epochs=99, batch=8, learning_rate=1e30, seed=0)
