from __future__ import annotations

import json
from pathlib import Path

import pytest

from cooper.errors import UserError
from cooper.models import load_tokenizer, tiny_tokenizer
from cooper.models._tokenizer import fingerprint

TEXT = "so  1 + 2 = 3"


def test_the_trap_on_a_qwen2_folder(tmp_path: Path) -> None:
    from transformers import AutoTokenizer, Qwen2Config

    tokens = tiny_tokenizer("so 0123456789+=")
    tokens.save_pretrained(tmp_path)
    Qwen2Config(vocab_size=len(tokens)).save_pretrained(tmp_path)
    auto = AutoTokenizer.from_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert ours(TEXT)["input_ids"] == tokens(TEXT)["input_ids"]
    assert ours.decode(ours(TEXT)["input_ids"]) == TEXT
    assert fingerprint(ours) == fingerprint(tokens)
    if auto(TEXT)["input_ids"] != tokens(TEXT)["input_ids"]:  # still replaced by transformers
        assert fingerprint(auto) != fingerprint(tokens)


def test_settings_survive(tmp_path: Path) -> None:
    tokens = tiny_tokenizer("ab")
    tokens.chat_template = "{{ messages[0].content }}"
    tokens.save_pretrained(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert loaded.chat_template == tokens.chat_template
    assert (loaded.pad_token_id, loaded.eos_token_id) == (0, 1)
    assert loaded.padding_side == "left"


def test_fingerprint_sees_vocabulary_and_splitting() -> None:
    plain = tiny_tokenizer("ab ")
    assert fingerprint(plain) == fingerprint(tiny_tokenizer("ab "))
    assert fingerprint(plain) != fingerprint(tiny_tokenizer("ba "))
    split = tiny_tokenizer("ab ")
    split.backend_tokenizer.pre_tokenizer = None
    assert fingerprint(plain) != fingerprint(split)


def test_bad_folders_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        load_tokenizer(tmp_path / "missing")
    with pytest.raises(UserError, match="cannot read a tokenizer"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps({"broken": 1}))
    with pytest.raises(UserError, match="cannot read a tokenizer"):
        load_tokenizer(tmp_path)
