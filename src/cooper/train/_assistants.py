"""Negatives written by a model: a local one, or one behind an OpenAI-compatible endpoint.

The paper asks an assistant model for a wrong but plausible solution to every positive. Do not use
this where arithmetic slips are enough: `corrupt` is free, faster, and needs no second model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cooper.data import refuted
from cooper.train._request import Request

Ask = Callable[[list[str]], list[str | None]]  # prompts -> answers, None where there is none

SPARE = 500  # tokens an assistant may use on top of one per word of the positive (released code)

INSTRUCTIONS = (
    "You write training data for a program that grades answers. Below are a problem and a correct "
    "solution. Write another solution whose final answer is wrong. It must read as if its author "
    "believed it: same style, same format of the final answer, about the same length, with an "
    "error in the reasoning that leads to the wrong result. Do not hint at the error anywhere. "
    "Reply with that solution only."
)
MISTAKES = (
    "use a wrong operation in one step",
    "misread one quantity of the problem",
    "slip in one calculation and carry it on",
    "leave out one needed step",
    "confuse two quantities or their units",
    "answer a slightly different question than the one asked",
)
_TELL = re.compile(r"\b(?:wrong|incorrect|erroneous|deliberate(?:ly)?|mistakes?|errors?)\b", re.I)
_LABEL = re.compile(r"\A\s*(?:wrong solution|solution)\s*:\s*", re.I)


@dataclass
class Assisted:
    """What `assisted` returns: call it with questions, positives, references and a generator."""

    ask: Ask
    instructions: str
    tries: int
    wrong: Callable[[str, str], bool]
    failures: dict[int, str] = field(default_factory=dict)  # of the latest call, by row

    def __call__(
        self,
        questions: Sequence[str],
        positives: Sequence[str],
        references: Sequence[str],
        rng: np.random.Generator,
    ) -> list[str | None]:
        """Negatives (N,) for N rows; None, with a reason in `failures`, where none was good."""
        if not len(questions) == len(positives) == len(references):
            raise ValueError(
                "questions, positives, references: expected the same length, got "
                f"{len(questions)}, {len(positives)}, {len(references)}"
            )
        out: list[str | None] = [None] * len(questions)
        self.failures = {}
        open_rows = list(range(len(questions)))
        for _ in range(self.tries):
            if not open_rows:
                break
            requests: list[str] = [
                self._request(questions[i], positives[i], rng) for i in open_rows
            ]
            replies = self.ask(requests)
            if len(replies) != len(requests):
                raise ValueError(f"ask: gave {len(replies)} answers to {len(requests)} prompts")
            for i, reply in zip(open_rows, replies, strict=True):
                text = "" if reply is None else _LABEL.sub("", reply).strip()
                refusal = self._refusal(text, positives[i], references[i])
                if refusal:
                    self.failures[i] = refusal
                else:
                    out[i] = text
                    self.failures.pop(i, None)
            open_rows = [i for i in open_rows if out[i] is None]
        return out

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to get the same answers: that of `ask`, where it has any."""
        state: dict[str, Any] = getattr(self.ask, "state_dict", dict)()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state_dict` was taken."""
        getattr(self.ask, "load_state_dict", lambda _: None)(state)

    def _request(self, question: str, positive: str, rng: np.random.Generator) -> Request:
        words = len(positive.split())
        mistake = MISTAKES[int(rng.integers(len(MISTAKES)))]  # variety between rows and rounds
        return Request(
            f"{self.instructions}\n\nKind of error: {mistake}.\nLength: about {words} words.\n\n"
            f"Problem:\n{question}\n\nCorrect solution:\n{positive}\n\nWrong solution:\n",
            max_tokens=words + SPARE,
        )

    def _refusal(self, text: str, positive: str, reference: str) -> str:
        """Why an answer is no negative, "" if it is one."""
        if not text:
            return "no answer"
        if text == positive.strip():
            return "the same as the positive"
        if _TELL.search(text) and not _TELL.search(positive):
            return "gives itself away"  # a reward model would learn the word, not the maths
        return "" if self.wrong(text, reference) else "not surely wrong"


def assisted(
    ask: Ask,
    *,
    instructions: str = INSTRUCTIONS,
    tries: int = 3,
    wrong: Callable[[str, str], bool] | None = None,
) -> Assisted:
    """Negatives from an assistant model: wrong but plausible solutions, checked.

    Every answer is compared with the reference, not with the positive, and one that cannot be
    read is refused; only the refused rows are asked again. (The released code compares with the
    positive and lets unreadable answers pass; for that, give the positives as references and a
    `wrong` that says so.)

    Args:
        ask: prompts -> answers (None = failed): `local_model`, `endpoint`, or any function. The
            prompts are `Request`s that allow words of the positive + 500 tokens.
        instructions: the head of every prompt.
        tries: rounds at most, 1 or more.
        wrong: (answer, reference) -> surely wrong?; by default `refuted`.

    Returns:
        f(questions, positives, references, rng) -> negatives, None where no round gave a good
        one (`f.failures` says why, by row): mask those pairs.

    Raises:
        ValueError: for tries below 1, columns of different length, or an `ask` that loses answers.

    Example:
        >>> write = assisted(lambda prompts: ["2 + 3 = 6. The answer is 6."] * len(prompts))
        >>> write(["What is 2 + 3?"], ["2 + 3 = 5."], ["5"], np.random.default_rng(0))
        ['2 + 3 = 6. The answer is 6.']

    Source: Cooper, arXiv 2508.05613; the wording and the refusals are ours.
    """
    if tries < 1:
        raise ValueError(f"tries: got {tries}, expected 1 or more")
    return Assisted(ask, instructions, tries, refuted if wrong is None else wrong)
