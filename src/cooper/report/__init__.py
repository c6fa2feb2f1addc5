"""The run folder: written line by line during training, read back, and drawn as one HTML page.

One signature: `write_report(run) -> Path` of `report.html`. The page needs no network.
"""

from __future__ import annotations

from cooper.report._page import write_report as write_report
from cooper.report._read import Rollouts as Rollouts
from cooper.report._read import RunRecord as RunRecord
from cooper.report._read import read_rollouts as read_rollouts
from cooper.report._read import read_run as read_run
from cooper.report._write import RolloutWriter as RolloutWriter
from cooper.report._write import append_metrics as append_metrics
from cooper.report._write import write_rollouts as write_rollouts
