from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from cooper.errors import UserError
from cooper.models import VerifyRM
from cooper.run import ARMS, Interrupted, RunConfig, dump, load_config, remove_run, train_run
from cooper.run import _job as job
from cooper.run._alone import alone
from cooper.run._prepare import load_policy
from cooper.run._stop import disk_errors
from cooper.run._watch import Watch

Tiny = Callable[..., RunConfig]
Metrics = Callable[[Path], list[dict[str, Any]]]

COLUMNS = {
    "step", "group", "prompt", "question", "reference", "completion", "rule", "rule_status",
    "proxy", "proxy_status", "reward", "advantage", "oracle", "surely_wrong", "unsure", "tokens",
}  # fmt: skip
SUMMARY = {
    "task", "arm", "seed", "base_accuracy", "accuracy", "peak_accuracy", "proxy", "rule_mean",
    "valid_rate", "alarm_step", "alarm_reason", "steps", "seconds",
}  # fmt: skip


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def stop_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Ctrl-C came while policy step `step` was running."""

    class Stopping(Watch):
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == step - 1:
                self.ask()

    monkeypatch.setattr(job, "Watch", Stopping)


@pytest.fixture(scope="module")
def straight(tiny: Tiny, made_start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four steps without an interruption."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    train_run(tiny(), folder, start=made_start)
    return folder


def test_a_run_leaves_a_folder_that_explains_itself(
    straight: Path, tiny: Tiny, metrics: Metrics
) -> None:
    assert (straight / "config.yaml").read_text("utf-8") == dump(tiny())
    rows = metrics(straight)
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["step"] for row in rows if "eval/accuracy" in row] == [0, 2, 4]
    for name in ("proxy_mean", "rule_mean", "gap", "valid_rate", "rm_loss", "truth"):
        assert all(f"cooper/{name}" in row for row in rows[1:]), name
    assert all({"kl", "reward", "rewards/cooper/mean", "loss"} <= set(row) for row in rows[1:])
    for step in range(1, 5):
        table = pq.read_table(straight / "rollouts" / f"step_{step:06d}.parquet")
        assert set(table.column_names) == COLUMNS
        assert table.num_rows == 16
        assert table["group"].to_pylist() == [i // 4 for i in range(16)]
        assert set(table["step"].to_pylist()) == {step}
    for step in (2, 4):
        checkpoint = straight / "checkpoints" / f"checkpoint-{step}"
        assert (checkpoint / "model.safetensors").exists()
        assert (checkpoint / "optimizer.pt").exists()
        assert (checkpoint / "cooper" / "state.pt").exists()
    load_policy(straight / "policy")
    VerifyRM.load(straight / "reward_model")
    summary = json.loads((straight / "summary.json").read_text("utf-8"))
    assert set(summary) >= SUMMARY
    assert (summary["task"], summary["arm"], summary["steps"]) == ("sums", "cooper", 4)
    assert "<svg" in (straight / "curves.svg").read_text("utf-8")
    assert "</html>" in (straight / "report.html").read_text("utf-8")


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_runs(
    arm: str, tiny: Tiny, made_start: Path, tmp_path: Path, metrics: Metrics
) -> None:
    config = tiny(f"arm={arm}", "train.steps=1", "evaluate.every=1")
    summary = train_run(config, tmp_path / arm, start=made_start)
    assert summary["arm"] == arm
    assert summary["steps"] == (0 if arm == "none" else 1)
    learns = arm in ("cooper", "cooper-paper")
    row = metrics(tmp_path / arm)[-1]
    if learns and row["cooper/valid_rate"]:
        assert "cooper/rm_loss" in row
    elif not learns:
        assert "cooper/rm_loss" not in row
    scored = arm in ("cooper", "cooper-paper", "frozen", "repaired")
    assert ("cooper/proxy_mean" in row) == scored
    assert (tmp_path / arm / "reward_model").exists() == scored
    if arm == "frozen":
        assert weights(tmp_path / arm / "reward_model") == weights(made_start / "reward_model")
    if arm == "repaired":
        assert weights(tmp_path / arm / "reward_model") != weights(made_start / "reward_model")
    if arm == "oracle":
        assert row["cooper/rule_mean"] == pytest.approx(row["cooper/truth"])


@pytest.mark.parametrize("step", [1, 2, 3])  # at 1 and 3 a checkpoint is made out of turn
def test_stopped_and_resumed_equals_uninterrupted(
    step: int,
    straight: Path,
    tiny: Tiny,
    made_start: Path,
    tmp_path: Path,
    metrics: Metrics,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_at(step, patch)
        with pytest.raises(Interrupted, match=f"interrupted at step {step}") as stop:
            train_run(tiny(), folder, start=made_start)
    assert (stop.value.step, stop.value.folder) == (step, folder)
    assert (folder / "checkpoints" / f"checkpoint-{step}" / "cooper" / "state.pt").exists()
    assert not (folder / "summary.json").exists()
    torch.manual_seed(999)  # another process would have another random state
    train_run(tiny(), folder, start=made_start, resume=True)
    assert weights(folder / "policy") == weights(straight / "policy")
    assert weights(folder / "reward_model") == weights(straight / "reward_model")
    assert metrics(folder) == metrics(straight)
    for name in sorted(p.name for p in (straight / "rollouts").iterdir()):
        one, two = (pq.read_table(f / "rollouts" / name) for f in (folder, straight))
        assert one.equals(two), name
    for file in ("optimizer.pt", "cooper/state.pt"):
        one, two = (torch.load(f / "checkpoints/checkpoint-4" / file) for f in (folder, straight))
        assert same(one, two), file
    summaries = [json.loads((f / "summary.json").read_text()) for f in (folder, straight)]
    for summary in summaries:
        del summary["seconds"]
    assert summaries[0] == summaries[1]


def same(one: Any, two: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, two)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(one == two)


def test_a_killed_run_goes_on_from_its_last_whole_checkpoint(
    straight: Path, tiny: Tiny, made_start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(job.Recorder, "__call__", full_after(3, job.Recorder.__call__))
        with pytest.raises(UserError):
            train_run(tiny(), folder, start=made_start)
    half = folder / "checkpoints" / "checkpoint-3"  # its reward model was never written
    half.mkdir()
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "loss"')
    train_run(tiny(), folder, start=made_start, resume=True)
    assert weights(folder / "policy") == weights(straight / "policy")
    assert weights(folder / "reward_model") == weights(straight / "reward_model")


def full_after(step: int, write: Callable[..., Any]) -> Callable[..., Any]:
    """`write`, on a disk that is full from `step` on."""

    def writing(self: Any, at: int, *rest: Any) -> Any:
        if at >= step:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, at, *rest)

    return writing


def test_a_full_disk_is_one_line_and_loses_nothing(
    tiny: Tiny, made_start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metrics: Metrics
) -> None:
    folder = tmp_path / "run"
    monkeypatch.setattr(job.Recorder, "__call__", full_after(3, job.Recorder.__call__))
    with pytest.raises(UserError, match=r"run: the disk is full; what was written stays"):
        train_run(tiny(), folder, start=made_start)
    assert [row["step"] for row in metrics(folder)] == [0, 1, 2]
    assert len(list((folder / "rollouts").iterdir())) == 2
    assert (folder / "checkpoints" / "checkpoint-2" / "cooper" / "state.pt").exists()


def test_a_full_disk_while_a_checkpoint_is_written(
    tiny: Tiny, made_start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise RuntimeError("[enforce fail at inline_container.cc:603] PytorchStreamWriter failed")

    monkeypatch.setattr("cooper.integrations.trl.torch.save", full)
    with pytest.raises(UserError, match="the disk is full"):
        train_run(tiny(), tmp_path / "run", start=made_start)


def test_a_folder_that_holds_a_run(
    straight: Path, tiny: Tiny, made_start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    before = json.loads((straight / "summary.json").read_text("utf-8"))
    assert train_run(tiny(), straight, start=made_start, say=said.append) == before
    assert "already run with these settings" in said[0]
    assert train_run(tiny(), straight, start=made_start, resume=True) == before
    with pytest.raises(UserError, match="already holds a run with other settings"):
        train_run(tiny("seed=5"), straight, start=made_start)
    with pytest.raises(UserError, match=r"config\.yaml: was made with another configuration"):
        train_run(tiny("train.steps=5"), straight, start=made_start, resume=True)
    with pytest.raises(UserError, match="no run to resume"):
        train_run(tiny(), tmp_path / "new", start=made_start, resume=True)
    stop_at(1, monkeypatch)
    with pytest.raises(Interrupted):
        train_run(tiny(), tmp_path / "run", start=made_start)
    with pytest.raises(UserError, match="already holds an interrupted run; --resume continues"):
        train_run(tiny(), tmp_path / "run", start=made_start)


def test_a_folder_that_cannot_be_made(tiny: Tiny, made_start: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(UserError, match="file"):
            train_run(tiny(), folder, start=made_start)


def test_the_alarm_stops_the_run(
    tiny: Tiny, made_start: Path, tmp_path: Path, metrics: Metrics
) -> None:
    changes = ("alarm.action=stop", "alarm.gap=0.01", "alarm.wrong=0.01", "alarm.window=1")
    config = tiny("arm=frozen", "evaluate.every=100", "train.steps=20", *changes)
    summary = train_run(config, tmp_path / "run", start=made_start)
    assert summary["alarm_step"] == summary["steps"] < 20
    rows = metrics(tmp_path / "run")
    assert rows[-1]["step"] == summary["steps"]
    assert rows[-1]["eval/accuracy"] == summary["accuracy"]  # measured where it ended
    assert (tmp_path / "run" / "policy" / "model.safetensors").exists()


def test_only_a_run_is_removed(tiny: Tiny, tmp_path: Path) -> None:
    remove_run(tmp_path / "nothing")
    mine = tmp_path / "mine"
    mine.mkdir()
    remove_run(mine)
    assert not mine.exists()
    mine.mkdir()
    (mine / "config.yaml").write_text("site_name: my thesis\n")  # many have such a file
    with pytest.raises(UserError, match="is not the folder of a run"):
        remove_run(mine)
    (mine / "config.yaml").write_text(dump(tiny()))
    (mine / "compare.json").write_text("{}")
    with pytest.raises(UserError, match="is not the folder of a run"):
        remove_run(mine)
    (mine / "compare.json").unlink()
    remove_run(mine)
    assert not mine.exists()


def test_interrupted_goes_through_pickle() -> None:
    stop = pickle.loads(pickle.dumps(Interrupted(3, Path("runs/a"))))
    assert (stop.step, stop.folder, str(stop)) == (3, Path("runs/a"), "interrupted at step 3")


def wait_for(process: subprocess.Popen[str], path: Path, text: str) -> None:
    """Until `path` holds `text`, or the process ends."""
    for _ in range(1200):
        if path.exists() and text in path.read_text("utf-8"):
            return
        try:
            process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail(f"ended before: {process.communicate()[1]}")
    pytest.fail("nothing happened")


def command(arguments: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cooper", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_saves_and_tells_how_to_go_on(
    tiny_arguments: list[str], tmp_path: Path, metrics: Metrics
) -> None:
    folder = tmp_path / "run"
    arguments = ["train", "sums", *tiny_arguments, "--set", "train.steps=1000"]
    process = command([*arguments, "--out", str(folder)])
    wait_for(process, folder / "metrics.jsonl", '"step": 1,')
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    last = metrics(folder)[-1]["step"]
    hint = f"interrupted at step {last}; continue with: cooper train sums --resume --out {folder}"
    assert errors.splitlines()[-1] == hint
    assert (folder / "checkpoints" / f"checkpoint-{last}" / "cooper" / "state.pt").exists()
    config = load_config(str(folder / "config.yaml"))
    assert config.train.steps == 1000


@pytest.fixture
def copied(straight: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(straight, tmp_path / "copied"))


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b"\xff", b""])
def test_a_damaged_summary_is_made_again(
    content: bytes, copied: Path, straight: Path, tiny: Tiny, made_start: Path
) -> None:
    (copied / "summary.json").write_bytes(content)
    with pytest.raises(UserError, match="--resume continues it"):
        train_run(tiny(), copied, start=made_start)
    summary = train_run(tiny(), copied, start=made_start, resume=True)
    before = json.loads((straight / "summary.json").read_text("utf-8"))
    assert {**summary, "seconds": 0} == {**before, "seconds": 0}


def test_a_damaged_configuration_is_named(copied: Path, tiny: Tiny, made_start: Path) -> None:
    (copied / "config.yaml").write_bytes(b"\xff\x00")
    for resume in (False, True):
        with pytest.raises(UserError, match=r"copied/config\.yaml: cannot be read"):
            train_run(tiny(), copied, start=made_start, resume=resume)


def test_a_folder_with_other_things_is_left_alone(
    copied: Path, tiny: Tiny, made_start: Path
) -> None:
    (copied / "config.yaml").unlink()  # the checkpoints there must not be taken up
    with pytest.raises(UserError, match=r"but no config\.yaml of a run; choose a new or empty"):
        train_run(tiny(), copied, start=made_start)


def test_two_at_once_in_one_folder(copied: Path, tiny: Tiny, made_start: Path) -> None:
    (copied / "summary.json").unlink()
    with alone(copied):
        for resume in (False, True):
            with pytest.raises(UserError, match="copied: another process is at work there"):
                train_run(tiny(), copied, start=made_start, resume=resume)
        with pytest.raises(UserError, match="another process"):
            remove_run(copied)
    assert (copied / "policy").exists()


@pytest.mark.parametrize("error", [FileNotFoundError, IsADirectoryError, OSError])
def test_any_fault_of_the_disk_is_one_line(error: type[OSError], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there: because"), disk_errors(tmp_path):
        raise error(errno.ENAMETOOLONG, "because", "there")


def test_divergence_says_what_to_change(tiny: Tiny, tmp_path: Path) -> None:
    for change, said in (
        ("warmup.learning_rate=1e10", "diverged|the loss of step .* is nan"),
        ("reward_model.learning_rate=1e30", r"the loss of step .* lower its learning_rate"),
    ):
        with pytest.raises(UserError, match=said):
            train_run(tiny(change), tmp_path / change)
