"""Differences of systems from the baseline."""

from collections.abc import Sequence

from markupsafe import Markup

from interlace.report.differences import difference_tables
from interlace.report.example_tests import compare_over_examples
from interlace.report.runs import ReportedRun, all_scores
from interlace.report.section import Section
from interlace.report.tables import html_fragment
from interlace.scores.comparison import compare


def differences(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Differences`: over runs and, between models of a single run, over test examples."""
    table = all_scores(runs)
    if len(table.unique("system")) < 2:
        return []
    comparisons = compare(table)
    if not comparisons:
        return []
    single = {
        system for system, rows in table.group("system").items() if len(rows.unique("run")) == 1
    }
    over_examples = compare_over_examples(
        table.filter(lambda row: row.system in single), table[0].system
    )
    tables = difference_tables([*comparisons, *over_examples.comparisons], "Tests", table)
    body = Markup("").join(html_fragment(table, "beside") for table in tables)
    lead = f"Differences from {comparisons[0].baseline.label}, the baseline."
    if over_examples.comparisons:
        lead += (
            " Other examples: would other test examples give the same result? Paired over examples, this is a "
            "statement about these models, not about the methods that trained them: for that, train each with several "
            "seeds (`interlace study`)."
        )
    return [Section("Differences", lead, body, folded=True)]
