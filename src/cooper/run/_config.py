"""A run's configuration: presets by name, YAML files, `--set key=value`, one validated object."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from cooper.audit import AlarmConfig
from cooper.errors import UserError
from cooper.run._presets import preset_text, presets
from cooper.train import CooperConfig

LARGEST_SEED = 2**32 - 1  # NumPy's
ARMS = ("none", "rule", "frozen", "repaired", "cooper-paper", "cooper", "oracle")
Arm = Literal["none", "rule", "frozen", "repaired", "cooper-paper", "cooper", "oracle"]


class Section(BaseModel):
    """A part of the configuration: unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class TaskConfig(Section):
    """Which task of `cooper.data`, with its own options."""

    name: str = Field("sums", description="a function of cooper.data, or package.module:function")
    options: dict[str, Any] = Field(default_factory=dict)


class DataConfig(Section):
    """Files of real questions; used by the task `questions`."""

    train: list[Path] | Path | None = None
    eval: list[Path] | Path | None = None
    labelled: Path | None = Field(None, description="labelled completions for the reward model")
    heldout: int | None = Field(200, ge=1, description="held-out questions; null: all of eval")


def _whole_heads(hidden: int, unit: int, words: str) -> None:
    if hidden % unit:
        raise ValueError(f"hidden is {hidden}; expected a multiple of {words} = {unit}")


class PolicyConfig(Section):
    """The model that is trained: a tiny one from scratch, SmolLM2, or a folder."""

    model: str = Field("tiny", description='"tiny", "smollm2" or a folder of a causal model')
    hidden: int = Field(96, ge=1)
    layers: int = Field(2, ge=1)
    heads: int = Field(4, ge=1)
    lora: int = Field(0, ge=0, description="rank of a LoRA adapter; 0 trains all weights")

    @model_validator(mode="after")
    def _divides(self) -> Self:
        _whole_heads(self.hidden, self.heads, "heads")
        return self


class WarmupConfig(Section):
    """Supervised warm-up of the policy on demonstrations; 0 steps turn it off."""

    steps: int = Field(650, ge=0)
    batch: int = Field(64, ge=1)
    learning_rate: float = Field(1e-3, gt=0)


