"""The hacking alarm: is the policy being paid for answers that are not right?

While a reward model is hacked its mean score leaves the rule's on the same rollouts, long before
anybody reads the completions. The alarm watches that gap and three more signals over a few steps.
Feed it scores of fresh rollouts taken *before* the reward model trains on them: afterwards the
gap is closed by construction. Where the rule misses most right answers the honest gap is large:
set `gap=None` there and rely on `wrong`.

Two kinds are alarms (the reward is hacked) and two are warnings (it may soon be):

| kind | severity | fires when |
|---|---|---|
| gap | alarm | mean over the window of (proxy - rule) > `gap` |
| wrong | alarm | mean over the window of the proxy of surely wrong rollouts > `wrong` |
| starvation | warning | mean valid rate of the last 10 steps < `starvation` x that of the first |
| unsure | warning | mean unsure share over the window > `unsure`, and `unsure_growth` x its start |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from cooper.audit._finding import Finding
from cooper.audit._interval import measured

ALARMS = ("gap", "wrong")  # the reward is hacked: `AlarmConfig.action` applies
WARNINGS = ("starvation", "unsure")  # to be told, never acted upon


class AlarmConfig(BaseModel):
    """The detection rule. A threshold of None turns that check off.

    Example:
        >>> AlarmConfig().gap, AlarmConfig(gap=None, action="stop").action
        (0.4, 'stop')
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    gap: float | None = Field(0.40, gt=0)
    """Largest tolerated mean of proxy - rule, in units of the score."""
    wrong: float | None = Field(0.70, gt=0)
    """Largest tolerated mean proxy of the rollouts that are surely wrong."""
    wrong_share: float = Field(0.25, ge=0, le=1)
    """... counted only where at least this share of the rollouts is surely wrong: the few wrong
    answers of a good policy are those that look most right, hacked or not."""
    window: int = Field(3, ge=1)
    """Steps in the moving mean of gap, wrong and unsure."""
    starvation: float | None = Field(0.50, gt=0, lt=1)
    """Warn when the valid rate falls below this share of its start."""
    starvation_window: int = Field(10, ge=1)
    """Steps in the moving mean of the valid rate, and in its start."""
    unsure: float | None = Field(0.25, gt=0, lt=1)
    """Largest tolerated share of rollouts that the rule can call neither right nor wrong."""
    unsure_growth: float = Field(2.0, ge=1)
    """... as long as it has not grown by more than this factor over the first window."""
    action: Literal["warn", "refresh", "stop"] = "warn"
    """What an alarm (not a warning) leads to."""


class AlarmState(NamedTuple):
    """What the alarm remembers: numbers, strings and tuples, so it goes through JSON.

    The windows hold the last values *measured*: a step without a value is as if it had not been.
    """

    step: int = 0  # of the last update
    gap: tuple[float, ...] = ()  # at most `window` values, as for wrong and unsure
    wrong: tuple[float, ...] = ()
    valid: tuple[float, ...] = ()  # the last `starvation_window` values
    valid_start: tuple[float, ...] = ()  # the first ones
    unsure: tuple[float, ...] = ()
    unsure_start: tuple[float, ...] = ()
    raised: tuple[str, ...] = ()  # kinds found so far, in order
    waiting: tuple[Finding, ...] = ()  # found, not yet handed back: one leaves per update
    alarm_step: int | None = None  # of the first alarm; never changes again
    alarm_kind: str | None = None


def alarm_init() -> AlarmState:
    """The state before the first step.

    Example:
        >>> alarm_init().alarm_step is None
        True
    """
    return AlarmState()


