"""An assistant on this machine: a Hugging Face causal model that answers prompts.

Do not use it inside a step that must be fast: it generates a whole solution per prompt. On two
cores a model of 135 million weights takes seconds for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cooper.train._request import room


@dataclass
class LocalModel:
    """What `local_model` returns: call it with prompts."""

    model: Any
    tokenizer: Any
    max_new_tokens: int
    temperature: float
    seed: int
    batch_size: int
    calls: int = 0  # so that a repeated question gets another answer, and a resumed run the same
    failures: dict[int, str] = field(default_factory=dict)  # of the latest call, by prompt

    def __call__(self, prompts: list[str]) -> list[str | None]:
        """Answers (N,) to prompts (N,); None where `failures` says why."""
        import torch

        self.failures = {}
        self.calls += 1
        out: list[str | None] = [None] * len(prompts)
        ids = [self._encode(prompt) for prompt in prompts]
        longest = getattr(self.model.config, "max_position_embeddings", None)
        rooms = [room(prompt, self.max_new_tokens) for prompt in prompts]
        ready = []
        for i, row in enumerate(ids):
            if longest is not None and len(row) + rooms[i] > longest:
                self.failures[i] = f"{len(row)} + {rooms[i]} tokens do not fit into {longest}"
            elif not row:
                self.failures[i] = "empty prompt"
            else:
                ready.append(i)
        ready.sort(key=lambda i: len(ids[i]) + rooms[i])  # little padding, no overlong batch
        device = self.model.device
        training = self.model.training
        self.model.eval()
        try:
            with torch.random.fork_rng([device] if device.type == "cuda" else []):
                # generate() draws from the global stream; this one is seeded and then put back.
                seed = np.random.SeedSequence([self.seed, self.calls])
                torch.manual_seed(int(seed.generate_state(1)[0]))
                for start in range(0, len(ready), self.batch_size):
                    chunk = ready[start : start + self.batch_size]
                    texts = self._generate([ids[i] for i in chunk], max(rooms[i] for i in chunk))
                    for i, text in zip(chunk, texts, strict=True):
                        out[i] = text or None
                        if not text:
                            self.failures[i] = "empty answer"
        finally:
            self.model.train(training)
        return out

    def state_dict(self) -> dict[str, int]:
        """The number of calls so far, which with the seed fixes the next answers."""
        return {"calls": self.calls}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue where `state_dict` was taken."""
        self.calls = state["calls"]

    def _encode(self, prompt: str) -> list[int]:
        if getattr(self.tokenizer, "chat_template", None):
            chat = [{"role": "user", "content": str(prompt)}]
            prompt = self.tokenizer.apply_chat_template(
                chat, tokenize=False, add_generation_prompt=True
            )
            return list(self.tokenizer(prompt, add_special_tokens=False)["input_ids"])
        return list(self.tokenizer(str(prompt))["input_ids"])

    def _generate(self, rows: list[list[int]], room: int) -> list[str]:
        import torch

        pad = self.tokenizer.pad_token_id
        if pad is None:
            pad = self.tokenizer.eos_token_id or 0  # never seen: the mask hides it
        width = max(len(row) for row in rows)
        ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows])  # left-padded
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        sampling = {"temperature": self.temperature} if self.temperature > 0 else {}
        with torch.no_grad():
            new = self.model.generate(
                input_ids=ids.to(self.model.device),
                attention_mask=mask.to(self.model.device),
                max_new_tokens=room,
                do_sample=bool(sampling),
                pad_token_id=pad,
                **sampling,
            )[:, width:]
        return [str(t).strip() for t in self.tokenizer.batch_decode(new, skip_special_tokens=True)]


def local_model(
    model: Any,
    tokenizer: Any,
    *,
    max_new_tokens: int,
    temperature: float = 0.7,
    seed: int,
    batch_size: int = 8,
) -> LocalModel:
    """Ask a Hugging Face causal model on this machine.

    Its chat template is used where it has one. The global random state is left as it was, and so
    are the model's training mode and the tokenizer's padding.

    Args:
        model: a causal language model with `generate`.
        tokenizer: its tokenizer.
        max_new_tokens: longest answer, tokens; a `Request` may ask for fewer.
        temperature: of the sampling, 0 for greedy.
        seed: of the sampling; with the number of calls so far it fixes the answers.
        batch_size: prompts generated together.

    Returns:
        `ask(prompts)` -> answers, None where `ask.failures` (by prompt) says why.

    Raises:
        ValueError: for a number out of its range.
    """
    for name, value, low in (
        ("max_new_tokens", max_new_tokens, 1),
        ("batch_size", batch_size, 1),
        ("temperature", temperature, 0),
        ("seed", seed, 0),
    ):
        if value < low:
            raise ValueError(f"{name}: got {value}, expected {low} or more")
    return LocalModel(model, tokenizer, max_new_tokens, temperature, seed, batch_size)
