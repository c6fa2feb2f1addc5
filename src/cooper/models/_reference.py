"""VerifyRM: a reward model that reads the question, the reference answer and the completion.

A decoder with one output, r = sigmoid(f(question, reference, completion)) = P(correct). It is
trained with binary cross-entropy on labelled completions before the reinforcement learning and
with Bradley-Terry pairs during it. Not for tasks without a reference answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from cooper.errors import UserError
from cooper.models._card import Probe
from cooper.models._classifier import classifier
from cooper.models._encode import Encoded, encode
from cooper.models._forward import plain, shared, worth_sharing
from cooper.models._save import read, write
from cooper.types import Batch, Floats

PAPER = "arXiv:2508.05613"

Precision = Literal["float32", "bfloat16", "auto"]
LARGE = 20_000_000  # weights; above this the computation is bfloat16 on any device


class VerifyRM:
    """A reference-based reward model with its own micro-batched forward pass.

    Rows are sorted by length and padded on the right within a micro-batch, the hidden state of
    the last real token goes through the head in fp32. So scores depend neither on the batch size,
    the order or the padding, nor on what the tokenizer calls its pad or end token. Weights are
    kept in fp32; bfloat16 concerns the computation only, because an optimiser step of 1e-5 on
    bfloat16 weights of usual size is mostly rounded away.

    Args:
        model: A sequence classifier with one label, or a PEFT model around one.
        tokenizer: The tokenizer it was trained with.
        max_length: Longest row in tokens; see `encode` for what is cut.
        micro_batch: Rows per forward pass.
        dtype: "float32", "bfloat16", or "auto": bfloat16 on a GPU or above 20 million weights.
        base: What the body came from, for the card.

    Raises:
        ValueError: The model has more than one label, or `max_length` or `micro_batch` is below 1.

    Example:
        >>> from cooper.models import tiny_decoder, tiny_tokenizer
        >>> tokens = tiny_tokenizer("0123456789+= ")
        >>> rm = VerifyRM.from_decoder(tiny_decoder(tokens, seed=0), tokens, seed=0)
        >>> rm.score(Batch(["1+1"] * 2, ["2"] * 2, ["= 2", "= 3"], [0, 0])).shape
        (2,)

    Source: Cooper, arXiv 2508.05613.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_length: int = 1024,
        micro_batch: int = 32,
        dtype: Precision = "auto",
        base: str = "",
    ) -> None:
        if model.config.num_labels != 1:
            raise ValueError(f"model: {model.config.num_labels} labels; expected num_labels=1")
        if max_length < 1 or micro_batch < 1:
            raise ValueError(f"max_length, micro_batch: {max_length}, {micro_batch}; expected >= 1")
        if dtype not in ("float32", "bfloat16", "auto"):
            raise ValueError(f"dtype: {dtype!r}; expected 'float32', 'bfloat16' or 'auto'")
        cast(torch.nn.Module, model).float()
        self.model = model
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.micro_batch = micro_batch
        self.dtype: Precision = dtype
        self.base = base or model.config._name_or_path or model.config.model_type
        self.cut_count = 0  # rows cut to max_length since this object was made

    @classmethod
    def from_decoder(
        cls,
        decoder: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        seed: int,
        max_length: int = 1024,
        micro_batch: int = 32,
        dtype: Precision = "auto",
    ) -> Self:
        """A reward model from a copy of a decoder's body and a fresh head; see `classifier`."""
        return cls(
            classifier(decoder, seed=seed),
            tokenizer,
            max_length=max_length,
            micro_batch=micro_batch,
            dtype=dtype,
            base=decoder.config._name_or_path or decoder.config.model_type,
        )

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    @property
    def compute_dtype(self) -> torch.dtype:
        """The precision that `dtype` stands for on this device."""
        if self.dtype != "auto":
            return torch.bfloat16 if self.dtype == "bfloat16" else torch.float32
        large = sum(p.numel() for p in self.model.parameters()) > LARGE
        return torch.bfloat16 if large or self.device.type == "cuda" else torch.float32

    def encode(
        self, questions: Sequence[str], references: Sequence[str], completions: Sequence[str]
    ) -> Encoded:
        """Token ids of B rows, as in training, scoring and reinforcement learning alike."""
        encoded = encode(
            self.tokenizer, questions, references, completions, max_length=self.max_length
        )
        self.cut_count += encoded.cut
        longest = max(map(len, encoded.ids), default=0)
        positions = getattr(self.model.config, "n_positions", longest)  # learned ones, as in GPT-2
        if longest > positions:
            raise UserError(
                f"max_length: a row takes {longest} tokens and the model has {positions} "
                f"positions; lower max_length from {self.max_length}"
            )
        return encoded

    def logits(self, encoded: Encoded) -> torch.Tensor:
        """Logits (B,) in fp32 with their graph, in the order given; the mode is the caller's."""
        if not encoded.ids:
            return torch.zeros(0, device=self.device)
        with self._precision():
            return plain(self._core, encoded.ids, micro_batch=self.micro_batch)

    def _scoring_logits(self, encoded: Encoded) -> torch.Tensor:
        rows, prefix, core = encoded.ids, encoded.prefix, self._core
        if not worth_sharing(core, rows, prefix):
            return self.logits(encoded)
        with self._precision():
            return shared(core, rows, prefix, micro_batch=self.micro_batch)

    @contextmanager
    def _precision(self) -> Iterator[None]:
        # The cast weights that autocast keeps must never pass between a pass with and a pass
        # without gradients: the second would be cut off from the weights.
        torch.clear_autocast_cache()
        low = self.compute_dtype is torch.bfloat16
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=low):
            yield
        torch.clear_autocast_cache()

    @property
    def _core(self) -> Any:
        """The classifier itself, with its adapters in place if it has any."""
        unwrap: Any = getattr(self.model, "get_base_model", None)  # PEFT
        return unwrap() if unwrap else self.model

    def score(self, batch: Batch) -> Floats:
        """P(correct) of each rollout, without gradients and with dropout off.

        Rows with equal ids are scored once, and a question and reference that rows have in common
        are read once, where the backbone allows it and it pays. The model's mode is put back.

        Args:
            batch: B rollouts.

        Returns:
            (B,) float64, strictly between 0 and 1.

        Raises:
            FloatingPointError: A logit is not finite, which means that the model has diverged.
        """
        encoded = self.encode(batch.questions, batch.references, batch.completions)
        place: dict[tuple[int, ...], int] = {}
        first = [
            i for i, ids in enumerate(map(tuple, encoded.ids)) if place.setdefault(ids, i) == i
        ]
        with evaluating(self.model), torch.no_grad():
            logits = self._scoring_logits(encoded.take(first))
        values = logits.cpu().numpy().astype(np.float64)
        if not np.isfinite(values).all():
            raise FloatingPointError(
                f"VerifyRM.score: {np.sum(~np.isfinite(values))} of {len(values)} logits are not "
                "finite; the reward model has diverged"
            )
        values = 1 / (1 + np.exp(-values.clip(-36, 36)))  # float64 tells 1 - 2e-16 from 1
        column = {row: k for k, row in enumerate(first)}
        spread: Floats = values[[column[place[tuple(ids)]] for ids in encoded.ids]]
        return spread

    def probe_margin(self, probe: Probe) -> float:
        """logit(right) - logit(wrong) of a probe; above zero when the model orders it."""
        question, reference, right, wrong = probe
        pair = encode(
            self.tokenizer,
            [question] * 2,
            [reference] * 2,
            [right, wrong],
            max_length=self.max_length,
        )
        with evaluating(self.model), torch.no_grad():
            first, second = self.logits(pair).tolist()
        return float(first - second)

    def save(
        self, folder: str | Path, *, step: int, metrics: Mapping[str, float], probe: Probe
    ) -> None:
        """Write weights, tokenizer and card, replacing `folder` whole or not at all.

        A PEFT model is saved merged, so that any loader can read the folder.

        Args:
            folder: Where to; an earlier save there is replaced.
            step: Optimiser steps taken so far, for the card.
            metrics: Numbers for the card.
            probe: A pair the model orders; checked again at every load. A pair it does *not*
                order is written all the same (nothing trained is lost), and refused at load.

        Raises:
            UserError: The folder cannot be written; what was there before is untouched.
        """
        write(self, Path(folder), step=step, metrics=metrics, probe=probe)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        self_test: bool = True,
        device: str | torch.device | None = None,
    ) -> Self:
        """A saved reward model, after checking that it is what its card says.

        Args:
            folder: What `save` wrote.
            self_test: Whether the card's probe must order.
            device: Where to put the weights; None leaves them on the CPU.

        Raises:
            UserError: No such folder, a card that does not match, unreadable weights, or a probe
                that does not order.
        """
        card, model, tokenizer = read(Path(folder))
        torch.nn.Module.to(model, device or "cpu")
        rm = cls(
            model,
            tokenizer,
            max_length=card.max_length,
            micro_batch=card.micro_batch,
            dtype=card.dtype,
            base=card.base,
        )
        if self_test and not (margin := rm.probe_margin(card.probe)) > 0:
            raise UserError(
                f"{folder}: self-test failed: found logit(right) - logit(wrong) = {margin:.4g} for "
                f"{card.probe.question!r}, expected above 0 (when saved: {card.margin})"
            )
        return rm


@contextmanager
def evaluating(model: PreTrainedModel) -> Iterator[None]:
    """Evaluation mode inside the block, each module's own mode after it."""
    training = [module for module in model.modules() if module.training]
    model.train(False)
    try:
        yield
    finally:
        for module in training:
            module.training = True
