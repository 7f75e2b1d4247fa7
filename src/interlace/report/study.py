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
from interlace.report.example_tests import compare_over_examples
from interlace.report.published_rows import cited_by
from interlace.report.tables import Table, write_tables
from interlace.report.transfer import transfer_table
from interlace.scores import ScoreTable
from interlace.scores.comparison import Comparison

TABLES = "tables"
COMPARISONS = "comparisons.json"


def summarize(
    study: Study,
    folder: Path,
    into: Path,
) -> list[Table]:
    """Write the tables and comparisons of all finished cells into the study's folder, and return the tables.

    folder: of the study's file. Metrics that a task does not have raise a SettingsError.
    """
    if not read_json(into / RESULTS, default=None):
        return []
    scores = StudyFolder(into).read_scores()
    baseline = study.reference if len(scores.filter(system=study.reference)) else scores[0].system
    cells = cells_of(study, folder)
    recipes = {cell.system: cell.recipe for cell in cells}
    cited = cited_by(recipes.values())
    example_tests = compare_over_examples(scores, baseline, into)
    comparison = ComparisonTable(
        scores, baseline, study.evaluate.metrics, cited, example_tests, study.name
    )
    notes = unfinished_note(cells, scores) + commits_note(scores)
    tables = [replace(table, caption=table.caption + notes) for table in comparison.tables()]
    transfer = transfer_table(
        scores,
        f"{study.name}: transfer and alignment",
        cited,
    )
    if transfer is not None:
        tables.append(transfer)
    write_tables(into / TABLES, tables)
    comparisons = [*comparison.tests.values(), *example_tests]
    write_json(into / COMPARISONS, [comparison_json(test) for test in comparisons])
    return tables


def unfinished_note(cells: Sequence[GridCell], scores: ScoreTable) -> str:
    """Return a sentence for captions on the systems with unfinished cells."""
    finished = set(scores.unique("cell"))
    unfinished = Counter(cell.label for cell in cells if cell.name not in finished)
    if not unfinished:
        return ""
    total = Counter(cell.label for cell in cells)
    parts = [
        f"{label} {total[label] - unfinished[label]} of {total[label]}" for label in unfinished
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
    measure = comparison.measure
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
        "task": measure.task,
        "setting": measure.setting,
        "language": measure.language,
        "metric": measure.metric,
        "unit": measure.unit,
        "system": comparison.system.label,
        "against": comparison.baseline.label,
        **{key: None if math.isnan(value) else value for key, value in values.items()},
        "significant": comparison.significant,
        "resampled": comparison.unit,
        "n": comparison.n,
    }
