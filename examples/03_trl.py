"""A GRPO run in TRL with Cooper as its reward: two lines more than without.

The policy is a fresh transformer of 0.2 million weights that is to repeat a digit: `7=` wants `7`.
It starts by writing anything, is right by chance once in a while, and learns from there. Put your
model, your data and your rule in their places.
"""

from __future__ import annotations

import tempfile

from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from cooper.integrations.trl import CooperCallback, CooperReward, OwnAdvantages
from cooper.models import VerifyRM, tiny_decoder, tiny_tokenizer
from cooper.train import Cooper, CooperConfig
from cooper.verify import exact

STEPS = 60


class Trainer(OwnAdvantages, GRPOTrainer):
    """TRL's trainer with Cooper's advantages; `GRPOTrainer` itself would do, see the README."""


def main() -> None:
    tokens = tiny_tokenizer("0123456789=")
    policy = tiny_decoder(tokens, seed=0)
    rm = VerifyRM.from_decoder(policy, tokens, seed=1, max_length=32, micro_batch=256)
    cooper = Cooper(
        rm,
        exact,  # right means equal to the reference
        surely_wrong=lambda completion, reference: reference not in completion,
        config=CooperConfig(learning_rate=1e-3, warmup_batches=10),
    )
    with tempfile.TemporaryDirectory() as folder:
        reward = CooperReward(cooper)  # first line
        trainer = Trainer(
            model=policy,
            args=GRPOConfig(
                output_dir=folder,
                max_steps=STEPS,
                per_device_train_batch_size=128,
                num_generations=16,
                max_completion_length=2,
                learning_rate=5e-4,
                bf16=False,
                activation_checkpointing=False,
                logging_steps=1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                use_cpu=True,
                dataloader_pin_memory=False,
            ),
            train_dataset=Dataset.from_list(
                [{"prompt": f"{n}=", "reference": f"{n}"} for n in range(10)] * 10
            ),
            reward_funcs=reward,
            processing_class=tokens,
            callbacks=[CooperCallback(reward)],  # second line
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    print("step  reward   proxy    rule  pairs ordered")
    for log in trainer.state.log_history:
        if log["step"] % 5 == 0 and "reward" in log:
            names = ("reward", "cooper/proxy_mean", "cooper/rule_mean", "cooper/rm_accuracy_fresh")
            print(f"{log['step']:4} " + " ".join(f"{log[name]:7.3f}" for name in names))


if __name__ == "__main__":
    main()
