"""Scores of all runs joined into tables: a row a language, a column a recipe.

A column holds every (run, seed) of one recipe. The mean of the other languages is taken within a seed first, so that
its range says how much a whole run varies and not how much languages differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import count
from statistics import fmean
from typing import TYPE_CHECKING

from interlace.randomness import Purpose, generator
from interlace.report._format import joined
from interlace.report._run import read_runs
from interlace.statistics import ALPHA, holm
from interlace.statistics.runs import permutation_test
from interlace.tasks._learnt import ALL, asked_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from interlace.report._parts import Score
    from interlace.report._run import Run
    from interlace.statistics import Tested

_Key = tuple[str, int]  # a run's folder and a seed: one measurement


@dataclass(frozen=True)
class Cell:
    """Mean over seeds with the least and greatest seed; `items` is how many examples the least was scored on.

    values: of each seed. runs: of each pre-training, the mean over its seeds.
    """

    mean: float
    low: float
    high: float
    seeds: int
    items: int | None = None
    values: tuple[float, ...] = ()
    runs: tuple[float, ...] = ()


@dataclass(frozen=True)
class Difference:
    """A mean minus the first recipe's; `clear` where `tested` tells the two apart, among all recipes of the line."""

    value: float
    clear: bool


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
    examples than each other.
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
    values = _values(finite)
    averaged = [
        language
        for language in languages
        if language != first.source and all((recipe, language) in values for recipe in recipes)
    ]
    greater = first.greater_is_better
    items = _items(scored)
    lines = [_line(language, first.source, recipes, values, greater, items) for language in languages]
    means = {(recipe, ""): _mean_of(recipe, averaged, values) for recipe in recipes} if len(averaged) > 1 else {}
    return TaskTable(
        task=first.task,
        metric=first.metric,
        unit=first.unit,
        source=first.source,
        greater_is_better=greater,
        recipes=recipes,
        lines=lines,
        mean=_line("", first.source, recipes, means, greater, {}) if means else None,
        averaged=averaged,
        left_out=len(scored) - len(finite),
        setting=first.setting,
        translations=joined(list(dict.fromkeys(score.translations for _, score in scored if score.translations))),
        rules=tuple(dict.fromkeys(str(score.tuning["rule"]) for _, score in scored if "rule" in score.tuning)),
        leak=max((score.leak.ngram for _, score in scored if score.leak), default=None),
        unread=tuple(dict.fromkeys(name for _, score in scored if score.leak for name in score.leak.unknown)),
        asked=_asked(first.metric, recipes, scored),
        unlike=tuple(language for language in languages if _differ(language, finite)),
    )


def _asked(metric: str, recipes: list[str], scored: list[tuple[Run, Score]]) -> dict[str, str]:
    """By recipe, over which words a score is; empty where all are over all words."""
    told = {
        recipe: asked_words(metric, [score.scores for run, score in scored if run.label == recipe])
        for recipe in recipes
    }
    return told if set(told.values()) != {ALL} else {}


def _values(scored: Iterable[tuple[Run, Score]]) -> dict[tuple[str, str], dict[_Key, float]]:
    """By (recipe, language): the score of each measurement."""
    values: dict[tuple[str, str], dict[_Key, float]] = {}
    for run, score in scored:
        values.setdefault((run.label, score.language), {})[(str(run.folder), score.seed)] = score.score
    return values


def _items(scored: Iterable[tuple[Run, Score]]) -> dict[tuple[str, str], int]:
    """By (recipe, language): the least number of examples that a score rests on."""
    items: dict[tuple[str, str], int] = {}
    for run, score in scored:
        if score.n is not None:
            place = run.label, score.language
            items[place] = min(score.n, items.get(place, score.n))
    return items


def _differ(language: str, scored: list[tuple[Run, Score]]) -> bool:
    """Whether recipes' scores in a language are of unlike numbers of examples, or of examples of other names."""
    counts: dict[str, set[int]] = {}
    names: dict[str, set[str]] = {}
    for run, score in scored:
        if score.language == language:
            counts.setdefault(run.label, set()).add(score.n or 0)
            names.setdefault(run.label, set()).add(score.examples)
    return any(len({frozenset(one) for one in found.values() if all(one)}) > 1 for found in (counts, names))


