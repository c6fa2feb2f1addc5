"""Is the reward still honest? Each check returns a `Finding`: a value, its interval, a verdict.

One signature: `f(...) -> Finding`. What watches a run over time is `init`/`update` with a state
of plain tuples.

| name | what it asks |
|---|---|
| `gap` | how far is the reward model above the rule on the same rollouts? |
| `alarm_init`, `alarm_update` | is the policy hacking the reward model, step by step? |
| `evaluate_alarm` | on stored runs, how often does the alarm detect, and cry wolf? |
"""

from cooper.audit._alarm import ALARMS as ALARMS
from cooper.audit._alarm import WARNINGS as WARNINGS
from cooper.audit._alarm import AlarmConfig as AlarmConfig
from cooper.audit._alarm import AlarmState as AlarmState
from cooper.audit._alarm import alarm_init as alarm_init
from cooper.audit._alarm import alarm_rearm as alarm_rearm
from cooper.audit._alarm import alarm_restore as alarm_restore
from cooper.audit._alarm import alarm_update as alarm_update
from cooper.audit._alarm import unsure_grew as unsure_grew
from cooper.audit._evaluate import AlarmReport as AlarmReport
from cooper.audit._evaluate import alarm_series as alarm_series
from cooper.audit._evaluate import evaluate_alarm as evaluate_alarm
from cooper.audit._finding import Finding as Finding
from cooper.audit._gap import gap as gap
from cooper.audit._interval import Interval as Interval
from cooper.audit._interval import mean_interval as mean_interval
from cooper.audit._interval import proportion_interval as proportion_interval
