"""Tables of a study: one over all tasks, one a task and setting with all its languages."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING

from interlace.experiments.studies._collapsed import collapse_note, collapsed_entries
from interlace.experiments.studies._theirs import Theirs, rules_of, with_printed
from interlace.experiments.studies._words import filled, mixed, over_same, unlike, words_asked
from interlace.experiments.studies.comparing import against, compare
from interlace.experiments.studies.measures import OTHERS, averaged, comparable, scores_of, variants_of
from interlace.scores.statistics import ALPHA, holm, mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from interlace.experiments.recipe import Recipe
    from interlace.experiments.studies.measures import Measure, Runs, Scores, Variant
    from interlace.experiments.studies.results import Row

    Published = Sequence[Recipe]

THEIRS = "theirs, another scale"
LESS = " \N{DOWNWARDS ARROW}"  # in the head of what is the better the lower it is


@dataclass(frozen=True)
class Entry:
    """What stands in a table: a mean with half of its interval, or words.

    marked: told apart from the baseline. collapsed: whether any fine-tuning that it rests on collapsed.
    """

    text: str
    spread: str = ""
    bold: bool = False
    marked: bool = False
    collapsed: bool = False


@dataclass(frozen=True)
class Column:
    """A column's head; neighbours with one `group` stand under it together."""

    group: str
    name: str
    is_text: bool = False


@dataclass(frozen=True)
class Line:
    """A row: a system, or (`theirs`) what a paper printed for one."""

    label: str
    entries: tuple[Entry | None, ...]
    theirs: bool = False


@dataclass(frozen=True)
class Table:
    """A table with its caption, which states how it was tested; `name` is that of its files."""

    name: str
    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    caption: str


def tables(
    rows: Sequence[Row],
    title: str,
    baseline: str | None = None,
    recipes: Mapping[str, Recipe] = {},
    metrics: Mapping[str, Sequence[str]] = {},
) -> list[Table]:
    """The main table first, then a table for each task and setting.

    Args:
        rows: as `read_results` gives them.
        title: of the study.
        baseline: the system that others are tested against; none: the first.
        recipes: of each system, for what papers publish of it.
        metrics: by task, which scores are shown; none: the main one. The table of a task shows those too that papers
            print of its systems.
    """
    rows = filled(rows)
    shown, variants = with_printed(rows, recipes, metrics), variants_of(rows)
    asked, scores = (scores_of(rows, over_same(rows, names, beside=True)) for names in (metrics, shown))
    marked = {(one.measure, one.variant) for one in compare(rows, baseline, metrics=shown) if one.clear}
    theirs = Theirs(recipes, rules_of(rows))
    collapsed = collapsed_entries(rows, scores)
    view = _View(rows, scores, variants, marked, collapsed, baseline or variants[0].system, theirs, unlike(rows))
    groups: dict[tuple[str, str], list[Measure]] = {}
    for measure in scores:
        groups.setdefault((measure.task, measure.setting), []).append(measure)
    several = {task for task, _ in groups if sum(task == other for other, _ in groups) > 1}
    by_score = groupby(asked, key=lambda measure: (measure.task, measure.setting, measure.metric))
    found = [view.main(title, [list(measures) for _, measures in by_score])]
    for (task, setting), measures in groups.items():
        name = f"{task}.{setting}" if task in several else task
        found.append(view.one(name, f"{title}: {name.replace('.', ', ')}", measures))
    return found


