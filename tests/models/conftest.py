from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from cooper.models import VerifyRM, tiny_classifier, tiny_decoder, tiny_tokenizer
from cooper.types import Batch

ALPHABET = "0123456789+= so,."
FAMILIES = ["tiny", "llama", "llama-tied", "qwen2", "qwen2-tied", "qwen3", "gpt2"]


@pytest.fixture
def tokens() -> PreTrainedTokenizerFast:
    return tiny_tokenizer(ALPHABET)


def make_decoder(family: str, tokens: PreTrainedTokenizerFast) -> PreTrainedModel:
    """A tiny decoder; GPT-2 is always tied and has learnt positions and a bias-free head."""
    name, _, tied = family.partition("-")
    if name == "tiny":
        return tiny_decoder(tokens, hidden=32, seed=1)
    size = len(tokens)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        if name == "gpt2":
            return GPT2LMHeadModel(
                GPT2Config(vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=128)
            ).eval()
        shape = {
            "vocab_size": size,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "tie_word_embeddings": bool(tied),
        }
        if name == "llama":
            return LlamaForCausalLM(LlamaConfig(**shape)).eval()
        if name == "qwen3":
            return Qwen3ForCausalLM(Qwen3Config(**shape, head_dim=8)).eval()
        return Qwen2ForCausalLM(Qwen2Config(**shape)).eval()


@pytest.fixture(params=FAMILIES)
def decoder(request: pytest.FixtureRequest, tokens: PreTrainedTokenizerFast) -> PreTrainedModel:
    return make_decoder(request.param, tokens)


@pytest.fixture
def rm(tokens: PreTrainedTokenizerFast) -> VerifyRM:
    """A tiny reward model with a head large enough that scores differ."""
    made = VerifyRM(tiny_classifier(tokens, seed=0), tokens, max_length=64)
    with torch.no_grad():
        made.model.score.weight.mul_(20)
    return made


@pytest.fixture
def batch() -> Batch:
    """24 rollouts of very different lengths in 6 groups."""
    rng = np.random.default_rng(0)
    sums = [(int(a), int(b)) for a, b in rng.integers(0, 99, (6, 2))]
    rows = [pair for pair in sums for _ in range(4)]
    return Batch(
        [f"{a}+{b}" for a, b in rows],
        [str(a + b) for a, b in rows],
        ["so " * int(rng.integers(0, 12)) + str(rng.integers(0, 200)) for _ in rows],
        [i // 4 for i in range(24)],
    )
