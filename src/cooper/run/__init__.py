"""The main job: a configuration becomes a run folder, and several runs a comparison.

| name | what it does |
|---|---|
| `load_config` | preset or YAML file, with `key=value` changes -> `RunConfig` |
| `train_run` | one arm, one seed: prepare, train on TRL, measure, write the folder and its page |
| `compare` | several arms and seeds from the same starts -> one table, one figure |
"""

from cooper.run._config import ARMS as ARMS
from cooper.run._config import RunConfig as RunConfig
from cooper.run._config import load_config as load_config
from cooper.run._config import presets as presets
from cooper.run._job import Interrupted as Interrupted
from cooper.run._job import remove_run as remove_run
from cooper.run._job import train_run as train_run
