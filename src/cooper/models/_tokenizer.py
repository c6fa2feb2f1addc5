"""Load a tokenizer as it was saved, or refuse.

`AutoTokenizer` picks a class by the folder's model type and may rebuild the tokenizer from its
vocabulary alone: on a Qwen2 folder with a custom tokenizer it drops the spaces, without a word.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, cast

from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from cooper.errors import UserError
from cooper.models._encode import TEMPLATE


def load_tokenizer(folder: str | Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a model folder, exactly as saved.

    A folder with `tokenizer.json` is read by `PreTrainedTokenizerFast`, and must encode the
    reward model's template to the ids that the file itself gives. Without that file the choice is
    left to `AutoTokenizer`, which then has nothing to replace.

    Args:
        folder: A local folder.

    Raises:
        UserError: No such folder, no tokenizer in it, or one that reads differently.

    Example:
        >>> import tempfile
        >>> from cooper.models import tiny_tokenizer
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = tiny_tokenizer("ab ").save_pretrained(folder)
        ...     load_tokenizer(folder).decode([3, 5, 5, 4])
        'a  b'
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; expected one with a saved tokenizer")
    file = folder / "tokenizer.json"
    fast: Any = PreTrainedTokenizerFast
    try:
        if not file.exists():
            plain = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            return cast(PreTrainedTokenizerBase, plain)
        content = json.loads(file.read_text(encoding="utf-8"))
        if missing := {"model", "added_tokens"} - content.keys():
            raise ValueError(f"tokenizer.json has no {sorted(missing)}")
        tokenizer = fast.from_pretrained(folder, local_files_only=True)
        raw = fast(tokenizer_file=str(file))
    except (OSError, ValueError) as error:
        raise UserError(f"{folder}: cannot read a tokenizer from this folder: {error}") from error
    text = TEMPLATE + "  1 +\t2"
    got, want = (t(text, add_special_tokens=False)["input_ids"] for t in (tokenizer, raw))
    if got != want:
        raise UserError(
            f"{file}: the loaded tokenizer gives {len(got)} ids for a test text where the file "
            f"gives {len(want)}; its tokenizer_config.json does not belong to it"
        )
    return cast(PreTrainedTokenizerBase, tokenizer)


def fingerprint(tokenizer: PreTrainedTokenizerBase) -> str:
    """16 hex digits that change with the vocabulary or with the way text is split."""
    ids = tokenizer(TEMPLATE + "  1 +\t2", add_special_tokens=False)["input_ids"]
    content = json.dumps([sorted(tokenizer.get_vocab().items()), ids])
    return hashlib.sha256(content.encode()).hexdigest()[:16]
