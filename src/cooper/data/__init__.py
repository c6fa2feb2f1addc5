"""Tasks: rows to train on, rows to measure on, and the rules that read completions.

One signature: `f(**options) -> Task`. `sums` and `forms` are synthetic and need no file;
`questions` reads real questions from JSON files or from the hub.

| name | what it is |
|---|---|
| `Task`, `Row`, `Demo` | a task, one of its items, one example of the warm-up |
| `sums`, `forms`, `questions` | the tasks |
| `hub`, `labelled_solutions` | rows from the hub; ready-made labelled completions |
| `corrupt`, `Negative` | a wrong copy of a solution, from the arithmetic ladder |
| `refuted` | is the final answer surely not the reference? |
| `patch_number`, `corrupt_number` | a completion made right, or wrong, in its own format |
"""

from cooper.data._answers import corrupt_number as corrupt_number
from cooper.data._answers import patch_number as patch_number
from cooper.data._corrupt import Negative as Negative
from cooper.data._corrupt import corrupt as corrupt
from cooper.data._forms import forms as forms
from cooper.data._hub import hub as hub
from cooper.data._numbers import refuted as refuted
from cooper.data._questions import questions as questions
from cooper.data._solutions import labelled_solutions as labelled_solutions
from cooper.data._sums import sums as sums
from cooper.data._task import Corrupt as Corrupt
from cooper.data._task import Demo as Demo
from cooper.data._task import Patch as Patch
from cooper.data._task import Row as Row
from cooper.data._task import Rule as Rule
from cooper.data._task import Task as Task
from cooper.data._task import Wrong as Wrong
