from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cooper.errors import UserError
from cooper.models import VerifyRM
from cooper.run import RunConfig, load_config
from cooper.run._prepare import load_policy, make_task, prepare

Tiny = Callable[..., RunConfig]


def stamps(folder: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_finished_start_is_used_as_it_is(tiny: Tiny, start: Path) -> None:
    before, said = stamps(start), list[str]()
    prepare(tiny("arm=rule", "train.steps=9"), start, say=said.append)  # both start alike
    assert stamps(start) == before
    assert said == []


def test_an_interrupted_start_goes_on_where_it_stopped(tiny: Tiny, start: Path) -> None:
    policy = stamps(start / "policy")
    scores = (start / "reward_model" / "model.safetensors").read_bytes()
    shutil.rmtree(start / "reward_model")
    said: list[str] = []
    prepare(tiny(), start, say=said.append)
    assert said == ["training the reward model on 180 completions"]
    assert stamps(start / "policy") == policy
    assert (start / "reward_model" / "model.safetensors").read_bytes() == scores


def test_other_settings_make_another_start(tiny: Tiny, start: Path) -> None:
    before = (start / "policy" / "model.safetensors").read_bytes()
    said: list[str] = []
    prepare(tiny("seed=1"), start, say=said.append)
    assert said[0] == "warming up the policy"
    assert (start / "policy" / "model.safetensors").read_bytes() != before
    assert json.loads((start / "start.json").read_text())["seed"] == 1


def test_the_labelled_set(tiny: Tiny, start: Path) -> None:
    made = prepare(tiny(), start)
    assert (len(made.replay), len(made.fixed)) == (180, 20)
    assert {row.label for row in made.replay} <= {0.0, 1.0}
    written = [json.loads(line) for line in (start / "labelled.jsonl").read_text().splitlines()]
    assert [tuple(row) for row in written] == [tuple(r) for r in [*made.fixed, *made.replay]]
    assert prepare(tiny(), start).fixed == made.fixed


def test_corrupted_copies_are_labelled_wrong(tiny: Tiny, start: Path) -> None:
    shutil.rmtree(start / "reward_model")
    (start / "labelled.jsonl").unlink()
    (start / "start.json").unlink()  # as if the settings had been these from the beginning
    plain = prepare(tiny(), start)
    right = sum(row.label for row in [*plain.replay, *plain.fixed])
    (start / "labelled.jsonl").unlink()
    (start / "start.json").unlink()
    more = prepare(tiny("reward_model.corrupted=3"), start)
    rows = [*more.replay, *more.fixed]
    assert 200 < len(rows) <= 203  # a completion without digits cannot be corrupted
    assert sum(row.label for row in rows) == right


def test_what_is_saved_loads(start: Path) -> None:
    model, tokenizer = load_policy(start / "policy")
    assert tokenizer.padding_side == "left"
    assert model.config.vocab_size == len(tokenizer)
    VerifyRM.load(start / "reward_model")  # runs its self-test


def questions(folder: Path, rows: list[dict[str, object]]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def asked(path: Path | None, *more: str) -> RunConfig:
    files = [] if path is None else [f"data.train={path}", "data.heldout=2"]
    return load_config("smollm2", [*files, *more])


def test_rows_that_were_left_out_are_told(tmp_path: Path) -> None:
    rows = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(10, 30)]
    path = questions(tmp_path, [*rows, rows[0], {"question": "Who?", "answer": "nobody"}])
    task = make_task(asked(path))
    assert any(
        "left out: 1 whose answer is no exact number, 1 asked before" in n for n in task.notes
    )
    said: list[str] = []
    with pytest.raises(UserError, match="no model"):
        prepare(asked(path, f"policy.model={tmp_path}"), tmp_path / "start", say=said.append)
    assert said[: len(task.notes)] == list(task.notes)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "rows.jsonl"),
        ([{"question": "1 + 1?", "answer": "2"}, {"question": "2 + 2?"}], r"rows.jsonl.*2"),
        ([{"question": "1 + 1?", "answer": "2"}, {"question": "", "answer": "2"}], "question"),
    ],
)
def test_bad_data_is_one_line(rows: list[dict[str, object]], said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said) as error:
        make_task(asked(questions(tmp_path, rows)))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["task.name=questions"], "data.train: missing"),
        (["task.name=nothing"], "task.name: unknown task 'nothing'"),
        (["task.name=no.such.module:task"], "'no.such.module:task' cannot be imported"),
        (["task.name=math:floor"], "task.options of 'math:floor'"),
        (["task.name=collections:OrderedDict"], "does not make a Task but a OrderedDict"),
        (["task.options.hedge=2"], "hedge: got 2; expected a share"),
        (["task.options.spice=2"], "task.options of 'sums': .*spice"),
        (["data.train=x.jsonl"], "data.train: is of no use to task 'sums'"),
    ],
)
def test_a_bad_task_is_one_line(changes: list[str], said: str) -> None:
    changes = ["task.options={}", *changes] if "task.name" in changes[0] else changes
    with pytest.raises(UserError, match=said) as error:
        make_task(load_config("sums", changes))
    assert "\n" not in str(error.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.jsonl"):
        make_task(asked(tmp_path / "gone.jsonl"))


def test_no_labelled_completions(tiny: Tiny, start: Path) -> None:
    (start / "labelled.jsonl").unlink()
    (start / "start.json").unlink()
    with pytest.raises(UserError, match=r"set reward_model\.samples or data\.labelled"):
        prepare(tiny("reward_model.samples=0"), start)


@pytest.mark.parametrize(
    ("name", "content"),
    [(name, text) for name in ("start.json", "labelled.jsonl") for text in ("", "{")]
    + [("labelled.jsonl", "[1]\n")],
)
def test_damaged_files_of_a_start_are_named(
    name: str, content: str, tiny: Tiny, made_start: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made_start, tmp_path / "start"))
    (folder / name).write_text(content)
    with pytest.raises(UserError, match=f"{name}: is damaged; delete it"):
        prepare(tiny(), folder)


def test_a_damaged_policy_is_named(made_start: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made_start / "policy", tmp_path / "policy"))
    (folder / "model.safetensors").write_bytes(b"x")
    with pytest.raises(UserError, match="policy: cannot read the model"):
        load_policy(folder)
