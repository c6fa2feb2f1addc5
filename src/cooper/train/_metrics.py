"""The rule's verdicts on a batch, and the numbers by which the co-training is watched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cooper.data import Rule
from cooper.train._pairs import Pair, Verdicts, valid_rate
from cooper.train._step import Update
from cooper.types import Batch, Floats, Score, Status


def judge_all(rule: Rule, batch: Batch) -> list[Score]:
    """One Score per rollout; equal (completion, reference) are judged once."""
    keys = list(zip(batch.completions, batch.references, strict=True))
    known = {key: rule(*key) for key in dict.fromkeys(keys)}
    for score in known.values():
        if not isinstance(score, Score):
            raise TypeError(
                f"rule: gave {score!r}, expected a cooper.Score, such as Score(1.0), or "
                "Score(None, Status.ERROR) where it cannot tell"
            )
    return [known[key] for key in keys]


def measure(
    batch: Batch,
    verdicts: Verdicts,
    scores: Sequence[Score],
    proxy: Floats | None,
    updates: Sequence[Update],
    *,
    pairs: Sequence[Pair] | None,
    copies: bool,
) -> dict[str, float]:
    """The monitor's numbers of a batch, under "cooper/". What is not known is not there.

    Args:
        batch: B rollouts.
        verdicts: what the rules say of them.
        scores: (B,) of the rule.
        proxy: (B,) of the reward model *before* its step; None: there is none.
        updates: steps made on the pairs.
        pairs: mined on them; None: no pairs were mined.
        copies: whether copies were among what was mined; the valid rate is then the share of
            groups that gave one, and otherwise the share with a rule-right rollout.
    """
    values = [s.value for s in scores if s.value is not None]
    group = np.asarray(batch.group)
    groups, right_groups = np.unique(group).size, np.unique(group[verdicts.right]).size
    metrics = {
        "cooper/wrong_share": float(verdicts.wrong.mean()),
        "cooper/unsure_share": float(verdicts.unsure.mean()),
        "cooper/format_share": float(np.mean([s.ok and s.status is Status.OK for s in scores])),
        "cooper/valid_rate": right_groups / groups,
    }
    if values:
        metrics["cooper/rule_mean"] = float(np.mean(values))
    if proxy is not None:
        metrics["cooper/proxy_mean"] = float(proxy.mean())
        if values:
            metrics["cooper/gap"] = metrics["cooper/proxy_mean"] - metrics["cooper/rule_mean"]
        if verdicts.wrong.any():
            metrics["cooper/wrong_score"] = float(proxy[verdicts.wrong].mean())
    if pairs is not None:
        metrics["cooper/pairs"] = float(len(pairs))
        if copies:
            metrics["cooper/valid_rate"] = valid_rate(pairs, groups)
    seen = sum(u.pairs for u in updates)
    if seen:
        metrics["cooper/rm_accuracy_fresh"] = sum(u.ordered for u in updates) / seen
    if made := [u for u in updates if not u.skipped]:
        metrics["cooper/rm_loss"] = float(np.mean([u.loss for u in made]))
        metrics["cooper/rm_grad_norm"] = float(np.mean([u.grad_norm for u in made]))
    if len(made) < len(updates):
        metrics["cooper/rm_skipped"] = float(len(updates) - len(made))
    return metrics
