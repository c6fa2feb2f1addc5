"""What an audit hands back."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """The result of one check: a value, its interval where there is one, and a verdict.

    Example:
        >>> finding = Finding(0.47, None, "The gap is 0.47.", "gap", 0.40, 12)
        >>> finding.kind, finding.step, finding.verdict
        ('gap', 12, 'The gap is 0.47.')
    """

    value: float | None  # None: nothing could be measured
    interval: tuple[float, float] | None
    verdict: str  # one sentence, with the numbers
    kind: str = ""  # which check, e.g. "gap"
    threshold: float | None = None  # what the value was held against
    step: int | None = None  # when, for checks over time
