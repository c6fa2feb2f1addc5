"""One step of Cooper after another on rollouts written by hand: no policy, no trainer.

The reward model starts without knowledge. Each step mines pairs from the rollouts, trains the
reward model on them, and gives the rewards and advantages that a trainer would use.
"""

from __future__ import annotations

from cooper import Batch
from cooper.data import sums
from cooper.models import VerifyRM, tiny_classifier, tiny_tokenizer
from cooper.train import Cooper, CooperConfig

ROLLOUTS = {  # question: (reference, completions)
    "23+18": ("41", ["41", "so 40", "it is 41", "41 or 42"]),
    "52+39": ("91", ["so 92", "#92", "so 1", "it is 90"]),
}


def main() -> None:
    task = sums()  # brings the rule, the negative rule, and how to mend and to spoil an answer
    tokens = tiny_tokenizer("0123456789+=# iorst")
    rm = VerifyRM(tiny_classifier(tokens, seed=0), tokens, max_length=64)
    cooper = Cooper(
        rm,
        task.rule,
        surely_wrong=task.surely_wrong,
        patch=task.patch,
        corrupt=task.corrupt,
        config=CooperConfig(learning_rate=1e-3),
    )
    rows = [(q, a, c, g) for g, (q, (a, cs)) in enumerate(ROLLOUTS.items()) for c in cs]
    questions, references, completions, group = (list(column) for column in zip(*rows, strict=True))
    batch = Batch(questions, references, completions, group)

    for step in range(1, 31):
        outcome = cooper.step(batch)
        if step in (1, 30):
            metrics = outcome.metrics
            print(
                f"step {step}: {metrics['cooper/pairs']:.0f} pairs, "
                f"{metrics['cooper/rm_accuracy_fresh']:.2f} of them ordered, "
                f"gap {metrics['cooper/gap']:+.2f}"
            )

    rewards = outcome.rewards
    print("question  completion  rule  proxy  wrong  reward  advantage")
    for i, completion in enumerate(completions):
        rule, proxy, wrong = rewards.values[i]
        print(
            f"{questions[i]:9} {completion:11} {rule:4.0f} {proxy:6.2f} {wrong:6.0f} "
            f"{rewards.reward[i]:7.2f} {rewards.advantages[i]:10.2f}"
        )
    print("The second prompt has no right answer: it trains the reward model, not the policy.")


if __name__ == "__main__":
    main()
