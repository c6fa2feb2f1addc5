"""The reward model's forward pass: token ids in, one fp32 logit a row out.

`plain` pads rows of similar length to micro-batches and keeps the graph. `shared` reads a prefix
that several rows have in common (question and reference of a group) once, and is for scoring only.
Both give the same numbers to rounding.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import DynamicCache

Ids = Sequence[int]

# Backbones whose cache may hold padding between prefix and completion: attention over everything
# before, and positions given from outside. Checked one by one in the tests.
SHARING = ("gpt2", "llama", "qwen2", "qwen3")


def plain(core: Any, rows: Sequence[Ids], *, micro_batch: int) -> torch.Tensor:
    """Logits (B,) of a sequence classifier with a head `score`, in the order given.

    Args:
        core: The classifier; its `pad_token_id` plays no part.
        rows: B rows of ids, none empty.
        micro_batch: Rows per pass.
    """
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]), reverse=True)
    parts = []
    for chunk in _chunks(order, micro_batch):
        ids, mask, lengths = _padded([rows[i] for i in chunk], core.device)
        out = core.base_model(input_ids=ids, attention_mask=mask, use_cache=False)
        parts.append(_head(core, out.last_hidden_state, lengths))
    return _restored(parts, order)


def shared(
    core: Any, rows: Sequence[Ids], prefix: Sequence[int], *, micro_batch: int
) -> torch.Tensor:
    """The same logits, reading each distinct prefix once per micro-batch.

    Args:
        core: A classifier of a family in `SHARING`.
        rows: B rows of ids.
        prefix: (B,) how many leading ids of each row to look for in other rows; less than the
            row's length.
        micro_batch: Rows per pass.
    """
    takes = inspect.signature(core.base_model.forward).parameters
    keyword = "cache" if "cache" in takes else "past_key_values"  # renamed within transformers 5
    heads = [tuple(row[:n]) for row, n in zip(rows, prefix, strict=True)]
    order = sorted(range(len(rows)), key=lambda i: (len(heads[i]), heads[i], len(rows[i])))
    parts = []
    for chunk in _chunks(order, micro_batch):
        distinct = {head: k for k, head in enumerate(dict.fromkeys(heads[i] for i in chunk))}
        ids, before, _ = _padded(list(distinct), core.device)
        cache = DynamicCache(config=core.config)
        core.base_model(input_ids=ids, attention_mask=before, use_cache=True, **{keyword: cache})
        which = torch.tensor([distinct[heads[i]] for i in chunk], device=core.device)
        cache.batch_select_indices(which)
        before = before[which]
        ids, mask, lengths = _padded([rows[i][prefix[i] :] for i in chunk], core.device)
        out = core.base_model(
            input_ids=ids,
            attention_mask=torch.cat([before, mask], dim=1),
            position_ids=before.sum(1, keepdim=True) + torch.arange(ids.shape[1]).to(ids),
            use_cache=True,
            **{keyword: cache},
        )
        parts.append(_head(core, out.last_hidden_state, lengths))
    return _restored(parts, order)


def worth_sharing(core: Any, rows: Sequence[Ids], prefix: Sequence[int]) -> bool:
    """Whether `shared` applies to this backbone and spares at least a quarter of the tokens."""
    config = core.config
    full = set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
    if not rows or config.model_type not in SHARING or not full or len(prefix) != len(rows):
        return False
    distinct = {tuple(row[:n]) for row, n in zip(rows, prefix, strict=True)}
    spared = sum(prefix) - sum(map(len, distinct))
    return 4 * spared >= sum(map(len, rows))


def _chunks(order: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _padded(
    rows: Sequence[Ids], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids and mask (b, T), padded on the right with id 0, which the mask hides; lengths (b,)."""
    lengths = torch.tensor([len(row) for row in rows])
    width = int(lengths.max())
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
    mask = (torch.arange(width) < lengths[:, None]).long()
    return ids.to(device), mask.to(device), lengths.to(device)


def _head(core: Any, hidden: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The head on the hidden state of each row's last real token, in fp32."""
    last = hidden[torch.arange(len(lengths), device=hidden.device), lengths - 1]
    with torch.autocast(hidden.device.type, enabled=False):
        logits: torch.Tensor = core.score(last.float())[:, 0]
    return logits


def _restored(parts: list[torch.Tensor], order: list[int]) -> torch.Tensor:
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    joined = torch.cat(parts)
    return joined[back.to(joined.device)]
