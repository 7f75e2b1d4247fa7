"""Results of a study in its folder: tables, and comparisons by all that can be drawn again."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlace.core.json_files import read_json, write_json
from interlace.experiments.studies import GridCell, Study, cells_of
from interlace.experiments.studies.folder import RESULTS, StudyFolder
from interlace.report.comparison_table import ComparisonTable
from interlace.report.correlation import correlation_tables
from interlace.report.differences import difference_tables
from interlace.report.example_tests import compare_over_examples
from interlace.report.published_rows import cited_by
from interlace.report.tables import Table, write_tables
from interlace.report.transfer import transfer_tables
from interlace.scores import ScoreTable
from interlace.scores.comparison import Comparison, Untested, compare

TABLES = "tables"
COMPARISONS = "comparisons.json"


def summarize(study: Study, folder: Path, into: Path) -> list[Table]:
    """Write the tables and comparisons of all finished cells into the study's folder, and return the tables.

    folder: of the study's file. Metrics that a task does not have raise a SettingsError.
    """
    if not read_json(into / RESULTS, default=None):
        return []
    scores = StudyFolder(into).read_scores()
    baseline = study.reference if len(scores.filter(system=study.reference)) else scores[0].system
    metrics = study.evaluate.metrics
    cells = cells_of(study, folder)
    recipes = {cell.system: cell.recipe for cell in cells}
    cited = cited_by(recipes.values())
    comparisons = compare(scores, baseline, metrics=metrics)
    over_examples = compare_over_examples(scores, baseline, into)
    comparisons += over_examples.comparisons
    notes = unfinished_note(cells, scores) + commits_note(scores)
    main_tables = ComparisonTable(scores, baseline, metrics, cited, study.name).tables()
    tables = [replace(table, caption=table.caption + notes) for table in main_tables]
    tables += difference_tables(comparisons, study.name, scores)
    tables += correlation_tables(scores, study.name)
    tables += transfer_tables(scores, study.name, cited)
    write_tables(into / TABLES, tables)
    records = [comparison_json(comparison) for comparison in comparisons]
    records += [untested_json(untested) for untested in over_examples.untested]
    write_json(into / COMPARISONS, records)
    return tables


def unfinished_note(cells: Sequence[GridCell], scores: ScoreTable) -> str:
    """Return a sentence for captions on the systems with unfinished cells."""
    finished = set(scores.unique("cell"))
    unfinished_counts = Counter(cell.label for cell in cells if cell.name not in finished)
    if not unfinished_counts:
        return ""
    total = Counter(cell.label for cell in cells)
    parts = [
        f"{label} {total[label] - count} of {total[label]}"
        for label, count in unfinished_counts.items()
    ]
    return f" Finished runs: {', '.join(parts)}."


def commits_note(scores: ScoreTable) -> str:
    """Return a sentence for captions on the commits that scored the cells, if they differ."""
    counts = Counter(rows[0].commit or "unknown" for rows in scores.group("cell").values())
    if len(counts) < 2:
        return ""
    parts = ", ".join(f"{commit} ({count})" for commit, count in counts.items())
    return f" Runs by commit: {parts}."


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as a JSON object; values that do not exist are null."""
    values = {
        "difference": comparison.difference.value,
        "low": comparison.difference.low,
        "high": comparison.difference.high,
        "p": comparison.p,
        "holm": comparison.adjusted_p,
        "min_p": comparison.min_p,
        "min_holm": comparison.adjusted_min_p,
    }
    return {
        **_names(comparison),
        **{key: None if math.isnan(value) else value for key, value in values.items()},
        "significant": comparison.significant,
        "resampled": comparison.unit,
        "n": comparison.n,
        "reason": None,
    }


def untested_json(untested: Untested) -> dict[str, Any]:
    """Return an impossible comparison as a JSON object with the keys of `comparison_json`."""
    missing = ("difference", "low", "high", "p", "holm", "min_p", "min_holm", "significant")
    return {
        **_names(untested),
        **dict.fromkeys(missing),
        "resampled": untested.unit,
        "n": None,
        "reason": untested.reason,
    }


def _names(comparison: Comparison | Untested) -> dict[str, str]:
    measure = comparison.measure
    return {
        "task": measure.task,
        "setting": measure.setting,
        "language": measure.language,
        "metric": measure.metric,
        "unit": measure.unit,
        "system": comparison.system.label,
        "against": comparison.baseline.label,
    }
