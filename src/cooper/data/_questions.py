"""Real questions with numbers as answers, from files or from the hub."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cooper.data._answers import corrupt_number, final_rule, patch_number, surely_wrong
from cooper.data._read import Item, Items, Source, read_items
from cooper.data._solutions import labelled_solutions
from cooper.data._task import Demo, Row, Task
from cooper.data._working import demonstration
from cooper.errors import UserError

# Letters and digits of any script, and what stands between two numbers: 7 + 2 is not 7 - 2.
_TOLD = re.compile(r"[^\W_]+|(?<=[0-9)])\s*[-+*/^<>=\u2212\u00d7\u00f7]\s*(?=[0-9(])")


def normalised(question: str) -> str:
    """A question in lower case, without punctuation: equal texts are one question.

    Example:
        >>> normalised("What is  7+2 ?"), normalised("7 - 2"), normalised("\u4f60\u597d?")
        ('what is 7 + 2', '7 - 2', '\u4f60\u597d')
    """
    plain = unicodedata.normalize("NFKC", question).casefold()
    return " ".join(part.strip() for part in _TOLD.findall(plain))


def _prompt(question: str, template: str, system: str | None, chat: bool) -> Any:
    text = template.replace("{question}", question)
    if not chat:
        return text
    messages = [{"role": "system", "content": system}] if system else []
    return [*messages, {"role": "user", "content": text}]


def _draw(size: int, n: int, rng: np.random.Generator) -> list[int]:
    """So many of `size` places, all different as long as there are enough."""
    return [int(i) for i in rng.choice(size, size=n, replace=n > size)]


def _rows(rows: list[Row], n: int, rng: np.random.Generator) -> list[Row]:
    return [rows[i] for i in _draw(len(rows), n, rng)]


def _demos(
    rows: list[Row], items: list[Item], steps: bool, n: int, rng: np.random.Generator
) -> list[Demo]:
    return [Demo(rows[i], demonstration(items[i], steps=steps)) for i in _draw(len(rows), n, rng)]


def _unique(items: list[Item], seen: set[str]) -> list[Item]:
    """The items whose question is not in `seen`, which they then enter."""
    kept = []
    for item in items:
        key = normalised(item.question)
        if key not in seen:
            seen.add(key)
            kept.append(item)
    return kept


def _note(what: str, read: Items, kept: int) -> str:
    repeated = len(read.items) - kept
    return (
        f"{what}: {kept} questions; left out: {read.not_numbers} whose answer is no exact number, "
        f"{repeated} asked before"
    )


class Split(NamedTuple):
    """Items to train on, items to measure on, and what was left out."""

    train: list[Item]
    heldout: list[Item]
    notes: tuple[str, ...]


def _cut_off(read: Items, heldout: int | None, rng: np.random.Generator) -> Split:
    items = _unique(read.items, set())
    if heldout is None:
        raise UserError("heldout: null means all of eval, but there is no eval; give either")
    if heldout >= len(items):
        raise UserError(f"heldout: got {heldout} of {len(items)} questions; ask for fewer")
    chosen = set(_draw(len(items), heldout, rng))
    return Split(
        [item for i, item in enumerate(items) if i not in chosen],
        [item for i, item in enumerate(items) if i in chosen],
        (f"{_note('train', read, len(items))}; {heldout} of them held out",),
    )


def _keep_apart(
    read: Items, measured: Items, heldout: int | None, rng: np.random.Generator
) -> Split:
    seen = set[str]()
    away = _unique(measured.items, seen)  # what could be measured on is taken out of training
    shared = sum(normalised(item.question) in seen for item in read.items)
    kept = _unique(read.items, seen)
    if not kept:
        raise UserError("no training question is left: every one of them is in eval too")
    notes = (
        f"{_note('train', read, len(kept))} ({shared} of these in eval)",
        _note("eval", measured, len(away)),
    )
    if heldout is not None and heldout < len(away):
        away = [away[i] for i in sorted(_draw(len(away), heldout, rng))]
    return Split(kept, away, notes)


def _split(read: Items, measured: Items | None, heldout: int | None, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    if measured is None:
        return _cut_off(read, heldout, rng)
    return _keep_apart(read, measured, heldout, rng)


def questions(
    train: Source | Sequence[Source],
    eval: Source | Sequence[Source] | None = None,
    *,
    heldout: int | None = 200,
    seed: int = 0,
    question_key: str | Sequence[str] | None = None,
    reference_key: str | None = None,
    template: str = "{question}",
    system: str | None = None,
    chat: bool = True,
    max_tokens: int = 48,
    steps: bool = False,
    solutions: Source | Sequence[Source] | None = None,
) -> Task:
    """Questions whose answer is a number; the last number of a completion is its answer.

    Known layouts, found by their columns: `question`/`answer` (GSM8K: behind `####`),
    `body`+`question`/`answer` (ASDiv), `Body`+`Question`/`Answer` (SVAMP), `input`/`target`
    (MAWPS), `problem`/`answer`, `prompt`/`reference`. Rows whose answer is not a number are left
    out. Training and held-out questions are disjoint by their letters and digits: what occurs
    in both is taken out of training. `Task.notes` says how many were left out.

    Args:
        train: JSON Lines or JSON list files, `hub:NAME:SPLIT`, rows, or a list of these.
        eval: The same; None: `heldout` questions are taken out of `train`.
        heldout: How many questions to measure on; None: all of `eval`.
        seed: Draws the held-out questions.
        question_key: Column of the question, or columns to join; None: known names.
        reference_key: Column of the reference; None: known names.
        template: The prompt, with `{question}` in it.
        system: System message, with `chat`.
        chat: Prompts are lists of chat messages instead of text.
        max_tokens: Longest completion.
        steps: The warm-up teaches solutions in words (GSM8K); they need 200 tokens or more.
        solutions: Labelled completions for the offline set, see `labelled_solutions`.

    Returns:
        The task. The warm-up teaches `7 + 2 = 9. The answer is 9.`: the gold formula, or the only
        one over the question's numbers that gives the answer, or none.

    Raises:
        UserError: A missing or empty file, unknown columns, a row that lacks question or
            reference (with file and line), nothing left to train on.
        ValueError: A template without `{question}`, or `heldout` or `max_tokens` below 1.

    Example:
        >>> rows = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(10, 20)]
        >>> task = questions(rows, heldout=2, chat=False)
        >>> len(task.heldout), task.demos(1, np.random.default_rng(0))[0].completion
        (2, '18 + 1 = 19. The answer is 19.')
    """
    if "{question}" not in template:
        raise ValueError(f"template: {template!r} has no {{question}} in it")
    for name, number in {"heldout": heldout, "max_tokens": max_tokens}.items():
        if number is not None and number < 1:
            raise ValueError(f"{name}: got {number}; expected 1 or more")
    read = partial(read_items, question_key=question_key, reference_key=reference_key)
    split = _split(read(train), None if eval is None else read(eval), heldout, seed)

    def row(item: Item) -> Row:
        prompt = _prompt(item.question, template, system, chat)
        return Row(prompt, item.question, item.reference)

    rows = [row(item) for item in split.train]
    return Task(
        name="questions",
        rows=partial(_rows, rows),
        heldout=[row(item) for item in split.heldout],
        rule=final_rule,
        oracle=final_rule,
        surely_wrong=surely_wrong,
        patch=patch_number,
        corrupt=corrupt_number,
        max_tokens=max_tokens,
        demos=partial(_demos, rows, split.train, steps),
        offline=None if solutions is None else partial(list, labelled_solutions(solutions)),
        notes=split.notes,
    )
