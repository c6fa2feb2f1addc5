"""What a Cooper step costs beside the same TRL step with a frozen reward model.

    python benchmarks/step_cost.py            # full size
    python benchmarks/step_cost.py --small    # seconds

One GRPO run in bf16 whose reward changes from step to step, in turn:
  a    the frozen reward model as a module, scored by TRL itself; fp32 weights, as it was saved
  a16  the same with its weights cast to bf16
  b    Cooper with the paper's settings
  c    Cooper with the default settings
The four reward models start from the same weights. A random policy writes noise, so the rule is
a hash of the text: about one completion in four is right, and pairs are really mined. Not counted:
the warm-up batches of c, which come once, before the first step.
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import tempfile
import time
import zlib
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback, Qwen2Config, Qwen2ForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from cooper.integrations.trl import CooperReward
from cooper.models import VerifyRM, classifier, tiny_tokenizer
from cooper.train import Cooper, CooperConfig, Labelled
from cooper.types import Score

VOCABULARY = 512
ARMS = ("a: TRL module", "a16: TRL module, bf16", "b: Cooper, paper", "c: Cooper, default")
LETTERS = [chr(0x4E00 + i) for i in range(VOCABULARY)]


class Size(NamedTuple):
    hidden: int = 256
    layers: int = 4
    prompts: int = 32
    rollouts: int = 8
    tokens: int = 64


def right(text: str) -> bool:
    return zlib.crc32(text.encode()) % 4 == 0


def rewrite(text: str, rng: np.random.Generator, *, to: bool) -> str:
    """The text with its first letter replaced until the rule says `to`."""
    while True:
        other = LETTERS[rng.integers(200)] + text[1:]
        if right(other) == to and other != text:
            return other


def make_cooper(rm: VerifyRM, config: CooperConfig, prompts: list[str]) -> Cooper:
    return Cooper(
        rm,
        lambda completion, reference: Score(float(right(completion))),
        surely_wrong=lambda completion, reference: not right(completion),
        patch=lambda completion, reference, rng: rewrite(completion, rng, to=True),
        corrupt=lambda completion, reference, rng: rewrite(completion, rng, to=False),
        config=config,
        replay=[Labelled(p, p[:4], p * 4, float(i % 2)) for i, p in enumerate(prompts)],
    )


class Alternate(TrainerCallback):
    """Gives the trainer one of its reward functions per step, in turn, and times the step."""

    def __init__(self) -> None:
        self.trainer: Any = None
        self.rewards: list[Any] = []
        self.processing: list[Any] = []
        self.names: list[str] = []
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def attach(self, trainer: Any) -> None:
        self.trainer = trainer
        self.rewards, self.names = list(trainer.reward_funcs), list(trainer.reward_func_names)
        self.processing = list(trainer.reward_processing_classes)
        trainer.reward_weights = torch.ones(1)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        arm = state.global_step % len(self.rewards)
        self.trainer.reward_funcs = [self.rewards[arm]]
        self.trainer.reward_func_names = [self.names[arm]]
        self.trainer.reward_processing_classes = [self.processing[arm]]
        self.begun = time.perf_counter(), time.process_time()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.wall.append(time.perf_counter() - self.begun[0])
        self.cpu.append(time.process_time() - self.begun[1])


def measure(size: Size, rounds: int, beta: float, folder: str) -> tuple[Alternate, int]:
    """`rounds` + 1 rounds over the arms; the first one warms up and is dropped by the caller."""
    tokens = tiny_tokenizer(LETTERS[: VOCABULARY - len(tiny_tokenizer(""))])
    torch.manual_seed(0)
    policy = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokens),
            hidden_size=size.hidden,
            intermediate_size=688 * size.hidden // 256,
            num_hidden_layers=size.layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            tie_word_embeddings=True,
            max_position_embeddings=256,
            pad_token_id=tokens.pad_token_id,
            eos_token_id=tokens.eos_token_id,
            bos_token_id=None,
        )
    )
    judge = classifier(policy, seed=0)
    rng = np.random.default_rng(0)
    prompts = ["".join(rng.choice(LETTERS[:400], 16)) for _ in range(size.prompts)]
    rms = [VerifyRM(copy.deepcopy(judge), tokens, dtype="bfloat16") for _ in range(2)]
    configs = [CooperConfig.paper(), CooperConfig()]
    modules = [copy.deepcopy(judge), copy.deepcopy(judge).to(torch.bfloat16)]
    rewards: list[Any] = [module.eval().requires_grad_(False) for module in modules]
    for name, rm, config in zip(("paper", "default"), rms, configs, strict=True):
        cooper = make_cooper(rm, config, prompts)
        rewards.append(CooperReward(cooper, group_size=size.rollouts, name=name))
    batch = size.prompts * size.rollouts
    watch = Alternate()
    trainer = GRPOTrainer(
        model=policy,
        args=GRPOConfig(
            output_dir=folder,
            max_steps=len(ARMS) * (rounds + 1),
            per_device_train_batch_size=batch // 4,
            gradient_accumulation_steps=4,
            num_generations=size.rollouts,
            max_completion_length=size.tokens,
            generation_kwargs={"min_new_tokens": size.tokens},  # all rollouts equally long
            beta=beta,
            bf16=True,
            activation_checkpointing=False,
            logging_steps=10_000,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=not torch.cuda.is_available(),
            dataloader_pin_memory=False,
        ),
        train_dataset=Dataset.from_list([{"prompt": p, "reference": p[:4]} for p in prompts]),
        reward_funcs=rewards,
        reward_processing_classes=[tokens, tokens, None, None],
        processing_class=tokens,
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    watch.attach(trainer)
    trainer.train()
    for reward in rewards[len(modules) :]:
        metrics = reward.last.metrics
        print(
            f"{reward.__name__}: {metrics['cooper/pairs']:.0f} pairs in the last step, "
            f"rule mean {metrics['cooper/rule_mean']:.2f}"
        )
    return watch, sum(p.numel() for p in policy.parameters())


def table(seconds: list[float], clock: str) -> list[str]:
    """One line per arm: median, and the ratio to arm a of the same round with its range."""
    rounds = [seconds[i : i + len(ARMS)] for i in range(len(ARMS), len(seconds), len(ARMS))]
    lines = [f"{clock:24}median s   ratio to a (range)"]
    for k, name in enumerate(ARMS):
        ratios = [r[k] / r[0] for r in rounds]
        lines.append(
            f"{name:24}{statistics.median(r[k] for r in rounds):8.2f}   "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of a Cooper step beside a TRL step.")
    parser.add_argument("--rounds", type=int, default=5, help="measured steps of each arm")
    parser.add_argument("--beta", type=float, default=0.0, help="weight of the KL, TRL's default 0")
    parser.add_argument("--small", action="store_true", help="a tiny size, to see that it runs")
    chosen = parser.parse_args()
    size = Size(hidden=32, layers=1, prompts=4, rollouts=4, tokens=8) if chosen.small else Size()
    rounds = min(chosen.rounds, 2) if chosen.small else chosen.rounds
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    with tempfile.TemporaryDirectory() as folder:
        watch, weights = measure(size, rounds, chosen.beta, folder)
    print(
        f"{weights / 1e6:.2f} million weights, {size.prompts} prompts x {size.rollouts} rollouts x "
        f"{size.tokens} tokens, {torch.get_num_threads()} thread(s), {rounds} rounds, "
        f"load {load:.1f} at the start"
    )
    print("\n".join(table(watch.wall, "wall clock")))
    print("\n".join(table(watch.cpu, "processor time")))


if __name__ == "__main__":
    main()
