"""Rules: read an answer from text and compare it with the reference.

One signature: `f(completion: str, reference: str, **options) -> Score`. A score that could not be
made (the reference is unreadable) is `None` with a reason, never 0.
"""

from cooper.verify._exact import exact as exact
from cooper.verify._numeric import Number as Number
from cooper.verify._numeric import numbers as numbers
from cooper.verify._numeric import numeric as numeric