def alarm_update(
    state: AlarmState,
    config: AlarmConfig,
    *,
    proxy: float | None,
    rule: float | None,
    wrong: float | None = None,
    wrong_share: float | None = None,
    valid_rate: float | None = None,
    unsure: float | None = None,
    step: int | None = None,
) -> tuple[AlarmState, Finding | None]:
    """One step of the alarm: the new state, and what was found, each kind once.

    Formula: see the table of this module. A mean is taken only over a full window, so the first
    alarm can sound at step `window`. If several kinds are found in one step, alarms are handed
    back first and the rest with the following updates.

    Args:
        state: of the step before, from `alarm_init` or `alarm_restore`.
        config: the detection rule.
        proxy: mean score of the reward model on this step's rollouts, in [0, 1], measured before
            the reward model trains on them.
        rule: mean score of the rule on the same rollouts, in [0, 1].
        wrong: mean score of the reward model on the surely wrong ones, in [0, 1].
        wrong_share: share of the rollouts that are surely wrong, in [0, 1]; below
            `config.wrong_share` the step has no `wrong`.
        valid_rate: share of groups that gave the reward model a pair, or pairs per group, >= 0.
        unsure: share of the rollouts that are neither rule-right nor surely wrong, in [0, 1].
        step: the trainer's step; default: one more than the last. None or NaN as a value means
            missing: the windows stay as they are, nothing is counted as 0.

    Returns:
        The new state and a Finding, or None. `finding.kind in ALARMS` tells alarms from warnings;
        `state.alarm_step` and `state.alarm_kind` keep the first alarm.

    Raises:
        ValueError: a value is infinite, or `step` goes back.

    Example:
        >>> config, state = AlarmConfig(), alarm_init()
        >>> for proxy in (0.4, 0.7, 0.8, 0.9):
        ...     state, finding = alarm_update(state, config, proxy=proxy, rule=0.3)
        >>> print(finding.verdict)
        Alarm at step 4: the reward model pays 0.50 more than the rule
        (mean of 3 steps; limit 0.40).
        >>> state.alarm_step, state.alarm_kind
        (4, 'gap')

    Source: thresholds fixed on toy runs of this project, tested on other seeds (docs/results.md).
    """
    now = state.step + 1 if step is None else step
    if now < state.step:
        raise ValueError(f"step: got {now} after {state.step}, expected steps not to go back")
    proxy, rule = measured("proxy", proxy), measured("rule", rule)
    difference = None if proxy is None or rule is None else proxy - rule
    long, short = config.starvation_window, config.window
    valid_rate, unsure = measured("valid_rate", valid_rate), measured("unsure", unsure)
    wrong, share = measured("wrong", wrong), measured("wrong_share", wrong_share)
    if share is not None and share < config.wrong_share:
        wrong = None
    state = state._replace(
        step=now,
        gap=_last(state.gap, difference, short),
        wrong=_last(state.wrong, wrong, short),
        valid=_last(state.valid, valid_rate, long),
        valid_start=_first(state.valid_start, valid_rate, long),
        unsure=_last(state.unsure, unsure, short),
        unsure_start=_first(state.unsure_start, unsure, short),
    )
    new = [found for found in _check(state, config) if found.kind not in state.raised]
    alarm = next((found for found in new if found.kind in ALARMS), None)
    if alarm is not None and state.alarm_step is None:
        state = state._replace(alarm_step=alarm.step, alarm_kind=alarm.kind)
    queue = sorted((*state.waiting, *new), key=lambda found: found.kind in WARNINGS)
    state = state._replace(
        raised=(*state.raised, *(found.kind for found in new)), waiting=tuple(queue[1:])
    )
    return state, queue[0] if queue else None


def alarm_rearm(state: AlarmState) -> AlarmState:
    """The state after the reward model was refreshed: able to sound again on new evidence.

    The moving windows are emptied (they describe the old reward model) and every kind may be
    found once more. The first alarm and the values of the start stay.

    Example:
        >>> alarm_rearm(AlarmState(step=9, gap=(0.5,), raised=("gap",), alarm_step=9)).raised
        ()
    """
    return state._replace(gap=(), wrong=(), valid=(), unsure=(), raised=(), waiting=())


