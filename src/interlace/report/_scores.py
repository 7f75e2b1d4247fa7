"""Scores of all runs joined into tables: a row a language, a column a recipe.

A column holds every (run, seed) of one recipe. The mean of the other languages is taken within a seed first, so that
its range says how much a whole run varies and not how much languages differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from interlace.report._cells import Cell, Difference, differences
from interlace.report._format import joined
from interlace.report._run import read_runs
from interlace.scores.collapses import collapses
from interlace.tasks.common.dictionaries import ALL, scored_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from interlace.report._parts import Score
    from interlace.report._run import Run

_Place = tuple[str, str]  # a recipe and a language
_Key = tuple[str, int]  # a run's folder and a seed: one measurement


@dataclass(frozen=True)
class Line:
    """One language (or the mean of the others) with a cell a recipe; None where nothing was scored."""

    language: str
    source: bool
    cells: dict[str, Cell | None]
    best: tuple[str, ...]
    differences: dict[str, Difference | None]


@dataclass(frozen=True)
class TaskTable:
    """One task in one setting. `mean` averages `averaged`, the others that every recipe has scores for.

    rules: how the weights were chosen, each once. leak: per cent of the test examples of a language that share words in
    a row with the pre-training text, the most of any language and recipe; None where nobody looked. unread: models that
    recipes go on from, in whose text nobody could look. asked: by recipe, over which words of a dictionary the score
    is; empty where it is over all of them for every recipe. unlike: languages in which recipes are scored on other
    examples than each other. collapses: how many fine-tunings collapsed, and of how many. tuned:
    whether anything was fine-tuned.
    """

    task: str
    metric: str
    unit: str
    source: str
    greater_is_better: bool
    recipes: list[str]
    lines: list[Line]
    mean: Line | None
    averaged: list[str]
    left_out: int  # scores that are not finite numbers
    setting: str = "zero-shot"
    translations: str = ""
    rules: tuple[str, ...] = ()
    leak: float | None = None
    unread: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    unlike: tuple[str, ...] = ()
    collapses: tuple[int, int] = (0, 0)
    tuned: bool = False


def zero_shot_table(runs: Sequence[Path]) -> list[TaskTable]:
    """The scores in the run folders as plain data: a table a task, a line a language, a cell a recipe.

    The source language stands first, the others in the order in which they were scored; columns in the order of
    `runs`. The first recipe is what differences are taken from.

    Raises:
        DataError: a folder is missing or is no run folder, or a file in it is damaged.
    """
    return tables(read_runs(runs))


def tables(runs: Sequence[Run]) -> list[TaskTable]:
    """`zero_shot_table` of runs already read; runs without scores have no column."""
    scored = [(run, score) for run in runs for score in run.scores]
    keys = dict.fromkeys(_kind(score) for _, score in scored)
    return [_table([pair for pair in scored if _kind(pair[1]) == key]) for key in keys]


def _kind(score: Score) -> tuple[str, ...]:
    """What stands in one table."""
    return score.task, score.metric, score.source, score.setting


def _table(scored: list[tuple[Run, Score]]) -> TaskTable:
    first = scored[0][1]
    recipes = list(dict.fromkeys(run.label for run, _ in scored))
    finite = [(run, score) for run, score in scored if math.isfinite(score.score)]
    spoken = dict.fromkeys(score.language for _, score in scored)
    languages = sorted(spoken, key=lambda language: language != first.source)  # stable: the source first
    known = _Known(
        _values(finite),
        _items(scored),
        _intervals(finite),
        {run.label for run, _ in scored if not run.recipe},
        {(run.label, score.language) for run, score in finite if score.collapsed},
    )
    averaged = [
        language
        for language in languages
        if language != first.source and all((recipe, language) in known.values for recipe in recipes)
    ]
    greater = first.greater_is_better
    lines = [_line(language, first.source, recipes, known, greater) for language in languages]
    means = {(recipe, ""): _mean_of(recipe, averaged, known.values) for recipe in recipes if len(averaged) > 1}
    return TaskTable(
        task=first.task,
        metric=first.metric,
        unit=first.unit,
        source=first.source,
        greater_is_better=greater,
        recipes=recipes,
        lines=lines,
        mean=_line("", first.source, recipes, known.of_means(means, averaged), greater) if means else None,
        averaged=averaged,
        left_out=len(scored) - len(finite),
        setting=first.setting,
        translations=joined(list(dict.fromkeys(score.translations for _, score in scored if score.translations))),
        rules=tuple(dict.fromkeys(str(score.tuning["rule"]) for _, score in scored if "rule" in score.tuning)),
        leak=max((score.contamination.ngram for _, score in scored if score.contamination), default=None),
        unread=tuple(
            dict.fromkeys(name for _, score in scored if score.contamination for name in score.contamination.unknown)
        ),
        asked=_asked(first.metric, recipes, scored),
        unlike=tuple(language for language in languages if _differ(language, finite)),
        collapses=collapses(
            ((run.folder, score.seed, score.key), score.collapsed) for run, score in scored if score.tuning
        ),
        tuned=any(score.tuning for _, score in scored),
    )


def _asked(metric: str, recipes: list[str], scored: list[tuple[Run, Score]]) -> dict[str, str]:
    """By recipe, over which words a score is; empty where all are over all words."""
    told = {
        recipe: scored_words(metric, [score.scores for run, score in scored if run.label == recipe])
        for recipe in recipes
    }
    return told if set(told.values()) != {ALL} else {}


@dataclass(frozen=True)
class _Known:
    """What cells are made of: the score of each measurement, and of how many examples; the others as in `Cell`."""

    values: Mapping[_Place, dict[_Key, float]]
    items: Mapping[_Place, int]
    intervals: Mapping[_Place, tuple[float, float]]
    checkpoints: Collection[str]
    collapsed: Collection[_Place]

    def of_means(self, means: Mapping[_Place, dict[_Key, float]], languages: Sequence[str]) -> _Known:
        """The same of the means over these languages."""
        collapsed = {(recipe, "") for recipe, language in self.collapsed if language in languages}
        return _Known(means, {}, {}, self.checkpoints, collapsed)

    def cell(self, place: _Place) -> Cell | None:
        """None where nothing was scored."""
        measured = self.values.get(place, {})
        if not measured:
            return None
        by_run: dict[str, list[float]] = {}
        for (run, _), score in measured.items():
            by_run.setdefault(run, []).append(score)
        runs, values = tuple(fmean(each) for each in by_run.values()), tuple(measured.values())
        return Cell(
            fmean(runs),
            min(values),
            max(values),
            len(values),
            self.items.get(place),
            values,
            runs,
            place[0] in self.checkpoints,
            self.intervals.get(place) if len(values) == 1 else None,
            place in self.collapsed,
        )


def _values(scored: Iterable[tuple[Run, Score]]) -> dict[_Place, dict[_Key, float]]:
    """By (recipe, language): the score of each measurement."""
    values: dict[_Place, dict[_Key, float]] = {}
    for run, score in scored:
        values.setdefault((run.label, score.language), {})[(str(run.folder), score.seed)] = score.score
    return values


def _items(scored: Iterable[tuple[Run, Score]]) -> dict[_Place, int]:
    """By (recipe, language): the least number of examples that a score rests on."""
    items: dict[_Place, int] = {}
    for run, score in scored:
        if score.n is not None:
            place = run.label, score.language
            items[place] = min(score.n, items.get(place, score.n))
    return items


def _intervals(scored: Iterable[tuple[Run, Score]]) -> dict[_Place, tuple[float, float]]:
    """By (recipe, language): the interval over examples of a measurement, where it was told."""
    return {
        (run.label, score.language): (score.low, score.high)
        for run, score in scored
        if score.low is not None and score.high is not None and math.isfinite(score.low + score.high)
    }


def _differ(language: str, scored: list[tuple[Run, Score]]) -> bool:
    """Whether recipes' scores in a language are of examples of other names, or of unlike numbers where a name lacks.

    Of some tasks the number depends on what a model puts out, so it decides nothing where all are named.
    """
    counts: dict[str, set[int]] = {}
    names: dict[str, set[str]] = {}
    for run, score in scored:
        if score.language == language:
            counts.setdefault(run.label, set()).add(score.n or 0)
            names.setdefault(run.label, set()).add(score.examples)
    named = all(all(one) for one in names.values())
    return any(
        len({frozenset(one) for one in found.values() if all(one)}) > 1
        for found in ((names,) if named else (counts, names))
    )


def _mean_of(recipe: str, languages: list[str], values: Mapping[_Place, dict[_Key, float]]) -> dict[_Key, float]:
    """By measurement: the mean over the languages; measurements that lack one of them are left out."""
    each = [values[recipe, language] for language in languages]
    whole = [key for key in each[0] if all(key in scores for scores in each)]
    return {key: fmean(scores[key] for scores in each) for key in whole}


def _line(language: str, source: str, recipes: list[str], known: _Known, greater: bool) -> Line:
    cells = {recipe: known.cell((recipe, language)) for recipe in recipes}
    return Line(
        language=language,
        source=language == source,
        cells=cells,
        best=_best(cells, greater),
        differences=differences(cells, recipes[0]),
    )


def _best(cells: dict[str, Cell | None], greater: bool) -> tuple[str, ...]:
    """The recipes with the best mean as it is printed (one decimal), where there are several to compare."""
    means = {recipe: round(cell.mean, 1) for recipe, cell in cells.items() if cell is not None}
    if len(means) < 2:
        return ()
    top = max(means.values()) if greater else min(means.values())
    return tuple(recipe for recipe, mean in means.items() if mean == top)
