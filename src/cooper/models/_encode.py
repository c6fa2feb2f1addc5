"""The reward model's input: one template, one tokenisation and one way to cut.

Training, scoring and reinforcement learning all call `encode`, so that what the reward model was
trained on is what it is asked about. The released code trains on uncut texts, but in the loop
keeps the first 500 and last 1000 characters and then cuts on the right, which can remove the
answer. Here a cut always keeps the *end* of the completion, where the answer is, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from transformers import PreTrainedTokenizerBase

from cooper.errors import UserError

PAPER = "arXiv:2508.05613"

# The five parts that are tokenised on their own: OPEN, question, MIDDLE + reference + INNER,
# completion, CLOSE.
OPEN = "<question>"
MIDDLE = "</question>\n<reference_answer>"
INNER = "</reference_answer>\n<completion>"
CLOSE = "</completion>"
TEMPLATE = OPEN + "{question}" + MIDDLE + "{reference}" + INNER + "{completion}" + CLOSE


class Encoded(NamedTuple):
    """Token ids of B rows, none longer than the limit, and how many rows had to be cut."""

    ids: list[list[int]]
    cut: int
    prefix: Sequence[int] = ()  # (B,) tokens before the completion; () when not known

    def take(self, index: Sequence[int]) -> Encoded:
        """The rows at `index`, in that order; `cut` stays that of the whole."""
        prefix = [self.prefix[i] for i in index] if self.prefix else ()
        return Encoded([self.ids[i] for i in index], self.cut, prefix)


def encode(
    tokenizer: PreTrainedTokenizerBase,
    questions: Sequence[str],
    references: Sequence[str],
    completions: Sequence[str],
    *,
    max_length: int,
) -> Encoded:
    """Token ids of `TEMPLATE` filled with each row, at most `max_length` tokens each.

    No special tokens and no chat template. The fixed parts, the question, the reference and the
    completion are tokenised apart and joined, so a row's ids never depend on what is beside it
    and a cut falls exactly between tokens. A row that is too long loses tokens from the front of
    its completion; a question so long that the completion would keep less than a quarter of the
    room loses tokens from its own front. The reference is never cut.

    Args:
        tokenizer: Any Hugging Face tokenizer.
        questions: B questions.
        references: B reference answers.
        completions: B completions.
        max_length: Longest row in tokens.

    Returns:
        The ids and the number of rows that were cut.

    Raises:
        ValueError: The three columns differ in length.
        UserError: A reference alone leaves no room within `max_length`.

    Example:
        >>> from cooper.models import encode, tiny_tokenizer
        >>> tokens = tiny_tokenizer("0123456789+= ")
        >>> row = encode(tokens, ["1+1"], ["2"], ["0 0 0 = 2"], max_length=16)
        >>> tokens.decode(row.ids[0][-6:]), row.cut
        ('<completion> = 2</completion>', 1)

    Source: Cooper, arXiv 2508.05613 (template); the cut is ours.
    """
    if not len(questions) == len(references) == len(completions):
        raise ValueError(
            "encode: questions, references and completions must have the same length B, got "
            f"{len(questions)}, {len(references)} and {len(completions)}"
        )
    head, tail = _ids(tokenizer, [OPEN])[OPEN], _ids(tokenizer, [CLOSE])[CLOSE]
    question_ids = _ids(tokenizer, questions)
    middles = [f"{MIDDLE}{reference}{INNER}" for reference in references]
    middle_ids = _ids(tokenizer, middles)
    completion_ids = _ids(tokenizer, completions)
    rows: list[list[int]] = []
    prefix: list[int] = []
    cut = 0
    for question, middle, completion in zip(questions, middles, completions, strict=True):
        q, m, c = question_ids[question], middle_ids[middle], completion_ids[completion]
        room = max_length - len(head) - len(m) - len(tail)  # for question and completion
        if room < 1:
            raise UserError(
                f"max_length: {max_length} tokens cannot hold the reference of row {len(rows)}, "
                f"which takes {max_length - room} with the template; raise max_length or drop it"
            )
        if len(q) + len(c) > room:
            cut += 1
            keep = min(len(c), max(room - len(q), room // 4, 1))
            q, c = q[max(0, len(q) - (room - keep)) :], c[len(c) - keep :]
        rows.append([*head, *q, *m, *c, *tail])
        prefix.append(len(head) + len(q) + len(m))
    return Encoded(rows, cut, prefix)


def _ids(tokenizer: PreTrainedTokenizerBase, texts: Iterable[str]) -> dict[str, list[int]]:
    """Ids of each distinct text: questions and references repeat within a group."""
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return {}
    found = tokenizer(distinct, add_special_tokens=False, truncation=False, verbose=False)
    return dict(zip(distinct, found["input_ids"], strict=True))
