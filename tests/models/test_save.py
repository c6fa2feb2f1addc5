from __future__ import annotations

import json
import resource
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from cooper.errors import UserError
from cooper.models import Card, Probe, VerifyRM, tiny_tokenizer
from cooper.models._folder import replacing
from cooper.types import Batch

PROBE = Probe("1+1", "2", "so 2", "so 3")


def ordered(rm: VerifyRM) -> Probe:
    """The probe in the order that this untrained model gives it."""
    return PROBE if rm.probe_margin(PROBE) > 0 else PROBE._replace(right="so 3", wrong="so 2")


@pytest.fixture
def saved(rm: VerifyRM, tmp_path: Path) -> Path:
    folder = tmp_path / "rm"
    rm.save(folder, step=7, metrics={"accuracy": 0.75}, probe=ordered(rm))
    return folder


def edit(folder: Path, **fields: object) -> None:
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({**card, **fields}))


def test_round_trip_is_exact(rm: VerifyRM, batch: Batch, saved: Path) -> None:
    loaded = VerifyRM.load(saved)
    np.testing.assert_array_equal(loaded.score(batch), rm.score(batch))
    assert (loaded.max_length, loaded.micro_batch, loaded.dtype) == (64, 32, "auto")
    assert (loaded.base, loaded.cut_count) == ("llama", 0)
    card = Card.read(saved)
    assert (card.step, card.metrics) == (7, {"accuracy": 0.75})
    assert card.margin == pytest.approx(rm.probe_margin(card.probe))
    again = saved.with_name("again")
    loaded.save(again, step=7, metrics=card.metrics, probe=card.probe)
    assert Card.read(again).margin == pytest.approx(card.margin, abs=1e-5)
    assert Card.read(again).model_copy(update={"margin": card.margin}) == card


def test_transformers_and_trl_load_every_family(
    decoder: PreTrainedModel, tokens: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    rm = VerifyRM.from_decoder(decoder, tokens, seed=0)
    rm.save(tmp_path / "rm", step=0, metrics={}, probe=PROBE)
    encoded = rm.encode(["12+9"], ["21"], ["so 21."])
    with torch.no_grad():
        ours = rm.logits(encoded)
        plain = AutoModelForSequenceClassification.from_pretrained(tmp_path / "rm", num_labels=1)
        theirs = plain(torch.tensor(encoded.ids)).logits[:, 0]
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    loaded = VerifyRM.load(tmp_path / "rm", self_test=False)
    with torch.no_grad():
        torch.testing.assert_close(loaded.logits(encoded), ours, rtol=0, atol=0)


def test_trl_scores_with_the_saved_folder(rm: VerifyRM, saved: Path) -> None:
    """What GRPOTrainer does with a path: a padded batch through `.logits[:, 0]`."""
    from transformers import AutoTokenizer

    from cooper.models import TEMPLATE

    batch = Batch(["1+1"] * 2, ["2"] * 2, ["so 2", "so so so 3."], [0, 0])
    texts = [
        TEMPLATE.format(question=q, reference=a, completion=c)
        for q, a, c in zip(batch.questions, batch.references, batch.completions, strict=True)
    ]
    model = AutoModelForSequenceClassification.from_pretrained(saved, num_labels=1)
    tokenizer = AutoTokenizer.from_pretrained(saved)
    model.config.pad_token_id = tokenizer.pad_token_id
    inputs = tokenizer(
        texts, padding=True, padding_side="right", add_special_tokens=False, return_tensors="pt"
    )
    with torch.inference_mode():
        theirs = model(**inputs).logits[:, 0].sigmoid().numpy()
    np.testing.assert_allclose(rm.score(batch), theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"template": "{question}"}, "template: found '<question>"),
        ({"fingerprint": "0" * 16}, "fingerprint: found .* expected '0000"),
        ({"pad_id": 9}, "pad_id: found 0, expected 9"),
        ({"eos_id": None}, "eos_id: found 1, expected None"),
        ({"max_length": "many"}, "max_length: Input should be a valid integer.*found 'many'"),
        ({"format": 2}, "format: Input should be 1"),
        ({"surplus": 1}, "surplus: Extra inputs"),
    ],
)
def test_a_card_that_does_not_match(saved: Path, fields: dict[str, object], message: str) -> None:
    edit(saved, **fields)
    with pytest.raises(UserError, match=rf"(?s)rm/card.json: .*{message}"):
        VerifyRM.load(saved)


def test_another_tokenizer_in_the_folder(saved: Path) -> None:
    tiny_tokenizer("9876543210+= so,.").save_pretrained(saved)
    with pytest.raises(UserError, match=r"card.json: does not match: fingerprint: found"):
        VerifyRM.load(saved)


