"""Transfer gaps."""

from collections.abc import Sequence

from interlace.report.runs import ReportedRun, all_scores
from interlace.report.sections import Section
from interlace.report.sections.scores import cited_rows
from interlace.report.tables import html_fragment
from interlace.report.transfer import transfer_table


def transfer(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Transfer gap`."""
    table = transfer_table(all_scores(runs), "Transfer and alignment", cited_rows(runs))
    if table is None:
        return None
    lead = "What models lose from the language that they are fine-tuned on to other languages."
    return Section("Transfer gap", lead, html_fragment(table))
