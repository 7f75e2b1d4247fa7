"""Transfer to derived languages (Tang et al. 2022, figures 2 and 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from interlace.report.figures.dot_chart import Dot, DotRow, dot_chart
from interlace.report.figures.scatter import ScatterPoint, scatter
from interlace.report.runs import Run
from interlace.report.sections import Section, figure_section
from interlace.report.svg import Drawing
from interlace.report.text import number, task_name
from interlace.scores import SUPERVISED, ZERO_SHOT
from interlace.scores.held_out import ALL_WORDS


def analysis(runs: Sequence[Run]) -> list[Section]:
    """Return the section `Transfer to derived languages`."""
    points = transfer_points(runs)
    by_task = [[point for point in points if point.task == task] for task in dict.fromkeys(p.task for p in points)]
    figures = [*map(_gaps, by_task)]
    figures += [_scatter(aligned) for some in by_task if (aligned := [p for p in some if p.alignment is not None])]
    lead = (
        "Supervised: fine-tuned on the derived language. Zero-shot: fine-tuned on its original language. The "
        "difference is the transfer gap. Transformations are named as in the paper: the last one applied comes first."
    )
    return figure_section("Transfer to derived languages", lead, [("", figure) for figure in figures])


_SHORT = {"transliterate": "Trans", "invert": "Inv", "syntax": "Syn", "permute": "Perm", "overlap": "Overlap"}


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


def transfer_points(runs: Sequence[Run]) -> list[TransferPoint]:
    """Return all points, in the order of the runs."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        for language, section in run.recipe.get("derived", {}).items():
            steps = section.get("transformations", [])
            name = " + ".join(_SHORT.get(step, step) for step in reversed(steps))
            system = run.label.replace(f", transformations {'+'.join(steps)}", "")
            groups.setdefault((system, name, language), []).append(run)
    return [point for group, members in groups.items() for point in _points(*group, members)]


def _points(system: str, transformation: str, language: str, runs: Sequence[Run]) -> Iterator[TransferPoint]:
    rows = [run.scores.filter(language=language) for run in runs]
    aligned = []  # over all words, including those that training read
    for some in rows:
        probe = some.filter(task="embedding_alignment")
        if main := probe.filter(main=True):
            aligned.append(fmean(row.score for row in probe.filter(metric=f"{main[0].metric}{ALL_WORDS}") or main))
    for task in dict.fromkeys(row.task for some in rows for row in some.filter(main=True, setting=SUPERVISED)):
        by_run = [some.filter(task=task, main=True) for some in rows]
        pairs = [(some.filter(setting=SUPERVISED), some.filter(setting=ZERO_SHOT)) for some in by_run]
        both = [(fmean(r.score for r in own), fmean(r.score for r in shot)) for own, shot in pairs if own and shot]
        if both:
            own, shot = (fmean(side) for side in zip(*both, strict=True))
            gaps = tuple(own - shot for own, shot in both)
            alignment = fmean(aligned) if aligned else None
            yield TransferPoint(system, transformation, task, own, shot, alignment, gaps)


def _styles(points: Sequence[TransferPoint], column: str) -> dict[str, int]:
    return {name: style for style, name in enumerate(dict.fromkeys(getattr(point, column) for point in points))}


def _gaps(points: Sequence[TransferPoint]) -> Drawing:
    """Draw figure 2 of the paper: the gap of each system in one task, a mark per transformation."""
    styles = _styles(points, "transformation")
    dots: dict[str, list[Dot]] = {}
    for point in points:
        dot = Dot(styles[point.transformation], point.gap, min(point.gaps), max(point.gaps), str(point))
        dots.setdefault(point.system, []).append(dot)
    rows = [DotRow(system, some) for system, some in dots.items()]
    values = [value for point in points for value in point.gaps]
    ends = min(0.0, *values), max(1.0, *values)
    return dot_chart(f"{task_name(points[0].task)}: transfer gap", rows, ends, styles)


def _scatter(points: Sequence[TransferPoint]) -> Drawing:
    """Draw figure 3 of the paper: the gap over alignment."""
    found = [
        ScatterPoint(point.alignment or 0.0, point.gap, point.system, point.transformation, str(point))
        for point in points
    ]
    title = f"{task_name(points[0].task)}: gap by alignment (%)"
    return scatter(title, found, _styles(points, "system"), _styles(points, "transformation"))
