"""Combine: K component scores become one reward.

One signature: `f(components [B, K], *, names, group=None, where=None) -> [B]`. `names` says what
the columns are, `where` (B, K) which scores exist. A row that cannot be scored comes back as NaN,
so that it can never be taken for a 0; `Recipe` turns that into its `valid` mask.

| method | what it does |
|---|---|
| `strata` | rule first, reward model where the rule is unsure, nothing for the surely wrong |
| `weighted` | weighted sum of the components that exist |
"""

from __future__ import annotations

from cooper.combine._strata import strata as strata
from cooper.combine._weighted import weighted as weighted

__all__ = ["strata", "weighted"]
