from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cooper.data import hub, labelled_solutions, questions
from cooper.data._questions import normalised
from cooper.errors import UserError

SharedData = Callable[[str], Path]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(n: int, start: int = 0) -> list[dict[str, object]]:
    return [{"question": f"What is {i} + 500?", "answer": str(i + 500)} for i in range(start, n)]


GSM8K = {"question": "Clips in all?", "answer": "48/2 = <<48/2=24>>24 clips\n#### 1,024"}
MAWPS = {"input": "Linda has 7 caps and gets 6.", "target": 13.0}
ASDIV = {
    "body": "Seven red and two green apples.",
    "question": "How many? ",
    "answer": "9 (apples)",
    "formula": "7+2=9",
}
SVAMP = {
    "Body": "A pack costs 76. The discount is 25",
    "Question": "What is paid for 2?",
    "Equation": "( ( 76.0 - 25.0 ) * 2.0 )",
    "Answer": 102.0,
}
OTHER = {"prompt": "Half of 1?", "reference": "0.50"}


@pytest.mark.parametrize(
    ("row", "question", "reference", "completion"),
    [
        (GSM8K, "Clips in all?", "1024", "The answer is 1024."),
        (MAWPS, "Linda has 7 caps and gets 6.", "13", "7 + 6 = 13. The answer is 13."),
        (ASDIV, "Seven red and two green apples. How many?", "9", "7 + 2 = 9. The answer is 9."),
        (
            SVAMP,
            "A pack costs 76. The discount is 25, What is paid for 2?",
            "102",
            "(76 - 25) * 2 = 102. The answer is 102.",
        ),
        (OTHER, "Half of 1?", "0.5", "The answer is 0.5."),
    ],
)
def test_known_layouts(
    row: dict[str, object], question: str, reference: str, completion: str
) -> None:
    task = questions(row, rows(5), chat=False)
    assert task.rows(1, rng()) == [(question, question, reference)]
    assert task.demos is not None
    assert task.demos(1, rng())[0].completion == completion


def test_solutions_in_words_on_request() -> None:
    demos = questions(GSM8K, rows(5), steps=True).demos
    assert demos is not None
    assert demos(1, rng())[0].completion == "48/2 = 24 clips The answer is 1024."


def test_keys_prompts_and_chat() -> None:
    data = [{"q": f"{i}?", "a": i, "answer": -1, "question": "no"} for i in range(9)]
    task = questions(
        data,
        heldout=2,
        question_key="q",
        reference_key="a",
        template="Q: {question}\n{A}:",
        system="Be brief.",
    )
    row = task.heldout[0]
    assert row.question == f"{row.reference}?"
    assert row.prompt == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"Q: {row.question}\n{{A}}:"},
    ]
    plain = questions(data, heldout=2, question_key="q", reference_key="a", chat=False)
    assert plain.heldout[0].prompt == plain.heldout[0].question


def test_held_out_questions_are_cut_off_by_the_seed() -> None:
    task = questions(rows(50), heldout=10, seed=1)
    away = {row.question for row in task.heldout}
    drawn = [row.question for row in task.rows(40, rng())]
    assert len(away) == 10
    assert len(set(drawn)) == 40  # no repeats as long as there are enough
    assert not away & set(drawn)
    assert len(task.rows(100, rng())) == 100
    assert away == {row.question for row in questions(rows(50), heldout=10, seed=1).heldout}
    assert away != {row.question for row in questions(rows(50), heldout=10, seed=2).heldout}


def test_overlap_with_eval_is_dropped_and_counted() -> None:
    again = {"question": "what is  7 + 500 ?", "answer": "507"}
    task = questions([*rows(30), again], rows(10, start=5), heldout=None)
    kept = {normalised(row.question) for row in task.rows(25, rng())}
    assert len(kept) == 25
    assert not kept & {normalised(row.question) for row in task.heldout}
    assert len(task.heldout) == 5
    assert task.notes == (
        "train: 25 questions; left out: 0 whose answer is no exact number, 6 asked before "
        "(6 of these in eval)",
        "eval: 5 questions; left out: 0 whose answer is no exact number, 0 asked before",
    )


def test_answers_that_are_no_number_are_left_out_and_counted() -> None:
    odd = ["3:4", "6th", "Mrs. Hilt", "5 r3", True, 0.3333333333, [1]]
    data = [{"question": f"{i}?", "answer": answer} for i, answer in enumerate(odd)]
    task = questions([*data, *rows(9)], heldout=1)
    assert "left out: 7 whose answer is no exact number" in task.notes[0]
    with pytest.raises(UserError, match="none of the 7 rows has a number"):
        questions(data)


def test_files_of_lines_and_files_of_a_list(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.jsonl", *rows(5))
    listed = tmp_path / "b.json"
    listed.write_text(json.dumps(rows(9, start=5)), encoding="utf-8")
    task = questions([str(lines), listed], heldout=1)
    assert len({row.question for row in task.rows(8, rng())}) == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "d.jsonl: the file is empty"),
        ("[]", "d.jsonl: the list is empty"),
        ('{"question": "1?", "answer": 1}\n{"question": ', "d.jsonl, line 2: not valid JSON"),
        ('[{"question": "1?",\n]', r"d.jsonl \(line 2\): not valid JSON"),
        ("\n7", "d.jsonl, line 2: got int; expected a JSON object"),
        (
            '{"question": "1?", "answer": 1}\n\n{"question": " ", "answer": 1}',
            "line 3: no question",
        ),
        ('{"question": "1?", "answer": 1}\n{"question": "2?"}', "line 2: no reference"),
        ('{"question": "1?", "answer": 1}\n{"answer": 2}', "line 2: no question"),
        ('{"question": "1?", "answer": ""}', "line 1: no reference"),
        ('[{"question": "1?", "answer": null}]', "item 1: no reference"),
        ('{"text": "1?", "label": 1}', "line 1: no question: the columns are text, label"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message) as caught:
        questions(path, heldout=1)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.jsonl: no such file"):
        questions(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match="directory"):
        questions(tmp_path)
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a UTF-8"):
        questions(tmp_path / "b")
    with pytest.raises(UserError, match="empty"):
        questions([])


