"""Transformers of well under a million weights, and tokenizers that give a text back exactly.

For tests and the quick start: nothing is downloaded, and a training step takes milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from cooper.models._classifier import classifier
from cooper.models._encode import TEMPLATE

SPECIAL = ("<pad>", "<eos>", "<unk>")  # ids 0, 1, 2


def tiny_tokenizer(
    alphabet: str | Iterable[str], *, padding_side: str = "left"
) -> PreTrainedTokenizerFast:
    """A tokenizer with one id per character, or per piece, that never changes a text.

    Text is split by the longest piece that matches; what matches none is "<unk>", one id per
    character. The tags of the reward model's template are pieces of their own, so that a tiny
    reward model reads 7 tokens of template instead of 90.

    Args:
        alphabet: The characters of a string, or a list of pieces of any length.
        padding_side: Where batches are padded; generation needs "left".

    Returns:
        The tokenizer, with "<pad>", "<eos>" and "<unk>" as ids 0, 1 and 2.

    Raises:
        ValueError: A piece is empty.

    Example:
        >>> tokens = tiny_tokenizer(["so", "s", "o", " ", "7"])
        >>> ids = tokens("so  7os")["input_ids"]
        >>> len(ids), tokens.decode(ids)
        (6, 'so  7os')
    """
    tags = re.findall(r"</?\w+>|\n", TEMPLATE)
    pieces = list(dict.fromkeys([*alphabet, *tags]))
    if "" in pieces:
        raise ValueError("alphabet: got an empty piece; expected pieces of 1 or more characters")
    vocabulary = {piece: i for i, piece in enumerate([*SPECIAL, *pieces])}
    longest_first = sorted(pieces, key=len, reverse=True)
    pattern = "|".join([*(re.escape(piece) for piece in longest_first), r"[\s\S]"])
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIAL[2]))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast: Any = PreTrainedTokenizerFast
    made = fast(
        tokenizer_object=tokenizer,
        pad_token=SPECIAL[0],
        eos_token=SPECIAL[1],
        unk_token=SPECIAL[2],
        padding_side=padding_side,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )
    return cast(PreTrainedTokenizerFast, made)


def tiny_decoder(
    tokenizer: PreTrainedTokenizerBase,
    *,
    hidden: int = 96,
    layers: int = 2,
    heads: int = 4,
    max_positions: int = 256,
    tied: bool = False,
    seed: int,
) -> GPT2LMHeadModel:
    """A GPT-2 with fresh weights, about 0.2 million with the defaults.

    Learned absolute positions let it learn column addition in half the steps of rotary ones. They
    also mean that prompts of one batch should be equally long: TRL scores left-padded prompts
    without position ids.

    Args:
        tokenizer: Gives the vocabulary and the pad and eos ids.
        hidden: Width; the inner width is twice that.
        layers: Number of blocks.
        heads: Number of attention heads; must divide `hidden`.
        max_positions: Longest sequence, in tokens.
        tied: Whether input and output embeddings are one matrix.
        seed: Seed of the weights. Global random state is left as it was.

    Returns:
        The language model, in evaluation mode.

    Example:
        >>> model = tiny_decoder(tiny_tokenizer("0123456789+="), seed=0)
        >>> sum(p.numel() for p in model.parameters()) < 300_000
        True
    """
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=hidden,
        n_inner=2 * hidden,
        n_layer=layers,
        n_head=heads,
        n_positions=max_positions,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        initializer_range=0.06,
        tie_word_embeddings=tied,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # the CPU generator only; cuda keeps its state
        model: Any = GPT2LMHeadModel(config)  # attention is sdpa wherever torch has it
    return cast(GPT2LMHeadModel, model.eval())


def tiny_classifier(
    tokenizer: PreTrainedTokenizerBase,
    *,
    hidden: int = 96,
    layers: int = 2,
    heads: int = 4,
    max_positions: int = 256,
    seed: int,
) -> PreTrainedModel:
    """A tiny Llama with a scalar head; arguments as in `tiny_decoder`.

    Rotary positions suit its work: it finds the reference in the completion wherever it stands.

    Example:
        >>> tiny_classifier(tiny_tokenizer("ab"), seed=0).config.num_labels
        1
    """
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=max_positions,
        initializer_range=0.08,  # at 0.02 it takes twice as long to learn to compare
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model: Any = LlamaModel(config)
    return classifier(model, seed=seed)