def test_a_self_test_that_fails(saved: Path) -> None:
    probe = Card.read(saved).probe
    edit(saved, probe=[probe.question, probe.reference, probe.wrong, probe.right])
    with pytest.raises(UserError, match=r"self-test failed: found .* = -.* expected above 0"):
        VerifyRM.load(saved)
    assert VerifyRM.load(saved, self_test=False).max_length == 64


def test_a_probe_that_does_not_order_is_saved_but_refused(rm: VerifyRM, tmp_path: Path) -> None:
    good = ordered(rm)
    rm.save(tmp_path, step=0, metrics={}, probe=good._replace(right=good.wrong, wrong=good.right))
    with pytest.raises(UserError, match="self-test failed"):
        VerifyRM.load(tmp_path)


def test_a_nan_model_fails_the_self_test(rm: VerifyRM, tmp_path: Path) -> None:
    with torch.no_grad():
        rm.model.score.weight.fill_(float("nan"))
    rm.save(tmp_path, step=0, metrics={}, probe=PROBE)
    with pytest.raises(UserError, match="nan"):
        VerifyRM.load(tmp_path)


def test_missing_and_broken_folders(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere/card.json: no such file"):
        VerifyRM.load(tmp_path / "nowhere")
    (saved / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(UserError, match=r"rm: cannot read the weights"):
        VerifyRM.load(saved)
    (saved / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"rm: cannot read the weights"):
        VerifyRM.load(saved)
    (saved / "card.json").write_text("{")
    with pytest.raises(UserError, match=r"card.json: file: Invalid JSON"):
        VerifyRM.load(saved)


def test_a_full_disk_leaves_the_old_one(rm: VerifyRM, batch: Batch, saved: Path) -> None:
    before = rm.score(batch)
    with torch.no_grad():
        rm.model.score.weight.neg_()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # every larger file fails to write
    try:
        with pytest.raises(UserError, match=r"rm: cannot save the reward model: .*untouched"):
            rm.save(saved, step=8, metrics={}, probe=PROBE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in saved.parent.iterdir()] == ["rm"]
    np.testing.assert_array_equal(VerifyRM.load(saved).score(batch), before)


def test_a_save_replaces_the_old_one_whole(rm: VerifyRM, saved: Path) -> None:
    (saved / "stale.txt").write_text("old")
    rm.save(saved, step=8, metrics={}, probe=ordered(rm))
    assert Card.read(saved).step == 8
    assert not (saved / "stale.txt").exists()
    assert [path.name for path in saved.parent.iterdir()] == ["rm"]


def test_a_crash_between_the_two_moves_is_recovered(saved: Path) -> None:
    saved.rename(saved.with_name(".rm.old"))
    assert VerifyRM.load(saved).max_length == 64
    assert [path.name for path in saved.parent.iterdir()] == ["rm"]


def test_an_interrupt_while_writing_leaves_the_old_one(saved: Path) -> None:
    def interrupted() -> None:
        with replacing(saved) as scratch:
            (scratch / "half").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in saved.parent.iterdir()] == ["rm"]
    VerifyRM.load(saved)


def test_adapters_are_saved_merged(rm: VerifyRM, batch: Batch, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    adapted = get_peft_model(
        rm.model, LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["q_proj"])
    )
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.fill_(0.05)
    lora = VerifyRM(adapted, rm.tokenizer, max_length=64)
    lora.save(tmp_path, step=0, metrics={}, probe=ordered(lora))
    np.testing.assert_allclose(VerifyRM.load(tmp_path).score(batch), lora.score(batch), atol=1e-5)
    assert any("lora_B" in name for name, _ in lora.model.named_parameters())


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_only_a_saved_reward_model_is_replaced(rm: VerifyRM, kind: str, tmp_path: Path) -> None:
    there = tmp_path / "mine"
    precious = there if kind == "file" else there / "precious.txt"
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("x")
    with pytest.raises(UserError, match=r"is a file|holds other things"):
        rm.save(there, step=0, metrics={}, probe=PROBE)
    assert precious.read_text() == "x"


@pytest.mark.parametrize("folder", ["", "a file"])
def test_a_place_that_is_no_save_is_one_line(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a file").touch()
    with pytest.raises(UserError, match=r"card\.json: (no such file|Not a directory)"):
        VerifyRM.load(folder)


def test_a_row_longer_than_the_positions_is_named(tokens: PreTrainedTokenizerFast) -> None:
    from cooper.models import tiny_decoder

    short = tiny_decoder(tokens, max_positions=16, seed=0)
    rm = VerifyRM.from_decoder(short, tokens, seed=0, max_length=64)
    with pytest.raises(UserError, match=r"max_length: a row takes .* the model has 16 positions"):
        rm.score(Batch(["1+1"], ["2"], ["so 2" * 9], [0]))
