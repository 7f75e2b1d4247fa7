"""Transfer to derived languages: transfer gap, zero-shot scores and alignment (Tang et al. 2022, figures 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from interlace.report.charts import Bar, Dot, DotRow, ScatterPoint, bar_chart, dot_chart, scatter
from interlace.report.sections import Section, figure_section
from interlace.report.text import number, p_value, task_name
from interlace.scores import SUPERVISED, ZERO_SHOT
from interlace.scores.held_out import ALL_WORDS
from interlace.scores.statistics import spearman

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from interlace.report.runs import Run
    from interlace.report.svg import Drawing

_PROBE = "embedding_alignment"
_SHORT = {"transliterate": "Trans", "invert": "Inv", "syntax": "Syn", "permute": "Perm", "overlap": "Overlap"}
_MIN_POINTS = 4
_LEAD = (
    "Supervised: fine-tuned on the derived language. Zero-shot: fine-tuned on its original language. The difference is "
    "the transfer gap. Transformations are named as in the paper: the last one applied comes first."
)


@dataclass(frozen=True)
class TransferPoint:
    """A system on one derived language in one task; figures are means over runs.

    system: its name without the transformations. alignment: percent of all words whose translation is the nearest
    neighbor. gaps: supervised minus zero-shot of each run.
    """

    system: str
    transformation: str
    task: str
    metric: str
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


def derived(runs: Sequence[Run]) -> Section:
    """Return the charts; empty without supervised and zero-shot scores in a derived language."""
    points = transfer_points(runs)
    by_task = [[point for point in points if point.task == task] for task in dict.fromkeys(p.task for p in points)]
    names = list(dict.fromkeys(point.transformation for point in points))
    systems = _styles(points, lambda point: point.system)
    figures = [_bars(points, name, systems, gap=True) for name in names]
    figures += [_gaps(some) for some in by_task]
    figures += [_bars(points, name, systems, gap=False) for name in names]
    figures += [_scatter(aligned) for some in by_task if (aligned := [p for p in some if p.alignment is not None])]
    note = "; ".join(filter(None, map(_correlation, by_task)))
    note = (
        f"Spearman correlation of alignment with the negated gap: {note}. Points are not independent." if note else ""
    )
    return figure_section("Transfer to derived languages", _LEAD, [("", figure) for figure in figures], note)


def transfer_points(runs: Sequence[Run]) -> list[TransferPoint]:
    """Return all points, in the order of the runs."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        sections: Any = run.recipe.get("derived")
        for language, section in (sections if isinstance(sections, dict) else {}).items():
            steps = [str(step) for step in section.get("transformations", [])]
            name = " + ".join(_SHORT.get(step, step) for step in reversed(steps))
            system = run.label.replace(f", transformations {'+'.join(steps)}", "")
            groups.setdefault((system, name, str(language)), []).append(run)
    return [point for group, members in groups.items() for point in _points(*group, members)]


def _points(system: str, transformation: str, language: str, runs: Sequence[Run]) -> Iterator[TransferPoint]:
    rows = [run.scores.filter(language=language) for run in runs]
    tasks = dict.fromkeys((row.task, row.metric) for some in rows for row in some.filter(main=True, setting=SUPERVISED))
    aligned = [value for some in rows if (value := _alignment(some.filter(task=_PROBE))) is not None]
    for task, metric in tasks:
        by_run = [some.filter(task=task, main=True) for some in rows]
        pairs = [(some.filter(setting=SUPERVISED), some.filter(setting=ZERO_SHOT)) for some in by_run]
        both = [(fmean(r.score for r in own), fmean(r.score for r in shot)) for own, shot in pairs if own and shot]
        if both:
            yield TransferPoint(
                system,
                transformation,
                task,
                metric,
                fmean(own for own, _ in both),
                fmean(shot for _, shot in both),
                fmean(aligned) if aligned else None,
                tuple(own - shot for own, shot in both),
            )


def _alignment(rows: Any) -> float | None:
    """Return the alignment over all words, including those that training read."""
    main = rows.filter(main=True)
    whole = [row for row in rows if row.metric == f"{main[0].metric}{ALL_WORDS}"] if len(main) else []
    values = [row.score for row in whole or main]
    return fmean(values) if values else None


def _correlation(points: Sequence[TransferPoint]) -> str:
    known = [(point.alignment, -point.gap) for point in points if point.alignment is not None]
    if len(known) < _MIN_POINTS or min(len({pair[side] for pair in known}) for side in (0, 1)) < 2:
        return ""
    found = spearman(*zip(*known, strict=True))
    return f"{task_name(points[0].task)} {number(found.statistic, 2)} ({p_value(found.p)}, n = {found.n})"


def _styles(points: Sequence[TransferPoint], name: Callable[[TransferPoint], str]) -> dict[str, int]:
    return {name: style for style, name in enumerate(dict.fromkeys(map(name, points)))}


def _bars(points: Sequence[TransferPoint], transformation: str, systems: dict[str, int], *, gap: bool) -> Drawing:
    """Draw figure 2 of the paper, the gaps by task, or the zero-shot scores."""
    gaps = [point.gap for point in points]
    ends = (min(0.0, *gaps), max(1.0, *gaps)) if gap else (0.0, 100.0)
    bars = [
        Bar(task_name(point.task), point.system, point.gap if gap else point.zero_shot, str(point))
        for point in points
        if point.transformation == transformation
    ]
    title = f"{transformation}: {'supervised minus zero-shot' if gap else 'zero-shot scores'}"
    return bar_chart(title, bars, systems, ends)


def _gaps(points: Sequence[TransferPoint]) -> Drawing:
    """Draw the gap of each system in one task, a mark a transformation."""
    styles = _styles(points, lambda point: point.transformation)
    rows = [
        DotRow(system, [
            Dot(styles[point.transformation], point.gap, min(point.gaps), max(point.gaps), str(point))
            for point in points if point.system == system
        ])
        for system in dict.fromkeys(point.system for point in points)
    ]  # fmt: skip
    values = [value for point in points for value in point.gaps]
    ends = min(0.0, *values), max(1.0, *values)
    return dot_chart(f"{task_name(points[0].task)}: transfer gap", rows, ends, styles)


def _scatter(points: Sequence[TransferPoint]) -> Drawing:
    """Draw figure 3 of the paper: the gap over alignment."""
    found = [
        ScatterPoint(point.alignment or 0.0, point.gap, point.system, point.transformation, str(point))
        for point in points
    ]
    colours, shapes = _styles(points, lambda point: point.system), _styles(points, lambda point: point.transformation)
    return scatter(f"{task_name(points[0].task)}: gap by alignment (%)", found, colours, shapes)
