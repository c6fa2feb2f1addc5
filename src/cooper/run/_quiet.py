"""Engines say much about themselves; what the user asked for should be found between it."""

from __future__ import annotations

import os
import warnings


def quiet() -> None:
    """Silence progress bars and warnings that concern the engines' own code, in this process."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"(transformers|trl)\b")
