"""From component scores to advantages, as one object built in Python or from YAML."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import array_api_compat as compat
import numpy as np
import yaml

from cooper import arrays
from cooper.arrays import Array
from cooper.errors import UserError
from cooper.types import Rewards, Status

Spec = str | Callable[..., Any] | Mapping[str, Mapping[str, Any] | None]

_GIVEN = ("names", "group", "where")  # what a recipe hands to a stage that asks for it


@dataclass(frozen=True)
class Stage:
    """One function of a recipe with the options it is called with."""

    family: str
    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any]
    takes: frozenset[str]  # the keywords it accepts

    def __call__(self, array: Array, **given: Any) -> Array:
        """Call the function with those of `given` that it accepts."""
        known = {key: value for key, value in given.items() if key in self.takes}
        return self.function(array, **known, **self.options)


@dataclass(frozen=True)
class Recipe:
    """score → combine → shape → credit → advantage.

    A stage is the name of a method of its family (`"grpo"`), a dotted path
    (`"my_package.rewards:combine"`), a function, or a mapping of a name to its options
    (`{"grpo": {"floor": 0.1}}`). Names and options are checked here, not in the first batch.

    A function is called as its family says and gets those of `names`, `group` and `where` that
    it asks for. Scores that do not exist reach it as NaN, so that one which ignores `where`
    gives a missing reward, not a wrong one.

    Args:
        components: The names of the K scores that are combined, in the order of their columns.
        combine: K scores to one reward, (B, K) -> (B,); NaN means missing.
        shape: Stages (B,) -> (B,), in order.
        credit: Sequence to tokens, (B,) -> (B, T); None: there is none.
        advantage: (B,) -> (B,), or (B, T) -> (B, T) after `credit`.

    Raises:
        ValueError: Naming the family, the choices and what was given.

    Example:
        >>> recipe = Recipe(["rule", "proxy", "surely_wrong"], "strata", advantage="dr_grpo")
        >>> print(recipe)
        stage       method                     options  paper
        components  rule, proxy, surely_wrong
        combine     strata
        advantage   dr_grpo                             arXiv:2503.20783
        >>> scores = np.array([[1, 0.5, 0], [0, 0.9, 1], [0, 0.5, 0]])
        >>> recipe(scores, group=[0, 0, 1]).advantages.tolist()
        [0.475, -0.475, 0.0]
    """

    components: Sequence[str]
    combine: Spec
    shape: Sequence[Spec] = ()
    credit: Spec | None = None
    advantage: Spec = "grpo"
    stages: tuple[Stage, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = tuple(self.components) if isinstance(self.components, list | tuple) else ()
        texts = bool(names) and all(isinstance(name, str) for name in names)
        if not texts or len(set(names)) != len(names):
            raise ValueError(f"components: expected different names, got {self.components!r}")
        if not isinstance(self.shape, list | tuple):
            raise ValueError(f"shape: expected a list of stages, got {self.shape!r}")
        object.__setattr__(self, "components", names)
        stages = [resolve("combine", self.combine)]
        stages += [resolve("shape", spec) for spec in self.shape]
        stages += [resolve("credit", self.credit)] if self.credit is not None else []
        stages.append(resolve("advantage", self.advantage))
        object.__setattr__(self, "stages", tuple(stages))
        if self.credit is None and all(_is_ours(stage) for stage in stages):
            # Our own methods check their options and names on any batch, so on this one too.
            try:
                self(np.zeros((2, len(names))), group=[0, 0])
            except TypeError as error:  # an option of the wrong type
                raise ValueError(f"recipe: {error}") from error

    def __call__(
        self,
        values: Array,
        *,
        group: Array,
        where: Array | None = None,
        names: Sequence[str] | None = None,
        anchored: Array | None = None,
        status: Sequence[Sequence[Status]] | None = None,
        tokens: Array | None = None,
    ) -> Rewards:
        """Rewards and advantages of one batch, which must hold whole groups.

        Args:
            values: (B, K) scores, NumPy or torch; the answer is of the same kind and dtype.
            group: (B,) ids of the groups.
            where: (B, K) False where there is no score; None: all exist.
            names: What the columns of `values` are, if there are more than the recipe's or in
                another order; the others are passed on to the log.
            anchored: (B,) booleans, say rule-right. A group without a valid sample that is True
                gets advantage exactly 0. None: all groups are anchored.
            status: B rows of K, for the log. None: `OK` or `NOT_APPLICABLE`.
            tokens: (B, T) which tokens are the completion's, for `credit`.

        Returns:
            `Rewards`: its `values` are NaN and its `reward` is 0 where there is none.

        Raises:
            ValueError: Naming the argument or stage, what was seen and what was expected.
        """
        names = tuple(self.components if names is None else names)
        values = arrays.floats(values)
        groups = arrays.group_index(group)
        sizes = arrays.check(values=(values, "B K"), group=(groups.inverse, "B"))
        if len(names) != sizes["K"] or not set(self.components) <= set(names):
            raise ValueError(
                f"names: expected K = {sizes['K']} names with {tuple(self.components)}, got {names}"
            )
        where = arrays.mask(where, values)
        arrays.finite(values, where)
        xp = compat.array_namespace(values)
        values = xp.where(where, values, xp.full_like(values, float("nan")))
        reward, valid, advantages = self._run(values, where, names, groups, anchored, tokens)
        if status is None:
            mark = {True: Status.OK, False: Status.NOT_APPLICABLE}
            status = [[mark[present] for present in row] for row in where.tolist()]
        rows = tuple(tuple(row) for row in status)
        if [len(row) for row in rows] != [sizes["K"]] * sizes["B"]:
            raise ValueError(f"status: expected B = {sizes['B']} rows of K = {sizes['K']}")
        return Rewards(names, values, where, rows, reward, valid, advantages)

    def _run(
        self,
        values: Array,
        where: Array,
        names: tuple[str, ...],
        groups: arrays.Groups,
        anchored: Array | None,
        tokens: Array | None,
    ) -> tuple[Array, Array, Array]:
        """(reward, valid, advantages) of checked input."""
        xp = compat.array_namespace(values)
        columns = [names.index(name) for name in self.components]
        combine, *rest = self.stages
        reward = combine(
            values[:, columns], names=self.components, group=groups, where=where[:, columns]
        )
        _same_shape(combine, reward, values[:, 0])
        # A row without a score has no reward, whatever a combine that ignores `where` says
        valid = ~xp.isnan(reward) & xp.any(where[:, columns], axis=1)
        nothing = xp.zeros_like(reward)
        reward = xp.where(valid, reward, nothing)
        counted = valid
        if anchored is not None:
            anchored = arrays.mask(anchored, valid, "anchored")
            counted = valid & arrays.group_any(anchored, group=groups, where=valid)
        current = reward
        for stage in rest:
            if stage.family == "shape":
                shaped = stage(current, group=groups, where=valid)
                _same_shape(stage, shaped, current)
                arrays.finite(shaped, valid, f"shape {stage.name}")
                reward = current = xp.where(valid, shaped, nothing)
            elif stage.family == "credit":
                if tokens is None:
                    raise ValueError(f"tokens: credit {stage.name} needs a (B, T) mask, got None")
                current = stage(current, group=groups, where=tokens)
                arrays.check(reward=(reward, "B"), credit=(current, "B T"))
        advantages = rest[-1](current, group=groups, where=counted)
        _same_shape(rest[-1], advantages, current)
        keep = counted if advantages.ndim == 1 else counted[:, None]
        advantages = xp.where(keep, advantages, xp.zeros_like(advantages))
        arrays.finite(advantages, arrays.mask(None, advantages), f"advantage {rest[-1].name}")
        return reward, valid, advantages

    def __str__(self) -> str:
        rows = [("stage", "method", "options", "paper")]
        rows.append(("components", ", ".join(self.components), "", ""))
        for s in self.stages:
            options = " ".join(f"{key}={value}" for key, value in s.options.items())
            rows.append((s.family, s.name, options, _paper(s.function)))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recipe:
        """The recipe that a mapping of the constructor's arguments describes.

        Raises:
            ValueError: Also for a key that is not there, or missing.

        Example:
            >>> Recipe.from_dict(
            ...     {"components": ["rule"], "combine": {"weighted": {"weights": {"rule": 1}}}}
            ... ).advantage
            'grpo'
        """
        known = [f.name for f in fields(cls) if f.init]
        if not isinstance(data, Mapping):
            raise ValueError(f"recipe: expected a mapping with the keys {known}, got {data!r}")
        unknown = [key for key in data if key not in known]
        missing = [key for key in ("components", "combine") if key not in data]
        if unknown or missing:
            what = f"unknown {unknown}" if unknown else f"missing {missing}"
            raise ValueError(f"recipe: {what}; the keys are {known}")
        return cls(**{**data, "shape": data.get("shape") or ()})

    @classmethod
    def from_yaml(cls, path: str | Path) -> Recipe:
        """The recipe in a YAML file.

        Raises:
            UserError: Saying which file and what is wrong with it.
        """
        try:
            return cls.from_dict(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error
        except (ValueError, yaml.YAMLError) as error:
            raise UserError(f"{path}: {' '.join(str(error).split())}") from error


def resolve(family: str, spec: Spec) -> Stage:
    """The function that `spec` means, with its options checked against its signature.

    Args:
        family: "combine", "shape", "credit" or "advantage".
        spec: A name, a dotted path, a function, or a mapping of one of the first two to options.

    Returns:
        The stage.

    Raises:
        ValueError: Naming the family and listing the choices.
    """
    options: Mapping[str, Any] = {}
    if isinstance(spec, Mapping):
        if len(spec) != 1:
            raise ValueError(f"{family}: expected one name with its options, got {dict(spec)}")
        ((spec, given),) = spec.items()
        options = {} if given is None else given
        if not isinstance(options, Mapping):
            raise ValueError(f"{family}: expected {spec} with a mapping of options, got {given!r}")
    if isinstance(spec, str):
        name, function = spec, _lookup(family, spec)
    elif callable(spec):
        name, function = str(getattr(spec, "__name__", type(spec).__name__)), spec
    else:
        raise ValueError(f"{family}: expected a name, a dotted path or a function, got {spec!r}")
    parameters = list(inspect.signature(function).parameters.values())[1:]  # after the array
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return Stage(family, name, function, options, frozenset(_GIVEN))
    own = {p.name: p for p in parameters if p.name not in _GIVEN and p.kind is not p.VAR_POSITIONAL}
    unknown = [key for key in options if key not in own]
    missing = [k for k, p in own.items() if p.default is p.empty and k not in options]
    if unknown or missing:
        what = f"unknown option {unknown}" if unknown else f"missing option {missing}"
        raise ValueError(f"{family} {name}: {what}; it takes {sorted(own)}")
    return Stage(family, name, function, options, frozenset(p.name for p in parameters))


def _lookup(family: str, name: str) -> Callable[..., Any]:
    module, colon, attribute = name.partition(":")
    try:
        namespace = import_module(module if colon else f"cooper.{family}")
    except (ImportError, TypeError, ValueError) as error:  # the latter two: a relative name
        raise ValueError(f"{family}: {name!r}: {error}") from error
    choices = [n for n in dir(namespace) if callable(getattr(namespace, n)) and n[0] != "_"]
    if not colon:
        choices, attribute = list(namespace.__all__), name
    if attribute not in choices:
        raise ValueError(
            f"{family}: no method {name!r}; choose one of {choices} or give package.module:function"
        )
    function: Callable[..., Any] = getattr(namespace, attribute)
    return function


def _is_ours(stage: Stage) -> bool:
    return str(getattr(stage.function, "__module__", "")).startswith("cooper.")


def _paper(function: Callable[..., Any]) -> str:
    """The PAPER of the method's file, if it states one."""
    paper = getattr(inspect.getmodule(function), "PAPER", ())
    return paper if isinstance(paper, str) else ", ".join(paper)


def _same_shape(stage: Stage, result: Array, template: Array) -> None:
    shape, expected = tuple(result.shape), tuple(template.shape)
    if shape != expected:
        raise ValueError(f"{stage.family} {stage.name}: expected shape {expected}, got {shape}")
