"""Plain spellings of numbers."""

from __future__ import annotations

import re
from fractions import Fraction

from cooper.verify import numbers
from cooper.verify._numeric import LONGEST

_UNIT = re.compile(r"\s*%?\s*(?:\(.*\)|[^0-9(]*)\s*", re.DOTALL)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b|:", re.IGNORECASE)


def write_number(value: Fraction) -> str:
    """A number as people write it: integer, else exact decimals, else a fraction.

    Example:
        >>> [write_number(Fraction(x)) for x in ("14.0", "-1.50", "2/3")]
        ['14', '-1.5', '2/3']
    """
    for places in range(13):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = f"{abs(scaled.numerator):0{places + 1}d}"
            text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
            return f"-{text}" if value < 0 else text
    return f"{value.numerator}/{value.denominator}"


def plain_number(answer: object) -> str | None:
    r"""The number that an answer of a data set is, in one plain spelling, or None.

    Example:
        >>> [plain_number(a) for a in ("so 9\n#### 1,009", "9 (apples)", 14.0, "3:4", "6th")]
        ['1009', '9', '14', None, None]
    """
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        return None
    if not isinstance(answer, str):
        text = repr(answer)
        if len(text.partition(".")[2]) > 4:  # a repeating decimal that was cut off: not exact
            return None
    else:
        text = answer.rsplit("####", 1)[-1].strip()
    found = next(numbers(text), None)
    if found is None or found.start or found.value is None:
        return None
    rest = text[found.end :]
    if _ORDINAL.match(rest) or not _UNIT.fullmatch(rest):
        return None
    plain = write_number(found.value)
    return plain if len(plain) <= LONGEST else None  # 1e999: no rule could read it again
