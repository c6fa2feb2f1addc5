"""Tasks: rows to train on, rows to measure on, and the rules that read completions.

One signature: `f(**options) -> Task`. `sums` and `forms` are synthetic and need no file;
`questions` reads real questions from JSON files or from the hub.
"""

from cooper.data._forms import forms as forms
from cooper.data._hub import hub as hub
from cooper.data._questions import questions as questions
from cooper.data._solutions import labelled_solutions as labelled_solutions
from cooper.data._sums import sums as sums
from cooper.data._task import Demo as Demo
from cooper.data._task import Row as Row
from cooper.data._task import Task as Task
