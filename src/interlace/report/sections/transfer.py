"""Transfer gaps, with figures for derived languages (Tang et al. 2022, figures 2 and 3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from interlace.report import svg
from interlace.report.figures.dot_chart import Dot, DotRow, dot_chart
from interlace.report.figures.scatter import ScatterPoint, scatter
from interlace.report.runs import ReportedRun, all_scores
from interlace.report.sections import Section
from interlace.report.sections.scores import cited_rows
from interlace.report.tables import html_fragment
from interlace.report.text import number, render, task_name
from interlace.report.transfer import TransferGap, alignment_scores, transfer_gaps, transfer_table
from interlace.scores.aggregation import aggregate

_SHORT = {
    "transliterate": "Trans",
    "invert": "Inv",
    "syntax": "Syn",
    "permute": "Perm",
    "overlap": "Overlap",
}
_DISC = 1  # the style whose marker is a filled circle


@dataclass(frozen=True)
class DerivedGap:
    """The transfer gap of a system on a derived language.

    system: its name without the transformations. transformation: as in the paper, the last one applied first.
    alignment: percent of all words whose translation is the nearest neighbor.
    """

    system: str
    transformation: str
    gap: TransferGap
    alignment: float | None

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
        by_task.setdefault(gap.gap.measure.task, []).append(gap)
    figures = []
    for task, gaps in by_task.items():
        figures.append(_gap_chart(f"{task_name(task)}: transfer gap", gaps))
        aligned = [gap for gap in gaps if gap.alignment is not None]
        if aligned:
            figures.append(_gap_by_alignment(f"{task_name(task)}: gap by alignment (%)", aligned))
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
    scores = all_scores(runs)
    alignments = alignment_scores(scores)
    gaps = []
    for gap in transfer_gaps(aggregate(scores)):
        language = gap.measure.language
        if gap.is_supervised and (gap.system.label, language) in names:
            system, transformation = names[gap.system.label, language]
            alignment = alignments.get((language, gap.system), [None])[0]
            gaps.append(
                DerivedGap(
                    system,
                    transformation,
                    gap,
                    alignment,
                )
            )
    return gaps


def _styles(names: Iterable[str]) -> dict[str, int]:
    return {name: style for style, name in enumerate(dict.fromkeys(names))}


def _gap_chart(title: str, gaps: Sequence[DerivedGap]) -> svg.Drawing:
    """Draw figure 2 of the paper: the gap of each system in one task, a mark per transformation."""
    styles = _styles(gap.transformation for gap in gaps)
    dots: dict[str, list[Dot]] = {}
    lows = [0.0]
    highs = [1.0]
    for gap in gaps:
        difference = gap.gap.difference
        low, high = difference.ends
        lows.append(low)
        highs.append(high)
        dot = Dot(
            styles[gap.transformation],
            difference.mean,
            low,
            high,
            str(gap),
        )
        dots.setdefault(gap.system, []).append(dot)
    rows = [DotRow(system, system_dots) for system, system_dots in dots.items()]
    keys = [svg.Key(name, style, style) for name, style in styles.items()]
    return dot_chart(
        title,
        rows,
        (min(lows), max(highs)),
        keys,
    )


def _gap_by_alignment(title: str, gaps: Sequence[DerivedGap]) -> svg.Drawing:
    """Draw figure 3 of the paper: the gap over alignment."""
    colours = _styles(gap.system for gap in gaps)
    shapes = _styles(gap.transformation for gap in gaps)
    points = []
    for gap in gaps:
        point = ScatterPoint(
            x=gap.alignment or 0.0,
            y=gap.gap.difference.mean,
            shape=shapes[gap.transformation],
            colour=colours[gap.system],
            title=f"{gap}, alignment {number(gap.alignment or 0.0)}",
        )
        points.append(point)
    keys = [svg.Key(system, _DISC, colour) for system, colour in colours.items()]
    keys += [svg.Key(transformation, shape, 0) for transformation, shape in shapes.items()]
    return scatter(title, points, keys)
