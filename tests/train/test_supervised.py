"""The policy's warm-up: completion tokens only, whatever the micro-batches."""

from __future__ import annotations

import copy

import pytest
import torch
from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

from cooper.models import tiny_decoder, tiny_tokenizer
from cooper.train import supervise

TEXTS = [("1+1=", "2"), ("1+2=", "so 3"), ("12+30=", "42"), ("9+9=", "it is 18")]


@pytest.fixture
def tokens() -> PreTrainedTokenizerFast:
    return tiny_tokenizer("0123456789+=so it")


@pytest.fixture
def model(tokens: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    return tiny_decoder(tokens, hidden=16, layers=1, heads=2, max_positions=32, seed=0)


def test_first_loss_is_the_models_own_on_completions(
    model: GPT2LMHeadModel, tokens: PreTrainedTokenizerFast
) -> None:
    ids, labels = [], []
    for prompt, completion in TEXTS:  # one row at a time: no padding to get wrong
        p, c = tokens(prompt)["input_ids"], tokens(completion)["input_ids"]
        ids.append(p + c + [tokens.eos_token_id])
        labels.append([-100] * len(p) + c + [tokens.eos_token_id])
    with torch.no_grad():
        sums, counts = 0.0, 0
        for row, label in zip(ids, labels, strict=True):
            counted = sum(x != -100 for x in label)
            out = model(input_ids=torch.tensor([row]), labels=torch.tensor([label]))
            sums, counts = sums + out.loss.item() * counted, counts + counted
    losses = supervise(model, tokens, TEXTS, steps=1, batch=4, learning_rate=1e-3, seed=0)
    assert losses[0] == pytest.approx(sums / counts, rel=1e-5)


def test_micro_batches_do_not_matter(
    model: GPT2LMHeadModel, tokens: PreTrainedTokenizerFast
) -> None:
    other = copy.deepcopy(model)
    given = {"steps": 5, "batch": 4, "learning_rate": 1e-2, "seed": 3}
    whole = supervise(model, tokens, TEXTS, **given)  # type: ignore[arg-type]
    parts = supervise(other, tokens, TEXTS, micro_batch=1, **given)  # type: ignore[arg-type]
    assert whole == pytest.approx(parts, rel=1e-4)


def test_it_learns_to_answer_and_to_stop(
    model: GPT2LMHeadModel, tokens: PreTrainedTokenizerFast
) -> None:
    supervise(model, tokens, TEXTS, steps=150, batch=4, learning_rate=1e-2, seed=0)
    assert not model.training
    for prompt, completion in TEXTS:
        ids = tokens(prompt, return_tensors="pt")["input_ids"]
        out = model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :]
        assert out[-1] == tokens.eos_token_id
        assert tokens.decode(out, skip_special_tokens=True) == completion


def test_nothing_to_learn_from(model: GPT2LMHeadModel, tokens: PreTrainedTokenizerFast) -> None:
    with pytest.raises(ValueError, match="texts: got 0"):
        supervise(model, tokens, [], steps=1, batch=1, learning_rate=1e-3, seed=0)
