"""The main job: a configuration becomes a run folder, and several runs a comparison.

| name | what it does |
|---|---|
| `load_config` | preset or YAML file, with `key=value` changes -> `RunConfig` |
| `train_run` | one arm, one seed: prepare, train on TRL, measure, write the folder and its page |
| `compare` | several arms and seeds from the same starts -> one table, one figure |

Names load when they are first used: `cooper presets` needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cooper.run._compare import compare as compare
    from cooper.run._compare import table as table
    from cooper.run._config import ARMS as ARMS
    from cooper.run._config import RunConfig as RunConfig
    from cooper.run._config import dump as dump
    from cooper.run._config import load_config as load_config
    from cooper.run._job import remove_run as remove_run
    from cooper.run._job import train_run as train_run
    from cooper.run._presets import presets as presets
    from cooper.run._stop import Interrupted as Interrupted

_HOMES = {
    "compare": "_compare",
    "table": "_compare",
    "ARMS": "_config",
    "RunConfig": "_config",
    "dump": "_config",
    "load_config": "_config",
    "remove_run": "_job",
    "train_run": "_job",
    "presets": "_presets",
    "Interrupted": "_stop",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"cooper.run.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'cooper.run' has no attribute {name!r}; it has {sorted(_HOMES)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
