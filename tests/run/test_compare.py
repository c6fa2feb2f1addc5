from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cooper.errors import UserError
from cooper.run import Interrupted, RunConfig, compare, table
from cooper.run import _job as job
from cooper.run._alone import alone
from cooper.run._compare import _spread
from cooper.run._watch import Watch

Tiny = Callable[..., RunConfig]
KEYS = {
    "seed", "accuracy", "peak_accuracy", "proxy", "rule_mean", "valid_rate", "alarm_step", "steps",
    "seconds",
}  # fmt: skip
FAST = ("train.steps=2", "evaluate.every=1", "reward_model.samples=100", "evaluate.samples=10")


def stamps(folder: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def test_two_arms_two_seeds_with_an_interruption(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, arms = tmp_path / "out", ["rule", "cooper"]

    class Stopping(Watch):
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if self.config.arm == "cooper" and self.config.seed == 4 and state.global_step == 0:
                self.ask()

    with monkeypatch.context() as patch:
        patch.setattr(job, "Watch", Stopping)
        with pytest.raises(Interrupted):
            compare(tiny(*FAST), arms, [3, 4], out)
    finished = [out / "rule" / "seed-3", out / "rule" / "seed-4", out / "cooper" / "seed-3"]
    before = [stamps(folder) for folder in finished]
    told: list[tuple[str, int]] = []
    said: list[str] = []
    result = compare(
        tiny(*FAST), arms, [3, 4], out, say=said.append, told=lambda a, s, _: told.append((a, s))
    )
    assert [stamps(folder) for folder in finished] == before  # not done again
    assert said == ["cooper, seed 4"]
    assert told == [("rule", 3), ("cooper", 3), ("rule", 4), ("cooper", 4)]
    rollouts = out / "cooper" / "seed-4" / "rollouts"
    assert sorted(p.name for p in rollouts.iterdir()) == [
        "step_000001.parquet",
        "step_000002.parquet",
    ]

    assert json.loads((out / "compare.json").read_text("utf-8")) == result
    assert set(result) == {"task", "arms"}
    assert result["task"] == "sums"
    assert list(result["arms"]) == arms
    for rows in result["arms"].values():
        assert [row["seed"] for row in rows] == [3, 4]
        assert all(set(row) >= KEYS for row in rows)
        assert all(row["steps"] == 2 for row in rows)
    for one, two in zip(*result["arms"].values(), strict=True):  # both arms start alike
        assert one["base_accuracy"] == two["base_accuracy"]
    text = (out / "compare.md").read_text("utf-8")
    assert text == table(result)
    assert "| rule | 2 |" in text
    assert "| cooper | 2 |" in text
    assert "<svg" in (out / "compare.svg").read_text("utf-8")

    alone = compare(tiny(*FAST), ["none"], [3], out)  # the arm without any training
    assert alone["arms"]["none"][0]["accuracy"] == result["arms"]["rule"][0]["base_accuracy"]
    with pytest.raises(UserError, match="holds a comparison with other settings"):
        compare(tiny(*FAST, "train.beta=0.5"), arms, [3], out)


@pytest.mark.parametrize(
    ("arms", "said"),
    [(["rule", "magic"], "unknown 'magic'; expected names out of none, rule"), ([], "none given")],
)
def test_unknown_arms(arms: list[str], said: str, tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        compare(tiny(), arms, [0], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_several_processes_give_the_same(tiny: Tiny, tmp_path: Path) -> None:
    config = tiny(*FAST, "warmup.steps=5")
    found = [
        compare(config, ["none"], [3, 4], tmp_path / str(workers), workers=workers)
        for workers in (1, 2)
    ]
    for result in found:
        for row in result["arms"]["none"]:
            del row["seconds"]
    assert found[0] == found[1]
    with pytest.raises(UserError, match="unknown task"):  # a mistake comes back from a process
        list(_spread([(tiny("task.name=nothing"), ["none"], 0, tmp_path / "bad")], 2))


def test_a_comparison_next_door_is_not_disturbed(tiny: Tiny, tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(UserError, match="another process is at work there"):
        compare(tiny(), ["none"], [0], tmp_path)


def test_seeds_past_the_end_are_refused_at_once(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--seed: seed: .*got 4294967296"):
        compare(tiny(), ["none"], [2**32 - 1, 2**32], tmp_path / "out")
    assert not (tmp_path / "out").exists()
