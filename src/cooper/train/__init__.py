"""Steps and losses that learn: Cooper's pairs, its reward-model step, and offline training.

One verb each: `mine` pairs, `update` the reward model on them, `fit` it offline; `Cooper` puts
them together as one step that any trainer can call.

| name | what it is |
|---|---|
| `Cooper` | scores rollouts, mines pairs, updates the reward model, watches the alarm |
| `CooperConfig` | its settings; `.paper()` is the released algorithm |
| `mine` | rollouts -> right/wrong pairs |
| `update` | one optimiser step of the reward model on pairs and replayed rows |
| `fit` | offline training of the reward model on labelled completions |
| `supervise` | supervised warm-up of the policy on demonstrations |
| `assisted`, with `local_model` or `endpoint` | negatives written by a model |
"""

from cooper.train._assistants import assisted as assisted
from cooper.train._config import CooperConfig as CooperConfig
from cooper.train._cooper import Cooper as Cooper
from cooper.train._cooper import Outcome as Outcome
from cooper.train._cooper import never_wrong as never_wrong
from cooper.train._endpoint import endpoint as endpoint
from cooper.train._fit import fit as fit
from cooper.train._local_model import local_model as local_model
from cooper.train._metrics import judge_all as judge_all
from cooper.train._pairs import Pair as Pair
from cooper.train._pairs import Verdicts as Verdicts
from cooper.train._pairs import mine as mine
from cooper.train._pairs import valid_rate as valid_rate
from cooper.train._request import Request as Request
from cooper.train._step import Labelled as Labelled
from cooper.train._step import Update as Update
from cooper.train._step import make_optimizer as make_optimizer
from cooper.train._step import update as update
from cooper.train._supervised import supervise as supervise
