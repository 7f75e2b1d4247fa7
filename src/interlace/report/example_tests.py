"""Tests over test examples, by the outcomes that runs keep."""

import logging
from pathlib import Path

from interlace.report.runs import outcomes_path, read_outcomes
from interlace.scores import Score, ScoreTable
from interlace.scores.comparison import Comparison, compare
from interlace.scores.examples import Examples

log = logging.getLogger(__name__)

_DRAWS = 2000


def compare_over_examples(
    scores: ScoreTable, baseline: str, root: Path = Path()
) -> list[Comparison]:
    """Compare over test examples, and over runs and examples, in every task that has outcomes.

    root: the folder that runs are relative to. Comparisons over examples that are impossible are logged.
    """

    def read(row: Score) -> Examples:
        return read_outcomes(row, root)

    comparisons = []
    impossible: list[str] = []
    for rows in scores.group("task", "setting").values():
        paths = {outcomes_path(row, root) for row in rows}
        if any(path.is_file() for path in paths) and len(rows.filter(system=baseline)):
            comparisons += compare(
                rows, baseline, "examples", outcomes=read, draws=_DRAWS, impossible=impossible
            )
            # with too few runs, or for the reasons above
            comparisons += compare(
                rows,
                baseline,
                "both",
                outcomes=read,
                impossible=[],
            )
    for message in impossible:
        log.warning("%s", message)
    return comparisons
