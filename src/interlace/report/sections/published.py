"""Published results below ours."""

import logging
from collections.abc import Sequence
from itertools import chain
from typing import Any

from markupsafe import Markup

from interlace.core.errors import DataError
from interlace.report.comparison_table import ComparisonTable
from interlace.report.published_rows import CitedRow, printed_metrics, rows_on
from interlace.report.runs import ReportedRun, all_scores
from interlace.report.section import Section
from interlace.report.tables import html_fragment
from interlace.scores.published import find_rows

log = logging.getLogger(__name__)


def published(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Published results`, a table for each task and setting that papers print a metric of."""
    table = all_scores(runs)
    cited = list(chain.from_iterable(_cited_by(run) for run in runs))
    rows = rows_on(table.unique("task"), cited)
    comparison = ComparisonTable(
        table, metrics=printed_metrics(table, rows), cited=rows, title="Published"
    )
    tables = []
    for name in comparison.tasks_by_table:
        published_table = comparison.published_table(name)
        if published_table is not None:
            tables.append(html_fragment(published_table, "beside"))
    if not tables:
        return []
    lead = (
        "Published results are on other data and models, at another scale. They show the order of systems and "
        "languages that the papers found and are not comparable with the scores here."
    )
    return [Section("Published results", lead, Markup("").join(tables))]


def _cited_by(run: ReportedRun) -> list[CitedRow]:
    """Return the rows of papers that the recipe of a run cites; those that are not stored here are logged."""
    entries = []
    for place in run.recipe.get("published", []):
        arguments: dict[str, Any] = {
            key: place[key] for key in ("where", "task", "system", "columns") if place.get(key)
        }
        try:
            entries += [CitedRow(row, place.get("note", "")) for row in find_rows(**arguments)]
        except DataError as error:
            log.info("%s", error)
    return entries
