"""Sample completions from a causal language model, as text, under a seed of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def sample(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[Any],
    *,
    max_new_tokens: int,
    seed: int,
    temperature: float = 1.0,
    batch: int = 256,
) -> list[str]:
    """One completion per prompt, in order; the global random state is left as it was.

    Args:
        model: any causal decoder; put into eval mode, its mode is restored.
        tokenizer: with pad and eos; padded on the left here, its own side is restored.
        prompts: B prompts, each a string or a list of chat messages.
        max_new_tokens: longest completion.
        seed: of this call.
        temperature: 0 decodes greedily.
        batch: prompts per forward.

    Returns:
        B decoded completions without special tokens.
    """
    texts = [render(tokenizer, prompt) for prompt in prompts]
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    drawing: dict[str, Any] = {"do_sample": False}
    if temperature > 0:
        drawing = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
    out = [""] * len(texts)
    training, side = model.training, tokenizer.padding_side
    devices = [model.device] if model.device.type == "cuda" else []
    model.eval()
    tokenizer.padding_side = "left"
    try:
        with torch.random.fork_rng(devices=devices), torch.no_grad():
            torch.manual_seed(seed)
            for start in range(0, len(order), batch):
                rows = order[start : start + batch]
                inputs = tokenizer(
                    [texts[i] for i in rows],
                    return_tensors="pt",
                    padding=True,
                    add_special_tokens=False,
                ).to(model.device)
                ids = model.generate(  # type: ignore[operator]
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    max_new_tokens=max_new_tokens,
                    pad_token_id=tokenizer.pad_token_id,
                    eos_token_id=tokenizer.eos_token_id,
                    **drawing,
                )
                new = ids[:, inputs["input_ids"].shape[1] :]
                decoded = tokenizer.batch_decode(new, skip_special_tokens=True)
                for i, text in zip(rows, decoded, strict=True):
                    out[i] = text
    finally:
        tokenizer.padding_side = side
        model.train(training)
    return out


def render(tokenizer: PreTrainedTokenizerBase, prompt: Any) -> str:
    """A prompt as text: a string as it is, chat messages through the chat template."""
    if isinstance(prompt, str):
        return prompt
    return str(tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True))
