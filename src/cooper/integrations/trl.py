"""Cooper inside TRL: a reward callable, a callback, and a mixin for own advantages.

    reward = CooperReward(Cooper(rm, rule))
    trainer = GRPOTrainer(..., reward_funcs=reward, callbacks=[CooperCallback(reward)])

The data set needs a column `reference` (and may have `question`, what the reward model reads in
place of the prompt). Nothing of the trainer is forked. `class Mine(OwnAdvantages, GRPOTrainer)`
also takes the advantages from Cooper, which adds the standard-deviation floor and exact zeros.
"""

from __future__ import annotations

import itertools
import logging
import math
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback

from cooper.errors import UserError
from cooper.integrations._sample import sample
from cooper.train import Cooper, Outcome
from cooper.types import Batch, Floats

logger = logging.getLogger(__name__)
Record = Callable[[int, Sequence[Any], Batch, Outcome, Sequence[int]], None]


class CooperReward:
    """A TRL reward function that also trains its reward model.

    Call: `(prompts, completions, completion_ids, reference=[...], question=[...], ...)`
    -> B numbers, None where a rollout has no reward or its group may not move the policy (TRL
    gives those advantage 0). In evaluation it only scores.

    Args:
        cooper: what scores and learns.
        group_size: rollouts per prompt; the callback sets it from the trainer's arguments.
        name: the name in TRL's logs, `rewards/NAME/mean`.
        record: called with (step, prompts, batch, outcome, lengths in tokens) after each training
            batch, on the main process.
    """

    def __init__(
        self,
        cooper: Cooper,
        *,
        group_size: int | None = None,
        name: str = "cooper",
        record: Record | None = None,
    ) -> None:
        if group_size is not None and group_size < 1:
            raise ValueError(f"group_size: got {group_size}, expected at least 1")
        self.cooper, self.group_size, self.record = cooper, group_size, record
        self.__name__ = name  # TRL names its metrics after it
        self.own_advantages = False  # OwnAdvantages sets it: rewards are then complete
        self.policy: Any = None  # the callback sets it: its mode tells training from evaluation
        self.eval_group_size = group_size
        self.advantages: Floats | None = None  # of the last local batch
        self.last: Outcome | None = None

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        *,
        reference: Sequence[str] | None = None,
        question: Sequence[str] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        trainer_state: Any = None,
        **_: Any,
    ) -> list[float | None]:
        """Rewards of the local batch; see the class."""
        references = _references(reference, prompts)
        questions = _questions(question, prompts)
        texts = [text_of(c) for c in completions]
        lengths = [len(ids) for ids in completion_ids] if completion_ids is not None else []
        local = (list(prompts), questions, references, texts, lengths)
        (prompts, questions, references, texts, lengths), part = _gather(local)
        batch = Batch(questions, references, texts, self._groups(prompts, questions, references))
        learn = self._training()
        outcome = self.last = self.cooper.step(batch, learn=learn)
        for finding in outcome.findings:
            logger.warning("%s", finding.verdict)
        if learn and self.record is not None and part.start == 0:
            step = 0 if trainer_state is None else int(trainer_state.global_step) + 1
            self.record(step, prompts, batch, outcome, lengths)
        if log_metric is not None:
            for metric, value in outcome.metrics.items():
                log_metric(metric, value)
        rewards = outcome.rewards
        if log_extra is not None:
            for k, column in enumerate(rewards.names):
                log_extra(column, _optional(rewards.values[part, k], rewards.where[part, k]))
            log_extra("status", [str(row[0]) for row in rewards.status[part]])
        self.advantages = rewards.advantages[part]
        counted = rewards.valid
        if not self.own_advantages:
            counted = counted & (rewards.extra["anchored"] > 0)
        return _optional(rewards.reward[part], counted[part])

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the policy: a pickled copy is for another process, which has its own."""
        return {**self.__dict__, "policy": None}

    def _training(self) -> bool:
        return self.policy is None or bool(self.policy.training)

    def _groups(self, prompts: Sequence[Any], *columns: Sequence[Any]) -> np.ndarray[Any, Any]:
        """TRL lays out G consecutive rollouts per prompt."""
        size = len(prompts)
        group_size = self.group_size if self._training() else self.eval_group_size
        if group_size is not None:
            if size % group_size:
                raise ValueError(
                    f"group_size: {size} rollouts are not whole groups of {group_size}; make the "
                    "batch a multiple of the generations per prompt"
                )
            return np.arange(size) // group_size
        keys = list(zip(map(text_of, prompts), *columns, strict=True))
        new = [i > 0 and keys[i] != keys[i - 1] for i in range(size)]
        return np.cumsum(new)


class CooperCallback(TrainerCallback):
    """Warm-up, checkpoints, resuming and the alarm's actions of a `CooperReward`.

    Args:
        reward: the reward function given to the same trainer.
        resume_from: the checkpoint to take the reward model from, where it is not one of the
            trainer's `output_dir`.
    """

    def __init__(self, reward: CooperReward, *, resume_from: str | Path | None = None) -> None:
        self.reward = reward
        self.resume_from = None if resume_from is None else Path(resume_from)

    def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Learn the group sizes, and whose mode tells training from evaluation."""
        self.reward.group_size = args.num_generations
        self.reward.eval_group_size = args.num_generations_eval or args.num_generations
        self.reward.policy = kwargs["model"]

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Warm up, or take up a checkpoint."""
        if state.global_step:
            from_there = self.resume_from and self.resume_from / "cooper"
            load_cooper(self.reward.cooper, from_there or _folder(args, state))
            return
        cooper = self.reward.cooper
        if cooper.rm is not None and cooper.warmed < cooper.config.warmup_batches:
            _warm_up(self.reward, args, kwargs)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write reward model, optimiser and state beside the trainer's own checkpoint."""
        if state.is_world_process_zero:
            save_cooper(self.reward.cooper, _folder(args, state))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop when the alarm says so and its action is "stop"."""
        alarm = self.reward.cooper.alarm_config
        if alarm.action == "stop" and self.reward.cooper.alarm.alarm_step is not None:
            control.should_training_stop = True


class OwnAdvantages:
    """Mixin: `class Mine(OwnAdvantages, GRPOTrainer)` takes advantages from its reward function.

    They may be (B,) or, where credit goes to tokens, (B, T); TRL's loss takes both. Evaluation
    keeps TRL's own.
    """

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        reward = _own_reward(self.reward_funcs)  # type: ignore[attr-defined]
        reward.own_advantages = True
        training = self.model.training  # type: ignore[attr-defined]
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        if training and reward.advantages is not None:
            ids = output["completion_ids"]
            output["advantages"] = fit_advantages(reward.advantages, ids)
            if reward.last is not None:
                _relog(self._logs["advantages"], reward.last.rewards.advantages)  # type: ignore[attr-defined]
        return output


def fit_advantages(advantages: Floats, completion_ids: torch.Tensor) -> torch.Tensor:
    """Advantages as a float32 tensor on the device of `completion_ids` (B, T).

    (B,) stays (B,); (B, S) is cut or zero-padded to (B, T).
    """
    tensor = torch.as_tensor(advantages, dtype=torch.float32, device=completion_ids.device)
    if tensor.ndim == 1:
        return tensor
    width = completion_ids.shape[1]
    return torch.nn.functional.pad(tensor[:, :width], (0, max(0, width - tensor.shape[1])))


def _relog(log: Any, advantages: Floats) -> None:
    """Put the advantages really used in place of those that TRL has just logged."""
    for _ in range(min(len(advantages), len(log))):
        log.pop()
    log.extend(advantages.tolist() if advantages.ndim == 1 else advantages.sum(1).tolist())


def save_cooper(cooper: Cooper, folder: Path) -> None:
    """Write reward model, optimiser and state to `folder`/state.pt, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "state.pt.part"
    torch.save(cooper.state_dict(), part)
    part.replace(folder / "state.pt")


