"""Transfer to derived languages (Tang et al. 2022, figures 2 and 3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean

from interlace.report.figures.dot_chart import Dot, DotRow, dot_chart
from interlace.report.figures.scatter import ScatterPoint, scatter
from interlace.report.runs import ReportedRun
from interlace.report.section import CaptionedFigure, Section, figure_section
from interlace.report.svg import Drawing
from interlace.report.text import number, task_name
from interlace.scores import SUPERVISED, ZERO_SHOT, Score, ScoreTable
from interlace.scores.aggregation import GAP, Result, aggregate
from interlace.scores.held_out import over_all_words

_SHORT = {
    "transliterate": "Trans",
    "invert": "Inv",
    "syntax": "Syn",
    "permute": "Perm",
    "overlap": "Overlap",
}
_PROBE = "embedding_alignment"


def derived_languages(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Transfer to derived languages`."""
    by_task: dict[str, list[TransferPoint]] = {}
    for point in transfer_points(runs):
        by_task.setdefault(point.task, []).append(point)
    figures = [_gap_chart(points) for points in by_task.values()]
    for points in by_task.values():
        aligned = [point for point in points if point.alignment is not None]
        if aligned:
            figures.append(_gap_by_alignment(aligned))
    lead = (
        "Supervised: fine-tuned on the derived language. Zero-shot: fine-tuned on its original language. The "
        "difference is the transfer gap. Transformations are named as in the paper: the last one applied comes first."
    )
    title = "Transfer to derived languages"
    return figure_section(title, lead, [CaptionedFigure("", figure) for figure in figures])


@dataclass(frozen=True)
class TransferPoint:
    """A system on one derived language in one task; figures are means over runs.

    system: its name without the transformations. alignment: percent of all words whose translation is the nearest
    neighbor. gaps: supervised minus zero-shot of each run.
    """

    system: str
    transformation: str
    task: str
    supervised: float
    zero_shot: float
    alignment: float | None
    gaps: tuple[float, ...]

    @property
    def gap(self) -> float:
        """The mean transfer gap."""
        return fmean(self.gaps)

    def __str__(self) -> str:
        scores = f"supervised {number(self.supervised)}, zero-shot {number(self.zero_shot)}, gap {number(self.gap)}"
        aligned = "" if self.alignment is None else f", alignment {number(self.alignment)}"
        return f"{self.system}, {self.transformation}, {task_name(self.task)}: {scores}{aligned}"


@dataclass(frozen=True)
class _Condition:
    """What runs have in common: the system, and a derived language with the name of its transformations."""

    system: str
    transformation: str
    language: str


def transfer_points(runs: Sequence[ReportedRun]) -> list[TransferPoint]:
    """Return all points, in the order of the runs."""
    scores: dict[_Condition, list[Score]] = {}
    for run in runs:
        for language, section in run.recipe.get("derived", {}).items():
            steps = section.get("transformations", [])
            transformation = " + ".join(_SHORT.get(step, step) for step in reversed(steps))
            system = run.label.replace(f", transformations {'+'.join(steps)}", "")
            rows = [
                replace(row, system=system, label=system)
                for row in run.scores.filter(language=language)
            ]
            scores.setdefault(_Condition(system, transformation, language), []).extend(rows)
    points = []
    for condition, rows in scores.items():
        points += _points(condition, ScoreTable(rows))
    return points


def _points(condition: _Condition, scores: ScoreTable) -> list[TransferPoint]:
    by_setting: dict[tuple[str, str], Result] = {}
    for measure, by_system in aggregate(scores).items():
        [by_setting[measure.task, measure.setting]] = by_system.values()
    alignment = _alignment(scores.filter(task=_PROBE))
    points = []
    for (task, setting), gap in by_setting.items():
        if setting == GAP:
            point = TransferPoint(
                system=condition.system,
                transformation=condition.transformation,
                task=task,
                supervised=by_setting[task, SUPERVISED].mean,
                zero_shot=by_setting[task, ZERO_SHOT].mean,
                alignment=alignment,
                gaps=tuple(gap.sample),
            )
            points.append(point)
    return points


def _alignment(probe: ScoreTable) -> float | None:
    """Return the score over all words, including those that training read in a dictionary."""
    results = aggregate(over_all_words(probe) or probe)
    for by_system in results.values():
        for result in by_system.values():
            return result.mean
    return None


def _styles(names: Iterable[str]) -> dict[str, int]:
    return {name: style for style, name in enumerate(dict.fromkeys(names))}


def _gap_chart(points: Sequence[TransferPoint]) -> Drawing:
    """Draw figure 2 of the paper: the gap of each system in one task, a mark per transformation."""
    styles = _styles(point.transformation for point in points)
    dots: dict[str, list[Dot]] = {}
    for point in points:
        dot = Dot(
            styles[point.transformation], point.gap, min(point.gaps), max(point.gaps), str(point)
        )
        dots.setdefault(point.system, []).append(dot)
    rows = [DotRow(system, system_dots) for system, system_dots in dots.items()]
    gaps = list(chain.from_iterable(point.gaps for point in points))
    ends = (min(0.0, *gaps), max(1.0, *gaps))
    return dot_chart(f"{task_name(points[0].task)}: transfer gap", rows, ends, styles)


def _gap_by_alignment(points: Sequence[TransferPoint]) -> Drawing:
    """Draw figure 3 of the paper: the gap over alignment."""
    marks = []
    for point in points:
        marks.append(
            ScatterPoint(
                x=point.alignment or 0.0,
                y=point.gap,
                colour=point.system,
                shape=point.transformation,
                title=str(point),
            )
        )
    colours = _styles(point.system for point in points)
    shapes = _styles(point.transformation for point in points)
    return scatter(f"{task_name(points[0].task)}: gap by alignment (%)", marks, colours, shapes)
