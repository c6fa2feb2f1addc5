"""What looks on while a policy trains: rollouts to Parquet, logs, held-out accuracy, Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import TrainerCallback

from cooper.audit import proportion_interval
from cooper.data import Task
from cooper.integrations._sample import sample
from cooper.report import append_metrics, write_rollouts
from cooper.run._config import RunConfig
from cooper.train import Outcome
from cooper.types import Batch

OnStep = Callable[[int, int, dict[str, float]], None]  # (step, steps, metrics)


def evaluate(
    config: RunConfig, task: Task, model: Any, tokenizer: Any, *, seed: int
) -> tuple[int, int]:
    """(right, asked) on the held-out rows, by the oracle; rows it cannot judge are not counted."""
    wanted = config.evaluate.samples
    rows = [task.heldout[i % len(task.heldout)] for i in range(wanted)]
    texts = sample(
        model,
        tokenizer,
        [row.prompt for row in rows],
        max_new_tokens=task.max_tokens,
        temperature=config.evaluate.temperature,
        seed=seed,
        batch=512 if config.policy.model == "tiny" else 64,
    )
    verdicts = [task.oracle(t, r.reference).value for t, r in zip(texts, rows, strict=True)]
    known = [v for v in verdicts if v is not None]
    return sum(v == 1.0 for v in known), len(known)


def evaluation_metrics(counts: tuple[int, int]) -> dict[str, float]:
    right, asked = counts
    share = proportion_interval(right, asked)
    found = {"eval/accuracy": share.mean, "eval/low": share.low, "eval/high": share.high}
    return {name: value for name, value in found.items() if value is not None}


class Recorder:
    """Writes the rollouts of a step, and what the oracle thinks of them."""

    def __init__(self, folder: Path, task: Task) -> None:
        self.folder, self.task = folder, task

    def __call__(
        self,
        step: int,
        prompts: Sequence[Any],
        batch: Batch,
        outcome: Outcome,
        lengths: Sequence[int],
    ) -> None:
        rewards = outcome.rewards
        pairs = zip(batch.completions, batch.references, strict=True)
        truth = [self.task.oracle(c, a).value for c, a in pairs]
        advantages = rewards.advantages
        columns: dict[str, Sequence[Any]] = {
            "group": np.asarray(batch.group).tolist(),
            "prompt": list(prompts),
            "question": batch.questions,
            "reference": batch.references,
            "completion": batch.completions,
            "rule_status": [str(row[0]) for row in rewards.status],
            "proxy_status": [str(row[1]) for row in rewards.status],
            "reward": _masked(rewards.reward, rewards.valid),
            "advantage": (advantages if advantages.ndim == 1 else advantages.sum(1)).tolist(),
            "oracle": truth,
            "surely_wrong": (rewards.extra["surely_wrong"] > 0).tolist(),
            "unsure": (rewards.extra["unsure"] > 0).tolist(),
            "tokens": list(lengths),
        }
        for k, name in enumerate(rewards.names[:2]):
            columns[name] = _masked(rewards.values[:, k], rewards.where[:, k])
        write_rollouts(self.folder, step, columns)
        known = [t for t in truth if t is not None]
        if known:
            append_metrics(self.folder, step, {"cooper/truth": float(np.mean(known))})


class Watch(TrainerCallback):
    """Logs, held-out accuracy, progress, and the stop that Ctrl-C asks for."""

    def __init__(
        self,
        config: RunConfig,
        task: Task,
        folder: Path,
        tokenizer: Any,
        on_step: OnStep | None = None,
        *,
        say: Callable[[str], None] = lambda _: None,
        spent: float = 0.0,
    ) -> None:
        self.config, self.task, self.folder = config, task, folder
        self.tokenizer, self.on_step, self.say = tokenizer, on_step, say
        self.stop = self.interrupted = False
        self.begun = time.monotonic() - spent  # seconds before an interruption count

    def ask(self) -> None:
        """Stop after the step that is running."""
        self.stop = True
        self.say("stopping after this step; Ctrl-C again ends at once")

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        numbers = {k: float(v) for k, v in (logs or {}).items() if isinstance(v, (int, float))}
        if "train_runtime" in numbers:
            return
        numbers["seconds"] = time.monotonic() - self.begun
        append_metrics(self.folder, state.global_step, numbers)
        if self.on_step is not None:
            self.on_step(state.global_step, state.max_steps, numbers)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        step = state.global_step
        # The alarm's stop ends the run as its last step does: with a measurement.
        last = step == state.max_steps or control.should_training_stop
        if last or step % self.config.evaluate.every == 0:
            seed = self.config.seed * 100_003 + step
            counts = evaluate(self.config, self.task, kwargs["model"], self.tokenizer, seed=seed)
            append_metrics(self.folder, step, evaluation_metrics(counts))
        if self.stop and not last:
            control.should_save = control.should_training_stop = self.interrupted = True


def _masked(values: Any, where: Any) -> list[float | None]:
    return [float(v) if w else None for v, w in zip(values, where, strict=True)]
