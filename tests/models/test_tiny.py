from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cooper.models import TEMPLATE, tiny_classifier, tiny_decoder, tiny_tokenizer

ALPHABET = "0123456789+-*=. \nabcsoÄ^$|[]()\\{}<>/"


@given(st.text(alphabet=ALPHABET, max_size=40))
def test_characters_round_trip(text: str) -> None:
    tokens = tiny_tokenizer(ALPHABET)
    ids = tokens(text)["input_ids"]
    assert tokens.decode(ids) == text
    assert tokens.unk_token_id not in ids


@given(st.lists(st.sampled_from(["so", "s", "o", " ", "  ", "the answer is", "7"]), max_size=12))
def test_pieces_round_trip_and_the_longest_wins(pieces: list[str]) -> None:
    tokens = tiny_tokenizer(["s", "so", "o", " ", "  ", "7", "the answer is"])
    text = "".join(pieces)
    assert tokens.decode(tokens(text)["input_ids"]) == text
    assert tokens.tokenize("the answer is so  7") == ["the answer is", " ", "so", "  ", "7"]


def test_the_template_takes_seven_tokens_and_returns() -> None:
    tokens = tiny_tokenizer("12")
    text = TEMPLATE.format(question="", reference="", completion="")
    ids = tokens(text)["input_ids"]
    assert len(ids) == 8
    assert tokens.decode(ids) == text


def test_unknown_characters_are_unk_one_by_one() -> None:
    tokens = tiny_tokenizer("ab")
    assert tokens("axyb")["input_ids"] == [3, 2, 2, 4]


def test_ids_of_specials_and_what_generation_needs() -> None:
    tokens = tiny_tokenizer("ab")
    assert (tokens.pad_token_id, tokens.eos_token_id, tokens.unk_token_id) == (0, 1, 2)
    assert tokens.padding_side == "left"
    batch = tokens(["a", "abab"], padding=True, return_tensors="pt")
    assert set(batch) == {"input_ids", "attention_mask"}
    out = tiny_decoder(tokens, seed=0).generate(**batch, max_new_tokens=3, do_sample=False)
    assert out.shape[0] == 2


def test_an_empty_piece_is_refused() -> None:
    with pytest.raises(ValueError, match="empty piece"):
        tiny_tokenizer(["a", ""])


@pytest.mark.parametrize("tied", [False, True])
def test_decoder_is_small_seeded_and_leaves_random_state_alone(tied: bool) -> None:
    tokens = tiny_tokenizer(ALPHABET)
    before = torch.get_rng_state()
    first = tiny_decoder(tokens, tied=tied, seed=3)
    second = tiny_decoder(tokens, tied=tied, seed=3)
    other = tiny_decoder(tokens, tied=tied, seed=4)
    tiny_classifier(tokens, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    assert sum(p.numel() for p in first.parameters()) < 1_000_000
    assert first.config._attn_implementation == "sdpa"
    assert (first.lm_head.weight is first.transformer.wte.weight) is tied
    again = second.state_dict()
    assert all(torch.equal(again[name], value) for name, value in first.state_dict().items())
    assert not torch.equal(first.transformer.wte.weight, other.transformer.wte.weight)


def test_auto_tokenizer_does_not_replace_ours_on_a_llama_folder(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokens = tiny_tokenizer(ALPHABET)
    tokens.save_pretrained(tmp_path)
    tiny_decoder(tokens, seed=0).save_pretrained(tmp_path)
    text = "so  1 + 2\n = 3"
    assert AutoTokenizer.from_pretrained(tmp_path)(text)["input_ids"] == tokens(text)["input_ids"]
