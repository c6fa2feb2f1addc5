"""What a saved reward model says about itself, checked before it may score anything."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from transformers import PreTrainedTokenizerBase

from cooper.errors import UserError
from cooper.models._encode import TEMPLATE
from cooper.models._tokenizer import fingerprint

CARD = "card.json"


class Probe(NamedTuple):
    """One question with a right and a wrong completion; the right one must score higher."""

    question: str
    reference: str
    right: str
    wrong: str


class Card(BaseModel):
    """The card of a saved reward model: `card.json` beside the weights.

    Example:
        >>> from cooper.models import Probe, tiny_tokenizer
        >>> tokens = tiny_tokenizer("1234+=")
        >>> card = Card.of(tokens, base="tiny", max_length=64, probe=Probe("1+1", "2", "2", "3"))
        >>> card.mismatch(tokens), card.mismatch(tiny_tokenizer("12345+="))[0].split(":")[0]
        ([], 'fingerprint')
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    kind: Literal["VerifyRM"] = "VerifyRM"
    template: str
    max_length: int = Field(ge=1)  # tokens
    micro_batch: int = Field(32, ge=1)  # rows
    dtype: Literal["float32", "bfloat16", "auto"] = "auto"  # of the computation; weights are fp32
    fingerprint: str  # of the tokenizer
    pad_id: int | None
    eos_id: int | None
    base: str  # what the body was copied from
    step: int = 0  # optimiser steps taken
    metrics: dict[str, float] = {}
    probe: Probe
    margin: float | None = None  # logit(right) - logit(wrong) of the probe when saved

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, **fields: object) -> Card:
        """A card for this tokenizer and this version's template."""
        return cls.model_validate(
            {
                "template": TEMPLATE,
                "fingerprint": fingerprint(tokenizer),
                "pad_id": tokenizer.pad_token_id,
                "eos_id": tokenizer.eos_token_id,
                **fields,
            }
        )

    def mismatch(self, tokenizer: PreTrainedTokenizerBase) -> list[str]:
        """Where the card and what was really loaded differ; empty when they agree."""
        found = {
            "template": TEMPLATE,
            "fingerprint": fingerprint(tokenizer),
            "pad_id": tokenizer.pad_token_id,
            "eos_id": tokenizer.eos_token_id,
        }
        return [
            f"{name}: found {value!r}, expected {getattr(self, name)!r}"
            for name, value in found.items()
            if value != getattr(self, name)
        ]

    def write(self, folder: Path) -> None:
        """Write `card.json` into `folder`."""
        (folder / CARD).write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Card:
        """The card in `folder`.

        Raises:
            UserError: There is none, or it is not a card of this version.
        """
        file = folder / CARD
        try:
            return cls.model_validate_json(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(
                f"{file}: no such file; expected a folder that VerifyRM.save wrote"
            ) from None
        except OSError as error:
            raise UserError(f"{file}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise UserError(f"{file}: is not text") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "file"
            raise UserError(f"{file}: {where}: {first['msg']} (found {first['input']!r})") from None
