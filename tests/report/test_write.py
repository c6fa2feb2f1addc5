from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cooper.errors import UserError
from cooper.report import RolloutWriter, append_metrics, write_rollouts


def test_rollouts_have_fixed_types_and_no_half_file_stays(tmp_path: Path) -> None:
    rows: dict[str, Any] = {
        "prompt": [[{"role": "user", "content": "2 + 2"}], "plain"],
        "completion": ["\ud800 lone half", "4"],
        "rule": [None, None],
        "proxy": np.array([np.nan, 0.5]),
        "surely_wrong": np.array([True, False]),
        "tokens": np.array([3, 1]),
        "length_reward": [1, None],
        "length_reward_status": ["ok", None],
    }
    path = write_rollouts(tmp_path, 12, rows)
    assert path == tmp_path / "rollouts" / "step_000012.parquet"
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    table = pq.read_table(path)
    assert table.schema.field("rule").type == pa.float64()
    assert table.schema.field("tokens").type == pa.int64()
    held = table.to_pylist()
    assert [row["step"] for row in held] == [12, 12]
    assert [row["proxy"] for row in held] == [None, 0.5]
    assert [row["length_reward"] for row in held] == [1.0, None]
    assert json.loads(held[0]["prompt"])[0]["content"] == "2 + 2"
    assert held[0]["completion"] == "? lone half"


def test_a_step_written_again_replaces_the_file(tmp_path: Path) -> None:
    write_rollouts(tmp_path, 1, {"completion": ["old"]})
    path = write_rollouts(tmp_path, 1, {"completion": ["new", "newer"]})
    assert pq.read_table(path).column("completion").to_pylist() == ["new", "newer"]


def test_unequal_columns_and_negative_steps_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"same length B, got \{'completion': 1, 'rule': 2\}"):
        write_rollouts(tmp_path, 1, {"completion": ["a"], "rule": [1.0, 0.0]})
    with pytest.raises(ValueError, match="step: got -1"):
        write_rollouts(tmp_path, -1, {})


def test_what_cannot_be_written_is_a_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "rollouts").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        write_rollouts(tmp_path, 1, {"completion": ["a"]})
    with pytest.raises(UserError, match="cannot be written"):
        append_metrics(tmp_path / "rollouts", 1, {"reward": 1.0})


def test_metrics_are_json_and_mend_a_line_cut_short(tmp_path: Path) -> None:
    append_metrics(tmp_path, 1, {"reward": 0.5, "kl": float("inf"), "loss": float("nan")})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2, "rew')
    append_metrics(tmp_path, 2, {"reward": float(np.float32(0.25))})
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"step": 1, "reward": 0.5, "kl": None, "loss": None}
    assert json.loads(lines[2]) == {"step": 2, "reward": 0.25}


def test_the_writer_can_be_pickled(tmp_path: Path) -> None:
    writer = pickle.loads(pickle.dumps(RolloutWriter(tmp_path)))
    writer.metrics(1, {"reward": 1.0})
    assert writer.rollouts(1, {"completion": ["a"]}).parent == tmp_path / "rollouts"
