from __future__ import annotations

import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from cooper.models import Encoded, VerifyRM
from cooper.models._forward import SHARING, plain, shared, worth_sharing
from cooper.types import Batch


def encode(rm: VerifyRM, batch: Batch) -> Encoded:
    return rm.encode(batch.questions, batch.references, batch.completions)


@pytest.mark.parametrize("micro_batch", [1, 3, 7, 24])
def test_shared_equals_plain_in_every_family(
    decoder: PreTrainedModel, tokens: PreTrainedTokenizerFast, batch: Batch, micro_batch: int
) -> None:
    rm = VerifyRM.from_decoder(decoder, tokens, seed=0)
    encoded = encode(rm, batch)
    core = rm.model.eval()
    assert core.config.model_type in SHARING
    with torch.no_grad():
        expected = plain(core, encoded.ids, micro_batch=32)
        found = shared(core, encoded.ids, encoded.prefix, micro_batch=micro_batch)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_a_prefix_is_read_once(rm: VerifyRM, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens: list[int] = []
    body = type(rm.model.base_model)
    forward = body.forward

    def counting(self: object, **inputs: torch.Tensor) -> object:
        tokens.append(inputs["input_ids"].shape[0])
        return forward(self, **inputs)

    monkeypatch.setattr(body, "forward", counting)
    rm.score(batch)
    assert tokens == [6, 24]  # six groups, then the completions of all


def test_where_it_does_not_pay_or_apply(
    rm: VerifyRM, tokens: PreTrainedTokenizerFast, batch: Batch
) -> None:
    encoded = encode(rm, batch)
    assert worth_sharing(rm.model, encoded.ids, encoded.prefix)
    assert not worth_sharing(rm.model, encoded.ids, ())  # prefix not known
    one = encode(rm, batch.take([0, 4, 8]))  # nothing in common
    assert not worth_sharing(rm.model, one.ids, one.prefix)
    sliding = MistralConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        sliding_window=4,
    )
    other = VerifyRM.from_decoder(MistralForCausalLM(sliding), tokens, seed=0)
    assert not worth_sharing(other.model, encoded.ids, encoded.prefix)
    rows = encode(other, batch)
    scores = torch.from_numpy(other.score(batch)).float()
    torch.testing.assert_close(scores, other.logits(rows).detach().sigmoid(), rtol=0, atol=1e-5)


def test_scoring_agrees_with_training(rm: VerifyRM, batch: Batch) -> None:
    with torch.no_grad():
        trained = rm.logits(encode(rm, batch)).sigmoid()
    torch.testing.assert_close(
        torch.from_numpy(rm.score(batch)).float(), trained, rtol=0, atol=1e-5
    )
