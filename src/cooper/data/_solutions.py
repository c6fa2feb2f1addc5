"""Ready-made labelled completions, to train a reward model on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cooper.data._read import Source, read_objects
from cooper.data._spell import plain_number
from cooper.data._task import Row
from cooper.data._working import strip_notes
from cooper.errors import UserError
from cooper.verify._numeric import final_number


def labelled_solutions(source: Source | Sequence[Source]) -> list[tuple[Row, str, float]]:
    r"""Completions with right/wrong labels, in the layout of GSM8K's example solutions.

    A row holds `question`, `ground_truth` (its last line `A: 18` is the reference) and any number
    of objects `{"is_correct": bool, "solution": str}` under any name. Calculator notes
    `<<...>>` are removed.

    Args:
        source: A JSON Lines file, or whatever `questions` takes.

    Returns:
        Row, completion and label (1.0 right, 0.0 wrong), in the order of the file.

    Raises:
        UserError: A row without question, reference or labelled solution, with file and line.

    Example:
        >>> solution = {"is_correct": True, "solution": "2*9=<<2*9=18>>18\nA: 18"}
        >>> row = {"question": "Eggs?", "ground_truth": "9 * 2\nA: 18", "small": solution}
        >>> labelled_solutions(row)
        [(Row(prompt='Eggs?', question='Eggs?', reference='18'), '2*9=18\nA: 18', 1.0)]
    """
    found = []
    for place, row in read_objects(source):
        question, truth = row.get("question"), row.get("ground_truth")
        if not isinstance(question, str) or not question.strip():
            raise UserError(f"{place}: no question: 'question' is missing, empty or not a text")
        final = final_number(truth, where="marked") if isinstance(truth, str) else None
        reference = None if final is None else plain_number(final.text)
        if reference is None:
            raise UserError(f"{place}: no reference: 'ground_truth' holds no 'A: NUMBER'")
        text = " ".join(question.split())
        labelled = [
            (Row(text, text, reference), strip_notes(one["solution"]).strip(), float(label))
            for one in row.values()
            if isinstance(one, Mapping)
            and isinstance(one.get("solution"), str)
            and isinstance(label := one.get("is_correct"), bool)
        ]
        if not labelled:
            raise UserError(f"{place}: no object with 'solution' and 'is_correct'")
        found += labelled
    return found
