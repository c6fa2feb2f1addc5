"""Supervised warm-up of a policy on demonstrations: cross-entropy on completions only.

TRL's `SFTTrainer` does this too and much more. This loop runs the output layer on completion
tokens alone, which for a small model with a large vocabulary and short answers is most of the
cost, and it needs no data set on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

Progress = Callable[[int, int, float], None]  # (step, steps, loss)
IGNORED = -100


def supervise(
    model: Any,
    tokenizer: Any,
    texts: Sequence[tuple[str, str]],
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    seed: int,
    bf16: bool = False,
    micro_batch: int = 64,
    clip: float = 1.0,
    progress: Progress | None = None,
) -> list[float]:
    """Train `model` in place: L = mean over completion tokens of -log p(token | before it).

    AdamW, linear warm-up over 3 % of the steps, then cosine to 0; the end-of-sequence token is
    learnt after every completion.

    Args:
        model: a causal decoder whose `base_model` gives hidden states.
        tokenizer: with an end-of-sequence token.
        texts: N pairs (prompt, completion).
        steps: optimiser steps; passes over `texts` in fresh random orders.
        batch: pairs per step.
        learning_rate: peak rate.
        seed: of the order.
        bf16: compute in bfloat16, master weights stay as they are.
        micro_batch: pairs per backward pass; they are sorted by length first.
        clip: gradient norm.
        progress: called after each step.

    Returns:
        The loss of every step.
    """
    if not texts:
        raise ValueError("texts: got 0 demonstrations, expected at least 1")
    rows = _encode(tokenizer, texts)
    rng = np.random.default_rng(seed)
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=learning_rate, weight_decay=0.01)
    first = max(1, round(0.03 * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda s: min((s + 1) / first, 0.5 * (1 + math.cos(math.pi * min(1.0, s / steps)))),
    )
    losses: list[float] = []
    order: list[int] = []
    device = next(model.parameters()).device
    model.train()
    for step in range(steps):
        while len(order) < batch:
            order += rng.permutation(len(rows)).tolist()
        chosen = sorted((rows[i] for i in order[:batch]), key=lambda row: len(row[0]))
        order = order[batch:]
        tokens = sum(len(ids) - start for ids, start in chosen)
        total = 0.0
        for at in range(0, batch, micro_batch):
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                loss = _loss(model, chosen[at : at + micro_batch], device) / tokens
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(weights, clip)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(total)
        if not math.isfinite(total):
            raise FloatingPointError(f"supervise: the loss of step {len(losses)} is {total}")
        if progress is not None:
            progress(step + 1, steps, total)
    model.eval()
    return losses


def _encode(tokenizer: Any, texts: Sequence[tuple[str, str]]) -> list[tuple[list[int], int]]:
    """(ids, where the completion starts) of every pair."""
    prompts = tokenizer([p for p, _ in texts], add_special_tokens=False)["input_ids"]
    completions = tokenizer([c for _, c in texts], add_special_tokens=False)["input_ids"]
    end = [tokenizer.eos_token_id]
    return [(p + c + end, len(p)) for p, c in zip(prompts, completions, strict=True)]


def _loss(model: Any, rows: Sequence[tuple[list[int], int]], device: torch.device) -> torch.Tensor:
    """Summed cross-entropy of the completion tokens."""
    width = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    targets = torch.full_like(ids, IGNORED)
    for i, (row, start) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
        targets[i, start - 1 : len(row) - 1] = torch.tensor(row[start:])
    ids, mask, targets = ids.to(device), mask.to(device), targets.to(device)
    hidden = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
    counted = targets != IGNORED
    logits = model.get_output_embeddings()(hidden[counted])
    return torch.nn.functional.cross_entropy(logits.float(), targets[counted], reduction="sum")
