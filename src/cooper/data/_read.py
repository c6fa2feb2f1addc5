"""Rows of question and reference, from JSON files, from lists, or from the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cooper.data._hub import PREFIX, hub_rows
from cooper.data._spell import plain_number
from cooper.errors import UserError

Source = str | Path | Mapping[str, Any]


class Layout(NamedTuple):
    """Names of columns: the parts of the question, the reference, and the gold working if any."""

    question: tuple[str, ...]
    reference: str
    working: str | None = None


# The first layout whose question and reference columns are all there is taken.
LAYOUTS = (
    Layout(("Body", "Question"), "Answer", "Equation"),
    Layout(("body", "question"), "answer", "formula"),
    Layout(("question",), "answer"),
    Layout(("question",), "reference"),
    Layout(("question",), "ground_truth"),
    Layout(("problem",), "answer"),
    Layout(("prompt",), "reference"),
    Layout(("prompt",), "answer"),
    Layout(("input",), "target"),
)


class Item(NamedTuple):
    """A question with its reference as plain number, and whatever gold working came along."""

    question: str
    reference: str
    working: str


class Items(NamedTuple):
    """The items of some sources, and how many rows were left out: their answer is no number."""

    items: list[Item]
    not_numbers: int


def read_objects(source: Source | Sequence[Source]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every row of every source with the place where it stands, as text for messages.

    Args:
        source: A path to JSON Lines or to a JSON list, `hub:NAME:SPLIT` or
            `hub:NAME:CONFIG:SPLIT`, a row (a mapping), or a list of these.

    Yields:
        Place and row.

    Raises:
        UserError: A missing or unreadable file, an empty one, or a row that is not an object.
    """
    if isinstance(source, Mapping):
        yield "the row given", source
    elif isinstance(source, str | Path) and str(source).startswith(PREFIX):
        for i, row in enumerate(hub_rows(str(source)), start=1):
            yield f"{source}, row {i}", row
    elif isinstance(source, str | Path):
        yield from _read_file(Path(source))
    else:
        if not source:
            raise UserError("the list of rows or files is empty; expected at least one")
        for i, part in enumerate(source, start=1):
            if isinstance(part, Mapping):
                yield f"row {i} of the list", part
            else:
                yield from read_objects(part)


def _read_file(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a UTF-8 text file") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    if not text.strip():
        raise UserError(f"{path}: the file is empty; expected one JSON object a line")
    places: Iterator[tuple[str, Any]]
    if text.lstrip().startswith("["):
        rows = _parse(text, f"{path}")
        if not rows:
            raise UserError(f"{path}: the list is empty; expected at least one object")
        places = ((f"{path}, item {i}", row) for i, row in enumerate(rows, start=1))
    else:
        places = (
            (f"{path}, line {i}", _parse(line, f"{path}, line {i}"))
            for i, line in enumerate(text.split("\n"), start=1)
            if line.strip()
        )
    for place, row in places:
        if not isinstance(row, dict):
            raise UserError(f"{place}: got {type(row).__name__}; expected a JSON object")
        yield place, row


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else error
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        where = where if "line" not in place else ""
        raise UserError(f"{place}{where}: not valid JSON: {why}") from None


def read_items(
    source: Source | Sequence[Source],
    *,
    question_key: str | Sequence[str] | None = None,
    reference_key: str | None = None,
) -> Items:
    """Questions with numeric references; rows with another kind of answer are counted.

    Args:
        source: As in `read_objects`.
        question_key: Column of the question, or several that are joined; None: known names.
        reference_key: Column of the reference; None: known names.

    Returns:
        Items, never none of them.

    Raises:
        UserError: What `read_objects` raises; unknown columns; a row without question or
            reference; no row with a number as its answer.
    """
    items, skipped = [], 0
    for place, row in read_objects(source):
        layout = _layout(row, place, question_key, reference_key)
        parts = [_text(row, key, place) for key in layout.question]
        answer = row.get(layout.reference)
        if answer is None or (isinstance(answer, str) and not answer.strip()):
            raise UserError(f"{place}: no reference: {layout.reference!r} is missing or empty")
        reference = plain_number(answer)
        if reference is None:
            skipped += 1
            continue
        working = row.get(layout.working) if layout.working else None
        gold = working if isinstance(working, str) else ""
        if isinstance(answer, str) and "####" in answer:
            gold = answer.rsplit("####", 1)[0].strip()
        items.append(Item(_join(parts), reference, gold))
    if not items:
        raise UserError(f"none of the {skipped} rows has a number as its answer")
    return Items(items, skipped)


def _layout(
    row: Mapping[str, Any],
    place: str,
    question_key: str | Sequence[str] | None,
    reference_key: str | None,
) -> Layout:
    known = next((x for x in LAYOUTS if {*x.question, x.reference} <= row.keys()), None)
    asked = (question_key,) if isinstance(question_key, str) else tuple(question_key or ())
    question = asked or (known.question if known else _first(row, [x.question for x in LAYOUTS]))
    reference = reference_key or (
        known.reference if known else (_first(row, [(x.reference,) for x in LAYOUTS]) or ("",))[0]
    )
    for part, column in (("question", question), ("reference", reference)):
        if not column:
            raise UserError(
                f"{place}: no {part}: the columns are {', '.join(map(str, row)) or 'none'}; "
                f"name it with {part}_key"
            )
    matches = known is not None and (question, reference) == known[:2]
    return Layout(question, reference, known.working if known and matches else None)


def _first(row: Mapping[str, Any], choices: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return next((keys for keys in choices if set(keys) <= row.keys()), ())


def _text(row: Mapping[str, Any], key: str, place: str) -> str:
    text = row.get(key)
    if not isinstance(text, str) or not text.strip():
        raise UserError(f"{place}: no question: {key!r} is missing, empty or not a text")
    try:
        text.encode()
    except UnicodeEncodeError:  # JSON can spell half a character, which no tokenizer takes
        raise UserError(f"{place}: {key!r} is not valid Unicode") from None
    return text


def _join(parts: Sequence[str]) -> str:
    texts = [" ".join(part.split()) for part in parts]
    ended = [text if text[-1] in ".,:;?!" else f"{text}," for text in texts[:-1]]
    return " ".join([*ended, texts[-1]])
