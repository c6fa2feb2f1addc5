"""Several arms from the same starts, seed by seed: one table, one figure, one JSON file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cooper.audit import mean_interval
from cooper.errors import UserError
from cooper.report import read_run
from cooper.run._alone import alone
from cooper.run._config import ARMS, RunConfig, dump, is_written, validate
from cooper.run._figure import comparison_figure
from cooper.run._job import train_run
from cooper.run._prepare import make_task, replace_text
from cooper.run._quiet import quiet
from cooper.run._statistics import paired_difference
from cooper.run._stop import disk_errors

FIELDS = (
    "seed",
    "accuracy",
    "peak_accuracy",
    "proxy",
    "rule_mean",
    "valid_rate",
    "alarm_step",
    "steps",
    "seconds",
    "base_accuracy",
    "truth",
)
Done = tuple[str, int, dict[str, Any]]  # (arm, seed, summary)
Told = Callable[[str, int, dict[str, Any]], None]
Job = tuple[RunConfig, list[str], int, Path]


def compare(
    config: RunConfig,
    arms: Sequence[str],
    seeds: Iterable[int],
    out: Path,
    *,
    workers: int = 1,
    say: Callable[[str], None] = lambda _: None,
    told: Told | None = None,
) -> dict[str, Any]:
    """Run every arm on every seed into `out`, and compare.

    Finished runs found in `out` with the same configuration are kept, so an interrupted
    comparison continues where it was. Arms of one seed share the warmed-up policy, the reward
    model and the questions.

    Args:
        config: what all runs have in common.
        arms: names out of `ARMS`.
        seeds: of the runs.
        out: gets `ARM/seed-N/`, `start/seed-N/`, `compare.json`, `compare.svg` and `compare.md`.
        workers: processes; seeds are spread over them.
        say: told what is being done.
        told: called after every run.

    Returns:
        What compare.json holds: {"task", "arms": {ARM: [{"seed", "accuracy", ...}]}}.

    Raises:
        UserError: an unknown arm, or `out` holds runs of another configuration.
    """
    arms, seeds = list(dict.fromkeys(arms)), list(seeds)
    unknown = [arm for arm in arms if arm not in ARMS]
    if unknown or not arms:
        what = f"unknown {', '.join(map(repr, unknown))}" if unknown else "none given"
        raise UserError(f"--arms: {what}; expected names out of {', '.join(ARMS)}")
    for seed in seeds:
        validate({**config.model_dump(), "seed": seed}, source="--seed")
    for note in make_task(config).notes:
        say(note)
    with disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        _same_settings(config, out)
    jobs = [(config, list(arms), seed, out) for seed in seeds]
    with disk_errors(out), alone(out):
        for arm, seed, summary in _spread(jobs, workers) if workers > 1 else _in_turn(jobs, say):
            if told is not None:
                told(arm, seed, summary)
        return collect(config, arms, seeds, out)


def collect(
    config: RunConfig, arms: Sequence[str], seeds: Sequence[int], out: Path
) -> dict[str, Any]:
    """Table, figure and JSON of the finished runs in `out`."""
    rows: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
    curves: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
    for arm in arms:
        for seed in seeds:
            folder = out / arm / f"seed-{seed}"
            summary = json.loads((folder / "summary.json").read_text("utf-8"))
            rows[arm].append({name: summary[name] for name in FIELDS})
            curves[arm].append(_curve(folder))
    result = {"task": config.task.name, "arms": rows}
    replace_text(out / "compare.json", json.dumps(result, indent=1))
    replace_text(out / "compare.md", table(result))
    title = f"{config.task.name}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
    comparison_figure(curves, out / "compare.svg", title=title)
    return result


def table(result: dict[str, Any], *, against: str = "rule") -> str:
    """The comparison as a Markdown table; intervals are 95 % Student t over seeds."""
    heads = ["arm", "n", "base", "final accuracy", "peak", "proxy", "alarms", f"minus {against}"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    base = {row["seed"]: row["accuracy"] for row in result["arms"].get(against, [])}
    for arm, rows in result["arms"].items():
        own = {row["seed"]: row["accuracy"] for row in rows}
        difference = paired_difference(own, base) if base and arm != against else None
        cells = [
            arm,
            str(len(rows)),
            mean_interval([row["base_accuracy"] for row in rows]).text(),
            mean_interval([row["accuracy"] for row in rows]).text(),
            mean_interval([row["peak_accuracy"] for row in rows]).text(),
            mean_interval([row["proxy"] for row in rows]).text(),
            str(sum(row["alarm_step"] is not None for row in rows)),
            "" if difference is None else difference.text(),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _in_turn(jobs: Sequence[Job], say: Callable[[str], None]) -> Iterator[Done]:
    for job in jobs:
        yield from _seed(*job, say=say)


def _spread(jobs: Sequence[Job], workers: int) -> Iterator[Done]:
    """Seeds over processes; after a failure or Ctrl-C no further one is begun."""
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    left, running = list(jobs), set[Future[list[Done]]]()
    spawn = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=quiet) as pool:
        try:
            while left or running:
                while left and len(running) < workers:  # none waits in the pool's own queue
                    running.add(pool.submit(_all_of, *left.pop(0)))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from future.result()
        except BrokenProcessPool as error:
            raise UserError(
                "--workers: a process was killed, perhaps for want of memory; finished runs are "
                f"kept, try fewer than {workers}"
            ) from error


def _all_of(config: RunConfig, arms: Sequence[str], seed: int, out: Path) -> list[Done]:
    return list(_seed(config, arms, seed, out))


def _seed(
    config: RunConfig,
    arms: Sequence[str],
    seed: int,
    out: Path,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Done]:
    """All arms of one seed, from one start; finished runs are kept, interrupted ones go on."""
    for arm in arms:
        folder = out / arm / f"seed-{seed}"
        chosen = config.model_copy(update={"arm": arm, "seed": seed})
        if not (folder / "summary.json").exists():
            say(f"{arm}, seed {seed}")
        begun = (folder / "config.yaml").exists()
        summary = train_run(chosen, folder, start=out / "start" / f"seed-{seed}", resume=begun)
        yield arm, seed, summary


def _same_settings(config: RunConfig, out: Path) -> None:
    """Runs of another configuration in the same folder would be compared as equals."""
    path, common = out / "config.yaml", config.model_copy(update={"arm": "cooper", "seed": 0})
    if path.exists() and not is_written(common, path):
        raise UserError(f"{out}: holds a comparison with other settings; choose another --out")
    replace_text(path, dump(common))


def _curve(folder: Path) -> dict[str, Any]:
    """Held-out accuracy and training reward of one run, on the steps of the accuracy."""
    record = read_run(folder)
    accuracy = record.series("eval/accuracy")
    reward = record.series("cooper/proxy_mean") or record.series("reward")
    steps = sorted({step for step, _ in accuracy} | {step for step, _ in reward})
    known_accuracy, known_reward = dict(accuracy), dict(reward)
    return {
        "steps": steps,
        "accuracy": [known_accuracy.get(step) for step in steps],
        "reward": [known_reward.get(step) for step in steps],
        "alarm_step": record.summary.get("alarm_step"),
    }
