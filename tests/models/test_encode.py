from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cooper.errors import UserError
from cooper.models import TEMPLATE, encode, tiny_tokenizer

TOKENS = tiny_tokenizer("0123456789+= abcdefghijklmnopqrstuvwxyz")
FIXED = 8  # tokens of the empty template


def decode(ids: list[int]) -> str:
    return str(TOKENS.decode(ids))


def test_the_template_to_the_letter() -> None:
    rows = encode(TOKENS, ["1+1"], ["2"], ["so 2"], max_length=99)
    assert decode(rows.ids[0]) == (
        "<question>1+1</question>\n<reference_answer>2</reference_answer>\n"
        "<completion>so 2</completion>"
    )
    assert rows.cut == 0
    assert decode(rows.ids[0]) == TEMPLATE.format(question="1+1", reference="2", completion="so 2")


def test_no_special_tokens_are_added() -> None:
    from tokenizers.processors import TemplateProcessing

    adds = tiny_tokenizer("012+")
    adds.backend_tokenizer.post_processor = TemplateProcessing(
        single="<eos> $A <eos>", special_tokens=[("<eos>", 1)]
    )
    assert 1 in adds("1")["input_ids"]
    assert 1 not in encode(adds, ["1+1"], ["2"], ["2"], max_length=99).ids[0]


def test_a_cut_keeps_the_end_and_is_counted() -> None:
    long = "a" * 50 + " the answer is 42"
    rows = encode(TOKENS, ["1+1"] * 3, ["2"] * 3, ["2", long, long], max_length=40)
    assert rows.cut == 2
    assert {decode(ids[:n]) for ids, n in zip(rows.ids, rows.prefix, strict=True)} == {
        "<question>1+1</question>\n<reference_answer>2</reference_answer>\n<completion>"
    }
    assert [len(ids) for ids in rows.ids] == [FIXED + 5, 40, 40]
    assert decode(rows.ids[1]).startswith("<question>1+1</question>")
    assert decode(rows.ids[1]).endswith(" the answer is 42</completion>")
    assert "<reference_answer>2</reference_answer>" in decode(rows.ids[1])


def test_a_long_question_loses_its_front_and_the_reference_stays() -> None:
    rows = encode(TOKENS, ["x" * 90 + "last"], ["1234567"], ["so 7"], max_length=31)
    text = decode(rows.ids[0])
    assert (len(rows.ids[0]), rows.cut) == (31, 1)
    assert "last</question>\n<reference_answer>1234567</reference_answer>" in text
    assert text.endswith("<completion>so 7</completion>")


@given(st.integers(0, 60), st.integers(0, 20), st.integers(0, 60), st.integers(30, 80))
def test_lengths_and_ends(question: int, reference: int, completion: int, limit: int) -> None:
    q, a, c = "q" * question, "7" * reference, "".join(str(i % 10) for i in range(completion))
    rows = encode(TOKENS, [q], [a], [c], max_length=limit)
    text = decode(rows.ids[0])
    whole = FIXED + question + reference + completion
    assert len(rows.ids[0]) == min(limit, whole)
    assert rows.cut == int(whole > limit)
    assert f"<reference_answer>{a}</reference_answer>" in text
    kept = text.partition("<completion>")[2].removesuffix("</completion>")
    assert c.endswith(kept)
    assert len(kept) >= min(completion, (limit - FIXED - reference) // 4)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    questions, references = ["1+1", "2+2", "1+1"], ["2", "4", "2"]
    completions = ["a", "b" * 70, ""]
    together = encode(TOKENS, questions, references, completions, max_length=40)
    apart = [
        encode(TOKENS, [q], [a], [c], max_length=40).ids[0]
        for q, a, c in zip(questions, references, completions, strict=True)
    ]
    assert together.ids == apart
    assert encode(TOKENS, [], [], [], max_length=40) == ([], 0, [])


def test_errors_name_what_was_found() -> None:
    with pytest.raises(ValueError, match="length B, got 2, 1 and 1"):
        encode(TOKENS, ["1", "2"], ["1"], ["1"], max_length=9)
    with pytest.raises(UserError, match="max_length: 20 tokens cannot hold the reference of row 1"):
        encode(TOKENS, ["1", "1"], ["1", "1" * 30], ["1", "1"], max_length=20)
