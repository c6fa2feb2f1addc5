"""The alarm: each kind by hand, missing is missing, a restored state goes on the same."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from cooper.audit import (
    ALARMS,
    WARNINGS,
    AlarmConfig,
    AlarmState,
    Finding,
    alarm_init,
    alarm_rearm,
    alarm_restore,
    alarm_update,
)

QUIET = {"proxy": 0.3, "rule": 0.3}
share = st.none() | st.floats(0, 1, allow_subnormal=False)
rows = st.lists(
    st.fixed_dictionaries(
        {"proxy": share, "rule": share, "wrong": share, "valid_rate": share, "unsure": share}
    ),
    max_size=40,
)


def play(steps, config=None, state=None):
    """The last state and every finding."""
    config, state = config or AlarmConfig(), state or alarm_init()
    found = []
    for values in steps:
        state, finding = alarm_update(state, config, **values)
        if finding:
            found.append(finding)
    return state, found


def test_every_kind_is_an_alarm_or_a_warning():
    assert ALARMS == ("gap", "wrong")
    assert WARNINGS == ("starvation", "unsure")


def test_gap_by_hand():
    # Gaps .1 .5 .5 .5: three-step means - - .367 .5; the limit is .40.
    proxies = (0.4, 0.8, 0.8, 0.8, 0.9)
    state, found = play([{"proxy": p, "rule": 0.3} for p in proxies])
    assert [(f.kind, f.step, f.threshold) for f in found] == [("gap", 4, 0.40)]
    assert found[0].value == pytest.approx(0.5)
    assert (state.step, state.alarm_step, state.alarm_kind) == (5, 4, "gap")
    assert found[0].verdict == (
        "Alarm at step 4: the reward model pays 0.50 more than the rule "
        "(mean of 3 steps; limit 0.40)."
    )


def test_exactly_at_the_limit_is_silent():
    assert play([{"proxy": 0.4, "rule": 0.0, "wrong": 0.7}] * 5)[1] == []


def test_a_rule_above_the_reward_model_is_silent():
    assert play([{"proxy": 0.1, "rule": 0.9}] * 5)[1] == []


def test_wrong_by_hand():
    # The first three-step mean above .70 is (.6 + .8 + .8) / 3 = .733 at step 4.
    state, found = play([{**QUIET, "wrong": w} for w in (0.1, 0.6, 0.8, 0.8)])
    assert [(f.kind, f.step) for f in found] == [("wrong", 4)]
    assert found[0].value == pytest.approx(2.2 / 3)
    assert state.alarm_kind == "wrong"


def test_starvation_by_hand():
    # Start 1.0 over ten steps; then zeros: the ten-step mean is .4 < .5 at the sixth, step 16.
    state, found = play([{**QUIET, "valid_rate": v} for v in [1.0] * 10 + [0.0] * 10])
    assert [(f.kind, f.step, f.threshold) for f in found] == [("starvation", 16, 0.5)]
    assert found[0].value == pytest.approx(0.4)
    assert state.alarm_step is None, "a warning is not an alarm"


def test_starvation_from_the_start_is_not_a_fall():
    assert play([{**QUIET, "valid_rate": 0.0}] * 30)[1] == []


def test_unsure_must_be_large_and_have_doubled():
    jump = [{**QUIET, "unsure": u} for u in (0.1, 0.1, 0.1, 0.3, 0.3, 0.3)]
    assert [(f.kind, f.step, f.threshold) for f in play(jump)[1]] == [("unsure", 6, 0.25)]
    small = [{**QUIET, "unsure": u} for u in (0.01, 0.01, 0.01, 0.2, 0.2, 0.2)]
    assert play(small)[1] == []
    always = [{**QUIET, "unsure": u} for u in (0.38, 0.38, 0.38, 0.7, 0.7, 0.7)]
    assert play(always)[1] == []


def test_each_kind_once_and_the_first_alarm_stays():
    steps = [{"proxy": 0.9, "rule": 0.1, "wrong": 0.2}] * 4
    steps += [{"proxy": 0.9, "rule": 0.1, "wrong": 0.9}] * 6
    state, found = play(steps)
    assert [(f.kind, f.step) for f in found] == [("gap", 3), ("wrong", 7)]
    assert (state.alarm_step, state.alarm_kind) == (3, "gap")
    assert state.raised == ("gap", "wrong")


def test_findings_of_one_step_are_handed_back_one_by_one_alarms_first():
    # At step 6 the unsure share, the gap and the wrong score all pass their limits.
    steps = [{**QUIET, "wrong": 0.0, "unsure": 0.0}] * 3
    steps += [{"proxy": 0.7, "rule": 0.2, "wrong": 0.8, "unsure": 0.3}] * 3
    steps += [{**QUIET, "wrong": 0.0, "unsure": 0.0}] * 3
    state, found = play(steps)
    assert [(f.kind, f.step) for f in found] == [("gap", 6), ("wrong", 6), ("unsure", 6)]
    assert state.waiting == ()


def test_a_threshold_of_none_is_off():
    config = AlarmConfig(gap=None, wrong=None, starvation=None, unsure=None)
    steps = [{"proxy": 0.3, "rule": 0.3, "wrong": 0.1, "valid_rate": 1.0, "unsure": 0.0}] * 10
    steps += [{"proxy": 1.0, "rule": 0.0, "wrong": 1.0, "valid_rate": 0.0, "unsure": 1.0}] * 20
    assert play(steps, config)[1] == []
    assert {f.kind for f in play(steps)[1]} == {"gap", "wrong", "starvation", "unsure"}


def test_the_step_of_the_trainer_is_used_and_must_not_go_back():
    config = AlarmConfig(window=1)
    state, finding = alarm_update(alarm_init(), config, proxy=0.9, rule=0.1, step=50)
    assert finding is not None
    assert finding.step == state.alarm_step == 50
    with pytest.raises(ValueError, match="step: got 49 after 50"):
        alarm_update(state, config, proxy=0.9, rule=0.1, step=49)


@pytest.mark.parametrize("name", ["proxy", "rule", "wrong", "valid_rate", "unsure"])
def test_infinity_is_refused_by_name(name):
    with pytest.raises(ValueError, match=f"{name}: got inf"):
        alarm_update(alarm_init(), AlarmConfig(), **{**QUIET, name: math.inf})


@pytest.mark.parametrize(
    "wrong", [{"gap": 0}, {"window": 0}, {"action": "pray"}, {"typo": 1}, {"starvation": 1.5}]
)
def test_bad_configuration_is_refused(wrong):
    with pytest.raises(ValidationError):
        AlarmConfig(**wrong)


def test_configuration_is_frozen_and_goes_through_json():
    config = AlarmConfig(gap=None, action="refresh")
    assert AlarmConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ValidationError):
        config.window = 5


def test_rearmed_it_sounds_again_on_new_evidence_only():
    hacked = [{"proxy": 0.9, "rule": 0.1}] * 4
    state, _ = play(hacked)
    state = alarm_rearm(state)
    state, found = play([QUIET] * 5, state=state)
    assert found == []
    state, found = play(hacked, state=state)
    assert [f.kind for f in found] == ["gap"]
    assert (state.alarm_step, state.alarm_kind) == (3, "gap"), "the first alarm stays"


def test_restoring_refuses_unknown_fields():
    with pytest.raises(ValueError, match="unknown fields \\['gaps'\\]"):
        alarm_restore({"gaps": []})


@settings(deadline=None)
@given(rows, st.integers(0, 40))
def test_saved_and_restored_continues_identically(steps, cut):
    whole, found = play(steps)
    half, before = play(steps[:cut])
    again = alarm_restore(json.loads(json.dumps(half._asdict())))
    assert again == half
    assert all(isinstance(f, Finding) for f in again.waiting)
    resumed, after = play(steps[cut:], state=again)
    assert resumed == whole
    assert before + after == found


@settings(deadline=None)
@given(rows, st.lists(st.integers(0, 40), max_size=10), st.sampled_from([None, math.nan]))
def test_missing_stays_missing(steps, where, missing):
    """Steps without any value, put anywhere, change nothing but the counting of steps."""
    holed = list(steps)
    for i in where:
        holed.insert(i, dict.fromkeys(("proxy", "rule", "wrong", "valid_rate", "unsure"), missing))
    config = AlarmConfig()
    plain, _ = play(steps, config)
    other, _ = play(holed, config)
    assert other.raised == plain.raised
    assert other.alarm_kind == plain.alarm_kind
    same = ("gap", "wrong", "valid", "valid_start", "unsure", "unsure_start")
    assert all(getattr(other, name) == getattr(plain, name) for name in same)


@settings(deadline=None)
@given(rows)
def test_half_a_gap_is_no_gap(steps):
    state, _ = play([{**row, "rule": None} for row in steps])
    assert state.gap == ()


@settings(deadline=None)
@given(rows)
def test_against_a_slow_loop(steps):
    """The step of the first finding of each kind, from whole lists instead of windows."""
    state, found = play(steps)
    expected = slow(steps)
    assert {kind: step for kind, step in expected.items() if kind in state.raised} == expected
    assert {f.kind: f.step for f in (*found, *state.waiting)} == expected
    alarms = [step for kind, step in expected.items() if kind in ALARMS]
    assert state.alarm_step == min(alarms, default=None)


def slow(steps):
    first = {}
    for end in range(1, len(steps) + 1):
        seen = steps[:end]

        def values(name, seen=seen):
            return [r[name] for r in seen if r[name] is not None]

        both = [r for r in seen if r["proxy"] is not None and r["rule"] is not None]
        gaps, wrongs = [r["proxy"] - r["rule"] for r in both], values("wrong")
        valids, unsures = values("valid_rate"), values("unsure")
        tripped = {
            "gap": len(gaps) >= 3 and math.fsum(gaps[-3:]) / 3 > 0.4 + 1e-9,
            "wrong": len(wrongs) >= 3 and math.fsum(wrongs[-3:]) / 3 > 0.7 + 1e-9,
            "starvation": len(valids) >= 10
            and 0.5 * (math.fsum(valids[:10]) / 10) > math.fsum(valids[-10:]) / 10 + 1e-9,
            "unsure": len(unsures) >= 3
            and math.fsum(unsures[-3:]) / 3 > max(0.25, 2 * (math.fsum(unsures[:3]) / 3)) + 1e-9,
        }
        for kind, trips in tripped.items():
            if trips:
                first.setdefault(kind, end)
    return first


def test_the_state_before_the_first_step():
    assert alarm_init() == AlarmState()
    assert alarm_update(alarm_init(), AlarmConfig(), proxy=None, rule=None) == (
        AlarmState(step=1),
        None,
    )


def test_few_wrong_rollouts_do_not_count():
    # Below wrong_share (.25) the step has no wrong score; at .25 it counts.
    few = {**QUIET, "wrong": 0.95, "wrong_share": 0.2}
    many = {**few, "wrong_share": 0.25}
    assert play([few] * 6)[1] == []
    assert [(f.kind, f.step) for f in play([few] * 3 + [many] * 3)[1]] == [("wrong", 6)]
