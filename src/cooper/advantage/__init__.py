"""Advantage: the rewards of a group become advantages.

One signature: `f(rewards [B], *, group, where=None) -> [B] or [B, T]`. `group` are ids in any
order, `where` (B,) says which rewards exist; a row without one gets 0 and counts for nobody.
A group whose rewards are all equal, and a group of one, gets exactly 0.

| method | what it does |
|---|---|
| `dr_grpo` | reward minus the group's mean |
| `grpo` | the same over the group's standard deviation |
"""

from __future__ import annotations

from cooper.advantage._dr_grpo import dr_grpo as dr_grpo
from cooper.advantage._grpo import grpo as grpo

__all__ = ["dr_grpo", "grpo"]
