"""The paper's table of transfer: supervised, zero-shot and difference by task, and alignment, a row a system.

Tang et al. (2022), tables 3 and 8. Below ours stand the papers' rows that the recipes name, clearly theirs.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from interlace.experiments.studies._words import WHOLE
from interlace.experiments.studies.measures import DIFFERENCE, OTHERS, SUPERVISED, scores_of, variants_of
from interlace.experiments.studies.results import ZERO_SHOT
from interlace.experiments.studies.tables import Column, Entry, Line, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from interlace.experiments.recipe import Recipe
    from interlace.experiments.studies.measures import Measure, Runs, Scores, Variant
    from interlace.experiments.studies.results import Row
    from interlace.scores.published import Row as PublishedRow

_SETTINGS = (SUPERVISED, ZERO_SHOT, DIFFERENCE)
_PROBE = "embedding_alignment"
_PARTS = (("all", "alignment"), ("seen", "in the dictionary"), ("", "held out"))
_CAPTION = (
    "Means over runs. The difference is supervised minus zero-shot, what transfer loses. Alignment: per cent of the "
    "words asked whose translation is nearest; of those, words that training read a dictionary entry of, and words "
    "of which it read none; a run without a dictionary has the first alone."
)
_LEAKS = " Test examples of which several words in a row stand in pre-training text: {}."
_THEIRS = " Rows in italics are the papers' (other data and models), not to be set against ours."


def transfer(rows: Sequence[Row], title: str, recipes: Mapping[str, Recipe] = {}) -> list[Table]:
    """A table `transfer`; none where nothing is scored both supervised and zero-shot.

    Args:
        rows: as `read_results` gives them.
        title: of the study.
        recipes: of each system, for what papers publish of it.
    """
    probed = [row for row in rows if row["task"] == _PROBE]
    scores = scores_of(rows) | scores_of(probed, {_PROBE: list(dict.fromkeys(row["metric"] for row in probed))})
    lost = [measure for measure in scores if measure.setting == DIFFERENCE and measure.language != OTHERS]
    if not lost:
        return []
    tasks = {(measure.task, measure.metric): None for measure in lost}
    languages = dict.fromkeys(measure.language for measure in lost)
    columns = [Column(f"{task} ({metric})", setting) for task, metric in tasks for setting in _SETTINGS]
    columns += [Column("p@1 (%)", name) for _, name in _PARTS]
    lines = [
        Line(variant.label if len(languages) == 1 else f"{variant.label}, {language}", tuple(entries))
        for language in languages
        for variant in variants_of(rows)
        if any(entries := [*_scored(scores, variant, language, list(tasks)), *_aligned(scores, variant, language)])
    ]
    places = _places(recipes)
    theirs = list(_theirs(places, [task for task, _ in tasks]))
    caption = _CAPTION + _leaks(rows) + (_THEIRS + _other_scores(places, tasks) if theirs else "")
    return [Table("transfer", f"{title}: transfer and alignment", tuple(columns), (*lines, *theirs), caption)]


def _leaks(rows: Sequence[Row]) -> str:
    """How much of each task's test text pre-training has read, the most that any cell tells of a language."""
    shares: dict[str, float] = {}
    for row in rows:
        if leak := row.get("contamination"):
            shares[row["task"]] = max(shares.get(row["task"], 0.0), leak["ngram"])
    told = ", ".join(f"{task} up to {share:.1f} %" for task, share in shares.items())
    return _LEAKS.format(told) if told else ""


def _scored(scores: Scores, variant: Variant, language: str, tasks: list[tuple[str, str]]) -> Iterator[Entry | None]:
    for task, metric in tasks:
        for setting in _SETTINGS:
            asked = task, metric, setting, language
            yield _entry(next((runs for one, runs in _of(scores, variant) if _names(one) == asked), None))


def _aligned(scores: Scores, variant: Variant, language: str) -> Iterator[Entry | None]:
    """Over all words, over those read, over those held out; without a dictionary the main score is over all."""
    found = {one.metric: runs for one, runs in _of(scores, variant) if (one.task, one.language) == (_PROBE, language)}
    main = next((name for name in found if ", " not in name and f"{name}{WHOLE}" in found), "p@1")
    has_parts = f"{main}{WHOLE}" in found
    yield _entry(found.get(f"{main}{WHOLE}") or found.get(main))
    yield _entry(found.get(f"{main}, seen"))
    yield _entry(found.get(main) if has_parts else None)


def _of(scores: Scores, variant: Variant) -> Iterator[tuple[Measure, Runs]]:
    return ((measure, by_variant[variant]) for measure, by_variant in scores.items() if variant in by_variant)


def _names(measure: Measure) -> tuple[str, str, str, str]:
    return measure.task, measure.metric, measure.setting, measure.language


def _entry(runs: Runs | None) -> Entry | None:
    return Entry(f"{fmean(runs.values()):.1f}") if runs else None


def _other_scores(places: Iterable[Sequence[PublishedRow]], tasks: Iterable[tuple[str, str]]) -> str:
    """Of which tasks the papers' figures are another score than the one at the head of the column."""
    told = {
        f" Their {task} is {row.table.metric}, ours {metric}.": None
        for task, metric in tasks
        for row in (row for found in places for row in found)
        if row.table.task == task and row.table.score != metric and not row.scores.keys().isdisjoint(_SETTINGS)
    }
    return "".join(told)


def _theirs(places: Iterable[Sequence[PublishedRow]], tasks: list[str]) -> Iterator[Line]:
    """The papers' rows that recipes name; what several tables print of one system stands side by side."""
    asked = [*((task, setting) for task in tasks for setting in _SETTINGS), (_PROBE, "mean")]
    for found in places:
        figures = {(row.table.task, column): value for row in found for column, value in row.scores.items()}
        entries = [None if one not in figures else Entry(f"{figures[one]:.1f}") for one in asked]
        if any(entries):
            numbers = list(dict.fromkeys(row.table.number for row in found))
            place = f"table{'s' if len(numbers) > 1 else ''} {' and '.join(numbers)}"
            first = found[0]
            yield Line(f"{first.cite}, {place}, {first.system}, {first.setting}", (*entries, None, None), theirs=True)


def _places(recipes: Mapping[str, Recipe]) -> list[list[PublishedRow]]:
    """Rows by system and setting; tables that measure the same of them, under other changes, stay apart."""
    places: list[list[PublishedRow]] = []
    every = [row for recipe in recipes.values() for place in recipe.published for row in place.rows()]
    for row in {(row.where, row.table.task): row for row in every}.values():
        group = next((group for group in places if _goes_with(row, group)), None)
        if group is None:
            places.append([row])
        else:
            group.append(row)
    return places


def _goes_with(row: PublishedRow, group: Sequence[PublishedRow]) -> bool:
    alike = (row.cite, row.system, row.setting) == (group[0].cite, group[0].system, group[0].setting)
    return alike and all(one.table.number == row.table.number or one.table.task != row.table.task for one in group)
