"""What papers print of the systems of a study: their figures, and what to know before reading them beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.published import Row as PublishedRow
    from interlace.recipes import Recipe
    from interlace.studies.measures import Measure


def in_a_word(recipe: Recipe, measures: Sequence[Measure]) -> str:
    """The papers' own means of what we measure."""
    asked = {(measure.task, measure.setting, measure.metric) for measure in measures}
    told = [
        f"{_named(row)} {row.scores['mean']:g} ({row.where})"
        for row in _published(recipe)
        if "mean" in row.printed and any(row.fits(*ours) for ours in asked)
    ]
    return "; ".join(told)


def figures(recipe: Recipe, measures: Sequence[Measure]) -> Iterator[tuple[str, list[float | None]]]:
    """(row, figures) of this task and setting: under each measure that of our score of the same name, then the mean."""
    for row in _published(recipe):
        fitting = [row.fits(measure.task, measure.setting, measure.metric) for measure in measures]
        if not any(fitting):
            continue
        found = [
            row.scores.get(measure.language) if fits and measure.language else None
            for measure, fits in zip(measures, fitting, strict=True)
        ]
        found.append(row.scores.get("mean"))
        if any(figure is not None for figure in found):
            yield f"{row.where} ({_named(row)})", found


def remarks(recipe: Recipe, measures: Sequence[Measure]) -> Iterator[str]:
    """What to know before reading papers' figures beside ours: their unit where it is not ours, and their notes."""
    for row in _published(recipe):
        table = row.table
        units = {measure.unit for measure in measures if row.fits(measure.task, measure.setting, measure.metric)}
        if not units:
            continue
        unit = "" if table.unit in units else f"the unit is {table.unit}, ours {' and '.join(sorted(units))}"
        told = "; ".join(filter(None, [unit, table.note.removesuffix(".")]))
        if told:
            yield f"{row.cite}, table {table.number}: {told}."


def _published(recipe: Recipe) -> Iterator[PublishedRow]:
    for place in recipe.published:
        yield from place.rows()


def _named(row: PublishedRow) -> str:
    return ", ".join(filter(None, [row.table.task, row.setting, row.table.metric]))
