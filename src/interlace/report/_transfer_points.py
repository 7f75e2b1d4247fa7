"""What transfer to derived languages came to, one point a system and language: supervised, zero-shot, alignment."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.report._parts import Score
    from interlace.report._run import Run

PROBE = "embedding_alignment"
_SHORT = {"transliterate": "Trans", "invert": "Inv", "syntax": "Syn", "permute": "Perm", "overlap": "Overlap"}


@dataclass(frozen=True)
class Point:
    """A system on one derived language in one task; figures are means over runs.

    objective: the system's name without that of the changes. change: what was changed, as the paper names it.
    alignment: percent of all words asked whose translation is nearest; None where nobody asked.
    lost: supervised minus zero-shot, of each run.
    """

    objective: str
    change: str
    task: str
    metric: str
    supervised: float
    zero_shot: float
    alignment: float | None
    lost: tuple[float, ...]

    @property
    def loss(self) -> float:
        """The mean of `lost`."""
        return fmean(self.lost)


def points_of(runs: Sequence[Run]) -> list[Point]:
    """All points, in the order of the runs."""
    groups: dict[tuple[str, str, str], list[tuple[Run, str]]] = {}
    for run in runs:
        for language, changes in _derived(run):
            key = _system(run.label, changes), _named(changes), language
            groups.setdefault(key, []).append((run, language))
    return [point for (system, change, _), members in groups.items() for point in _points(system, change, members)]


def _derived(run: Run) -> Iterator[tuple[str, list[str]]]:
    """The derived languages of a run with their changes in order of application."""
    sections: Any = run.recipe.get("derived")
    for language, section in (sections if isinstance(sections, dict) else {}).items():
        yield str(language), [str(change) for change in section.get("transformations", [])]


def _named(changes: Sequence[str]) -> str:
    """As the paper writes compositions: what is done last stands first.

    >>> _named(["invert", "transliterate"])
    'Trans + Inv'
    """
    return " + ".join(_SHORT.get(change, change) for change in reversed(changes))


def _system(label: str, changes: Sequence[str]) -> str:
    """The label without what an axis of a study says of the changes."""
    return label.replace(f", transformations {'+'.join(changes)}", "")


def _points(system: str, change: str, members: Sequence[tuple[Run, str]]) -> Iterator[Point]:
    tasks = dict.fromkeys(
        (score.task, score.metric) for run, _ in members for score in run.scores if score.setting == "supervised"
    )
    aligned = [value for run, language in members if (value := _alignment(run, language)) is not None]
    for task, metric in tasks:
        both = [
            (own, shot)
            for run, language in members
            if (own := _mean(run, task, language, "supervised")) is not None
            and (shot := _mean(run, task, language, "zero-shot")) is not None
        ]
        if both:
            yield Point(
                system,
                change,
                task,
                metric,
                supervised=fmean(own for own, _ in both),
                zero_shot=fmean(shot for _, shot in both),
                alignment=fmean(aligned) if aligned else None,
                lost=tuple(own - shot for own, shot in both),
            )


def _mean(run: Run, task: str, language: str, setting: str) -> float | None:
    """Over fine-tuning seeds."""
    found = [score.score for score in run.scores if _is(score, task, language) and score.setting == setting]
    return fmean(found) if found else None


def _is(score: Score, task: str, language: str) -> bool:
    return (score.task, score.language) == (task, language)


def _alignment(run: Run, language: str) -> float | None:
    """Over all words asked, those that training read among them, as the paper scores it."""
    found = [
        score.scores.get(f"{score.metric}, all", score.score) for score in run.scores if _is(score, PROBE, language)
    ]
    return fmean(found) if found else None
