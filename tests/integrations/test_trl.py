"""The real GRPOTrainer, on a policy of a few thousand weights."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerFast, PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from cooper.audit import AlarmConfig
from cooper.errors import UserError
from cooper.integrations._sample import sample
from cooper.integrations.trl import (
    CooperCallback,
    CooperReward,
    OwnAdvantages,
    fit_advantages,
    load_cooper,
    save_cooper,
    text_of,
)
from cooper.models import VerifyRM, tiny_decoder, tiny_tokenizer
from cooper.train import Cooper, CooperConfig
from cooper.types import Score, Status

CHAT = "{% for m in messages %}{{ m['content'] }}={% endfor %}"
ROWS = [{"prompt": f"{n}=", "reference": f"{n}"} for n in range(10)]


def first_digit(completion: str, reference: str) -> Score:
    """Right means: opens with the reference. An "x" as reference cannot be read."""
    if reference == "x":
        return Score(None, Status.UNPARSED)
    return Score(float(completion[:1] == reference))


def surely_wrong(completion: str, reference: str) -> bool:
    return reference not in completion


class Mine(OwnAdvantages, GRPOTrainer):
    pass


class Spy(GRPOTrainer):
    """Keeps the advantages that the loss is given."""

    seen: list[torch.Tensor]

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        self.seen = [*getattr(self, "seen", []), inputs["advantages"].clone()]
        return super()._compute_loss(model, inputs)


class MineSpied(OwnAdvantages, Spy):
    pass


@pytest.fixture
def tokens() -> PreTrainedTokenizerFast:
    made = tiny_tokenizer("0123456789=x")
    made.chat_template = CHAT
    return made


def make_cooper(tokens: PreTrainedTokenizerFast, **changes: Any) -> Cooper:
    decoder = tiny_decoder(tokens, hidden=16, seed=2)
    settings = {"learning_rate": 1e-3, "warmup_batches": 1, "anchored_only": False, "replay": 0}
    return Cooper(
        VerifyRM.from_decoder(decoder, tokens, seed=1, max_length=48, micro_batch=64),
        first_digit,
        surely_wrong=surely_wrong,
        config=CooperConfig.model_validate(settings | changes),
        alarm=AlarmConfig(),
    )


@pytest.fixture
def build(tokens: PreTrainedTokenizerFast, tmp_path: Path) -> Callable[..., GRPOTrainer]:
    """A trainer of two steps with 4 prompts of 4 rollouts."""

    def make(
        reward: CooperReward,
        *,
        kind: type[GRPOTrainer] = GRPOTrainer,
        rows: list[dict[str, Any]] = ROWS,
        eval_rows: list[dict[str, Any]] | None = None,
        callback: CooperCallback | None = None,
        **arguments: Any,
    ) -> GRPOTrainer:
        policy = tmp_path / "policy"
        tiny_decoder(tokens, hidden=16, seed=0).save_pretrained(policy)
        settings: dict[str, Any] = {
            "output_dir": str(tmp_path / "out"),
            "max_steps": 2,
            "per_device_train_batch_size": 16,
            "per_device_eval_batch_size": 8,
            "num_generations": 4,
            "max_completion_length": 3,
            "learning_rate": 1e-2,
            "beta": 0.01,
            "bf16": False,
            "logging_steps": 1,
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
            "use_cpu": True,
            "dataloader_pin_memory": False,
        }
        trainer = kind(
            model=str(policy),
            args=GRPOConfig(**(settings | arguments)),
            train_dataset=Dataset.from_list(rows * 4),
            eval_dataset=None if eval_rows is None else Dataset.from_list(eval_rows),
            reward_funcs=reward,
            processing_class=tokens,
            callbacks=[callback or CooperCallback(reward)],
        )
        trainer.remove_callback(PrinterCallback)
        return trainer

    return make


def rm_state(cooper: Cooper) -> dict[str, torch.Tensor]:
    assert cooper.rm is not None
    return {name: value.clone() for name, value in cooper.rm.model.state_dict().items()}


def equal(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("kind", [GRPOTrainer, Mine])
def test_two_lines_add_cooper(
    kind: type[GRPOTrainer],
    build: Callable[..., GRPOTrainer],
    tokens: PreTrainedTokenizerFast,
) -> None:
    reward = CooperReward(make_cooper(tokens))
    before = rm_state(reward.cooper)
    trainer = build(reward, kind=kind)
    trainer.train()
    logs = [log for log in trainer.state.log_history if "reward" in log]
    assert len(logs) == 2
    for log in logs:
        for name in ("rule_mean", "proxy_mean", "gap", "valid_rate", "format_share", "alarm"):
            assert f"cooper/{name}" in log, name
        for name in ("rm_loss", "rm_accuracy_fresh"):
            assert f"cooper/{name}" in log, name
        assert {"rewards/cooper/mean", "rewards/cooper/std", "kl", "completions/mean_length"} <= {
            *log
        }
        gap = log["cooper/proxy_mean"] - log["cooper/rule_mean"]
        assert log["cooper/gap"] == pytest.approx(gap, abs=1e-6)
        assert log["rewards/cooper/mean"] == pytest.approx(log["reward"])
    assert (reward.cooper.steps, reward.cooper.warmed) == (2, 1)
    assert not equal(rm_state(reward.cooper), before)


@pytest.mark.parametrize("chat", [False, True])
def test_prompts_may_be_text_or_chat(
    chat: bool, build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast
) -> None:
    rows = [
        {
            "prompt": [{"role": "user", "content": f"{n}"}] if chat else f"{n}=",
            "reference": f"{n}",
        }
        for n in range(10)
    ]
    seen: list[Any] = []
    reward = CooperReward(make_cooper(tokens), record=lambda *given: seen.append(given))
    build(reward, rows=rows).train()
    assert [step for step, *_ in seen] == [1, 2]
    _, prompts, batch, outcome, lengths = seen[0]
    assert all(isinstance(prompt, list if chat else str) for prompt in prompts)
    assert batch.questions == [f"{r}" if chat else f"{r}=" for r in batch.references]
    assert all(isinstance(text, str) for text in batch.completions)
    assert np.asarray(batch.group).tolist() == [i // 4 for i in range(16)]
    assert len(set(zip(batch.group, batch.references, strict=True))) == 4
    assert all(1 <= length <= 3 for length in lengths)
    assert outcome.rewards.reward.shape == (16,)


def test_the_question_column_is_what_the_reward_model_reads(
    tokens: PreTrainedTokenizerFast,
) -> None:
    reward, seen = CooperReward(make_cooper(tokens)), list[Any]()
    reward.record = lambda *given: seen.append(given)
    reward(["1="] * 2, ["1", "2"], reference=["1"] * 2, question=["one", None])  # type: ignore[list-item]
    assert seen[0][2].questions == ["one", "1="]


def call(reward: CooperReward, references: list[str], completions: list[str]) -> list[Any]:
    return reward([f"{r}=" for r in references], completions, reference=references)


def test_no_number_where_there_is_no_reward(tokens: PreTrainedTokenizerFast) -> None:
    open_ = CooperReward(make_cooper(tokens), group_size=2)
    got = call(open_, ["1", "1", "x", "x", "2", "2"], ["1", "2", "1", "2", "3", "4"])
    known = [value is not None for value in got]
    assert known[:2] == known[4:] == [True, True]
    strict = CooperReward(make_cooper(tokens, anchored_only=True), group_size=2)
    got = call(strict, ["1", "1", "2", "2"], ["1", "2", "3", "4"])
    assert [value is not None for value in got] == [True, True, False, False]
    strict.own_advantages = True  # the mixin zeroes the advantages itself, and logs all rewards
    assert None not in call(strict, ["1", "1", "2", "2"], ["1", "2", "3", "4"])
    assert strict.advantages is not None
    assert strict.advantages[2:].tolist() == [0.0, 0.0]
    assert strict.advantages[0] > 0 > strict.advantages[1]


def test_unreadable_references_get_none(tokens: PreTrainedTokenizerFast) -> None:
    reward = CooperReward(make_cooper(tokens, reward="rule"), group_size=2)
    extra: dict[str, list[Any]] = {}
    got = reward(
        ["x=", "x=", "1=", "1="],
        ["1", "2", "1", "2"],
        reference=["x", "x", "1", "1"],
        log_extra=lambda name, values: extra.update({name: values}),
    )
    assert got == [None, None, 1.0, 0.0]
    assert extra["rule"] == [None, None, 1.0, 0.0]
    assert extra["status"] == ["unparsed", "unparsed", "ok", "ok"]
    assert all(isinstance(p, float) for p in extra["proxy"])


def test_equal_neighbouring_prompts_are_two_groups(tokens: PreTrainedTokenizerFast) -> None:
    seen: list[Any] = []
    reward = CooperReward(make_cooper(tokens), record=lambda *given: seen.append(given))
    call(reward, ["1", "1", "1", "1"], ["1", "2", "3", "1"])
    assert seen[-1][2].group.tolist() == [0, 0, 0, 0]  # without a size, texts decide
    reward.group_size = 2
    call(reward, ["1", "1", "1", "1"], ["1", "2", "3", "1"])
    assert seen[-1][2].group.tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="3 rollouts are not whole groups of 2"):
        call(reward, ["1"] * 3, ["1"] * 3)


@pytest.mark.parametrize("warmup", [0, 1])
def test_a_data_set_without_references_is_one_line(
    warmup: int, build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast
) -> None:
    reward = CooperReward(make_cooper(tokens, warmup_batches=warmup))
    with pytest.raises(UserError, match="no column 'reference'"):
        build(reward, rows=[{"prompt": "1="}] * 8).train()


@pytest.mark.parametrize("missing", [None, "", " ", float("nan")])
def test_a_row_without_reference_is_one_line(
    missing: str | float | None, tokens: PreTrainedTokenizerFast
) -> None:
    with pytest.raises(UserError, match="reference: missing in the row with prompt '7='"):
        CooperReward(make_cooper(tokens))(["1=", "7="], ["1", "2"], reference=["1", missing])  # type: ignore[list-item]


def test_text_of_messages() -> None:
    parts = [{"type": "image"}, {"type": "text", "text": "b"}]
    turns = [{"role": "user", "content": "a"}, {"role": "user", "content": parts}]
    assert text_of(turns) == "a\nb"
    assert text_of([{"role": "assistant", "content": None, "tool_calls": []}]) == ""


def test_a_reward_is_picklable_before_and_after(
    build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast
) -> None:
    reward = CooperReward(make_cooper(tokens), name="judge")
    pickle.dumps(reward)
    trainer = build(reward, max_steps=1)
    trainer.train()
    copy = pickle.loads(pickle.dumps(reward))
    assert copy.__name__ == "judge"
    assert copy.policy is None
    assert equal(rm_state(copy.cooper), rm_state(reward.cooper))
    rows = (["1", "1", "2", "2"] * 2, ["1", "2", "2", "4"] * 2)
    reward.policy = None
    assert call(copy, *rows) == call(reward, *rows)
    assert equal(rm_state(copy.cooper), rm_state(reward.cooper))


def test_the_mixin_gives_the_loss_cooper_advantages(
    build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast
) -> None:
    seen: list[Any] = []
    reward = CooperReward(make_cooper(tokens, std_floor=0.5), record=lambda *a: seen.append(a))
    trainer = build(reward, kind=MineSpied, max_steps=1)
    trainer.train()
    wanted = seen[0][3].rewards.advantages
    (given,) = trainer.seen
    assert given.shape == (16,)
    np.testing.assert_allclose(np.sort(given.numpy()), np.sort(wanted), rtol=1e-6)  # TRL shuffles
    assert list(trainer._logs["advantages"]) == pytest.approx(wanted.tolist())


class PerToken(CooperReward):
    """All credit to the first token, one column more than the longest completion."""

    def __call__(self, *given: Any, **columns: Any) -> list[float | None]:
        rewards = super().__call__(*given, **columns)
        assert self.advantages is not None
        lengths = [len(ids) for ids in columns["completion_ids"]]
        self.advantages = np.outer(self.advantages, np.arange(max(lengths) + 1) == 0)
        return rewards


def test_advantages_per_token_reach_the_loss(
    build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast
) -> None:
    seen: list[Any] = []
    reward = PerToken(make_cooper(tokens), record=lambda *a: seen.append(a))
    trainer = build(reward, kind=MineSpied, max_steps=1)
    trainer.train()
    (given,) = trainer.seen
    assert given.shape[0] == 16
    assert given.ndim == 2
    wanted = seen[0][3].rewards.advantages
    np.testing.assert_allclose(np.sort(given[:, 0].numpy()), np.sort(wanted), rtol=1e-6)
    assert not given[:, 1:].any()
    (log,) = [log for log in trainer.state.log_history if "grad_norm" in log]
    assert log["grad_norm"] > 0


def test_fit_advantages() -> None:
    ids = torch.zeros(2, 3, dtype=torch.long)
    assert fit_advantages(np.array([1.0, -1.0]), ids).tolist() == [1.0, -1.0]
    wide = np.arange(8.0).reshape(2, 4)
    assert fit_advantages(wide, ids).tolist() == [[0, 1, 2], [4, 5, 6]]
    assert fit_advantages(wide[:, :1], ids).tolist() == [[0, 0, 0], [4, 0, 0]]
    assert fit_advantages(wide, ids).dtype == torch.float32


def test_the_mixin_wants_cooper_alone(
    build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast
) -> None:
    trainer = build(CooperReward(make_cooper(tokens)), kind=Mine)
    trainer.reward_funcs = [*trainer.reward_funcs, len]
    with pytest.raises(ValueError, match=r"exactly one reward function.*\['cooper', 'len'\]"):
        trainer.train()


@pytest.mark.parametrize("trained", [False, True])
def test_evaluation_only_scores(
    trained: bool, build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast
) -> None:
    seen: list[Any] = []
    reward = CooperReward(make_cooper(tokens), record=lambda *a: seen.append(a))
    trainer = build(reward, kind=Mine, eval_rows=ROWS[:4], num_generations_eval=2, max_steps=1)
    if trained:
        trainer.train()
    before, steps, recorded = rm_state(reward.cooper), reward.cooper.steps, len(seen)
    random = reward.cooper.rng.bit_generator.state
    found = trainer.evaluate()
    assert equal(rm_state(reward.cooper), before)
    assert reward.cooper.steps == steps
    assert reward.cooper.rng.bit_generator.state == random
    assert len(seen) == recorded
    assert reward.last is not None
    assert len(reward.last.rewards.reward) == 8
    assert "eval_cooper/proxy_mean" in found
    assert "eval_cooper/rm_loss" not in found


@pytest.mark.parametrize("action", ["stop", "warn"])
def test_the_alarm_stops_the_trainer(
    action: str,
    build: Callable[..., GRPOTrainer],
    tokens: PreTrainedTokenizerFast,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cooper = make_cooper(tokens, updates=0, warmup_batches=0)
    cooper.alarm_config = AlarmConfig.model_validate(
        {"gap": 0.01, "wrong": 0.01, "window": 1, "action": action}
    )
    trainer = build(CooperReward(cooper), max_steps=3)
    trainer.train()
    assert cooper.alarm.alarm_step == 1
    assert trainer.state.global_step == (1 if action == "stop" else 3)
    assert any(record.name == "cooper.integrations.trl" for record in caplog.records)


def test_resuming_takes_up_the_reward_model(
    build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    saving = {"save_strategy": "steps", "save_steps": 1, "max_steps": 3}
    straight = CooperReward(make_cooper(tokens))
    one = build(straight, kind=Mine, **saving)
    one.train()
    resumed = CooperReward(make_cooper(tokens))
    two = build(resumed, kind=Mine, **saving)
    torch.manual_seed(5)
    two.train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-2"))
    assert (resumed.cooper.steps, resumed.cooper.warmed) == (3, 1)
    assert equal(rm_state(resumed.cooper), rm_state(straight.cooper))
    assert equal(two.model.state_dict(), one.model.state_dict())
    assert resumed.cooper.optimizer is not None
    assert straight.cooper.optimizer is not None
    for a, b in zip(
        resumed.cooper.optimizer.state.values(),
        straight.cooper.optimizer.state.values(),
        strict=True,
    ):
        assert equal(a, b)


def test_resuming_from_another_folder(
    build: Callable[..., GRPOTrainer], tokens: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    first = CooperReward(make_cooper(tokens))
    build(first, save_strategy="steps", save_steps=1, max_steps=1).train()
    there = tmp_path / "elsewhere" / "checkpoint-1"
    there.parent.mkdir()
    (tmp_path / "out" / "checkpoint-1").rename(there)
    lost = CooperReward(make_cooper(tokens))
    with pytest.raises(UserError, match="holds no Cooper state"):
        build(lost).train(resume_from_checkpoint=str(there))
    found = CooperReward(make_cooper(tokens))
    callback = CooperCallback(found, resume_from=there)
    build(found, callback=callback).train(resume_from_checkpoint=str(there))
    assert found.cooper.steps == 2


def test_a_state_that_does_not_fit_is_one_line(
    tokens: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    state = tmp_path / "state.pt"
    for content in (b"", b"PK\x03\x04 cut off"):
        state.write_bytes(content)
        with pytest.raises(UserError, match=r"state\.pt: is damaged or of another model") as found:
            load_cooper(make_cooper(tokens), tmp_path)
        assert "\n" not in str(found.value)
    torch.save({"model": {}}, state)
    with pytest.raises(UserError, match=r"state\.pt: is damaged or of another model"):
        load_cooper(make_cooper(tokens), tmp_path)


def test_columns_as_long_as_the_prompts(tokens: PreTrainedTokenizerFast) -> None:
    reward = CooperReward(make_cooper(tokens))
    with pytest.raises(ValueError, match="reference: got 1 for 2 prompts"):
        reward(["7="] * 2, ["7"] * 2, reference=["7"])
    with pytest.raises(ValueError, match="question: got 1 for 2 prompts"):
        reward(["7="] * 2, ["7"] * 2, reference=["7"] * 2, question=["7"])
    with pytest.raises(ValueError, match="group_size: got 0"):
        CooperReward(make_cooper(tokens), group_size=0)


def test_save_and_load(tokens: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    one, two = CooperReward(make_cooper(tokens)), CooperReward(make_cooper(tokens))
    rows = (["1", "1", "2", "2"] * 2, ["1", "2", "2", "4"] * 2)
    call(one, *rows)
    save_cooper(one.cooper, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["state.pt"]
    load_cooper(two.cooper, tmp_path)
    assert call(one, *rows) == call(two, *rows)
    assert equal(rm_state(one.cooper), rm_state(two.cooper))


def test_sampling_leaves_everything_as_it_was(tokens: PreTrainedTokenizerFast) -> None:
    policy = tiny_decoder(tokens, hidden=16, seed=0).train()
    tokens.padding_side = "right"
    torch.manual_seed(1)
    state = torch.get_rng_state()
    prompts = ["1=", "22=", "333=", [{"role": "user", "content": "4"}]]
    drawn = sample(policy, tokens, prompts, max_new_tokens=3, seed=7)
    assert torch.equal(torch.get_rng_state(), state)
    assert (policy.training, tokens.padding_side) == (True, "right")
    assert drawn == sample(policy, tokens, prompts, max_new_tokens=3, seed=7)
    assert drawn != sample(policy, tokens, prompts, max_new_tokens=3, seed=8)
    greedy = {
        batch: sample(policy, tokens, prompts, max_new_tokens=3, seed=0, temperature=0, batch=batch)
        for batch in (1, 4)
    }
    assert greedy[1] == greedy[4]


PROMPTS = [f"{n}=" for n in (1, 2, 3) for _ in range(4)]
COMPLETIONS = ["1", "12", "3", "41", "2", "1", "5", "23", "4", "5", "6", "0"]


def two_calls(reward: CooperReward, mine: slice) -> dict[str, Any]:
    """Two training batches, of which this process holds the rows `mine`."""
    rows = PROMPTS[mine], COMPLETIONS[mine]
    references = [prompt[:-1] for prompt in rows[0]]
    ids = [[1] * len(text) for text in rows[1]]
    got = [reward(*rows, ids, reference=references) for _ in range(2)]
    assert reward.advantages is not None
    assert reward.last is not None
    return {
        "rewards": got,
        "advantages": reward.advantages.tolist(),
        "metrics": reward.last.metrics,
        "weights": rm_state(reward.cooper),
    }


def in_process(rank: int, world: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world
    )
    recorded: list[int] = []
    reward = CooperReward(
        make_cooper(tiny_tokenizer("0123456789=x")),
        group_size=4,
        record=lambda *given: recorded.append(rank),
    )
    mine = slice(0, 6) if rank == 0 else slice(6, 12)  # the second group straddles the ranks
    torch.save({**two_calls(reward, mine), "recorded": recorded}, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_processes_are_as_one(tokens: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    torch.multiprocessing.spawn(in_process, (2, str(tmp_path)), nprocs=2)
    alone = two_calls(CooperReward(make_cooper(tokens), group_size=4), slice(0, 12))
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)]
    for step in (0, 1):
        assert ranks[0]["rewards"][step] + ranks[1]["rewards"][step] == alone["rewards"][step]
    assert ranks[0]["advantages"] + ranks[1]["advantages"] == alone["advantages"]
    for rank in ranks:
        assert equal(rank["weights"], alone["weights"])
        assert rank["metrics"] == alone["metrics"]
    assert (ranks[0]["recorded"], ranks[1]["recorded"]) == ([0, 0], [])  # one file per step
