"""A scalar head on any Hugging Face decoder, as the stock sequence classifier of its family."""

from __future__ import annotations

import copy
import math
from typing import Any, cast

import torch
from torch import nn
from transformers import AutoModelForSequenceClassification, PreTrainedModel


def classifier(decoder: PreTrainedModel, *, seed: int, head_scale: float = 0.1) -> PreTrainedModel:
    """The decoder's body, copied to fp32, under a fresh head with one output.

    score(h) = w . h with w ~ Normal(0, (head_scale / sqrt(width))^2), so that a fresh model says
    about 0.5 to everything. The result is the family's own `...ForSequenceClassification`, so a
    saved folder loads in transformers, TRL and vLLM. Tied embeddings need no care: the body holds
    the input embeddings, and the language-model head is left behind.

    Args:
        decoder: A causal language model or its bare body; left untouched.
        seed: Seed of the head. Global random state is neither read nor changed.
        head_scale: Standard deviation of the logit for a hidden state of unit variance.

    Returns:
        The classifier, num_labels = 1, on the decoder's device.

    Raises:
        ValueError: The family has no classifier with a linear head called `score`.

    Example:
        >>> from cooper.models import classifier, tiny_decoder, tiny_tokenizer
        >>> model = classifier(tiny_decoder(tiny_tokenizer("ab"), seed=0), seed=0)
        >>> type(model).__name__, tuple(model.score.weight.shape)
        ('GPT2ForSequenceClassification', (1, 96))
    """
    config = copy.deepcopy(decoder.config)
    config.num_labels = 1
    body: Any = decoder.base_model
    with torch.device("meta"):  # no memory and no random numbers for weights that are replaced
        auto: Any = AutoModelForSequenceClassification
        model = auto.from_config(config)
    if not isinstance(getattr(model, "score", None), nn.Linear):
        raise ValueError(
            f"decoder: {type(model).__name__} has no linear head called 'score'; "
            "expected a decoder family such as Llama, Qwen2, GPT-2, Gemma or Mistral"
        )
    setattr(model, model.base_model_prefix, copy.deepcopy(body).float().requires_grad_(True))
    model.base_model.config = model.config
    width = model.score.in_features
    weight = torch.empty(1, width)
    generator = torch.Generator().manual_seed(seed)
    nn.init.normal_(weight, std=head_scale / math.sqrt(width), generator=generator)
    head = nn.Linear(width, 1, bias=False, device="meta")
    head.weight = nn.Parameter(weight.to(decoder.device))
    model.score = head
    model.train(decoder.training)
    return cast(PreTrainedModel, model)
