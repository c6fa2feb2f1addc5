"""One run: prepare, train on TRL, measure, and leave a folder that explains itself."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from transformers import PrinterCallback

from cooper.data import Task
from cooper.errors import UserError
from cooper.integrations.trl import CooperCallback, CooperReward, OwnAdvantages
from cooper.models import VerifyRM
from cooper.report import append_metrics, read_run, write_report
from cooper.run._alone import alone
from cooper.run._checkpoint import newest_checkpoint, step_of
from cooper.run._config import RunConfig, cooper_of, dump, is_written, needs_reward_model
from cooper.run._figure import training_figure
from cooper.run._prepare import (
    Say,
    Start,
    load_policy,
    make_task,
    prepare,
    probe_of,
    read_json,
    replace_text,
)
from cooper.run._stop import Interrupted, disk_errors, divergence, stoppable
from cooper.run._watch import OnStep, Recorder, Watch, evaluate, evaluation_metrics
from cooper.train import Cooper

SUMMARY = (
    "task",
    "arm",
    "seed",
    "base_accuracy",
    "accuracy",
    "peak_accuracy",
    "proxy",
    "rule_mean",
    "truth",
    "valid_rate",
    "alarm_step",
    "alarm_reason",
    "steps",
    "seconds",
)
LAST = 10  # steps averaged for the summary's proxy and rule mean


def train_run(
    config: RunConfig,
    folder: Path,
    *,
    start: Path | None = None,
    resume: bool = False,
    say: Say = lambda _: None,
    on_step: OnStep | None = None,
) -> dict[str, Any]:
    """Run one configuration into `folder` and return its summary.

    A finished run with the same configuration is not run again: its summary is returned.

    Args:
        config: what to run.
        folder: the run folder; must be new or empty, unless `resume`.
        start: where the warmed-up policy and reward model live; default `folder`/start.
        resume: continue an interrupted run from its last checkpoint.
        say: told what is being done.
        on_step: called after every policy step.

    Raises:
        UserError: the folder holds another run, or the disk is full.
        Interrupted: on Ctrl-C, after a checkpoint.
    """
    with disk_errors(folder), divergence():
        task = _task_of(config)
        if (done := _claim(config, folder, resume)) is not None:
            say(f"{folder}: already run with these settings; --fresh runs it again")
            return done
        with alone(folder):
            return _run(config, task, folder, start or folder / "start", say, on_step)


def _run(
    config: RunConfig, task: Task, folder: Path, start: Path, say: Say, on_step: OnStep | None
) -> dict[str, Any]:
    begun = time.monotonic() - _spent(folder)
    prepared = prepare(config, start, say=say)
    base = _base_accuracy(config, task, prepared)
    append_metrics(folder, 0, evaluation_metrics(base))
    cooper = None
    if config.arm != "none" and config.train.steps:
        say(f"training the policy, arm {config.arm}")
        cooper = _train(config, task, prepared, folder, say, on_step)
    summary = _summary(config, folder, base, cooper, time.monotonic() - begun)
    training_figure(_by_step(folder), folder / "curves.svg")
    replace_text(folder / "summary.json", json.dumps(summary, indent=1))
    write_report(folder)
    return summary


def _task_of(config: RunConfig) -> Task:
    """The task; the arm `oracle` is trained on what only measures the others."""
    task = make_task(config)
    return replace(task, rule=task.oracle) if config.arm == "oracle" else task


def _claim(config: RunConfig, folder: Path, resume: bool) -> dict[str, Any] | None:
    """Make the run folder, or check that it is the one to continue; the summary if it is done."""
    written = folder / "config.yaml"
    if not written.exists():
        if resume:
            raise UserError(f"{folder}: no run to resume (no config.yaml)")
        _new_or_empty(folder)
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(written, dump(config))
        return None
    same = is_written(config, written)
    if resume and not same:
        raise UserError(
            f"{written}: was made with another configuration; resume without --set, or choose "
            "another --out"
        )
    if same and (done := _finished(folder / "summary.json")) is not None:
        return done
    if not resume:
        with alone(folder):
            pass
        what = "an interrupted run" if same else "a run with other settings"
        raise UserError(
            f"{folder}: already holds {what}; --resume continues it, --fresh replaces it, --out "
            "goes elsewhere"
        )
    return None


def _new_or_empty(folder: Path) -> None:
    """Old checkpoints would be taken up, and --fresh would delete what is not ours."""
    others = (p.name for p in folder.iterdir()) if folder.is_dir() else iter(())
    found = next((name for name in others if name != "config.yaml.part"), None)
    if found is not None:
        raise UserError(
            f"{folder}: holds {found} but no config.yaml of a run; choose a new or empty --out"
        )


def _finished(path: Path) -> dict[str, Any] | None:
    """The summary of a run that has ended; one that cannot be read is made again."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) and set(SUMMARY) <= found.keys() else None


def _spent(folder: Path) -> float:
    """Seconds of training that a run took before it was interrupted."""
    saved = step_of(newest_checkpoint(folder / "checkpoints"))
    done = [s for step, s in read_run(folder).series("seconds") if step <= saved]
    return max(done, default=0.0)


def _base_accuracy(config: RunConfig, task: Task, start: Start) -> tuple[int, int]:
    path, how = start.folder / "base.json", config.evaluate.model_dump()
    if path.exists():
        known = read_json(path)
        if isinstance(known, dict) and known.get("how") == how:
            return known["right"], known["asked"]
    model, tokenizer = load_policy(start.policy)
    right, asked = evaluate(config, task, model, tokenizer, seed=config.seed)
    replace_text(path, json.dumps({"right": right, "asked": asked, "how": how}))
    return right, asked


