"""Cooper: score rollouts with a reward model and a rule, and train the reward model on them.

Independent of any trainer: `step` takes a batch of text and gives rewards and advantages. The
adapters in `cooper.integrations` call it. Do not use it where no rule can be trusted for at least
its positives: the pairs are only as right as the rule.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cooper.audit import (
    ALARMS,
    AlarmConfig,
    AlarmState,
    Finding,
    alarm_init,
    alarm_rearm,
    alarm_restore,
    alarm_update,
    unsure_grew,
)
from cooper.data import Corrupt, Patch, Rule, Wrong, corrupt_number, patch_number
from cooper.models import VerifyRM
from cooper.recipe import Recipe
from cooper.train._config import CooperConfig
from cooper.train._metrics import judge_all, measure
from cooper.train._pairs import Assistant, Pair, Verdicts, mine
from cooper.train._step import Labelled, Update, make_optimizer, update
from cooper.types import Batch, Bools, Floats, Rewards, Score, Status

PAPER = "arXiv:2508.05613"
NAMES = ("rule", "proxy", "surely_wrong")
FIXED_EVERY = 10  # steps between measurements on the fixed set
REFRESH_PASSES = 20  # most passes over the batch that set off the alarm
RNG_STREAM = 0xC0  # keeps this object's stream apart from others made from the same seed


class Outcome(NamedTuple):
    """What one batch gave: rewards, metrics, and the findings of the alarm."""

    rewards: Rewards
    metrics: dict[str, float]
    findings: tuple[Finding, ...] = ()


def never_wrong(completion: str, reference: str) -> bool:
    """The negative rule that knows nothing: no completion is *surely* wrong."""
    return False


class Cooper:
    """A reward model that learns from the rollouts it scores.

    Args:
        rm: the reward model, or None where `config.reward` is "rule".
        rule: (completion, reference) -> Score, precise on its positives.
        surely_wrong: (completion, reference) -> bool, precise where it says True.
        patch: makes a completion right in its own format; default: puts the reference in
            place of its last number, `cooper.data.patch_number`.
        corrupt: makes a completion wrong; default: an arithmetic slip,
            `cooper.data.corrupt_number`.
        config: what the step does; `CooperConfig.paper()` for the published algorithm.
        replay: labelled offline rows, replayed beside the pairs.
        fixed: labelled rows never trained on, for `rm_accuracy_fixed`.
        assistant: writes the negatives of the copies (see `cooper.train.assisted`).
        alarm: thresholds of the alarm, and what it does.
        seed: of pair mining and replay.

    Source: Hong et al., 2025, "Cooper: Co-Optimizing Policy and Reward Models in Reinforcement
    Learning for Large Language Models", arXiv:2508.05613; the differences are options of
    `CooperConfig`.
    """

    def __init__(
        self,
        rm: VerifyRM | None,
        rule: Rule,
        *,
        surely_wrong: Wrong = never_wrong,
        patch: Patch = patch_number,
        corrupt: Corrupt = corrupt_number,
        config: CooperConfig | None = None,
        replay: Sequence[Labelled] = (),
        fixed: Sequence[Labelled] = (),
        assistant: Assistant | None = None,
        alarm: AlarmConfig | None = None,
        seed: int = 0,
    ) -> None:
        self.config = config if config is not None else CooperConfig()
        if rm is None and (self.config.reward != "rule" or self.config.updates):
            raise ValueError('rm: None is only possible with config.reward="rule" and updates=0')
        self.rm, self.rule, self.surely_wrong = rm, rule, surely_wrong
        self.patch, self.corrupt, self.assistant = patch, corrupt, assistant
        self.replay, self.fixed = list(replay), list(fixed)
        self.alarm_config = alarm if alarm is not None else AlarmConfig()
        self.alarm: AlarmState = alarm_init()
        self.rng = np.random.default_rng([seed, RNG_STREAM])
        self.optimizer = None if rm is None else make_optimizer(rm, self.config)
        self.steps = 0
        self.warmed = 0
        self.recipe = _recipe(self.config)

    def step(self, batch: Batch, *, learn: bool = True) -> Outcome:
        """Score a batch of whole groups, and train the reward model on it.

        Args:
            batch: B rollouts; every rollout of a group must be in it.
            learn: False scores only (evaluation): no update, no alarm, no randomness used.

        Returns:
            Rewards (B,), advantages (B,), metrics under "cooper/", the alarm's findings.

        Raises:
            ValueError: the batch is empty.
            FloatingPointError: the reward model has diverged.
        """
        _not_empty(batch)
        scores = judge_all(self.rule, batch)
        verdicts = self._verdicts(batch, scores)
        before = self._score(batch)
        proxy, updates = before, list[Update]()
        pairs: list[Pair] | None = None  # None: not mined
        if learn and self.rm is not None and self.config.updates and self.config.makes_pairs:
            pairs = self._mine(batch, verdicts, before)
            updates = self._learn(pairs, self.config.updates, most=self.config.max_pairs)
            if self.config.when == "before":
                proxy = self._score(batch)
        rewards = self._rewards(batch, scores, verdicts, proxy, updates)
        metrics = measure(
            batch, verdicts, scores, before, updates, pairs=pairs, copies=self.config.pairs_copy > 0
        )
        findings: tuple[Finding, ...] = ()
        if learn:
            self.steps += 1
            metrics |= self._fixed_accuracy()
            metrics["cooper/anchored_share"] = float(rewards.extra["anchored"].mean())
            findings = self._watch(metrics)
            self._refresh(findings, batch, verdicts)
            if self.rm is not None:
                metrics["cooper/alarm"] = float(self.alarm.alarm_step is not None)
        return Outcome(rewards, metrics, findings)

    def warm_up(self, batch: Batch) -> dict[str, float]:
        """Train the reward model only, on a batch of the policy's rollouts; metrics of `step`."""
        _not_empty(batch)
        scores = judge_all(self.rule, batch)
        verdicts, proxy = self._verdicts(batch, scores), self._score(batch)
        pairs = self._mine(batch, verdicts, proxy)
        updates = self._learn(pairs, self.config.warmup_updates)
        self.warmed += 1
        return measure(
            batch, verdicts, scores, proxy, updates, pairs=pairs, copies=self.config.pairs_copy > 0
        )

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, the reward model's weights included."""
        return {
            "model": None if self.rm is None else self.rm.model.state_dict(),
            "optimizer": None if self.optimizer is None else self.optimizer.state_dict(),
            "rng": self.rng.bit_generator.state,
            "steps": self.steps,
            "warmed": self.warmed,
            "alarm": json.dumps(self.alarm._asdict()),
            "assistant": getattr(self.assistant, "state_dict", dict)(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue exactly where `state_dict` was taken."""
        if self.rm is not None and self.optimizer is not None:
            self.rm.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
        self.rng.bit_generator.state = state["rng"]
        self.steps, self.warmed = state["steps"], state["warmed"]
        self.alarm = alarm_restore(json.loads(state["alarm"]))
        if state.get("assistant"):
            getattr(self.assistant, "load_state_dict", lambda _: None)(state["assistant"])

    def accept(self, negative: str, positive: str, reference: str) -> bool:
        """Whether a written negative may be trained on.

        `check="reference"`: the rule reads it and calls it wrong, or it is surely wrong.
        `check="positive"`: it does not agree with the positive; unreadable ones pass, as released.
        """
        if self.config.check == "positive":
            return self.rule(negative, positive).value != 1.0
        score = self.rule(negative, reference)
        return (score.value == 0.0 and score.status is Status.OK) or self.surely_wrong(
            negative, reference
        )

    def _verdicts(self, batch: Batch, scores: Sequence[Score]) -> Verdicts:
        right = np.array([s.value == 1.0 for s in scores])
        rows = zip(batch.completions, batch.references, right, strict=True)
        wrong = np.array([not r and bool(self.surely_wrong(c, a)) for c, a, r in rows])
        return Verdicts(right, wrong, ~right & ~wrong)

    def _score(self, batch: Batch) -> Floats | None:
        return None if self.rm is None else self.rm.score(batch)

    def _mine(self, batch: Batch, verdicts: Verdicts, proxy: Floats | None) -> list[Pair]:
        if proxy is None:
            return []
        return mine(
            batch,
            verdicts,
            proxy,
            config=self.config,
            patch=self.patch,
            corrupt=self.corrupt,
            accept=self.accept,
            rng=self.rng,
            assistant=self.assistant,
        )

    def _learn(self, pairs: list[Pair], steps: int, *, most: int | None = None) -> list[Update]:
        """The batch's groups in random order, cut into `steps` mini-batches, one step each.

        With `most`, only the first groups of that order, up to so many pairs and at least one.
        """
        if self.rm is None or self.optimizer is None or not pairs:
            return []
        names, counts = np.unique([p.group for p in pairs], return_counts=True)
        order = self.rng.permutation(len(names))
        kept = len(order)
        if most is not None:
            kept = max(1, int(np.searchsorted(np.cumsum(counts[order]), most, side="right")))
        groups = names[order[:kept]]
        done = []
        for part in np.array_split(groups, min(steps, len(groups))):
            chosen = set(part.tolist())
            rows = [p for p in pairs if p.group in chosen]
            done.append(
                update(self.rm, self.optimizer, rows, config=self.config, replay=self._replayed())
            )
        return done

    def _replayed(self) -> list[Labelled]:
        if not self.config.replay or not self.replay:
            return []
        index = self.rng.integers(len(self.replay), size=self.config.replay)
        return [self.replay[i] for i in index]

    def _rewards(
        self,
        batch: Batch,
        scores: Sequence[Score],
        verdicts: Verdicts,
        proxy: Floats | None,
        updates: Sequence[Update],
    ) -> Rewards:
        size = len(batch)
        rule_where = np.array([s.ok for s in scores])
        values = np.zeros((size, 3))
        where = np.zeros((size, 3), dtype=bool)
        values[:, 0] = [s.value if s.value is not None else 0.0 for s in scores]
        where[:, 0] = rule_where
        if proxy is not None:
            values[:, 1], where[:, 1] = proxy, np.isfinite(proxy)
            values[~where[:, 1], 1] = 0.0
        refuge = self.config.unsure_guard and unsure_grew(self.alarm, self.alarm_config)
        values[:, 2], where[:, 2] = verdicts.wrong | (verdicts.unsure & refuge), True
        anchored = _anchored(batch, verdicts, updates, self.config)
        status = tuple(
            (s.status, Status.OK if w else Status.NOT_APPLICABLE, Status.OK)
            for s, w in zip(scores, where[:, 1], strict=True)
        )
        rewards = self.recipe(
            values, group=np.asarray(batch.group), where=where, anchored=anchored, status=status
        )
        extra = {
            "anchored": anchored.astype(float),
            "surely_wrong": verdicts.wrong.astype(float),
            "unsure": verdicts.unsure.astype(float),
        }
        return replace(rewards, extra=extra)

    def _refresh(self, findings: Sequence[Finding], batch: Batch, verdicts: Verdicts) -> None:
        """On an alarm with action "refresh": train on this batch until its pairs are ordered."""
        sounded = any(finding.kind in ALARMS for finding in findings)
        if self.rm is None or not sounded or self.alarm_config.action != "refresh":
            return
        for _ in range(REFRESH_PASSES):
            pairs = self._mine(batch, verdicts, self._score(batch))
            done = self._learn(pairs, self.config.warmup_updates)
            if sum(u.ordered for u in done) == sum(u.pairs for u in done):
                break
        self.alarm = alarm_rearm(self.alarm)

    def _fixed_accuracy(self) -> dict[str, float]:
        if self.rm is None or not self.fixed or (self.steps - 1) % FIXED_EVERY:
            return {}
        rows = self.fixed
        batch = Batch(
            [r.question for r in rows],
            [r.reference for r in rows],
            [r.completion for r in rows],
            np.zeros(len(rows), dtype=int),
        )
        labels = np.array([r.label >= 0.5 for r in rows])
        return {"cooper/rm_accuracy_fixed": float(((self.rm.score(batch) >= 0.5) == labels).mean())}

    def _watch(self, metrics: dict[str, float]) -> tuple[Finding, ...]:
        proxy = metrics.get("cooper/proxy_mean")
        if proxy is None or "cooper/rule_mean" not in metrics:
            return ()
        self.alarm, finding = alarm_update(
            self.alarm,
            self.alarm_config,
            proxy=proxy,
            rule=metrics["cooper/rule_mean"],
            wrong=metrics.get("cooper/wrong_score"),
            wrong_share=metrics.get("cooper/wrong_share"),
            valid_rate=metrics.get("cooper/valid_rate"),
            unsure=metrics.get("cooper/unsure_share"),
        )
        return () if finding is None else (finding,)


def _not_empty(batch: Batch) -> None:
    if not len(batch):
        raise ValueError("batch: got 0 rollouts, expected at least 1 group of them")


def _recipe(config: CooperConfig) -> Recipe:
    weights = {name: float(name == config.reward) for name in NAMES}
    combine: dict[str, Any] = (
        {"strata": {"unsure": config.unsure, "right": config.right}}
        if config.reward == "strata"
        else {"weighted": {"weights": weights}}
    )
    advantage = {"grpo": {"floor": config.std_floor}} if config.advantage == "grpo" else "dr_grpo"
    return Recipe.from_dict({"components": list(NAMES), "combine": combine, "advantage": advantage})


def _anchored(
    batch: Batch, verdicts: Verdicts, updates: Sequence[Update], config: CooperConfig
) -> Bools:
    """(B,) whether a rollout's group may move the policy."""
    size = len(batch)
    pairs = sum(u.pairs for u in updates)
    if config.gate and pairs and sum(u.ordered for u in updates) < config.gate * pairs:
        return np.zeros(size, dtype=bool)
    if not config.anchored_only:
        return np.ones(size, dtype=bool)
    return np.isin(batch.group, np.asarray(batch.group)[verdicts.right])
