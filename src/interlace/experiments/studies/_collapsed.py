"""Which entries of a study's tables rest on fine-tunings that collapsed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from interlace.experiments.studies.measures import DIFFERENCE, SUPERVISED, averaged, variant_of
from interlace.experiments.studies.results import ZERO_SHOT
from interlace.scores.collapses import collapses, collapses_told, has_collapsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from interlace.experiments.studies.measures import Measure, Scores, Variant
    from interlace.experiments.studies.results import Row

_Place = tuple[str, str, str, str]  # task, setting, source, language


def collapsed_entries(rows: Iterable[Row], scores: Scores) -> set[tuple[Measure, Variant]]:
    """Those of which any fine-tuning collapsed, in any of the languages and settings that they are made of."""
    found = {(_place_of(row), variant_of(row)) for row in rows if has_collapsed(row)}
    return {
        (measure, variant)
        for measure, by_variant in scores.items()
        for variant in by_variant
        if any((place, variant) in found for place in _places(scores, measure))
    }


def collapse_note(rows: Iterable[Row], scores: Scores, measures: Sequence[Measure]) -> list[str]:
    """A sentence for the caption of a table of these measures; none where no fine-tuning collapsed."""
    places = {place for measure in measures for place in _places(scores, measure)}
    tuned = [
        ((row["cell"], row["task"], row["setting"], row["tuning_seed"], row.get("key")), has_collapsed(row))
        for row in rows
        if row.get("tuning") and _place_of(row) in places
    ]
    told = collapses_told(*collapses(tuned))
    return [told] if told else []


def _place_of(row: Row) -> _Place:
    return row["task"], row["setting"], row["source"], row["language"]


def _places(scores: Scores, measure: Measure) -> Iterator[_Place]:
    """Where the scores stand that an entry is made of: a mean's languages, a difference's two settings."""
    for setting in (SUPERVISED, ZERO_SHOT) if measure.setting == DIFFERENCE else (measure.setting,):
        one = replace(measure, setting=setting)
        for language in [one.language] if one.language else averaged(scores, measure):
            yield one.task, one.setting, one.source, language
