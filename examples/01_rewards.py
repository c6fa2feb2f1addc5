"""From text to advantages, with a score that is missing.

Two prompts, three rollouts each. A rule and a length score are combined; the second reference
cannot be read, so the rule has no score there. Missing is not zero: these rollouts are left out.
"""

from __future__ import annotations

import numpy as np

from cooper.advantage import grpo
from cooper.combine import weighted
from cooper.recipe import Recipe
from cooper.verify import numeric

REFERENCES = ["9"] * 3 + ["unknown"] * 3
COMPLETIONS = [
    "7 + 2 = 9. The answer is 9.",
    "The answer is 8.",
    "I do not know.",
    "The answer is 4.",
    "The answer is 5.",
    "It is 6, because that is what it is.",
]
GROUP = np.array([0, 0, 0, 1, 1, 1])
NAMES = ["rule", "brevity"]


def main() -> None:
    # 1. Score: a value, or None with a status that says why there is none.
    scores = [numeric(c, a) for c, a in zip(COMPLETIONS, REFERENCES, strict=True)]
    for completion, score in zip(COMPLETIONS, scores, strict=True):
        print(f"{completion!r:40} {score.value!s:5} {score.status}")

    # 2. Components (B, K) and which of them exist. The length score always does.
    brevity = [1 / len(completion.split()) for completion in COMPLETIONS]
    values = np.array([[s.value or 0.0, b] for s, b in zip(scores, brevity, strict=True)])
    where = np.array([[s.ok, True] for s in scores])

    # 3. Combine. The rule alone has no reward for the second prompt (NaN); with a weight on
    # brevity there is one, from what exists.
    alone = weighted(values, names=NAMES, weights={"rule": 1, "brevity": 0}, where=where)
    both = weighted(values, names=NAMES, weights={"rule": 1, "brevity": 0.1}, where=where)
    print("rule alone:      ", alone.round(3))
    print("rule and brevity:", both.round(3))

    # 4. Advantage: a masked rollout is as good as a removed one, equal rewards give exactly 0.
    valid = ~np.isnan(alone)
    print("advantages:      ", grpo(np.where(valid, alone, 0), group=GROUP, where=valid).round(3))

    # The same column as one object, which an adapter or a YAML file can hold.
    recipe = Recipe(NAMES, {"weighted": {"weights": {"rule": 1, "brevity": 0}}}, advantage="grpo")
    rewards = recipe(values, group=GROUP, where=where)
    print("by recipe:       ", rewards.advantages.round(3), "valid:", rewards.valid)
    print(recipe)


if __name__ == "__main__":
    main()
