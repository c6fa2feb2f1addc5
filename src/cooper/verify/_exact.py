"""String equality."""

from __future__ import annotations

from cooper.types import Score, Status


def exact(completion: str, reference: str, *, strip: bool = True) -> Score:
    """Whether the completion is the reference, character by character.

    Precision 1; the recall is the share of right answers that are written as the reference is.

    Args:
        completion: What the policy wrote.
        reference: The reference answer.
        strip: Ignore white space at both ends of both sides.

    Returns:
        1.0 or 0.0; 0.0 with `NO_ANSWER` for an empty completion; no number with `UNPARSED` for an
        empty reference.

    Example:
        >>> exact(" 3/4", "3/4").value, exact("0.75", "3/4").value, exact("3/4", "").value
        (1.0, 0.0, None)
    """
    if strip:
        completion, reference = completion.strip(), reference.strip()
    if not reference:
        return Score(None, Status.UNPARSED, "the reference is empty")
    if not completion:
        return Score(0.0, Status.NO_ANSWER, "the completion is empty")
    return Score(float(completion == reference), extracted=completion)