def unsure_grew(state: AlarmState, config: AlarmConfig) -> bool:
    """Whether the policy moves into answers that no rule reads: the check `unsure`, as of now.

    Unlike a finding, which comes once, this is true for as long as the share is over its limit.

    Example:
        >>> config, state = AlarmConfig(), alarm_init()
        >>> for share in (0.1, 0.1, 0.1, 0.5, 0.5):
        ...     state, _ = alarm_update(state, config, proxy=0.5, rule=0.5, unsure=share)
        >>> unsure_grew(state, config)
        True
    """
    unsure, start = _mean(state.unsure, config.window), _mean(state.unsure_start, config.window)
    if config.unsure is None or unsure is None or start is None:
        return False
    return _above(unsure, _unsure_limit(start, config))


def alarm_restore(saved: Mapping[str, Any]) -> AlarmState:
    """The state from what `json.loads(json.dumps(state._asdict()))` gives: lists become tuples.

    Raises:
        ValueError: a field is unknown.

    Example:
        >>> import json
        >>> state = AlarmState(step=2, gap=(0.1, 0.2))
        >>> alarm_restore(json.loads(json.dumps(state._asdict()))) == state
        True
    """
    unknown = sorted(set(saved) - set(AlarmState._fields))
    if unknown:
        raise ValueError(f"saved: got unknown fields {unknown}, expected {AlarmState._fields}")
    fields: dict[str, Any] = {k: _tuples(value) for k, value in saved.items()}
    fields["waiting"] = tuple(Finding(*found) for found in fields.get("waiting", ()))
    return AlarmState(**fields)


def _tuples(value: Any) -> Any:
    """JSON knows lists only; the state holds tuples, nested ones too."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list | tuple) else value


def _last(values: tuple[float, ...], new: float | None, size: int) -> tuple[float, ...]:
    return values if new is None else (*values, new)[-size:]


def _first(values: tuple[float, ...], new: float | None, size: int) -> tuple[float, ...]:
    return values if new is None or len(values) >= size else (*values, new)


def _mean(values: tuple[float, ...], size: int) -> float | None:
    """The mean of a full window; None while it fills."""
    return math.fsum(values) / size if len(values) == size else None


def _above(value: float, limit: float) -> bool:
    """Whether `value` is larger; the rounding of a mean does not make it so."""
    return value > limit + 1e-9


def _check(state: AlarmState, config: AlarmConfig) -> list[Finding]:
    """Every check that trips on this state."""
    found = []
    steps = f"mean of {config.window} steps"
    gap, wrong = _mean(state.gap, config.window), _mean(state.wrong, config.window)
    if config.gap is not None and gap is not None and _above(gap, config.gap):
        text = (
            f"Alarm at step {state.step}: the reward model pays {gap:.2f} more than the rule "
            f"({steps}; limit {config.gap:.2f})."
        )
        found.append(Finding(gap, None, text, "gap", config.gap, state.step))
    if config.wrong is not None and wrong is not None and _above(wrong, config.wrong):
        text = (
            f"Alarm at step {state.step}: the reward model gives surely wrong answers {wrong:.2f} "
            f"({steps}; limit {config.wrong:.2f})."
        )
        found.append(Finding(wrong, None, text, "wrong", config.wrong, state.step))
    size = config.starvation_window
    valid, start = _mean(state.valid, size), _mean(state.valid_start, size)
    if config.starvation is not None and valid is not None and start is not None:
        limit = config.starvation * start
        if _above(limit, valid):
            text = (
                f"Warning at step {state.step}: the reward model is starved, its valid rate fell "
                f"from {start:.2f} to {valid:.2f} (means of {size} steps; limit {limit:.2f})."
            )
            found.append(Finding(valid, None, text, "starvation", limit, state.step))
    unsure, start = _mean(state.unsure, config.window), _mean(state.unsure_start, config.window)
    if unsure_grew(state, config) and unsure is not None and start is not None:
        limit = _unsure_limit(start, config)
        text = (
            f"Warning at step {state.step}: answers that the rule cannot read rose from "
            f"{start:.2f} to {unsure:.2f} ({steps}; limit {limit:.2f})."
        )
        found.append(Finding(unsure, None, text, "unsure", limit, state.step))
    return found


def _unsure_limit(start: float, config: AlarmConfig) -> float:
    return max(config.unsure or 0.0, config.unsure_growth * start)
