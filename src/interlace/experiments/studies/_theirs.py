"""What papers print of the systems of a study: their figures, and what to know before reading them beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from interlace.experiments.recipe import Recipe
    from interlace.experiments.studies.measures import Measure
    from interlace.experiments.studies.results import Row
    from interlace.scores.published import Row as PublishedRow


@dataclass(frozen=True)
class Theirs:
    """By system its recipe, which says where papers print it; by task and setting the rules that chose our weights."""

    recipes: Mapping[str, Recipe]
    rules: Mapping[tuple[str, str], Sequence[str]]

    def in_a_word(self, system: str, measures: Sequence[Measure]) -> str:
        """The papers' own means of what we measure."""
        told = [
            f"{_named(row)}: {row.scores['mean']:g} ({row.where})"
            for row in self._rows(system)
            if "mean" in row.printed and _of(row, measures)
        ]
        return "; ".join(told)

    def figures(self, system: str, measures: Sequence[Measure]) -> Iterator[tuple[str, list[float | None]]]:
        """(row, figures): under each measure that of our score of the same name, and behind these the papers' mean."""
        for row in self._rows(system):
            fitting = _of(row, measures)
            if not fitting:
                continue
            found = [
                row.scores.get(measure.language) if measure in fitting and measure.language else None
                for measure in measures
            ]
            found.append(row.scores.get("mean"))
            if any(figure is not None for figure in found):
                yield f"{row.where} ({_named(row)})", found

    def remarks(self, measures: Sequence[Measure]) -> list[str]:
        """What to know before reading these figures beside ours, each once."""
        told: dict[str, None] = {}
        for system, recipe in self.recipes.items():
            for row in self._rows(system):
                if fitting := _of(row, measures):
                    units = {measure.unit or measure.metric for measure in fitting}
                    rules = [rule for one in fitting for rule in self.rules.get((one.task, one.setting), ())]
                    told |= dict.fromkeys(row.remarks(units, list(dict.fromkeys(rules))))
            for place in recipe.published:
                if place.note and any(_of(row, measures) for row in place.rows()):
                    told[f"{place.where}: {place.note}"] = None
        return list(told)

    def _rows(self, system: str) -> Iterator[PublishedRow]:
        for place in self.recipes[system].published if system in self.recipes else ():
            yield from place.rows()


def rules_of(rows: Iterable[Row]) -> dict[tuple[str, str], list[str]]:
    """By task and setting: the rules that chose the weights which were scored."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        if rule := (row.get("tuning") or {}).get("rule"):
            found.setdefault((row["task"], row["setting"]), {})[rule] = None
    return {place: list(rules) for place, rules in found.items()}


def with_printed(
    rows: Sequence[Row], recipes: Mapping[str, Recipe], metrics: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Which scores are shown of each task: those asked for, and behind them those that papers print of its systems."""
    known = dict.fromkeys((row["task"], row["metric"]) for row in rows)
    found = dict(metrics)
    for recipe in recipes.values():
        for row in (row for place in recipe.published for row in place.rows()):
            task, score = row.table.task, row.table.score
            if (task, score) in known:
                asked = found.get(task) or [one["metric"] for one in rows if one["task"] == task and one["main"]]
                found[task] = list(dict.fromkeys([*asked, score]))
    return found


def _of(row: PublishedRow, measures: Sequence[Measure]) -> list[Measure]:
    """The measures that have the row's task, setting and score."""
    return [measure for measure in measures if row.fits(measure.task, measure.setting, measure.metric)]


def _named(row: PublishedRow) -> str:
    return ", ".join(filter(None, [row.table.task, row.setting, row.table.measured]))
