"""What the reward-model step does, validated, and the paper's settings by name."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CooperConfig(BaseModel):
    """Settings of the co-training of reward model and policy.

    The defaults are this project's better design (docs/ablation.md says why);
    `CooperConfig.paper()` is the released algorithm, with corrupted copies in place of the
    assistant's (pass an `assistant` to `Cooper` to have that too).

    Source: Hong et al., 2025, arXiv:2508.05613; for each fault of the release that a default
    mends, see docs/cooper.md.

    Example:
        >>> CooperConfig.paper().pairs_hard, CooperConfig().pairs_hard
        (0, 2)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # Pairs of a group
    pairs_copy: int = Field(1, ge=0, description="rule-right rollouts paired with a corrupted copy")
    pairs_hard: int = Field(
        2, ge=0, description="highest-scored surely wrong rollouts, each paired with a patched copy"
    )
    pairs_other: int = Field(
        0, ge=0, description="rule-right rollouts paired with another, surely wrong rollout"
    )
    pair_reference: bool = Field(
        True, description="the reference itself against a corrupted copy of the top rollout"
    )
    fallback: bool = Field(
        True, description="a group without a right rollout gets a patched positive"
    )
    check: Literal["reference", "positive"] = Field(
        "reference",
        description="what a negative is checked against; 'positive' accepts unreadable ones",
    )

    # Update of the reward model
    when: Literal["before", "after"] = Field(
        "before", description="reward-model step before or after scoring"
    )
    updates: int = Field(
        4, ge=0, description="optimiser steps per policy step; 0 freezes the model"
    )
    max_pairs: int | None = Field(
        None, ge=1, description="at most so many pairs a policy step, whole groups at random"
    )
    warmup_batches: int = Field(
        40, ge=0, description="batches of base-policy rollouts that train the reward model only"
    )
    warmup_updates: int = Field(4, ge=1, description="optimiser steps per warm-up batch")
    learning_rate: float = Field(1e-5, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    clip: float = Field(1.0, gt=0, description="gradient norm")
    anchor_bce: float = Field(
        0.5, ge=0, description="weight of BCE on the pairs: keeps the score a probability"
    )
    replay: int = Field(16, ge=0, description="offline rows (BCE) added to each optimiser step")

    # Reward of the policy
    reward: Literal["strata", "proxy", "rule"] = "strata"
    unsure: float = Field(0.8, ge=0, le=1, description="reward of an unsure rollout = unsure * p")
    right: float = Field(
        0.9, ge=0, le=1, description="reward of a rule-right rollout = right + (1 - right) * p"
    )
    unsure_guard: bool = Field(
        True, description="unsure rollouts earn 0 while the alarm finds their share has grown"
    )
    anchored_only: bool = Field(
        True, description="no advantage for groups without a rule-right rollout"
    )
    gate: float = Field(
        0.0,
        ge=0,
        le=1,
        description="no advantage while fewer than this share of fresh pairs is ordered",
    )
    std_floor: float = Field(0.1, ge=0, description="advantages divide by max(std, floor)")
    advantage: Literal["grpo", "dr_grpo"] = "grpo"

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.unsure > self.right:
            raise ValueError(
                f"unsure: got {self.unsure}, expected at most right = {self.right}: an unsure "
                "rollout must not earn more than a right one"
            )
        return self

    @property
    def makes_pairs(self) -> bool:
        """Whether any source of pairs is on."""
        return bool(self.pairs_copy or self.pairs_hard or self.pairs_other or self.pair_reference)

    @classmethod
    def paper(cls, **changes: object) -> Self:
        """The released algorithm: section 1 of the paper's code, step by step."""
        released: dict[str, object] = {
            "pairs_copy": 1,  # one pair per group: the first rule-right rollout
            "pairs_hard": 0,
            "pairs_other": 0,
            "pair_reference": False,
            "fallback": False,  # a group without a positive is skipped
            "check": "positive",
            "when": "after",  # step t's update first matters at t + 1
            "updates": 1,
            "warmup_batches": 0,
            "learning_rate": 1e-5,
            "anchor_bce": 0.0,  # Bradley-Terry only
            "replay": 0,
            "unsure_guard": False,
            "reward": "proxy",  # no rule in the policy's reward
            "anchored_only": False,
            "std_floor": 0.0,
        }
        return cls.model_validate({**released, **changes})

    @classmethod
    def frozen(cls, **changes: object) -> Self:
        """The reward model as it is, never updated, alone as the reward."""
        still: dict[str, object] = {"updates": 0, "warmup_batches": 0}
        return cls.paper(**{**still, **changes})
