"""The command line: one verb per capability, each a thin call of the library."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from cooper.errors import UserError
from cooper.run._quiet import quiet

app = typer.Typer(
    help="Reward engineering for RL: co-train the reward model with the policy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
console = Console(stderr=True, highlight=False)
# What `pip install cooper-rl` alone does not bring.
EXTRAS = {
    "train": "accelerate datasets gguf matplotlib peft pyarrow safetensors scipy tokenizers torch "
    "transformers trl"
}

Preset = Annotated[str, typer.Argument(help="A preset (see `cooper presets`) or a YAML file.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="key.path=value; may be given several times.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Where the results go.")]


@app.command()
def train(
    preset: Preset,
    changes: Changes = None,
    out: Out = None,
    arm: Annotated[str | None, typer.Option(help="The arm to run, such as cooper or rule.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replace the run there.")] = False,
) -> None:
    """Train a policy with its reward model, into a run folder with a report page."""
    if resume and fresh:
        raise UserError("--resume continues the run that --fresh would delete; choose one")
    folder = out or Path("runs") / Path(preset).stem
    again = ["cooper", "train", preset, "--resume", "--out", str(folder)]
    with _stoppable(again, folder):
        from cooper.run import load_config, remove_run, train_run

        wanted = list(changes or [])
        wanted += [] if arm is None else [f"arm={arm}"]
        wanted += [] if seed is None else [f"seed={seed}"]
        written = folder / "config.yaml"
        # What was --set the first time need not be repeated.
        config = load_config(str(written) if resume and written.exists() else preset, wanted)
        if fresh:
            remove_run(folder)
        with _progress(config.train.steps) as watch:
            summary = train_run(config, folder, resume=resume, say=watch.say, on_step=watch.step)
    _print_summary(summary, folder)


@app.command()
def compare(
    task: Preset,
    arms: Annotated[str, typer.Option(help="Comma-separated arms.")] = "rule,frozen,cooper",
    seeds: Annotated[int, typer.Option(help="Number of seeds.", min=1)] = 3,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    out: Out = None,
    changes: Changes = None,
    workers: Annotated[int, typer.Option(help="Processes; seeds are spread over them.", min=1)] = 1,
) -> None:
    """Run several arms on several seeds from the same starts: one table, one figure."""
    folder = out or Path("runs") / f"compare-{Path(task).stem}"

    def told(arm: str, at: int, summary: dict[str, Any]) -> None:
        console.print(
            f"{arm}, seed {at}: accuracy {summary['accuracy']:.3f}, peak "
            f"{summary['peak_accuracy']:.3f}, {summary['seconds']:.0f} s"
        )

    with _stoppable(["cooper", *sys.argv[1:]], folder):
        from cooper.run import compare as run_compare
        from cooper.run import load_config, table

        result = run_compare(
            load_config(task, changes or []),
            [name.strip() for name in arms.split(",") if name.strip()],
            range(seed, seed + seeds),
            folder,
            workers=workers,
            say=_say,
            told=told,
        )
    typer.echo(table(result))
    typer.echo("\n".join(str(folder / f"compare.{end}") for end in ("json", "md", "svg")))


@app.command()
def report(run: Annotated[Path, typer.Argument(help="A run folder.")]) -> None:
    """Rebuild the page of a run folder."""
    from cooper.report import write_report

    typer.echo(str(write_report(run)))


@app.command()
def presets() -> None:
    """List the presets."""
    from cooper.run import presets as names

    typer.echo("\n".join(names()))


@app.command()
def config(preset: Preset, changes: Changes = None) -> None:
    """Print the resolved configuration, every key with its value."""
    from cooper.run import dump, load_config

    typer.echo(dump(load_config(preset, changes or [])), nl=False)


class _Stopped(Exception):
    """Ctrl-C, and how to go on."""


@contextmanager
def _stoppable(again: list[str], folder: Path) -> Iterator[None]:
    """Turn Ctrl-C into one line that tells the command to go on with."""
    from cooper.run import Interrupted

    try:
        yield
    except Interrupted as stop:
        raise _Stopped(f"{stop}; continue with: {shlex.join(again)}") from None
    except KeyboardInterrupt:
        begun = (folder / "config.yaml").exists()
        hint = f"; continue with: {shlex.join(again)}" if begun else ""
        raise _Stopped(f"interrupted{hint}") from None


def _say(text: str, to: Console = console) -> None:
    to.print(text, markup=False, emoji=False, soft_wrap=True)


class _progress:
    """A Rich bar for the policy's steps, and a line for everything before."""

    def __init__(self, steps: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        self.bar = Progress(
            "{task.description}",
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self.task = self.bar.add_task("policy steps", total=steps, visible=False)

    def __enter__(self) -> _progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar.live.is_started:
            self.bar.stop()

    def say(self, text: str) -> None:
        """Print one line above the bar."""
        _say(text, self.bar.console)

    def step(self, step: int, steps: int, metrics: dict[str, float]) -> None:
        """Move the bar."""
        proxy, rule = metrics.get("cooper/proxy_mean"), metrics.get("cooper/rule_mean")
        words = "policy steps"
        if rule is not None:
            words += f"  rule {rule:.2f}"
        if proxy is not None:
            words += f"  reward model {proxy:.2f}"
        self.bar.start()  # not before there is something to show; a second start does nothing
        self.bar.update(self.task, completed=step, total=steps, visible=True, description=words)


def _print_summary(summary: dict[str, Any], folder: Path) -> None:
    alarm = summary["alarm_step"]
    console.print(
        f"held-out accuracy {summary['base_accuracy']:.3f} -> {summary['accuracy']:.3f} "
        f"(peak {summary['peak_accuracy']:.3f}) in {summary['steps']} steps, "
        f"{summary['seconds']:.0f} s; "
        + ("no alarm" if alarm is None else f"alarm at step {alarm} ({summary['alarm_reason']})")
    )
    typer.echo(str(folder / "report.html"))


def _missing(error: ModuleNotFoundError) -> str | None:
    """The line for an optional package that is not installed; None for any other module."""
    package = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages.split():
            return f"{package} is not installed: pip install 'cooper-rl[{extra}]'"
    return None


def _fail(text: str) -> None:
    line = " ".join(text.splitlines())
    console.print("[red]error:[/red] ", end="")
    _say(line)
    sys.exit(2)


def main() -> None:
    """Run the command line; a user's mistake is one line and exit code 2, Ctrl-C is 130."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two threads beside another process crawl
    quiet()
    try:
        app()
    except UserError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        line = _missing(error)
        if line is None:
            raise
        _fail(line)
    except _Stopped as stop:
        _say(str(stop))
        sys.exit(130)
