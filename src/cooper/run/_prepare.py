"""Where a run starts: a warmed-up policy, a reward model trained offline, and their data.

Everything is written to a folder stage by stage, so that an interrupted preparation continues and
every arm of a comparison starts from the same models.
"""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cooper import data
from cooper.data import Row, Task
from cooper.errors import UserError
from cooper.integrations._sample import render, sample
from cooper.models import Probe, VerifyRM, load_tokenizer, smollm2, tiny_classifier, tiny_decoder
from cooper.run._config import RunConfig, needs_reward_model
from cooper.train import Labelled, fit, supervise

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Say = Callable[[str], None]


class Start(NamedTuple):
    """The folders and data that a run starts from."""

    folder: Path
    replay: list[Labelled]  # offline rows
    fixed: list[Labelled]  # never trained on

    @property
    def policy(self) -> Path:
        """Folder of the warmed-up policy and its tokenizer."""
        return self.folder / "policy"

    @property
    def reward_model(self) -> Path:
        """Folder of the reward model trained offline."""
        return self.folder / "reward_model"


def make_task(config: RunConfig) -> Task:
    """The task that the configuration names."""
    name, options = config.task.name, dict(config.task.options)
    given = [k for k in ("train", "eval", "labelled") if getattr(config.data, k) is not None]
    if given and name != "questions":
        raise UserError(f"data.{given[0]}: is of no use to task {name!r}, only to 'questions'")
    if name == "questions":
        if config.data.train is None:
            raise UserError("data.train: missing; give a file with --set data.train=FILE.jsonl")
        options |= {
            "train": config.data.train,
            "eval": config.data.eval,
            "heldout": config.data.heldout,
            "seed": config.seed,
        }
        if config.data.labelled is not None:
            options["solutions"] = config.data.labelled
    module, _, attribute = name.rpartition(":")
    try:
        family = importlib.import_module(module) if module else data
    except (ImportError, TypeError, ValueError) as error:  # the latter two: a relative name
        raise UserError(f"task.name: {name!r} cannot be imported: {error}") from error
    make = getattr(family, attribute, None)
    if not callable(make):
        raise UserError(f"task.name: unknown task {name!r}")
    try:
        task = make(**options)
    except (TypeError, ValueError) as error:
        raise UserError(f"task.options of {name!r}: {error}") from error
    if not isinstance(task, Task):
        raise UserError(f"task.name: {name!r} does not make a Task but a {type(task).__name__}")
    return task


def prepare(config: RunConfig, folder: Path, *, say: Say = lambda _: None) -> Start:
    """Do what is not done yet of: warm-up, and where the arm needs it offline set, reward model.

    Args:
        config: the run; the parts that decide the start are kept in `start.json`.
        folder: where the start lives; a start of another configuration is replaced.
        say: told what is being done.
    """
    key = _key(config)
    manifest = folder / "start.json"
    task = make_task(config)
    for note in task.notes:
        say(note)
    if manifest.exists() and read_json(manifest) != key:
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not manifest.exists():
        replace_text(manifest, json.dumps(key))
    if not (folder / "policy" / "done").exists():
        say("warming up the policy")
        _warm_policy(config, task, folder / "policy")
    if not needs_reward_model(config):
        return Start(folder, [], [])
    if not (folder / "labelled.jsonl").exists():
        say("labelling completions for the reward model")
        _label(config, task, folder)
    replay, fixed = _read_labelled(folder / "labelled.jsonl", config.reward_model.fixed)
    start = Start(folder, replay, fixed)
    if not (folder / "reward_model").exists():
        say(f"training the reward model on {len(replay)} completions")
        _fit_reward_model(config, task, start)
    return start


def read_json(path: Path) -> Any:
    """What a JSON file of a start holds."""
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: is damaged; delete it, and it is made again") from error


def replace_text(path: Path, text: str) -> None:
    """Put `text` in `path`'s place, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def load_policy(folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A causal model and its tokenizer from a folder, in fp32."""
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    if not (folder / "config.json").exists():
        raise UserError(f"{folder}: holds no model (no config.json)")
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        why = str(error).strip().partition("\n")[0]
        raise UserError(f"{folder}: cannot read the model: {why}") from error
    tokenizer = load_tokenizer(folder)
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token_id is None:
            raise UserError(f"{folder}: the tokenizer has neither a pad nor an eos token")
        tokenizer.pad_token = tokenizer.eos_token  # as TRL does
    tokenizer.padding_side = "left"
    return model, tokenizer


def _key(config: RunConfig) -> dict[str, Any]:
    parts = config.model_dump(mode="json")
    names = ("task", "data", "seed", "policy", "warmup", "reward_model")
    return {name: parts[name] for name in names} | {"bf16": parts["train"]["bf16"]}


def _base_policy(config: RunConfig, task: Task) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    policy = config.policy
    if policy.model == "smollm2":
        return smollm2()
    if policy.model != "tiny":
        return load_policy(Path(policy.model))
    if task.tokenizer is None:
        raise UserError(f"policy.model: task {task.name!r} brings no tokenizer for a tiny model")
    tokenizer = task.tokenizer()
    model = tiny_decoder(
        tokenizer, hidden=policy.hidden, layers=policy.layers, heads=policy.heads, seed=config.seed
    )
    return model, tokenizer


