from __future__ import annotations

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast, T5Config, T5EncoderModel

from cooper.models import classifier


def test_body_is_an_equal_copy_and_the_head_is_new(decoder: PreTrainedModel) -> None:
    before = torch.get_rng_state()
    model = classifier(decoder, seed=5)
    assert torch.equal(torch.get_rng_state(), before)
    assert model.config.num_labels == 1
    assert decoder.config.num_labels != 1
    ours, theirs = model.base_model.state_dict(), decoder.base_model.state_dict()
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert torch.equal(ours[name], value)
        assert ours[name].data_ptr() != value.data_ptr()
    assert torch.equal(model.score.weight, classifier(decoder, seed=5).score.weight)
    assert not torch.equal(model.score.weight, classifier(decoder, seed=6).score.weight)
    assert not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))


def test_a_bare_body_serves_as_well(decoder: PreTrainedModel) -> None:
    whole = classifier(decoder, seed=0).state_dict()
    bare = classifier(decoder.base_model, seed=0).state_dict()
    assert whole.keys() == bare.keys()
    assert all(torch.equal(bare[name], value) for name, value in whole.items())


def test_the_head_is_small_and_centred(decoder: PreTrainedModel) -> None:
    weights = torch.stack([classifier(decoder, seed=i).score.weight[0] for i in range(50)])
    expected = 0.1 / weights.shape[1] ** 0.5
    assert weights.std().item() == pytest.approx(expected, rel=0.1)
    assert abs(weights.mean().item()) < expected / 8


def test_frozen_bf16_decoders_give_trainable_fp32_weights(decoder: PreTrainedModel) -> None:
    decoder.requires_grad_(False).to(torch.bfloat16)
    model = classifier(decoder, seed=0)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert all(p.requires_grad for p in model.parameters())
    assert next(decoder.parameters()).dtype is torch.bfloat16


def test_other_families_are_refused(tokens: PreTrainedTokenizerFast) -> None:
    config = T5Config(vocab_size=20, d_model=8, d_ff=8, d_kv=4, num_layers=1, num_heads=2)
    with pytest.raises(ValueError, match="no linear head called 'score'"):
        classifier(T5EncoderModel(config), seed=0)