def _train(
    config: RunConfig, task: Task, start: Start, folder: Path, say: Say, on_step: OnStep | None
) -> Cooper:
    from datasets import Dataset
    from trl import GRPOTrainer

    class Trainer(OwnAdvantages, GRPOTrainer):
        """TRL's trainer with Cooper's advantages."""

    settings = cooper_of(config)
    rm = VerifyRM.load(start.reward_model) if needs_reward_model(config) else None
    cooper = Cooper(
        rm if rm is None else _to_device(rm),
        task.rule,
        surely_wrong=task.surely_wrong,
        patch=task.patch,
        corrupt=task.corrupt,
        config=settings,
        replay=start.replay,
        fixed=start.fixed,
        alarm=config.alarm,
        seed=config.seed,
    )
    reward = CooperReward(cooper, record=Recorder(folder, task))
    rng = np.random.default_rng([config.seed, 4])
    rows = task.rows(config.train.steps * config.train.prompts, rng)
    tokenizer = load_policy(start.policy)[1]
    watch = Watch(config, task, folder, tokenizer, on_step, say=say, spent=_spent(folder))
    trainer = Trainer(
        model=str(start.policy),
        args=_arguments(config, task, folder / "checkpoints"),
        train_dataset=Dataset.from_list([row._asdict() for row in rows]),
        reward_funcs=reward,
        processing_class=tokenizer,
        peft_config=_lora(config),
        callbacks=[CooperCallback(reward), watch],
    )
    trainer.remove_callback(PrinterCallback)
    newest = newest_checkpoint(folder / "checkpoints", say)
    with stoppable(watch.ask):
        trainer.train(resume_from_checkpoint=None if newest is None else str(newest))
    if watch.interrupted:
        raise Interrupted(trainer.state.global_step, folder)
    trainer.save_model(str(folder / "policy"))
    tokenizer.save_pretrained(folder / "policy")
    if rm is not None:
        probe = probe_of(rm, task, [*start.fixed, *start.replay], seed=config.seed)
        rm.save(folder / "reward_model", step=cooper.steps, metrics={}, probe=probe)
    return cooper


def _arguments(config: RunConfig, task: Task, folder: Path) -> Any:
    import torch
    from trl import GRPOConfig

    train = config.train
    size = train.prompts * train.generations
    micro = min(train.micro_batch, size)
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=train.steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=size // micro,
        num_generations=train.generations,
        max_completion_length=task.max_tokens,
        learning_rate=train.learning_rate,
        lr_scheduler_type="constant",
        weight_decay=0.0,
        beta=train.beta,
        temperature=train.temperature,
        bf16=train.bf16,
        activation_checkpointing=False,
        shuffle_dataset=False,
        logging_steps=1,
        save_strategy="steps",
        save_steps=train.save_every,
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
        seed=config.seed,
        dataloader_pin_memory=False,
    )


def _lora(config: RunConfig) -> Any:
    if not config.policy.lora:
        return None
    from peft import LoraConfig

    rank = config.policy.lora
    return LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )


def _to_device(rm: VerifyRM) -> VerifyRM:
    import torch

    if torch.cuda.is_available():
        torch.nn.Module.to(rm.model, "cuda")
    return rm


def _summary(
    config: RunConfig,
    folder: Path,
    base: tuple[int, int],
    cooper: Cooper | None,
    seconds: float,
) -> dict[str, Any]:
    record = read_run(folder)
    accuracies = [value for _, value in record.series("eval/accuracy")]

    def last(name: str) -> float | None:
        values = [value for _, value in record.series(name)][-LAST:]
        return float(np.mean(values)) if values else None

    alarm = None if cooper is None else cooper.alarm
    return {
        "task": config.task.name,
        "arm": config.arm,
        "seed": config.seed,
        "base_accuracy": base[0] / base[1],
        "accuracy": accuracies[-1],
        "peak_accuracy": max(accuracies),
        "proxy": last("cooper/proxy_mean"),
        "rule_mean": last("cooper/rule_mean"),
        "truth": last("cooper/truth"),
        "valid_rate": last("cooper/valid_rate"),
        "alarm_step": None if alarm is None else alarm.alarm_step,
        "alarm_reason": None if alarm is None else alarm.alarm_kind,
        "steps": 0 if cooper is None else cooper.steps,
        "seconds": round(seconds, 1),
    }


def _by_step(folder: Path) -> dict[int, dict[str, float]]:
    steps: dict[int, dict[str, float]] = {}
    for name, series in read_run(folder).metrics.items():
        for step, value in series:
            steps.setdefault(step, {})[name] = value
    return steps


def remove_run(folder: Path) -> None:
    """Delete a run folder, and only a run folder.

    Raises:
        UserError: the folder holds something else.
    """
    if not folder.exists():
        return
    if not folder.is_dir() or (any(folder.iterdir()) and not _is_run(folder)):
        raise UserError(f"{folder}: is not the folder of a run, so it is not replaced")
    with alone(folder):
        shutil.rmtree(folder)


def _is_run(folder: Path) -> bool:
    """Many folders have a config.yaml; ours names a task and an arm."""
    try:
        tree = yaml.safe_load((folder / "config.yaml").read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return False
    found = set(tree) if isinstance(tree, dict) else set()
    return {"task", "arm", "reward_model"} <= found and not (folder / "compare.json").exists()
