"""Transfer gaps, with figures for derived languages (Tang et al. 2022, figure 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from interlace.report import svg
from interlace.report.figures.dot_chart import Dot, DotRow, dot_chart
from interlace.report.runs import ReportedRun, all_scores
from interlace.report.sections import Section
from interlace.report.sections.scores import cited_rows
from interlace.report.tables import html_fragment
from interlace.report.text import number, render, task_name
from interlace.report.transfer import TransferGap, transfer_gaps, transfer_table
from interlace.scores.aggregation import aggregate

_SHORT = {
    "transliterate": "Trans",
    "invert": "Inv",
    "syntax": "Syn",
    "permute": "Perm",
    "overlap": "Overlap",
}


@dataclass(frozen=True)
class DerivedGap:
    """The transfer gap of a system on a derived language.

    system: its name without the transformations. transformation: as in the paper, the last one applied first.
    """

    system: str
    transformation: str
    gap: TransferGap

    def __str__(self) -> str:
        supervised, zero_shot, difference = self.gap.figures
        scores = f"supervised {number(supervised)}, zero-shot {number(zero_shot)}"
        return f"{self.system}, {self.transformation}: {scores}, gap {number(difference)}"


def transfer(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Transfer gap`."""
    table = transfer_table(
        all_scores(runs),
        "Transfer and alignment",
        cited_rows(runs),
    )
    if table is None:
        return None
    by_task: dict[str, list[DerivedGap]] = {}
    for gap in derived_gaps(runs):
        by_task.setdefault(task_name(gap.gap.measure.task), []).append(gap)
    figures = []
    for task, gaps in by_task.items():
        figures.append(_gap_chart(f"{task}: transfer gap", gaps))
    body = html_fragment(table)
    if figures:
        body += render("figures", figures=[("", figure) for figure in figures])
    lead = "What models lose from the language that they are fine-tuned on to other languages."
    return Section("Transfer gap", lead, body, figures)


def derived_gaps(runs: Sequence[ReportedRun]) -> list[DerivedGap]:
    """Return the gaps on derived languages that have supervised scores."""
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for run in runs:
        for language, section in run.recipe.get("derived", {}).items():
            steps = section.get("transformations", [])
            transformation = " + ".join(_SHORT.get(step, step) for step in reversed(steps))
            system = run.label.replace(f", transformations {'+'.join(steps)}", "")
            names[run.label, language] = (system, transformation)
    gaps = []
    for gap in transfer_gaps(aggregate(all_scores(runs))):
        language = gap.measure.language
        if gap.is_supervised and (gap.system.label, language) in names:
            system, transformation = names[gap.system.label, language]
            gaps.append(DerivedGap(system, transformation, gap))
    return gaps


def _gap_chart(title: str, gaps: Sequence[DerivedGap]) -> svg.Drawing:
    """Draw figure 2 of the paper: the gap of each system in one task, a mark per transformation."""
    styles: dict[str, int] = {}
    dots: dict[str, list[Dot]] = {}
    lows = [0.0]
    highs = [1.0]
    for gap in gaps:
        difference = gap.gap.difference
        low, high = difference.ends
        lows.append(low)
        highs.append(high)
        style = styles.setdefault(gap.transformation, len(styles))
        dot = Dot(
            style,
            difference.mean,
            low,
            high,
            str(gap),
        )
        dots.setdefault(gap.system, []).append(dot)
    rows = [DotRow(system, system_dots) for system, system_dots in dots.items()]
    return dot_chart(
        title,
        rows,
        (min(lows), max(highs)),
        styles,
    )