def load_cooper(cooper: Cooper, folder: Path) -> None:
    """Take up what `save_cooper` wrote.

    Raises:
        UserError: when the folder holds no Cooper state, or one that does not fit.
    """
    if not (folder / "state.pt").exists():
        raise UserError(f"{folder}: holds no Cooper state, so this run cannot be resumed from it")
    # weights_only: the file holds tensors, numbers and strings, never code
    try:
        state = torch.load(folder / "state.pt", weights_only=True, map_location="cpu")
        cooper.load_state_dict(state)
    except (EOFError, KeyError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        why = " ".join(str(error).split())[:200]
        raise UserError(f"{folder / 'state.pt'}: is damaged or of another model: {why}") from error


def text_of(message: Any) -> str:
    """A prompt or completion as text: a string, or the contents of chat messages."""
    if isinstance(message, str):
        return message
    return "\n".join(_content(turn.get("content")) for turn in message)


def _content(content: Any) -> str:
    """The content of one message: a string, parts of which the texts count, or nothing."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(str(part.get("text") or "") for part in content)


def _references(column: Sequence[Any] | None, prompts: Sequence[Any]) -> list[str]:
    if column is None:
        raise UserError(
            "the training data has no column 'reference'; Cooper compares completions with it"
        )
    _as_long("reference", column, prompts)
    for reference, prompt in zip(column, prompts, strict=True):
        absent = reference is None or str(reference).strip() == ""
        if absent or (isinstance(reference, float) and math.isnan(reference)):  # as from pandas
            raise UserError(f"reference: missing in the row with prompt {text_of(prompt)[:80]!r}")
    return [str(reference) for reference in column]


def _as_long(name: str, column: Sequence[Any], prompts: Sequence[Any]) -> None:
    if len(column) != len(prompts):
        raise ValueError(f"{name}: got {len(column)} for {len(prompts)} prompts")


def _questions(column: Sequence[Any] | None, prompts: Sequence[Any]) -> list[str]:
    """What the reward model reads: the column where it says something, else the prompt."""
    if column is not None:
        _as_long("question", column, prompts)
    given = column if column is not None else [None] * len(prompts)
    return [str(q) if q else text_of(p) for q, p in zip(given, prompts, strict=True)]


def _optional(values: Floats, where: np.ndarray[Any, Any]) -> list[float | None]:
    return [float(v) if w else None for v, w in zip(values, where, strict=True)]


def _own_reward(functions: Sequence[Any]) -> CooperReward:
    found = [f for f in functions if isinstance(f, CooperReward)]
    if len(found) != 1 or len(functions) != 1:
        raise ValueError(
            "reward_funcs: OwnAdvantages needs exactly one reward function, a CooperReward; got "
            f"{[getattr(f, '__name__', type(f).__name__) for f in functions]}"
        )
    return found[0]


def _folder(args: Any, state: Any) -> Path:
    return Path(args.output_dir) / f"checkpoint-{state.global_step}" / "cooper"


def _gather(columns: tuple[list[Any], ...]) -> tuple[tuple[list[Any], ...], slice]:
    """All ranks' rows, and which are ours: groups may straddle ranks."""
    size = len(columns[0])
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return columns, slice(0, size)
    world, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
    parts: list[Any] = [None] * world
    torch.distributed.all_gather_object(parts, columns)
    start = sum(len(part[0]) for part in parts[:rank])
    gathered = tuple([row for part in parts for row in part[k]] for k in range(len(columns)))
    return gathered, slice(start, start + size)


def _warm_up(reward: CooperReward, args: Any, kwargs: dict[str, Any]) -> None:
    """Reward-model steps on rollouts of the policy as it starts."""
    cooper, size = reward.cooper, args.num_generations
    per_batch = max(1, args.generation_batch_size // size)
    rows = itertools.cycle(kwargs["train_dataloader"].dataset)
    for _ in range(cooper.warmed * per_batch):
        next(rows)
    for step in range(cooper.warmed, cooper.config.warmup_batches):
        repeated = [row for row in itertools.islice(rows, per_batch) for _ in range(size)]
        prompts = [row["prompt"] for row in repeated]
        texts = sample(
            kwargs["model"],
            kwargs["processing_class"],
            prompts,
            max_new_tokens=args.max_completion_length,
            temperature=args.temperature,
            seed=args.seed * 100_003 + step,
        )
        known = "reference" in repeated[0]
        references = _references([r["reference"] for r in repeated] if known else None, prompts)
        questions = _questions([row.get("question") for row in repeated], prompts)
        groups = np.arange(len(repeated)) // size
        cooper.warm_up(Batch(questions, references, texts, groups))