def _mean_of(recipe: str, languages: list[str], values: dict[tuple[str, str], dict[_Key, float]]) -> dict[_Key, float]:
    """By measurement: the mean over the languages; measurements that lack one of them are left out."""
    each = [values[recipe, language] for language in languages]
    whole = [key for key in each[0] if all(key in scores for scores in each)]
    return {key: fmean(scores[key] for scores in each) for key in whole}


def _line(
    language: str,
    source: str,
    recipes: list[str],
    values: dict[tuple[str, str], dict[_Key, float]],
    greater: bool,
    items: dict[tuple[str, str], int],
) -> Line:
    cells = {recipe: _cell(values.get((recipe, language), {}), items.get((recipe, language))) for recipe in recipes}
    return Line(
        language=language,
        source=language == source,
        cells=cells,
        best=_best(cells, greater),
        differences=_differences(cells, recipes[0]),
    )


def _cell(measured: dict[_Key, float], items: int | None) -> Cell | None:
    scores = list(measured.values())
    if not scores:
        return None
    by_run: dict[str, list[float]] = {}
    for (run, _), score in measured.items():
        by_run.setdefault(run, []).append(score)
    runs = tuple(fmean(each) for each in by_run.values())
    return Cell(fmean(scores), min(scores), max(scores), len(scores), items, tuple(scores), runs)


def _best(cells: dict[str, Cell | None], greater: bool) -> tuple[str, ...]:
    """The recipes with the best mean as it is printed (one decimal), where there are several to compare."""
    means = {recipe: round(cell.mean, 1) for recipe, cell in cells.items() if cell is not None}
    if len(means) < 2:
        return ()
    top = max(means.values()) if greater else min(means.values())
    return tuple(recipe for recipe, mean in means.items() if mean == top)


def _differences(cells: Mapping[str, Cell | None], first: str) -> dict[str, Difference | None]:
    """Of each other recipe's mean from the first one's; None where either has none."""
    base, found = cells[first], tested(cells, first)
    clear = {other for other, result in found.items() if result.p < ALPHA}
    return {
        other: Difference(cell.mean - base.mean, other in clear) if cell and base else None
        for other, cell in cells.items()
        if other != first
    }


def tested(cells: Mapping[str, Cell | None], one: str) -> dict[str, Tested]:
    """By other recipe, whether it is like the one, where that can be asked.

    `p` is after Holm over these recipes, as in the tables of studies; `least` is the smallest that it can be.
    """
    base = cells[one]
    if base is None:
        return {}
    others = {other: cell for other, cell in cells.items() if cell and other != one}
    found = {other: result for other, cell in others.items() if (result := _tested(cell, base)) is not None}
    adjusted, least = (holm(ps) for ps in ([one.p for one in found.values()], [one.least for one in found.values()]))
    return {
        other: replace(result, p=p, least=smallest)
        for (other, result), p, smallest in zip(found.items(), adjusted, least, strict=True)
    }


def seeds_to_tell(others: int) -> int:
    """How many seeds a recipe takes at least to be told from one of so many others, all with as many."""
    return next(seeds for seeds in count(2) if others * 2 / math.comb(2 * seeds, seeds) < ALPHA)


def _tested(cell: Cell, other: Cell) -> Tested | None:
    """Whether two cells are alike, by the permutation test of studies; None where a side is one measurement.

    Over pre-trainings where both have several; else over seeds of fine-tuning, which says nothing of other
    pre-trainings.
    """
    a, b = (cell.runs, other.runs) if min(len(cell.runs), len(other.runs)) > 1 else (cell.values, other.values)
    if min(len(a), len(b)) < 2:
        return None
    return permutation_test(a, b, generator(Purpose.STATISTICS, 0, 4))