def test_too_little_data() -> None:
    with pytest.raises(UserError, match="heldout: got 200 of 5 questions"):
        questions(rows(5))
    with pytest.raises(UserError, match="heldout: null means all of eval, but there is no eval"):
        questions(rows(5), heldout=None)
    with pytest.raises(UserError, match="no training question is left"):
        questions(rows(5), rows(5))


@pytest.mark.parametrize("options", [{"template": "Q:"}, {"heldout": 0}, {"max_tokens": 0}])
def test_wrong_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        questions(rows(5), **options)  # type: ignore[arg-type]


def test_the_hub_offline_is_one_clear_line() -> None:
    pytest.importorskip("datasets")
    with pytest.raises(UserError, match="hub:nobody/nothing: cannot load split 'train'") as caught:
        hub("nobody/nothing")
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="cannot load split 'test'"):
        questions("hub:nobody/nothing:main:test")
    with pytest.raises(UserError, match="expected hub:NAME"):
        questions("hub:a:b:c:d")


def test_a_local_folder_through_the_hub_reader(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    write(tmp_path / "train.jsonl", *rows(8))
    assert hub(str(tmp_path), limit=3) == rows(3)
    with pytest.raises(UserError, match="cannot load split 'nope'"):
        hub(str(tmp_path), "nope")


def test_labelled_solutions() -> None:
    row = {
        "question": "Eggs  sold?",
        "ground_truth": "9 * 2 = <<9*2=18>>18\nA: 18",
        "small": {"is_correct": False, "solution": "16 * 2 = <<16*2=32>>32\nA: 32"},
        "large": {"is_correct": True, "solution": "A: 18\n"},
    }
    assert labelled_solutions(row) == [
        (("Eggs sold?", "Eggs sold?", "18"), "16 * 2 = 32\nA: 32", 0.0),
        (("Eggs sold?", "Eggs sold?", "18"), "A: 18", 1.0),
    ]
    offline = questions(rows(9), heldout=1, solutions=[row]).offline
    assert offline is not None
    assert len(offline()) == 2
    for key in ("question", "ground_truth", "small"):
        broken = {k: v for k, v in row.items() if k not in (key, "large")}
        with pytest.raises(UserError, match="row 2 of the list"):
            labelled_solutions([row, broken])


def test_picklable() -> None:
    task = questions(rows(9), heldout=2)
    copy = pickle.loads(pickle.dumps(task))
    assert copy.rows(3, rng()) == task.rows(3, rng())


def test_real_word_problems(shared_data: SharedData) -> None:
    folder = shared_data("word_problems")
    train = [folder / name for name in ("mawps_singleop.jsonl", "asdiv.jsonl")]
    task = questions(train, shared_data("svamp") / "SVAMP.json")
    assert len(task.heldout) == 200
    assert task.demos is not None
    demos = task.demos(300, rng())
    assert np.mean(["=" in demo.completion for demo in demos]) > 0.7
    for demo in demos:
        reference = demo.row.reference
        assert task.rule(demo.completion, reference).value == 1.0
        assert not task.surely_wrong(demo.completion, reference)
        copy = task.corrupt(demo.completion, reference, rng())
        assert copy is not None
        assert task.rule(copy, reference).value == 0.0


def test_real_labelled_solutions(shared_data: SharedData) -> None:
    found = labelled_solutions(shared_data("gsm8k") / "example_model_solutions.jsonl")
    rule = questions(rows(9), heldout=1).rule
    assert len(found) == 5276
    assert not any("<<" in completion for _, completion, _ in found)
    assert all(rule(text, row.reference).value == label for row, text, label in found)


def test_questions_differ_by_operators_and_in_any_script() -> None:
    sums = [{"question": f"8 {sign} {n}", "answer": n} for sign in "+-*/" for n in range(1, 4)]
    words = [{"question": text, "answer": 1} for text in ("一加零?", "二减一?", "три минус два?")]
    task = questions([*sums, *words], heldout=1)
    assert "15 questions" in task.notes[0]
    assert normalised("What is ８+1 ?") == normalised("what is 8 + 1")


def test_numbers_that_no_rule_could_read_are_left_out() -> None:
    huge = [{"question": f"{x}?", "answer": x} for x in ("1e999", "1e-999", "1" * 401, "1/0")]
    task = questions([*huge, *rows(9)], heldout=1)
    assert "left out: 4 whose answer is no exact number" in task.notes[0]


def test_labelled_solutions_are_read_before_anything_is_trained(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.jsonl: no such file"):
        questions(rows(9), heldout=1, solutions=tmp_path / "gone.jsonl")


def test_half_a_character_is_named() -> None:
    with pytest.raises(UserError, match=r"row 1 of the list: 'question' is not valid Unicode"):
        questions([{"question": "\ud800?", "answer": 1}])


def test_a_hub_name_may_come_as_a_path() -> None:
    with pytest.raises(UserError, match="expected hub:NAME"):
        questions(Path("hub:a:b:c:d"))