@dataclass(frozen=True)
class _View:
    """What tables are made from."""

    rows: Sequence[Row]
    scores: Scores
    variants: list[Variant]
    marked: set[tuple[Measure, Variant]]
    collapsed: set[tuple[Measure, Variant]]
    baseline: str
    theirs: Theirs
    unlike: Mapping[str, Sequence[str]]

    def main(self, title: str, groups: Sequence[Sequence[Measure]]) -> Table:
        """By task the source language and the mean of the others, or the other where there is one."""
        measures = []
        for group in groups:
            means = [measure for measure in group if measure.language == OTHERS]
            others = means or [measure for measure in group if not measure.is_source]
            measures += [*(measure for measure in group if measure.is_source), *others]
        table = self._table("main", title, measures, "")
        told = [self.theirs.in_a_word(variant.system, measures) for variant in self.variants]
        if not any(told):
            return table
        columns = (*table.columns, Column("", THEIRS, is_text=True))
        lines = [
            replace(line, entries=(*line.entries, Entry(words) if words else None))
            for line, words in zip(table.lines, told, strict=True)
        ]
        caption = " ".join([table.caption, *self.theirs.remarks(measures)])
        return replace(table, columns=columns, lines=tuple(lines), caption=caption)

    def one(self, name: str, title: str, measures: Sequence[Measure]) -> Table:
        """All languages of a task, and below them what papers print."""
        table = self._table(name, title, measures, measures[0].task)
        theirs = [
            Line(label, (None, *(None if figure is None else Entry(f"{figure:g}") for figure in found)), theirs=True)
            for system in dict.fromkeys(variant.system for variant in self.variants)
            for label, found in self.theirs.figures(system, measures)
        ]
        if not theirs:
            return table
        means = Column("", "their mean")
        lines = [replace(line, entries=(*line.entries, None)) for line in table.lines]
        note = f"Rows in italics are the papers' ({THEIRS}: other data and models), not to be set against ours."
        caption = " ".join([table.caption, note, *self.theirs.remarks(measures)])
        return replace(table, columns=(*table.columns, means), lines=(*lines, *theirs), caption=caption)

    def _table(self, name: str, title: str, measures: Sequence[Measure], task: str) -> Table:
        apart = mixed(measures, self.unlike)
        best = {
            measure: None if (measure.task, measure.metric) in apart else clear_best(self.scores[measure], measure)
            for measure in measures
        }
        shown = [variant for variant in self.variants if task == "" or any(variant in self.scores[m] for m in measures)]
        columns = [Column("", "runs"), *(Column(_head(measure), measure.name) for measure in measures)]
        lines = [
            Line(variant.label, (self._runs(variant, measures), *(self._entry(m, variant, best[m]) for m in measures)))
            for variant in shown
        ]
        return Table(name, title, tuple(columns), tuple(lines), self._caption(measures))

    def _runs(self, variant: Variant, measures: Sequence[Measure]) -> Entry:
        """How many runs the entries rest on; of a mean over fewer, the least."""
        counts = [len(self.scores[measure][variant]) for measure in measures if variant in self.scores[measure]]
        return Entry(_range(counts))

    def _entry(self, measure: Measure, variant: Variant, best: Variant | None) -> Entry | None:
        runs = self.scores[measure].get(variant)
        if not runs:
            return None
        interval = mean_interval(list(runs.values()))
        spread = "" if math.isnan(interval.half_width) else _number(interval.half_width, measure)
        place = measure, variant
        number = _number(interval.value, measure)
        return Entry(number, spread, variant == best, place in self.marked, place in self.collapsed)

    def _caption(self, measures: Sequence[Measure]) -> str:
        known = {variant.system: variant.label for variant in reversed(self.variants)}
        shown = [variant for variant in self.variants if any(variant in self.scores[measure] for measure in measures)]
        parts = [
            "Means over runs ± half of their 95 % interval (Student's t); a run's score is its fine-tunings' mean.",
            *of_checkpoints(shown),
            *([f"{LESS.strip()}: lower is better."] if any(map(_lower, measures)) else []),
        ]
        if len(self.variants) > 1:
            base = known.get(self.baseline, self.baseline)
            parts += [
                (
                    "Bold: the best, where permutation tests over runs tell it apart from every other row "
                    f"(p < {ALPHA} after Holm over the rows of its column, and not over columns)."
                ),
                f"†: told apart from {base} by that test (Holm over the systems, and not over columns).",
                *self._too_few(measures),
            ]
        means: dict[str, dict[str, None]] = {}
        for measure in measures:
            if measure.language == OTHERS:
                over = ", ".join(averaged(self.scores, measure))
                means.setdefault(measure.name, {})[over] = None
        parts += [f"{name}: the mean of {' or of '.join(over)}." for name, over in means.items()]
        collapsed = collapse_note(self.rows, self.scores, measures)
        return " ".join([*parts, *collapsed, *words_asked(measures, self.unlike)])

    def _too_few(self, measures: Sequence[Measure]) -> list[str]:
        """Of the systems with the fewest runs, which limit what any test can find."""
        by_system = [_counts(self.scores[measure]) for measure in measures]
        fewest = [sorted(counts)[:2] for counts in by_system if len(counts) > 1]
        if not fewest:
            return []
        one, other = max(fewest, key=lambda pair: _least_p(*pair))
        least = _least_p(one, other)
        if least * (len(self.variants) - 1) < ALPHA:
            return []
        runs = f"{one} run{'s' * (one > 1)}"
        sizes = f"{runs} of a system" if one == other else f"{runs} of one system and {other} of another"
        return [f"With {sizes} no p is below {least:.2g}: few differences can be told apart, or none."]


def of_checkpoints(variants: Iterable[Variant]) -> list[str]:
    """A sentence for captions on systems of which a run is something else; none where all were pre-trained here."""
    labels = list(dict.fromkeys(variant.label for variant in variants if variant.checkpoint))
    if not labels:
        return []
    told = (
        f"Not pre-trained here: {'; '.join(labels)}. A run of these is a fine-tuning and says nothing of other "
        "pre-trainings; tests against a system that was pre-trained here take their mean for one run."
    )
    return [told]


def _counts(by_variant: Mapping[Variant, Runs]) -> list[int]:
    """How many values each system has in a test against one that was pre-trained here, where there is one."""
    trained = next((variant for variant in by_variant if not variant.checkpoint), None)
    return [len(comparable(variant, runs, trained or variant)) for variant, runs in by_variant.items()]


def _least_p(one: int, other: int) -> float:
    """The least p of a permutation test; samples of one size may change places, and be as far apart."""
    return (2 if one == other else 1) / math.comb(one + other, one)


def clear_best(by_variant: Mapping[Variant, Runs], measure: Measure) -> Variant | None:
    """The best of them, if there is a best, and tests over runs tell it apart from each of the others."""
    if len(by_variant) < 2 or measure.greater_is_better is None:
        return None
    sign = 1 if measure.greater_is_better else -1
    best = max(by_variant, key=lambda variant: sign * fmean(by_variant[variant].values()))
    others = [variant for variant in by_variant if variant != best]
    ps = [
        against(measure, best, by_variant[best], other, by_variant[other], slot=slot).p
        for slot, other in enumerate(others)
    ]
    return best if max(holm(ps)) < ALPHA else None


def _head(measure: Measure) -> str:
    setting = "" if measure.setting == "zero-shot" else f", {measure.setting}"
    task = f"{measure.task}{setting}{LESS * _lower(measure)}"
    return f"{task} ({measure.metric}{f', {measure.unit}' if measure.unit else ''})"


def _lower(measure: Measure) -> bool:
    return measure.greater_is_better is False


def _number(value: float, measure: Measure) -> str:
    return f"{value:.1f}" if measure.unit == "%" or abs(value) >= 100 else f"{value:.3g}"


def _range(counts: Sequence[int]) -> str:
    if not counts:
        return "0"
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
