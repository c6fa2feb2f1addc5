"""Steps and losses that learn: Cooper's pairs, its reward-model step, and offline training.

One verb each: `mine` pairs, `update` the reward model on them, `fit` it offline; `Cooper` puts
them together as one step that any trainer can call.

| name | what it is |
|---|---|
| `Cooper` | scores rollouts, mines pairs, updates the reward model, watches the alarm |
| `CooperConfig` | its settings; `.paper()` is the released algorithm |
| `mine` | rollouts -> right/wrong pairs |
| `update` | one optimiser step of the reward model on pairs and replayed rows |
| `fit` | offline training on labelled completions |
| `corrupt` | a wrong copy of a right solution, by arithmetic |
| `local_model`, `endpoint`, `assisted` | negatives written by a model |
"""

from cooper.train._config import CooperConfig as CooperConfig
from cooper.train._cooper import Cooper as Cooper
from cooper.train._cooper import Outcome as Outcome
from cooper.train._cooper import judge_all as judge_all
from cooper.train._cooper import never_wrong as never_wrong
from cooper.train._corrupt import Negative as Negative
from cooper.train._corrupt import corrupt as corrupt
from cooper.train._fit import fit as fit
from cooper.train._pairs import Pair as Pair
from cooper.train._pairs import Verdicts as Verdicts
from cooper.train._pairs import mine as mine
from cooper.train._pairs import valid_rate as valid_rate
from cooper.train._step import Labelled as Labelled
from cooper.train._step import Update as Update
from cooper.train._step import make_optimizer as make_optimizer
from cooper.train._step import update as update
