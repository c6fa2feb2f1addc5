"""The co-training step as a whole: what is rewarded, what is learned, when, and from what."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from cooper.audit import AlarmConfig
from cooper.data import sums
from cooper.train import (
    Cooper,
    CooperConfig,
    Labelled,
    Pair,
    Update,
    assisted,
    judge_all,
    update,
)
from cooper.types import Batch, Score, Status

TASK = sums(heldout=10)
FAST = {"learning_rate": 3e-3}
REPLAY = [Labelled("9+9", "18", "so 18", 1.0), Labelled("9+9", "18", "so 19", 0.0)]
Make = Callable[..., Cooper]
Weights = Callable[[Any], np.ndarray[Any, Any]]


def paper(**changes: Any) -> CooperConfig:
    return CooperConfig.paper(**{**FAST, **changes})


def better(**changes: Any) -> CooperConfig:
    return CooperConfig.model_validate({**FAST, **changes})


def mined(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[Pair], list[Labelled]]]:
    """Every (pairs, replayed rows) that an optimiser step is given from now on."""
    seen: list[tuple[list[Pair], list[Labelled]]] = []

    def record(rm: Any, optimizer: Any, pairs: Any, *, config: Any, replay: Any) -> Update:
        seen.append((list(pairs), list(replay)))
        return Update(0.5, 1, len(pairs), 1.0, skipped=False)

    monkeypatch.setattr("cooper.train._cooper.update", record)
    return seen


# --- the released algorithm ---------------------------------------------------------------------


def test_paper_trains_on_one_pair_per_group_with_a_right_rollout(
    make: Make, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = mined(monkeypatch)
    outcome = make(paper()).step(batch)
    ((pairs, replay),) = seen  # one optimiser step
    assert [(p.positive, p.source, p.group) for p in pairs] == [
        ("so 42", "copy", 0),  # the first that is right, not the first rollout
        ("20", "copy", 2),
    ]
    assert replay == []
    assert outcome.metrics["cooper/valid_rate"] == pytest.approx(2 / 3)
    assert outcome.metrics["cooper/pairs"] == 2


def test_paper_without_a_positive_learns_nothing(
    make: Make, starved: Batch, weights: Weights
) -> None:
    cooper = make(paper())
    before = weights(cooper)
    outcome = cooper.step(starved)
    assert np.array_equal(weights(cooper), before)
    assert outcome.metrics["cooper/valid_rate"] == outcome.metrics["cooper/pairs"] == 0
    assert "cooper/rm_loss" not in outcome.metrics
    assert np.ptp(outcome.rewards.advantages) > 0  # it still trains the policy


def test_paper_rewards_with_the_reward_model_alone(make: Make, batch: Batch) -> None:
    cooper = make(paper())
    assert cooper.rm is not None
    scores = cooper.rm.score(batch)
    rewards = cooper.step(batch).rewards
    assert np.array_equal(rewards.reward, scores)
    assert np.array_equal(rewards.component("proxy"), scores)
    for g in range(3):
        r, a = rewards.reward[4 * g :][:4], rewards.advantages[4 * g :][:4]
        assert np.allclose(a, (r - r.mean()) / (r.std(ddof=1) + 1e-4))


def test_paper_updates_after_scoring(make: Make, batch: Batch) -> None:
    """The update of step t leaves the rewards of t alone and changes those of t + 1."""
    learning, frozen = make(paper()), make(CooperConfig.frozen())
    first, still = learning.step(batch), frozen.step(batch)
    assert np.array_equal(first.rewards.reward, still.rewards.reward)
    assert np.array_equal(first.rewards.advantages, still.rewards.advantages)
    assert not np.array_equal(learning.step(batch).rewards.reward, still.rewards.reward)
    assert np.array_equal(frozen.step(batch).rewards.reward, still.rewards.reward)


# --- when and how often -------------------------------------------------------------------------


def test_a_step_before_scoring_changes_the_rewards_of_the_same_batch(
    make: Make, batch: Batch
) -> None:
    early, late = make(paper(when="before")), make(paper())
    first, second = early.step(batch), late.step(batch)
    assert not np.array_equal(first.rewards.reward, second.rewards.reward)
    assert np.array_equal(first.rewards.reward, late.step(batch).rewards.reward)
    # the alarm watches the scores from before the step in either order
    assert first.metrics["cooper/proxy_mean"] == second.metrics["cooper/proxy_mean"]


@pytest.mark.parametrize(("updates", "steps"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_updates_are_mini_batches_of_whole_groups(
    make: Make, batch: Batch, monkeypatch: pytest.MonkeyPatch, updates: int, steps: int
) -> None:
    seen = mined(monkeypatch)
    config = better(pairs_other=1, updates=updates)
    outcome = make(config, replay=REPLAY).step(batch)
    groups = [{p.group for p in pairs} for pairs, _ in seen]
    assert len(groups) == steps
    assert sum(len(g) for g in groups) == len(set.union(*groups)) == 3
    pairs = [p for part, _ in seen for p in part]
    assert outcome.metrics["cooper/pairs"] == len(pairs) == len(set(pairs))
    assert {p.source for p in pairs} == {"copy", "fallback", "hard", "other", "reference"}


def test_no_updates_is_a_frozen_model(make: Make, batch: Batch, weights: Weights) -> None:
    cooper = make(better(updates=0))
    before = weights(cooper)
    outcome = cooper.step(batch)
    assert np.array_equal(weights(cooper), before)
    assert outcome.metrics["cooper/valid_rate"] == pytest.approx(2 / 3)  # groups with a positive
    assert "cooper/pairs" not in outcome.metrics


def test_warm_up_trains_the_reward_model_and_nothing_else(
    make: Make, batch: Batch, weights: Weights
) -> None:
    cooper = make(better())
    before, alarm = weights(cooper), cooper.alarm
    metrics = cooper.warm_up(batch)
    assert not np.array_equal(weights(cooper), before)
    assert (cooper.warmed, cooper.steps) == (1, 0)
    assert cooper.alarm == alarm
    assert metrics["cooper/rm_loss"] > 0


def test_evaluation_only_scores(make: Make, batch: Batch) -> None:
    cooper = make(better(), replay=REPLAY, fixed=REPLAY)
    before = pickle.dumps(cooper.state_dict())
    outcome = cooper.step(batch, learn=False)
    assert pickle.dumps(cooper.state_dict()) == before
    assert outcome.findings == ()
    assert outcome.rewards.valid.all()


# --- where the pairs come from ------------------------------------------------------------------


def test_negatives_are_checked_against_the_reference_or_the_positive(make: Make) -> None:
    ours, released = make(better()), make(paper())
    assert ours.accept("so 41", "so 42", "42")
    assert ours.accept("no number", "so 42", "42")  # surely wrong
    assert not ours.accept("it is 42", "so 42", "42")  # the rule cannot read it: refused
    assert not ours.accept("42", "so 42", "42")
    assert released.accept("it is 42", "so 42", "42")  # unreadable passes, as released
    assert not released.accept("so 42", "42", "17")  # agrees with the positive
    blind = make(better(), surely_wrong=sums(heldout=10, blind=True).surely_wrong)
    assert not blind.accept("no number", "so 42", "42")


def test_a_score_that_does_not_exist_accepts_nothing_but_as_released(make: Make) -> None:
    def broken(completion: str, reference: str) -> Score:
        return Score(None, Status.ERROR, "broken")

    def never(completion: str, reference: str) -> bool:
        return False

    assert not make(better(), rule=broken, surely_wrong=never).accept("41", "42", "42")
    assert make(paper(), rule=broken, surely_wrong=never).accept("41", "42", "42")


def test_hard_pairs_are_the_highest_scored_surely_wrong_rollouts(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = mined(monkeypatch)
    wrong = ["so 41", "#40", "41 or 42", "44", "so 41"]
    batch = Batch(["12+30"] * 6, ["42"] * 6, [*wrong, "it is 43"], [0] * 6)
    cooper = make(better(pairs_copy=0, pair_reference=False))
    assert cooper.rm is not None
    scores = cooper.rm.score(batch)
    texts = [batch.completions[i] for i in np.argsort(-scores, kind="stable")]
    cooper.step(batch)
    pairs = seen[0][0]
    assert [p.negative for p in pairs] == list(dict.fromkeys(texts))[:2]
    for pair in pairs:
        assert TASK.surely_wrong(pair.negative, "42")
        assert TASK.oracle(pair.positive, "42").value == 1.0
        assert len(pair.positive) == len(pair.negative) or " or " in pair.negative  # same format


def test_the_assistant_writes_and_the_corruptor_stands_in(
    make: Make, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = mined(monkeypatch)
    replies = iter(["so 99", "so 20"])  # the second is right: not a negative
    write = assisted(lambda prompts: [next(replies) for _ in prompts], tries=1)
    make(paper(), assistant=write).step(batch)
    first, second = seen[0][0]
    assert first.negative == "so 99"
    assert write.failures == {1: "not surely wrong"}
    assert TASK.oracle(second.negative, "20").value == 0.0


def test_replay_draws_offline_rows_for_every_update(
    make: Make, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = mined(monkeypatch)
    make(better(updates=3, replay=5), replay=REPLAY).step(batch)
    assert [len(rows) for _, rows in seen] == [5, 5, 5]
    assert {row for _, rows in seen for row in rows} == set(REPLAY)
    seen.clear()
    make(better(updates=3, replay=5)).step(batch)  # there are none
    assert [rows for _, rows in seen] == [[], [], []]


def test_replay_and_anchoring_pull_the_level_of_a_score(make: Make, batch: Batch) -> None:
    level = {}
    for replay in (0, 8):
        cooper = make(better(replay=replay, anchor_bce=0.0), replay=REPLAY)
        for _ in range(30):
            cooper.step(batch)
        assert cooper.rm is not None
        rows = Batch(["9+9"] * 2, ["18"] * 2, ["so 18", "so 19"], [0, 0])
        level[replay] = cooper.rm.score(rows)
    assert np.abs(level[8] - [1, 0]).max() < 0.2
    assert np.abs(level[8] - [1, 0]).sum() < np.abs(level[0] - [1, 0]).sum()


def test_rows_of_groups_may_be_mixed(
    make: Make, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = mined(monkeypatch)
    order = [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
    straight, mixed = make(better()).step(batch), make(better()).step(batch.take(order))
    half = len(seen) // 2
    assert [pairs for pairs, _ in seen[:half]] == [pairs for pairs, _ in seen[half:]]
    for name in ("reward", "advantages"):
        one, two = getattr(straight.rewards, name), getattr(mixed.rewards, name)
        assert np.allclose(one[order], two, atol=1e-6)


# --- what is rewarded ---------------------------------------------------------------------------


def test_strata(make: Make, batch: Batch) -> None:
    rewards = make(better(updates=0)).step(batch).rewards
    p, reward = rewards.component("proxy"), rewards.reward
    right, wrong, unsure = [1, 2, 8, 9, 10, 11], [0, 3, 4, 5], [6, 7]
    assert np.allclose(reward[right], 0.9 + 0.1 * p[right])
    assert (reward[wrong] == 0).all()
    assert np.allclose(reward[unsure], 0.8 * p[unsure])
    assert np.array_equal(np.flatnonzero(rewards.extra["unsure"]), unsure)
    assert rewards.component("surely_wrong")[wrong].all()


def test_groups_without_a_right_rollout_do_not_move_the_policy(make: Make, batch: Batch) -> None:
    rewards = make(better()).step(batch).rewards
    assert (rewards.advantages[4:8] == 0).all()
    assert np.ptp(rewards.reward[4:8]) > 0  # though the rewards differ
    assert (rewards.advantages[:4] != 0).all()
    assert rewards.extra["anchored"].tolist() == [1] * 4 + [0] * 4 + [1] * 4
    free = make(better(anchored_only=False)).step(batch).rewards
    assert np.ptp(free.advantages[4:8]) > 0


def test_the_gate_holds_the_policy_while_the_model_is_behind(make: Make, batch: Batch) -> None:
    shut = make(better(gate=1.0, learning_rate=1e-9)).step(batch)
    share = shut.metrics["cooper/rm_accuracy_fresh"]
    assert 0 < share < 1
    assert (shut.rewards.advantages == 0).all()
    assert shut.metrics["cooper/anchored_share"] == 0
    assert shut.rewards.valid.all()  # rewards are still logged
    ajar = make(better(gate=share, learning_rate=1e-9)).step(batch)
    assert (ajar.rewards.advantages[:4] != 0).all()


def test_the_floor_keeps_tiny_differences_tiny(make: Make, batch: Batch) -> None:
    rewards = make(better(std_floor=10.0)).step(batch).rewards
    r = rewards.reward[8:]
    assert np.ptp(r) > 0
    assert np.allclose(rewards.advantages[8:], (r - r.mean()) / (10 + 1e-4))


def test_mean_only_advantages(make: Make, batch: Batch) -> None:
    rewards = make(paper(advantage="dr_grpo")).step(batch).rewards
    assert np.allclose(rewards.advantages[:4], rewards.reward[:4] - rewards.reward[:4].mean())


def partly_broken(completion: str, reference: str) -> Score:
    if completion == "so 41":
        return Score(None, Status.ERROR, "the rule broke")
    return TASK.rule(completion, reference)


def never(completion: str, reference: str) -> bool:
    return False


def test_a_verdict_that_does_not_exist_is_missing_and_not_zero(make: Make, batch: Batch) -> None:
    config = CooperConfig(reward="rule", updates=0, anchored_only=False)
    outcome = make(config, rm=None, rule=partly_broken, surely_wrong=never).step(batch)
    rewards = outcome.rewards
    assert not rewards.valid[0]
    assert rewards.advantages[0] == 0
    assert rewards.status[0][0] is Status.ERROR
    assert np.isnan(rewards.component("rule")[0])
    rest = make(config, rm=None).step(batch.take(range(1, 12)))
    assert np.array_equal(rewards.advantages[1:], rest.rewards.advantages)  # masked = removed
    assert outcome.metrics["cooper/rule_mean"] == rest.metrics["cooper/rule_mean"]
    fused = make(better(updates=0), rule=partly_broken, surely_wrong=never).step(batch).rewards
    assert fused.reward[0] == pytest.approx(0.8 * fused.component("proxy")[0])  # unsure
    assert fused.extra["unsure"][0] == 1


def test_no_verdict_at_all_is_no_rule_mean(make: Make, batch: Batch) -> None:
    def broken(completion: str, reference: str) -> Score:
        return Score(None, Status.TIMEOUT)

    outcome = make(better(), rule=broken).step(batch)
    assert "cooper/rule_mean" not in outcome.metrics
    assert outcome.findings == ()
    assert (outcome.rewards.advantages == 0).all()


# --- state --------------------------------------------------------------------------------------


class Counting:
    """An assistant whose answers depend on how often it was asked."""

    calls = 0

    def __call__(self, prompts: list[str]) -> list[str | None]:
        self.calls += 1
        return [f"so {500 + self.calls}" for _ in prompts]

    def state_dict(self) -> dict[str, int]:
        return {"calls": self.calls}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.calls = state["calls"]


def test_stopped_and_resumed_is_uninterrupted(
    make: Make, make_rm: Callable[..., Any], batch: Batch, weights: Weights
) -> None:
    def fresh(seed: int) -> Cooper:
        return make(
            better(updates=2),
            rm=make_rm(seed),
            replay=REPLAY,
            fixed=REPLAY,
            assistant=assisted(Counting()),
            alarm=AlarmConfig(window=2, gap=0.01),
            seed=seed,
        )

    through = fresh(0)
    through.warm_up(batch)
    through.step(batch)
    file = io.BytesIO()
    torch.save(through.state_dict(), file)
    file.seek(0)
    resumed = fresh(1)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(3):
        one, two = through.step(batch), resumed.step(batch)
        assert np.array_equal(one.rewards.reward, two.rewards.reward)
        assert np.array_equal(one.rewards.advantages, two.rewards.advantages)
        assert one.metrics == two.metrics
        assert one.findings == two.findings
    assert np.array_equal(weights(through), weights(resumed))
    assert (resumed.steps, resumed.warmed) == (4, 1)
    assert resumed.alarm == through.alarm
    assert resumed.rng.integers(2**62) == through.rng.integers(2**62)


def test_a_pickled_copy_goes_on_alike(make: Make, batch: Batch) -> None:
    cooper = make(better(), rule=partly_broken, replay=REPLAY)
    cooper.step(batch)
    copy = pickle.loads(pickle.dumps(cooper))
    one, two = cooper.step(batch), copy.step(batch)
    assert one.metrics == two.metrics
    assert np.array_equal(one.rewards.reward, two.rewards.reward)
    assert np.array_equal(cooper.step(batch).rewards.reward, copy.step(batch).rewards.reward)


def test_the_fixed_set_is_measured_at_first_and_then_now_and_then(make: Make, batch: Batch) -> None:
    cooper = make(paper(updates=0), fixed=REPLAY)
    assert cooper.rm is not None
    rows = Batch(["9+9"] * 2, ["18"] * 2, ["so 18", "so 19"], [0, 0])
    expected = ((cooper.rm.score(rows) >= 0.5) == [True, False]).mean()
    measured = [cooper.step(batch).metrics.get("cooper/rm_accuracy_fixed") for _ in range(11)]
    assert measured == [expected, *[None] * 9, expected]


# --- the alarm ----------------------------------------------------------------------------------


def test_the_alarm_refreshes_the_reward_model_and_is_armed_again(
    make: Make, starved: Batch, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[Update] = []

    def recorded(*given: Any, **options: Any) -> Update:
        steps.append(update(*given, **options))
        return steps[-1]

    monkeypatch.setattr("cooper.train._cooper.update", recorded)
    made, rewards, taken = {}, {}, {}
    for action in ("warn", "refresh"):
        steps.clear()
        cooper = made[action] = make(
            better(updates=1, learning_rate=1e-3),
            alarm=AlarmConfig(window=1, gap=0.05, wrong=None, action=action),
        )
        outcome = cooper.step(starved)
        assert [f.kind for f in outcome.findings] == ["gap"]
        assert cooper.alarm.alarm_step == outcome.metrics["cooper/alarm"] == 1
        rewards[action], taken[action] = outcome.rewards.reward, list(steps)
    assert made["warn"].alarm.raised == ("gap",)
    assert len(taken["warn"]) == 1
    assert made["refresh"].alarm.raised == made["refresh"].alarm.gap == ()
    extra = taken["refresh"][1:]  # one step a pass, as there is one group
    assert 1 < len(extra) < 20
    assert [u.ordered == u.pairs for u in extra] == [False] * (len(extra) - 1) + [True]
    assert np.array_equal(rewards["warn"], rewards["refresh"])  # it counts from the next step on
    assert not np.array_equal(weights(made["warn"]), weights(made["refresh"]))


def test_a_warning_refreshes_nothing(make: Make, starved: Batch, weights: Weights) -> None:
    alarm = {"window": 1, "gap": None, "wrong": None}
    plain = make(better(), alarm=AlarmConfig(**alarm, unsure=None, action="refresh"))
    warned = make(better(), alarm=AlarmConfig(**alarm, unsure=0.4, action="refresh"))
    warned.alarm = warned.alarm._replace(unsure_start=(0.1,))
    assert plain.step(starved).findings == ()
    assert [f.kind for f in warned.step(starved).findings] == ["unsure"]
    assert np.array_equal(weights(plain), weights(warned))
    assert warned.alarm.alarm_step is None


# --- mistakes -----------------------------------------------------------------------------------


def test_a_reward_model_is_needed_unless_the_rule_alone_rewards(make: Make, batch: Batch) -> None:
    for config in (CooperConfig(), CooperConfig(reward="rule"), CooperConfig.frozen()):
        with pytest.raises(ValueError, match="rm: None"):
            make(config, rm=None)
    outcome = make(CooperConfig(reward="rule", updates=0), rm=None).step(batch)
    assert outcome.rewards.reward.tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert not outcome.rewards.where[:, 1].any()
    assert "cooper/proxy_mean" not in outcome.metrics
    assert "cooper/alarm" not in outcome.metrics


def test_an_empty_batch_is_refused(make: Make) -> None:
    cooper = make(better())
    for call in (cooper.step, cooper.warm_up):
        with pytest.raises(ValueError, match="batch: got 0 rollouts"):
            call(Batch([], [], [], []))


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="'completions': 2"):
        Batch(["12+30"], ["42"], ["41", "42"], [0])


def test_a_rule_must_give_scores(make: Make, batch: Batch) -> None:
    with pytest.raises(TypeError, match=r"rule: gave 1\.0, expected a cooper.Score"):
        make(better(), rule=lambda completion, reference: 1.0).step(batch)


def test_a_rule_is_asked_once_for_equal_rollouts(make: Make, batch: Batch) -> None:
    asked: list[tuple[str, str]] = []

    def rule(completion: str, reference: str) -> Score:
        asked.append((completion, reference))
        return TASK.rule(completion, reference)

    make(better(updates=0), rule=rule).step(batch)
    assert len(asked) == len(set(asked)) == 10


def test_skipped_steps_are_told_and_not_averaged(
    make: Make, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = iter([Update(9.0, 0, 2, float("nan"), True), Update(0.5, 2, 2, 1.0, False)])
    monkeypatch.setattr("cooper.train._cooper.update", lambda *_, **__: next(results))
    metrics = make(better(updates=2)).step(batch).metrics
    assert metrics["cooper/rm_skipped"] == 1
    assert (metrics["cooper/rm_loss"], metrics["cooper/rm_grad_norm"]) == (0.5, 1.0)
    assert metrics["cooper/rm_accuracy_fresh"] == 0.5


def test_the_valid_rate_without_copies_is_the_share_of_groups_with_a_right_rollout(
    make: Make, batch: Batch
) -> None:
    metrics = make(better(pairs_copy=0)).step(batch).metrics
    assert metrics["cooper/valid_rate"] == pytest.approx(2 / 3)
    assert metrics["cooper/pairs"] > 0


def test_max_pairs_keeps_whole_groups_and_at_least_one(
    make: Callable[..., Cooper], batch: Batch
) -> None:
    everything = make(better(updates=3)).step(batch).metrics["cooper/pairs"]
    seen = []
    for most in (1, 4, 100):
        cooper = make(better(updates=3, max_pairs=most))
        pairs = cooper._mine(batch, *_scored(cooper, batch))
        done = cooper._learn(pairs, 3, most=most)
        seen.append(sum(u.pairs for u in done))
    sizes = sorted(np.unique([p.group for p in pairs], return_counts=True)[1])
    assert seen[0] in sizes, "one whole group, though it is over the cap"
    assert seen[1] <= max(4, sizes[-1])
    assert seen[2] == len(pairs) == everything


def _scored(cooper: Cooper, batch: Batch) -> tuple[Any, Any]:
    verdicts = cooper._verdicts(batch, judge_all(cooper.rule, batch))
    return verdicts, cooper._score(batch)


def test_unsure_answers_earn_nothing_while_their_share_has_grown(
    make: Callable[..., Cooper], batch: Batch
) -> None:
    # To a blind negative rule "it is 22", "41 or 42" and "so" are unsure: a quarter of the batch
    # at first, and three quarters when the policy has fled into "so".
    fled = Batch(batch.questions, batch.references, list(batch.completions), batch.group)
    for i in range(4, 12):
        fled.completions[i] = "so"
    paid = {}
    for guard in (True, False):
        cooper = make(better(unsure_guard=guard, updates=0), surely_wrong=_blind)
        for _ in range(3):
            before = cooper.step(batch)
        for _ in range(4):
            after = cooper.step(fled)
        unsure = after.rewards.extra["unsure"] > 0
        assert unsure.mean() > 0.5 >= 2 * before.rewards.extra["unsure"].mean()
        paid[guard] = after.rewards.reward[unsure]
        assert not (after.rewards.extra["surely_wrong"][unsure]).any()
    assert (paid[True] == 0).all()
    assert (paid[False] > 0).all()


def _blind(completion: str, reference: str) -> bool:
    return sums(heldout=10, blind=True).surely_wrong(completion, reference)
