from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from cooper.models import Encoded, VerifyRM, bradley_terry
from cooper.types import Batch


def encode(rm: VerifyRM, batch: Batch) -> Encoded:
    return rm.encode(batch.questions, batch.references, batch.completions)


def test_logits_equal_the_classifier_of_transformers(
    decoder: PreTrainedModel, tokens: PreTrainedTokenizerFast, batch: Batch
) -> None:
    rm = VerifyRM.from_decoder(decoder, tokens, seed=0, micro_batch=5)
    encoded = encode(rm, batch)
    with torch.no_grad():
        ours = rm.logits(encoded)
        theirs = torch.cat([rm.model(torch.tensor([ids])).logits[:, 0] for ids in encoded.ids])
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("micro_batch", [1, 2, 7, 24, 100])
def test_scores_do_not_depend_on_batch_size_padding_or_order(
    decoder: PreTrainedModel, tokens: PreTrainedTokenizerFast, batch: Batch, micro_batch: int
) -> None:
    rm = VerifyRM.from_decoder(decoder, tokens, seed=0, micro_batch=32)
    with torch.no_grad():
        rm.model.score.weight.mul_(20)
    expected = rm.score(batch)
    assert np.ptp(expected) > 0.005
    rm.micro_batch = micro_batch
    order = np.random.default_rng(1).permutation(len(batch))
    np.testing.assert_allclose(rm.score(batch.take(order)), expected[order], atol=2e-6)
    np.testing.assert_allclose(rm.score(batch.take([3])), expected[[3]], atol=2e-6)


def test_pad_and_eos_ids_play_no_part(rm: VerifyRM, batch: Batch) -> None:
    expected = rm.score(batch)
    for pad, eos in ((None, None), (5, 5), (rm.tokenizer.eos_token_id,) * 2):
        rm.model.config.pad_token_id, rm.model.config.eos_token_id = pad, eos
        rm.tokenizer.pad_token_id = pad
        rm.tokenizer.padding_side = "right"
        np.testing.assert_array_equal(rm.score(batch), expected)


def test_gradients_reach_body_and_head_and_equal_those_of_one_batch(
    rm: VerifyRM, batch: Batch
) -> None:
    def gradients(micro_batch: int) -> dict[str, torch.Tensor]:
        rm.micro_batch = micro_batch
        rm.model.zero_grad()
        first, second = rm.logits(encode(rm, batch)).chunk(2)
        bradley_terry(first, second).backward()
        return {name: p.grad.clone() for name, p in rm.model.named_parameters()}

    one, many = gradients(24), gradients(5)
    assert all(gradient.abs().max() > 0 for gradient in one.values())
    for name, gradient in one.items():
        torch.testing.assert_close(many[name], gradient, rtol=1e-3, atol=1e-6)


def test_it_learns_a_pair(rm: VerifyRM) -> None:
    pair = rm.encode(["1+1"] * 2, ["2"] * 2, ["so 2", "so 3"])
    optimiser = torch.optim.AdamW(rm.model.parameters(), lr=1e-3)
    for _ in range(20):
        right, wrong = rm.logits(pair).unbind()
        optimiser.zero_grad()
        bradley_terry(right[None], wrong[None]).backward()
        optimiser.step()
    score = rm.score(Batch(["1+1"] * 2, ["2"] * 2, ["so 2", "so 3"], [0, 0]))
    assert score[0] > score[1] + 0.3


@pytest.mark.parametrize("training", [True, False])
def test_score_is_without_gradients_and_restores_the_mode(
    rm: VerifyRM, batch: Batch, training: bool
) -> None:
    rm.model.train(training)
    rm.model.base_model.layers[0].eval()
    modes = [module.training for module in rm.model.modules()]
    scores = rm.score(batch)
    assert [module.training for module in rm.model.modules()] == modes
    assert scores.dtype == np.float64
    assert ((scores > 0) & (scores < 1)).all()
    assert all(p.grad is None for p in rm.model.parameters())


def test_dropout_is_off_in_score(rm: VerifyRM, batch: Batch) -> None:
    rm.model.config.attention_dropout = 0.5
    for layer in rm.model.base_model.layers:
        layer.self_attn.attention_dropout = 0.5
    rm.model.train()
    np.testing.assert_array_equal(rm.score(batch), rm.score(batch))
    assert not torch.equal(rm.logits(encode(rm, batch)), rm.logits(encode(rm, batch)))