def _warm_policy(config: RunConfig, task: Task, folder: Path) -> None:
    model, tokenizer = _base_policy(config, task)
    if config.warmup.steps and task.demos is not None:
        rng = np.random.default_rng([config.seed, 1])
        demos = task.demos(config.warmup.steps * config.warmup.batch, rng)
        supervise(
            model,
            tokenizer,
            [(render(tokenizer, demo.row.prompt), demo.completion) for demo in demos],
            steps=config.warmup.steps,
            batch=config.warmup.batch,
            learning_rate=config.warmup.learning_rate,
            seed=config.seed,
            bf16=config.train.bf16,
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "done").touch()


def _label(config: RunConfig, task: Task, folder: Path) -> None:
    """Ready-made rows of the task, judged samples of the policy, and corrupted copies."""
    settings = config.reward_model
    rng = np.random.default_rng([config.seed, 2])
    rows: list[Labelled] = []
    if task.offline is not None:
        made = [Labelled(r.question, r.reference, c, float(y)) for r, c, y in task.offline()]
        rows += [made[i] for i in rng.permutation(len(made))[: settings.solutions]]
    if settings.samples:
        rows += _judged(config, task, folder, rng)
    right = [row for row in rows if row.label >= 0.5]
    for i in rng.permutation(len(right))[: settings.corrupted]:
        row = right[i]
        copy = task.corrupt(row.completion, row.reference, rng)
        if copy is not None:
            rows.append(Labelled(row.question, row.reference, copy, 0.0))
    if not rows:
        raise UserError(
            "reward_model: no labelled completions; set reward_model.samples or data.labelled"
        )
    text = "".join(json.dumps(rows[i]) + "\n" for i in rng.permutation(len(rows)))
    replace_text(folder / "labelled.jsonl", text)


def _judged(
    config: RunConfig, task: Task, folder: Path, rng: np.random.Generator
) -> list[Labelled]:
    model, tokenizer = load_policy(folder / "policy")
    items = task.rows(config.reward_model.samples, rng)
    texts = sample(
        model,
        tokenizer,
        [item.prompt for item in items],
        max_new_tokens=task.max_tokens,
        seed=config.seed + 11,
        batch=512 if config.policy.model == "tiny" else 64,
    )
    return [
        Labelled(item.question, item.reference, text, float(_judge(task, item, text, rng)))
        for item, text in zip(items, texts, strict=True)
    ]


def _judge(task: Task, item: Row, text: str, rng: np.random.Generator) -> bool:
    if task.judge is not None:
        return task.judge(item, text, rng)
    return task.rule(text, item.reference).value == 1.0


def _read_labelled(path: Path, fixed: int) -> tuple[list[Labelled], list[Labelled]]:
    try:
        rows = [Labelled(*json.loads(line)) for line in path.read_text("utf-8").splitlines()]
        if not rows:
            raise ValueError("no rows")
    except (TypeError, ValueError) as error:
        raise UserError(f"{path}: is damaged; delete it, and it is made again") from error
    held = min(fixed, len(rows) // 5)
    return rows[held:], rows[:held]


def _fit_reward_model(config: RunConfig, task: Task, start: Start) -> None:
    settings = config.reward_model
    if settings.model == "tiny":
        policy_tokenizer = load_tokenizer(start.policy)
        classifier = tiny_classifier(
            policy_tokenizer,
            hidden=settings.hidden,
            layers=settings.layers,
            heads=settings.heads,
            max_positions=settings.max_length,
            seed=config.seed + 1,
        )
        rm = VerifyRM(
            classifier,
            policy_tokenizer,
            max_length=settings.max_length,
            micro_batch=settings.micro_batch,
        )
    elif settings.model == "policy":
        model, tokenizer = _base_policy(config, task)
        rm = VerifyRM.from_decoder(
            model,
            tokenizer,
            seed=config.seed + 1,
            max_length=settings.max_length,
            micro_batch=settings.micro_batch,
        )
    else:
        rm = VerifyRM.load(settings.model)
    losses = fit(
        rm,
        start.replay,
        epochs=settings.epochs,
        batch=settings.batch,
        learning_rate=settings.learning_rate,
        seed=config.seed,
    )
    probe = probe_of(rm, task, [*start.fixed, *start.replay], seed=config.seed)
    metrics = {"loss": float(np.mean(losses[-20:]))}
    rm.save(start.reward_model, step=len(losses), metrics=metrics, probe=probe)


def probe_of(rm: VerifyRM, task: Task, rows: Sequence[Labelled], *, seed: int) -> Probe:
    """The right/wrong pair of `rows` that the model orders most clearly, for the self-test."""
    rng = np.random.default_rng([seed, 3])
    probes = []
    for row in [r for r in rows if r.label >= 0.5][:64]:
        wrong = task.corrupt(row.reference, row.reference, rng)
        if wrong is not None:
            probes.append(Probe(row.question, row.reference, row.reference, wrong))
    if not probes:
        raise UserError("reward_model: no labelled completion can be corrupted for the self-test")
    return max(probes, key=rm.probe_margin)