class RewardModelConfig(Section):
    """Offline training of the reward model (BCE) before the policy's first step."""

    model: str = Field(
        "tiny", description='"tiny", "policy" (starts from the policy) or a saved VerifyRM'
    )
    hidden: int = Field(96, ge=1)
    layers: int = Field(2, ge=1)
    heads: int = Field(4, ge=1)
    samples: int = Field(6000, ge=0, description="policy samples labelled by the task's judge")
    solutions: int | None = Field(
        None, ge=0, description="at most this many of the task's ready-made labelled completions"
    )
    corrupted: int = Field(0, ge=0, description="corrupted copies of right completions, label 0")
    epochs: float = Field(3, gt=0)
    batch: int = Field(64, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    max_length: int = Field(256, ge=8)
    micro_batch: int = Field(256, ge=1)
    fixed: int = Field(256, ge=0, description="labelled rows held out for rm_accuracy_fixed")

    @model_validator(mode="after")
    def _divides(self) -> Self:
        _whole_heads(self.hidden, 2 * self.heads, "2 x heads")  # rotary positions come in pairs
        return self


class TrainConfig(Section):
    """The policy's training, in TRL's terms."""

    steps: int = Field(160, ge=0)
    prompts: int = Field(16, ge=1, description="prompts per step")
    generations: int = Field(16, ge=1, description="rollouts per prompt: the group")
    learning_rate: float = Field(5e-4, gt=0)
    beta: float = Field(0.005, ge=0, description="weight of the KL to the starting policy")
    temperature: float = Field(1.0, gt=0)
    micro_batch: int = Field(256, ge=1, description="rollouts per backward pass")
    save_every: int = Field(40, ge=1)
    bf16: bool = False

    @model_validator(mode="after")
    def _whole_groups(self) -> Self:
        if self.generations < 2:
            raise ValueError(
                f"generations is {self.generations}: a group of one has no baseline; "
                "expected at least 2"
            )
        rollouts = self.prompts * self.generations
        if rollouts % min(self.micro_batch, rollouts):
            raise ValueError(
                f"prompts x generations is {self.prompts} x {self.generations} = {rollouts}; "
                f"expected a multiple of micro_batch = {self.micro_batch}"
            )
        return self


class EvaluateConfig(Section):
    """Held-out measurement by the task's oracle."""

    every: int = Field(20, ge=1)
    temperature: float = Field(0.7, ge=0)
    samples: int = Field(500, ge=1, description="completions per measurement")


class RunConfig(Section):
    """Everything that decides a run; written beside its results as config.yaml."""

    task: TaskConfig = TaskConfig()
    data: DataConfig = DataConfig()
    arm: Arm = "cooper"
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    policy: PolicyConfig = PolicyConfig()
    warmup: WarmupConfig = WarmupConfig()
    reward_model: RewardModelConfig = RewardModelConfig()
    cooper: CooperConfig = CooperConfig()
    paper: dict[str, Any] = Field(
        default_factory=dict, description="changes to CooperConfig.paper() for the published arms"
    )
    alarm: AlarmConfig = AlarmConfig()
    train: TrainConfig = TrainConfig()
    evaluate: EvaluateConfig = EvaluateConfig()

    @field_validator("paper")
    @classmethod
    def _known(cls, changes: dict[str, Any]) -> dict[str, Any]:
        try:
            CooperConfig.paper(**changes)
        except ValidationError as error:
            raise ValueError(_faults(error)) from error
        return changes


def load_config(preset: str, changes: Iterable[str] = ()) -> RunConfig:
    """A preset (or a YAML file), with `key.path=value` changes, validated.

    Args:
        preset: a name of `presets()`, or the path of a YAML file.
        changes: such as `train.steps=20`; values are read as YAML.

    Raises:
        UserError: an unknown preset, a file that is not YAML, an unknown key, a bad value.

    Example:
        >>> load_config("sums", ["train.steps=20"]).train.steps
        20
    """
    tree = _read(preset)
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key:
            raise UserError(f"--set {change!r}: expected key=value, such as train.steps=20")
        try:
            _put(tree, key.split("."), yaml.load(value, _Yaml))
        except yaml.YAMLError as error:
            raise UserError(f"--set {change!r}: the value is not YAML: {_line(error)}") from error
    return validate(tree, source=preset)


def validate(tree: Mapping[str, Any], *, source: str) -> RunConfig:
    """A RunConfig from plain data; every fault in one line."""
    try:
        return RunConfig.model_validate(tree)
    except ValidationError as error:
        raise UserError(f"{source}: {_faults(error)}") from error


def dump(config: RunConfig) -> str:
    """The configuration as YAML that `load_config` reads."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)


def is_written(config: RunConfig, path: Path) -> bool:
    """Whether `path` holds this configuration, however it is spelled.

    Raises:
        UserError: it holds no configuration.
    """
    return load_config(str(path)) == config


def needs_reward_model(config: RunConfig) -> bool:
    """Whether the run scores or trains with a reward model; `none`, `rule` and `oracle` do not."""
    settings = cooper_of(config)
    return settings.reward != "rule" or bool(settings.updates)


def cooper_of(config: RunConfig) -> CooperConfig:
    """What the reward does in a run of `config.arm`."""
    still = {"updates": 0, "warmup_batches": 0}
    plain = {**still, "reward": "rule", "anchored_only": False, "std_floor": 0.0}
    match config.arm:
        case "cooper":
            return config.cooper
        case "repaired":  # the same warm-up, then frozen
            return config.cooper.model_copy(update={"updates": 0})
        case "cooper-paper":
            return CooperConfig.paper(**config.paper)
        case "frozen":
            return CooperConfig.frozen(**config.paper)
        case _:
            return config.cooper.model_copy(update=plain)


def _read(preset: str) -> dict[str, Any]:
    path = Path(preset)
    if path.suffix in (".yaml", ".yml") or "/" in preset:
        if not path.is_file():
            raise UserError(f"{preset}: no such file")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{preset}: cannot be read: {_line(error)}") from error
    elif preset in presets():
        text = preset_text(preset)
    else:
        raise UserError(
            f"unknown preset {preset!r}; expected one of {', '.join(presets())}, or a .yaml file"
        )
    try:
        tree = yaml.load(text, _Yaml) or {}
    except yaml.YAMLError as error:
        raise UserError(f"{preset}: not YAML: {_line(error)}") from error
    if not isinstance(tree, dict):
        raise UserError(f"{preset}: expected a mapping of sections, found {type(tree).__name__}")
    return tree


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        inner = tree.setdefault(name, {})
        if not isinstance(inner, dict):
            raise UserError(f"--set {'.'.join(path)}: {name!r} is a value, not a section")
        tree = inner
    tree[path[-1]] = value


def _faults(error: ValidationError) -> str:
    return "; ".join(_fault(item) for item in error.errors())


def _fault(item: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"unknown key {where!r}"
    if item["type"] == "value_error":  # one of ours: it says what was seen
        return f"{where}: {item['ctx']['error']}"
    return f"{where}: {item['msg']}, got {item['input']!r}"


class _Yaml(yaml.SafeLoader):
    """YAML in which 1e-3 is a number, as everywhere else, and not a text."""


_Yaml.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"),
    [*"-+0123456789"],
)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
