"""A reward model as a folder: weights and tokenizer that any loader reads, and the card."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from safetensors import SafetensorError
from transformers import (
    AutoModelForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from cooper.errors import UserError
from cooper.models._card import CARD, Card, Probe
from cooper.models._folder import quiet, recover, replacing
from cooper.models._tokenizer import load_tokenizer

if TYPE_CHECKING:
    from cooper.models._reference import VerifyRM


class Saved(NamedTuple):
    """What a folder holds."""

    card: Card
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase


def write(
    rm: VerifyRM, folder: Path, *, step: int, metrics: Mapping[str, float], probe: Probe
) -> None:
    """Replace `folder` by a save of `rm`, whole or not at all; see `VerifyRM.save`."""
    _replaceable(folder)
    card = Card.of(
        rm.tokenizer,
        base=rm.base,
        max_length=rm.max_length,
        micro_batch=rm.micro_batch,
        dtype=rm.dtype,
        step=step,
        metrics=dict(metrics),
        probe=probe,
        margin=rm.probe_margin(probe),
    )
    try:
        with replacing(folder) as scratch, quiet():
            _merged(rm.model).save_pretrained(scratch)
            rm.tokenizer.save_pretrained(scratch)
            card.write(scratch)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{folder}: cannot save the reward model: {error}; an earlier one is untouched"
        ) from error


def _replaceable(folder: Path) -> None:
    """The whole folder is replaced, so it must hold nothing but an earlier save."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: is a file, so no reward model is saved there")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / CARD).exists():
        raise UserError(
            f"{folder}: holds other things than a saved reward model ({CARD}), so it is not "
            "replaced; choose a new or empty folder"
        )


def read(folder: Path) -> Saved:
    """The parts of a saved reward model, with the card checked against the tokenizer."""
    recover(folder)
    card = Card.read(folder)
    tokenizer = load_tokenizer(folder)
    if wrong := card.mismatch(tokenizer):
        raise UserError(f"{folder / CARD}: does not match: {'; '.join(wrong)}")
    try:
        with quiet():
            model = AutoModelForSequenceClassification.from_pretrained(
                folder, dtype=torch.float32, local_files_only=True
            )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UserError(f"{folder}: cannot read the weights: {reason}") from error
    return Saved(card, model, tokenizer)


def _merged(model: PreTrainedModel) -> PreTrainedModel:
    """The plain model: itself, or a copy with its PEFT adapters merged in."""
    if getattr(model, "peft_config", None) is None:
        return model
    adapted: Any = copy.deepcopy(model)
    return cast(PreTrainedModel, adapted.merge_and_unload())
