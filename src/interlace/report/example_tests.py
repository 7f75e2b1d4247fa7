"""Tests over test examples, by the outcomes that runs keep."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from interlace.report.runs import outcomes_path, read_outcomes
from interlace.scores import Score, ScoreTable
from interlace.scores.comparison import Comparison, Untested, compare
from interlace.scores.examples import Examples

log = logging.getLogger(__name__)

_DRAWS = 2000


@dataclass(frozen=True)
class ExampleComparisons:
    """Comparisons over test examples, and over runs and examples, with those that are impossible."""

    comparisons: list[Comparison] = field(default_factory=list)
    untested: list[Untested] = field(default_factory=list)


def compare_over_examples(
    scores: ScoreTable, baseline: str, root: Path = Path()
) -> ExampleComparisons:
    """Compare over test examples in every task that has outcomes and that the baseline is scored in.

    root: the folder that runs are relative to. Comparisons that are impossible are logged.
    """
    results = ExampleComparisons()

    def read(row: Score) -> Examples:
        return read_outcomes(row, root)

    for rows in scores.group("task", "setting").values():
        paths = {outcomes_path(row, root) for row in rows}
        if any(path.is_file() for path in paths) and len(rows.filter(system=baseline)):
            untested = results.untested
            results.comparisons.extend(
                compare(rows, baseline, "examples", outcomes=read, draws=_DRAWS, untested=untested)
            )
            results.comparisons.extend(
                compare(rows, baseline, "both", outcomes=read, untested=untested)
            )
    _log_untested(results.untested)
    return results


def _log_untested(untested: Sequence[Untested]) -> None:
    """Warn of comparisons over examples that are impossible, once for each pair of systems and reason."""
    languages: dict[tuple[str, ...], list[str]] = {}
    for comparison in untested:
        if comparison.unit == "examples":  # over both: too few runs, or the same reason again
            measure = comparison.measure
            pair = (
                measure.task,
                measure.setting,
                comparison.system.label,
                comparison.baseline.label,
            )
            languages.setdefault((*pair, comparison.reason), []).append(measure.name)
    for (task, setting, system, baseline, reason), names in languages.items():
        message = "%s, %s: %s is not compared with %s over test examples in %s: %s"
        log.warning(message, task, setting, system, baseline, ", ".join(names), reason)
