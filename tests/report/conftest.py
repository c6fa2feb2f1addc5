"""A synthetic run folder: a frozen reward model that is hacked halfway."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from cooper.report import append_metrics, write_rollouts

STEPS = 120
HOSTILE = [
    "<script>document.title='hacked'</script>",
    "</td></tr></table><img src=http://example.org/x onerror=alert(1)>",
    "\x00\x1b[31m \u202eright to left\u202c & <b>bold</b>",
    '"><svg onload="document.title=1">',
]


def rollout_rows(step: int, rng: np.random.Generator, size: int = 24) -> dict[str, list[Any]]:
    """Rollouts whose wrong answers score higher and higher."""
    drift = 1 / (1 + math.exp(-(step - 70) / 8))
    right = rng.random(size) < 0.6 - 0.4 * drift
    proxy = np.clip(rng.normal(np.where(right, 0.85, 0.2 + 0.65 * drift), 0.1), 0, 1)
    first = rng.integers(2, 99, size)
    texts = [f"{n} + 7 = {n + 7 if ok else n + 8}" for n, ok in zip(first, right, strict=True)]
    texts[: len(HOSTILE)] = HOSTILE
    texts[4] = "Let us think step by step. " * 30 + "The answer is 12."
    return {
        "group": [i // 4 for i in range(size)],
        "prompt": [f"Q: {n} + 7 = ?\nA:" for n in first],
        "question": [f"{n} + 7 = ?" for n in first],
        "reference": [str(n + 7) for n in first],
        "completion": texts,
        "rule": [None if i == 2 else float(ok) for i, ok in enumerate(right)],
        "rule_status": ["unparsed" if i == 2 else "ok" for i in range(size)],
        "proxy": [float("nan") if i == 5 else float(p) for i, p in enumerate(proxy)],
        "proxy_status": ["error" if i == 5 else "ok" for i in range(size)],
        "reward": [None if i == 5 else float(p) for i, p in enumerate(proxy)],
        "advantage": [float(a) for a in rng.normal(size=size)],
        "oracle": [float(ok) for ok in right],
        "surely_wrong": [not ok for ok in right],
        "unsure": [i == 2 for i in range(size)],
        "tokens": [len(text) // 4 for text in texts],
    }


def build_run(folder: Path) -> Path:
    """Write a whole run folder."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    config = {
        "task": "sums",
        "arm": "frozen",
        "seed": 3,
        "steps": STEPS,
        "alarm": {"gap": 0.15, "wrong": 0.5, "action": "warn"},
        "assistant": {"url": "http://127.0.0.1:8000/v1", "api_key": "sk-verysecret"},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    for step in range(STEPS + 1):
        drift = 1 / (1 + math.exp(-(step - 70) / 8))
        truth = 0.6 + 0.15 * min(1, step / 50) - 0.5 * drift
        proxy = 0.62 + 0.12 * min(1, step / 50) + 0.22 * drift
        noise = rng.normal(size=8) * 0.03
        if step % 10 == 0:
            evaluation = {"eval/accuracy": truth, "eval/low": truth - 0.04}
            append_metrics(folder, step, {**evaluation, "eval/high": truth + 0.04})
        if step == 0:
            continue
        values = {
            "seconds": 1.6 * step,
            "reward": proxy + noise[0],
            "kl": 0.0009 * step + abs(noise[5]) / 10,
            "completions/mean_length": 18 - 6 * drift + 10 * noise[1],
            "cooper/proxy_mean": proxy + noise[0] / 2,
            "cooper/rule_mean": truth - 0.02 + noise[2],
            "cooper/truth": truth + noise[3],
            "cooper/gap": proxy - truth + 0.02 + noise[0] / 2 - noise[2],
            "cooper/valid_rate": min(1, 0.95 - 0.6 * drift + noise[4]),
            "cooper/unsure_share": 0.04 + 0.3 * drift + abs(noise[6]),
            "cooper/format_share": 0.97 - 0.1 * drift - abs(noise[7]) / 3,
            "cooper/rm_loss": 0.69 * math.exp(-step / 40) + abs(noise[4]),
            "cooper/rm_accuracy_fresh": 0.9 - 0.4 * drift + noise[5],
            "cooper/rm_accuracy_fixed": 0.9 + noise[6] / 4,
            "cooper/wrong_score": 0.2 + 0.65 * drift + noise[1],
            "cooper/alarm": float(step == 66),
        }
        append_metrics(folder, step, values)
        if step % 5 == 0:
            write_rollouts(folder, step, rollout_rows(step, rng))
    summary = {
        "task": "sums",
        "arm": "frozen",
        "seed": 3,
        "base_accuracy": 0.6 - 0.5 / (1 + math.exp(70 / 8)),
        "accuracy": truth,
        "peak_accuracy": 0.71,
        "alarm_step": 66,
        "alarm_reason": "the gap was above 0.15 for 3 steps",
        "steps": STEPS,
        "seconds": 192.4,
    }
    (folder / "summary.json").write_text(json.dumps(summary), "utf-8")
    return folder


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A complete synthetic run."""
    return build_run(tmp_path / "sums-frozen-3")