def test_equal_rows_are_scored_once(
    rm: VerifyRM, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    logits = rm._scoring_logits
    monkeypatch.setattr(rm, "_scoring_logits", lambda e: (seen.append(len(e.ids)), logits(e))[1])
    scores = rm.score(batch.take([0, 1, 0, 0, 1]))
    assert seen == [2]
    assert scores[0] == scores[2] == scores[3]
    assert scores[1] == scores[4]


def test_extreme_logits_stay_inside_and_ordered(rm: VerifyRM, batch: Batch) -> None:
    with torch.no_grad():
        rm.model.score.weight.mul_(1e4)
    scores = rm.score(batch)
    assert ((scores > 0) & (scores < 1)).all()


def test_a_diverged_model_is_an_error_not_a_score(rm: VerifyRM, batch: Batch) -> None:
    with torch.no_grad():
        rm.model.score.weight.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match=r"2 of 2 logits .* diverged"):
        rm.score(batch.take([0, 5]))


def test_cut_rows_are_counted(rm: VerifyRM) -> None:
    assert encode(rm, Batch(["1+1"], ["2"], ["2"], [0])).cut == 0
    assert encode(rm, Batch(["1+1"] * 2, ["2"] * 2, ["2", "so " * 40], [0, 0])).cut == 1
    rm.score(Batch(["1+1"] * 2, ["2"] * 2, ["so " * 40] * 2, [0, 0]))
    assert rm.cut_count == 3


def test_an_empty_batch(rm: VerifyRM) -> None:
    assert rm.score(Batch([], [], [], [])).shape == (0,)
    assert rm.logits(Encoded([], 0)).shape == (0,)


def test_bfloat16_computes_low_and_keeps_weights_and_gradients_high(
    rm: VerifyRM, batch: Batch
) -> None:
    full = rm.score(batch)
    rm.dtype = "bfloat16"
    low = rm.score(batch)
    assert 0 < np.abs(low - full).max() < 0.05
    logits = rm.logits(encode(rm, batch))  # after a pass without gradients: the cache trap
    logits.sum().backward()
    assert logits.dtype is torch.float32
    for name, parameter in rm.model.named_parameters():
        assert parameter.dtype is torch.float32
        assert parameter.grad is not None, name
        assert parameter.grad.dtype is torch.float32


def test_an_outer_autocast_changes_nothing(rm: VerifyRM, batch: Batch) -> None:
    full = rm.score(batch)
    rm.dtype = "bfloat16"
    low = rm.score(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        np.testing.assert_array_equal(rm.score(batch), low)
        rm.logits(encode(rm, batch)).sum().backward()
        rm.dtype = "float32"
        np.testing.assert_array_equal(rm.score(batch), full)
    assert all(p.grad is not None for p in rm.model.parameters())


def test_auto_precision(rm: VerifyRM, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rm.dtype == "auto"
    assert rm.compute_dtype is torch.float32
    monkeypatch.setattr("cooper.models._reference.LARGE", 1000)
    assert rm.compute_dtype is torch.bfloat16
    rm.dtype = "float32"
    assert rm.compute_dtype is torch.float32


def test_half_precision_models_are_raised_to_fp32(tokens: PreTrainedTokenizerFast) -> None:
    from cooper.models import tiny_classifier

    model = tiny_classifier(tokens, seed=0).to(torch.bfloat16)
    assert next(VerifyRM(model, tokens).model.parameters()).dtype is torch.float32


def test_wrong_arguments_are_named(rm: VerifyRM, tokens: PreTrainedTokenizerFast) -> None:
    with pytest.raises(ValueError, match="max_length"):
        VerifyRM(rm.model, tokens, max_length=0)
    with pytest.raises(ValueError, match="dtype: 'float16'"):
        VerifyRM(rm.model, tokens, dtype="float16")
    rm.model.config.num_labels = 2
    with pytest.raises(ValueError, match="2 labels"):
        VerifyRM(rm.model, tokens)


def test_peft_adapters_score_and_train(rm: VerifyRM, batch: Batch) -> None:
    from peft import LoraConfig, get_peft_model

    plain = rm.score(batch)
    adapted = get_peft_model(
        rm.model, LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["q_proj"])
    )
    lora = VerifyRM(adapted, rm.tokenizer, max_length=64)
    np.testing.assert_allclose(lora.score(batch), plain, atol=1e-6)  # B starts at zero
    optimiser = torch.optim.SGD([p for p in adapted.parameters() if p.requires_grad], lr=0.01)
    values = []
    for _ in range(3):
        loss = -lora.logits(encode(lora, batch)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        values.append(loss.item())
    assert all(later < earlier for earlier, later in pairwise(values))
