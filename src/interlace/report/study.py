"""Results of a study in its folder: tables, and comparisons by all that can be drawn again."""

import math
from dataclasses import replace
from pathlib import Path

from interlace.core.json_files import JsonObject, write_json
from interlace.experiments.studies import Study, cells_of
from interlace.experiments.studies.folder import StudyFolder
from interlace.report.comparison_table import ComparisonTable, compare_over_examples
from interlace.report.published_rows import cited_by
from interlace.report.tables import Table, write_tables
from interlace.report.transfer import transfer_tables
from interlace.scores.comparison import Comparison

TABLES = "tables"
COMPARISONS = "comparisons.json"


def summarize(
    study: Study,
    folder: Path,
    into: Path,
) -> list[Table]:
    """Write the tables and comparisons of all finished cells into the study's folder, and return the tables.

    folder: of the study's file.
    """
    cells = cells_of(study, folder)
    scores = StudyFolder(into).collect(study, cells)
    if not scores:
        return []
    baseline = (
        study.reference if len(scores.filter(system=study.reference)) else scores[0].system
    )
    recipes = {cell.system: cell.recipe for cell in cells}
    cited = cited_by(recipes.values())
    example_tests = compare_over_examples(scores, baseline, into)
    comparison = ComparisonTable(
        scores,
        baseline,
        study.evaluate.metrics,
        cited,
        example_tests,
        study.name,
    )
    note = f" Finished cells: {len(scores.unique('cell'))} of {len(cells)}."
    tables = [replace(table, caption=table.caption + note) for table in comparison.tables()]
    tables += transfer_tables(scores, f"{study.name}: transfer and alignment", cited)
    write_tables(into / TABLES, tables)
    comparisons = [*comparison.tests.values(), *example_tests]
    write_json(into / COMPARISONS, [comparison_json(test) for test in comparisons])
    return tables


def comparison_json(comparison: Comparison) -> JsonObject:
    """Return a comparison as a JSON object; values that do not exist are null."""
    measure = comparison.measure
    values = {
        "difference": comparison.difference.value,
        "low": comparison.difference.low,
        "high": comparison.difference.high,
        "p": comparison.p,
        "holm": comparison.adjusted_p,
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
