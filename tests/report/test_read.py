from __future__ import annotations

from pathlib import Path

import pytest

from cooper.errors import UserError
from cooper.report import read_rollouts, read_run, write_report, write_rollouts


def test_what_is_not_a_run_folder_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    for name, words in (("none", "no such"), ("empty", "not a run folder"), ("file", "is a file")):
        with pytest.raises(UserError, match=words) as caught:
            write_report(tmp_path / name)
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)


def test_later_lines_win_and_the_cut_last_line_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        '{"step": 1, "reward": 0.1}\n'
        '{"step": 2, "reward": 0.2, "kl": NaN}\n'
        '{"step": 2, "reward": 0.3, "loss": null, "note": "text"}\n'
        '{"step": 1, "eval/accuracy": 0.5}\n'
        '{"step": 3, "rewa'
    )
    record = read_run(tmp_path)
    assert record.metrics == {"reward": [(1, 0.1), (2, 0.3)], "eval/accuracy": [(1, 0.5)]}
    assert not [note for note in record.notes if "metrics" in note]


def test_bad_lines_in_the_middle_are_counted(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(
        b'oops\n[1]\n{"reward": 1}\n{"step": 1, "reward": 0.1}\n\xff\n'
    )
    record = read_run(tmp_path)
    assert record.metrics == {"reward": [(1, 0.1)]}
    assert "metrics.jsonl: 4 unreadable line(s) left out (line 1, 2, 3, 5)." in record.notes


def test_unreadable_pieces_become_notes(run_folder: Path) -> None:
    (run_folder / "config.yaml").write_text("a: [1\nb: }")
    (run_folder / "summary.json").write_text('{"task": ')
    path = run_folder / "rollouts" / "step_000005.parquet"
    path.write_bytes(path.read_bytes()[:200])
    (run_folder / "rollouts" / "step_000120.parquet").write_bytes(b"")
    record = read_run(run_folder)
    assert [part.step for part in read_rollouts(record, [5, 10, 11, 120])] == [10]
    notes = "\n".join(record.notes)
    for name in ("config.yaml", "summary.json", "step_000005.parquet", "step_000120.parquet"):
        assert f"{name} cannot be read" in notes
    page = write_report(run_folder).read_text("utf-8")
    assert "step_000005.parquet cannot be read" in page
    assert "rollouts of steps 10, 65, 115." in page


def test_a_file_left_half_written_is_not_read(tmp_path: Path) -> None:
    write_rollouts(tmp_path, 1, {"completion": ["a"]})
    (tmp_path / "metrics.jsonl").touch()
    (tmp_path / "rollouts" / ".step_000002.parquet.9.tmp").write_bytes(b"half")
    assert read_run(tmp_path).steps == [1]
