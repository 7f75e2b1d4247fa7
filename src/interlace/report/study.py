"""Tables of a study: systems by task, differences from the baseline, alignment and transfer; and their summary."""

from __future__ import annotations

import logging
import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from interlace.experiments.score_store import outcomes_key
from interlace.experiments.studies.cells import cells_of
from interlace.experiments.studies.folder import RESULTS, StudyFolder
from interlace.report.score_tables import mean_entry, metric_head
from interlace.report.tables import LOWER, Column, Entry, Line, Table, write_tables
from interlace.report.text import p_value
from interlace.scores import SUPERVISED, ZERO_SHOT, ScoreTable
from interlace.scores.comparison import (
    GAP,
    OTHERS,
    Measure,
    aggregate,
    averaged_languages,
    compare,
    significant_best,
    systems_of,
)
from interlace.scores.held_out import (
    ALL_WORDS,
    add_all_words,
    comparable_metrics,
    different_words,
    incomparable,
    over_all_words,
    words_notes,
)
from interlace.scores.published import rows as published_rows
from interlace.scores.statistics import ALPHA, min_permutation_p, spearman
from interlace.training.predictions import outcomes_file, read_outcomes
from interlace.training.run_folder import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from interlace.experiments.recipe import Recipe
    from interlace.experiments.studies import Study
    from interlace.experiments.studies.cells import GridCell
    from interlace.scores import Score
    from interlace.scores.comparison import Comparison, Result, Results, System, Unit, Untested
    from interlace.scores.examples import Examples
    from interlace.scores.published import PublishedRow

    Recipes = Mapping[str, Recipe]
    Metrics = Mapping[str, Sequence[str]]

log = logging.getLogger(__name__)

TABLES, COMPARISONS = "tables", "comparisons.json"
_DRAWS = 2000  # of test examples, for each system in each language
_THEIRS = "Rows in italics are published results (other data and models), not comparable with ours."
_PUBLISHED = "published, another scale"


def summarize(study: Study, folder: Path, into: Path) -> list[Table]:
    """Write the tables and comparisons of all finished cells, and return the tables.

    Args:
        study: the grid.
        folder: of the study's file.
        into: the study's folder.

    Raises:
        SettingsError: `evaluate.metrics` has a metric that a task does not have.
    """
    place = StudyFolder(into)
    if not read_json(into / RESULTS):
        return []
    table = place.read_scores()
    baseline = study.reference if len(table.filter(system=study.reference)) else None
    cells = cells_of(study, folder)
    recipes = {cell.system: cell.recipe for cell in cells}
    metrics = study.evaluate.metrics
    compared = [*compare(table, baseline, metrics=metrics), *compare(table, baseline, "languages", metrics=metrics)]
    over_examples, untested = _over_examples(table, baseline, into)
    compared += over_examples
    notes = unfinished_note(cells, table) + commits_note(table)
    found = [
        *(replace(one, caption=one.caption + notes) for one in tables(table, study.name, baseline, recipes, metrics)),
        *difference_tables(compared, study.name),
        *correlation_tables(table, study.name),
        *transfer_tables(table, study.name, recipes),
    ]
    write_tables(into / TABLES, found)
    write_json(into / COMPARISONS, [*map(comparison_json, compared), *map(_untested_json, untested)])
    return found


def unfinished_note(cells: Sequence[GridCell], table: ScoreTable) -> str:
    """Return a sentence for captions on the systems with unfinished cells."""
    done = set(table.unique("cell"))
    left = Counter(cell.label for cell in cells if cell.name not in done)
    total = Counter(cell.label for cell in cells)
    parts = ", ".join(f"{label} {total[label] - count} of {total[label]}" for label, count in left.items())
    return f" Finished runs: {parts}." if left else ""


def commits_note(table: ScoreTable) -> str:
    """Return a sentence for captions on the commits that scored the cells, if they differ."""
    counts = Counter(rows[0].commit or "unknown" for rows in table.group("cell").values())
    parts = ", ".join(f"{commit} ({count})" for commit, count in counts.items())
    return f" Runs by commit: {parts}." if len(counts) > 1 else ""


def _over_examples(table: ScoreTable, baseline: str | None, into: Path) -> tuple[list[Comparison], list[Untested]]:
    """Compare over test examples in every task that keeps outcomes and that the baseline is scored in."""

    def outcomes(row: Score) -> Examples:
        key = outcomes_key(vars(row)) if row.key else None
        return read_outcomes(outcomes_file(into / row.run, row.task, row.seed, row.setting), row.language, key)

    baseline = baseline or table[0].system
    found: list[Comparison] = []
    untested: list[Untested] = []
    for rows in table.group("task", "setting").values():
        kept = {outcomes_file(into / row.run, row.task, row.seed, row.setting) for row in rows}
        if any(file.is_file() for file in kept) and len(rows.filter(system=baseline)):
            found += compare(rows, baseline, "examples", outcomes=outcomes, draws=_DRAWS, untested=untested)
    reasons: dict[tuple[str, ...], list[str]] = {}
    for one in untested:
        pair = one.measure.task, one.measure.setting, one.system.label, one.baseline.label, one.reason
        reasons.setdefault(pair, []).append(one.measure.language)
    for (task, setting, system, other, reason), languages in reasons.items():
        message = "%s, %s: %s is not compared with %s over test examples in %s: %s"
        log.warning(message, task, setting, system, other, ", ".join(languages), reason)
    return found, untested


_JSON_KEYS = (
    *("difference", "low", "high", "p", "holm", "min_p", "resampled", "n", "cohens_d", "cliffs_delta", "mcnemar"),
    "reason",
)


def comparison_json(one: Comparison) -> dict[str, Any]:
    """Return a comparison as a JSON object; values that do not exist are null."""
    difference = one.difference.value, one.difference.low, one.difference.high
    tested = one.p, one.adjusted_p, one.min_p, one.unit, one.n, one.effect, one.delta, one.mcnemar, None
    data = {**_about(one), **dict(zip(_JSON_KEYS, (*difference, *tested), strict=True))}
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in data.items()}


def _untested_json(one: Untested) -> dict[str, Any]:
    return {**_about(one), **dict.fromkeys(_JSON_KEYS), "resampled": "examples", "reason": one.reason}


def _about(one: Comparison | Untested) -> dict[str, Any]:
    columns = {key: getattr(one.measure, key) for key in ("task", "setting", "language", "metric", "unit")}
    return {**columns, "system": one.system.label, "against": one.baseline.label}


# ---- tables of scores ----


def tables(
    table: ScoreTable,
    title: str,
    baseline: str | None = None,
    recipes: Mapping[str, Recipe] = {},
    metrics: Mapping[str, Sequence[str]] = {},
) -> list[Table]:
    """Return the main table over all tasks, then a table for each task and setting.

    Args:
        table: the scores.
        title: of the study.
        baseline: the system that others are tested against; default: the first.
        recipes: of each system, which name its published results.
        metrics: by task, the metrics to show; default: the main one. Tables of a task also show the metrics that papers
            print of its systems.
    """
    table = add_all_words(table)
    shown = _with_published(table, recipes, metrics)
    results = aggregate(table, comparable_metrics(table, shown, keep=True))
    main = aggregate(table, comparable_metrics(table, metrics, keep=True))
    significant = {(one.measure, one.system) for one in compare(table, baseline, metrics=shown) if one.significant}
    view = _View(table, results, significant, baseline or table[0].system, _Published(recipes, _rules_of(table)))
    groups: dict[tuple[str, str], list[Measure]] = {}
    for measure in results:
        groups.setdefault((measure.task, measure.setting), []).append(measure)
    by_metric = groupby(main, key=lambda measure: (measure.task, measure.setting, measure.metric))
    found = [view.main(title, [list(some) for _, some in by_metric])]
    for name, measures in _named(groups).items():
        found.append(view.one(name, f"{title}: {name.replace('.', ', ')}", measures))
    return found


def _named(groups: Mapping[tuple[str, str], list[Any]]) -> dict[str, list[Any]]:
    """Name groups by task, and by setting where a task has several."""
    several = Counter(task for task, _ in groups)
    return {f"{task}.{setting}" if several[task] > 1 else task: some for (task, setting), some in groups.items()}


@dataclass(frozen=True)
class _View:
    """What the tables of scores are made from."""

    table: ScoreTable
    results: Results
    significant: set[tuple[Measure, System]]
    baseline: str
    published: _Published

    @cached_property
    def systems(self) -> list[System]:
        return systems_of(self.table)

    @cached_property
    def different(self) -> dict[str, list[str]]:
        return different_words(self.table)

    def main(self, title: str, groups: Sequence[Sequence[Measure]]) -> Table:
        """Return by task the source language, and the mean of the others or the only other one."""
        measures = []
        for group in groups:
            means = [measure for measure in group if measure.language == OTHERS]
            measures += [*(measure for measure in group if measure.is_source)]
            measures += means or [measure for measure in group if not measure.is_source]
        table = self._table("main", title, measures, self.systems)
        means_of = [self.published.means(system.name, measures) for system in self.systems]
        if not any(means_of):
            return table
        lines = [
            replace(line, entries=(*line.entries, Entry(words) if words else None))
            for line, words in zip(table.lines, means_of, strict=True)
        ]
        caption = " ".join([table.caption, *self.published.remarks(measures)])
        return replace(
            table, columns=(*table.columns, Column(_PUBLISHED, is_text=True)), lines=tuple(lines), caption=caption
        )

    def one(self, name: str, title: str, measures: Sequence[Measure]) -> Table:
        """Return all languages of a task, with published results below."""
        systems = [system for system in self.systems if any(system in self.results[one] for one in measures)]
        table = self._table(name, title, measures, systems)
        theirs = [
            Line(label, (None, *(None if figure is None else Entry(f"{figure:g}") for figure in found)), theirs=True)
            for system in dict.fromkeys(system.name for system in self.systems)
            for label, found in self.published.figures(system, measures)
        ]
        if not theirs:
            return table
        lines = [replace(line, entries=(*line.entries, None)) for line in table.lines]
        caption = " ".join([table.caption, _THEIRS, *self.published.remarks(measures)])
        columns = (*table.columns, Column("published mean"))
        return replace(table, columns=columns, lines=(*lines, *theirs), caption=caption)

    def _table(self, name: str, title: str, measures: Sequence[Measure], systems: Sequence[System]) -> Table:
        untested = incomparable([(one.task, one.metric) for one in measures], self.different)
        best = {
            one: None if (one.task, one.metric) in untested else significant_best(one, self.results[one])
            for one in measures
        }
        columns = (Column("runs"), *(Column(measure.name, metric_head(measure)) for measure in measures))
        lines = [
            Line(system.label, (self._runs(system, measures), *(self._entry(one, system, best) for one in measures)))
            for system in systems
        ]
        return Table(name, title, columns, tuple(lines), self._caption(measures))

    def _runs(self, system: System, measures: Sequence[Measure]) -> Entry:
        counts = {len(self.results[one][system].sample) for one in measures if system in self.results[one]} or {0}
        return Entry(f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(min(counts)))

    def _entry(self, measure: Measure, system: System, best: Mapping[Measure, System | None]) -> Entry | None:
        found = self.results[measure].get(system)
        significant = (measure, system) in self.significant
        return mean_entry(measure, found, bold=system == best[measure], significant=significant)

    def _caption(self, measures: Sequence[Measure]) -> str:
        shown = [system for system in self.systems if any(system in self.results[one] for one in measures)]
        parts = ["Means over runs ± half of the 95 % interval (Student's t); a run is the mean of its fine-tunings."]
        parts += checkpoints_note(shown)
        if any(measure.greater_is_better is False for measure in measures):
            parts.append(f"{LOWER.strip()}: lower is better.")
        if len(self.systems) > 1:
            base = next((one.label for one in self.systems if one.name == self.baseline), self.baseline)
            test = f"permutation test over runs, p < {ALPHA} after Holm over the systems of a column"
            parts.append(f"Bold: significantly better than every other system ({test}).")
            parts.append(f"†: significantly different from {base} (same test).")
            parts += self._too_few(measures)
        for name in dict.fromkeys(one.name for one in measures if one.language == OTHERS):
            means = [one for one in measures if one.language == OTHERS and one.name == name]
            over = dict.fromkeys(", ".join(averaged_languages(self.results, one)) for one in means)
            parts.append(f"{name}: mean of {' or of '.join(over)}.")
        parts += filter(None, [self._rows_of(measures).collapse_note()])
        return " ".join([*parts, *words_notes([(one.task, one.metric) for one in measures], self.different)])

    def _rows_of(self, measures: Sequence[Measure]) -> ScoreTable:
        """Return the rows that measures are made of: the languages of a mean, both settings of a gap."""
        places = set()
        for one in measures:
            languages = [one.language] if one.language else averaged_languages(self.results, one)
            settings = (SUPERVISED, ZERO_SHOT) if one.setting == GAP else (one.setting,)
            places |= {(one.task, setting, language) for setting in settings for language in languages}
        return self.table.filter(lambda row: (row.task, row.setting, row.language) in places)

    def _too_few(self, measures: Sequence[Measure]) -> list[str]:
        """Return a sentence where the systems with the fewest runs cannot differ significantly."""
        fewest = [sizes for measure in measures if len(sizes := _sizes(self.results[measure])[:2]) > 1]
        if not fewest:
            return []
        one, other = max(fewest, key=lambda pair: min_permutation_p(*pair))
        smallest = min_permutation_p(one, other)
        if smallest * (len(self.systems) - 1) < ALPHA:
            return []
        return [f"The smallest possible p with {one} against {other} runs is {smallest:.2g} before Holm."]


def _sizes(by_system: Mapping[System, Result]) -> list[int]:
    """Return the sample sizes in tests against a system that was pre-trained here, if there is one, sorted."""
    trained = next((result for result in by_system.values() if result.pretrained), None)
    return sorted(len(result.against(trained or result)) for result in by_system.values())


def checkpoints_note(systems: Iterable[System]) -> list[str]:
    """Return a sentence for captions on systems that were not pre-trained here."""
    labels = ", ".join(dict.fromkeys(system.label for system in systems if not system.pretrained))
    note = (
        f"Not pre-trained here: {labels}; their runs are fine-tunings, whose mean counts as one run in tests against "
        "systems that were pre-trained here."
    )
    return [note] if labels else []


# ---- published results ----


@dataclass(frozen=True)
class _Published:
    """The published results of the systems. rules: by task and setting, how the weights of our models were selected."""

    recipes: Recipes
    rules: Mapping[tuple[str, str], Sequence[str]]

    def means(self, system: str, measures: Sequence[Measure]) -> str:
        """Return the published means of what we measure."""
        return "; ".join(
            f"{_published_name(row)}: {row.scores['mean']:g} ({row.where})"
            for row in self._rows(system)
            if "mean" in row.printed and _matching(row, measures)
        )

    def figures(self, system: str, measures: Sequence[Measure]) -> Iterator[tuple[str, list[float | None]]]:
        """Yield (label, figures): for each measure the figure of the same metric, then the published mean."""
        for row in self._rows(system):
            matching = _matching(row, measures)
            found = [row.scores.get(one.language) if one in matching and one.language else None for one in measures]
            found.append(row.scores.get("mean") if matching else None)
            if any(figure is not None for figure in found):
                yield f"{row.where} ({_published_name(row)})", found

    def remarks(self, measures: Sequence[Measure]) -> list[str]:
        """Return what to know before comparing the figures with ours."""
        found: dict[str, None] = {}
        for system, recipe in self.recipes.items():
            for row in self._rows(system):
                if matching := _matching(row, measures):
                    units = {one.unit or one.metric for one in matching}
                    rules = [rule for one in matching for rule in self.rules.get((one.task, one.setting), ())]
                    found |= dict.fromkeys(row.remarks(units, list(dict.fromkeys(rules))))
            for place in recipe.published:
                if place.note and any(_matching(row, measures) for row in place.rows()):
                    found[f"{place.where}: {place.note}"] = None
        return list(found)

    def _rows(self, system: str) -> Iterator[PublishedRow]:
        for place in self.recipes[system].published if system in self.recipes else ():
            yield from place.rows()


def _matching(row: PublishedRow, measures: Sequence[Measure]) -> list[Measure]:
    return [one for one in measures if row.matches(one.task, one.setting, one.metric)]


def _published_name(row: PublishedRow) -> str:
    return ", ".join(filter(None, [row.table.task, row.setting, row.table.measured]))


def _rules_of(table: ScoreTable) -> dict[tuple[str, str], list[str]]:
    return {
        place: list(dict.fromkeys(str(row.tuning["rule"]) for row in rows if row.tuning.get("rule")))
        for place, rows in table.group("task", "setting").items()
    }


def _with_published(table: ScoreTable, recipes: Recipes, metrics: Metrics) -> dict[str, Sequence[str]]:
    """Add the metrics that papers print of the systems to those of each task."""
    known = {(row.task, row.metric) for row in table}
    found = dict(metrics)
    for row in (row for recipe in recipes.values() for place in recipe.published for row in place.rows()):
        task, metric = row.table.task, row.table.score
        if (task, metric) in known:
            named = found.get(task) or table.filter(task=task, main=True).unique("metric")
            found[task] = list(dict.fromkeys([*named, metric]))
    return found


# ---- differences ----

_UNITS: dict[Unit, str] = {"seeds": "other runs", "examples": "other examples", "languages": "other languages"}
_DIFFERENCES = (
    "A system minus its baseline, with a 95 % interval and p after Holm over the systems of a row's metric and "
    "language. Other runs: Welch's interval and a permutation test over runs. Other examples: paired bootstrap and "
    "approximate randomization over the test examples of these runs. Other languages: Student's interval and a "
    f"sign-flip test over languages. Bold: p < {ALPHA}. n: runs, examples or languages."
)
_MCNEMAR = " McNemar: exact p, unadjusted, between two single runs."
_MEANS = {
    "others": " others: mean of the languages that the task is not fine-tuned on.",
    "mean": " mean: over all languages or directions.",
}
_WORDS = (
    f" Metrics with {ALL_WORDS!r} are over all words, including those that training read in a dictionary; other "
    "examples are of metrics that may leave these out."
)


def difference_tables(found: Sequence[Comparison], title: str) -> list[Table]:
    """Return a table `differences.TASK` for each task and setting, a row a system, metric and language."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in found:
        groups.setdefault((one.measure.task, one.measure.setting), []).append(one)
    return [_difference_table(name, title, some) for name, some in _named(groups).items()]


def _difference_table(name: str, title: str, found: Sequence[Comparison]) -> Table:
    units = [unit for unit in _UNITS if any(one.unit == unit for one in found)]
    exact = any(not math.isnan(one.mcnemar) for one in found)
    rows: dict[tuple[Measure, System], dict[Unit, Comparison]] = {}
    for one in found:
        rows.setdefault((one.measure, one.system), {})[one.unit] = one
    columns = [Column("metric", is_text=True), Column("language", is_text=True)]
    for unit in units:
        more = ["McNemar"] if exact and unit == "examples" else []
        columns += [Column(head, _UNITS[unit]) for head in ("difference", "95 %", "p (n)", *more)]
    lines = []
    for (measure, system), by_unit in rows.items():
        entries: list[Entry | None] = [Entry(measure.metric), Entry(measure.name)]
        for unit in units:
            found_one = by_unit.get(unit)
            entries += _difference_entries(found_one)
            if exact and unit == "examples":
                known = found_one is not None and not math.isnan(found_one.mcnemar)
                entries.append(Entry(_p(found_one.mcnemar)) if found_one and known else None)
        lines.append(Line(f"{system.label} \u2212 {next(iter(by_unit.values())).baseline.label}", tuple(entries)))
    means = sorted({measure.name for measure, _ in rows if measure.language == OTHERS})
    caption = _DIFFERENCES + _MCNEMAR * exact + "".join(_MEANS[mean] for mean in means)
    notes = checkpoints_note(side for one in found for side in (one.system, one.baseline))
    caption = " ".join([caption, *notes]) + _WORDS * any(one.metric.endswith(ALL_WORDS) for one, _ in rows)
    return Table(f"differences.{name}", f"{title}: differences in {name}", tuple(columns), tuple(lines), caption)


def _difference_entries(one: Comparison | None) -> list[Entry | None]:
    """Return difference, interval, and p with n."""
    if one is None:
        return [None, None, None]
    value, low, high = map(
        one.measure.format_difference, (one.difference.value, one.difference.low, one.difference.high)
    )
    interval = None if math.isnan(one.difference.low) else Entry(f"{low} to {high}")
    p = Entry(f"{_p(one.adjusted_p)} ({one.n})", bold=one.significant)
    return [Entry(value, bold=one.significant), interval, p]


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


# ---- alignment and transfer ----

_MIN_POINTS = 4  # no correlation of three points has a p below a third
_CORRELATION = (
    "Spearman correlation of a probe with the transfer gap, negated: zero-shot minus supervised scores in a "
    "language, or the score in a language minus that in the source if a task has no supervised scores. A point is "
    "the mean over the runs of a system in a language; p is two-sided. Points of one system or language are not "
    "independent, so p is too low."
)


def correlation_tables(table: ScoreTable, title: str) -> list[Table]:
    """Return the table `alignment`, a row a probe and a column a fine-tuned task; none with too few points."""
    results = aggregate(table)
    groups = _by_metric(results)
    gaps = [group for group in groups if group[0].setting == GAP]
    with_gap = {group[0].task for group in gaps}
    tuned = [group for group in groups if any(one.is_source for one in group) and group[0].task not in with_gap]
    tuned += gaps
    trained = {group[0].task for group in tuned}
    whole = aggregate(over_all_words(table.filter(lambda row: row.task not in trained)))
    replaced = trained | {measure.task for measure in whole}  # main metrics there are over different words
    probes = [*(group for group in groups if group[0].task not in replaced), *_by_metric(whole)]
    results = {**results, **whole}
    lines = []
    for probe in probes:
        entries = tuple(_correlation(_points(results, probe, task), probe[0], task[0]) for task in tuned)
        if any(entries):
            lines.append(Line(f"{probe[0].task} ({probe[0].metric})", entries))
    if not lines:
        return []
    heads = ["\u2212 difference" if task[0].setting == GAP else task[0].setting for task in tuned]
    columns = tuple(Column(f"{task[0].task}, {head}") for task, head in zip(tuned, heads, strict=True))
    lines += _published_correlations(tuned)
    return [Table("alignment", f"{title}: alignment and transfer", columns, tuple(lines), _CORRELATION)]


def _published_correlations(tuned: Sequence[Sequence[Measure]]) -> Iterator[Line]:
    """Yield the correlations of ALIGN-MLM's paper with the signs of ours."""
    for row in published_rows("correlation of alignment and transfer"):
        figures = [row.scores.get(task[0].task) if task[0].setting == GAP else None for task in tuned]
        if any(figure is not None for figure in figures):
            entries = tuple(None if figure is None else Entry(f"{-figure:.2f}") for figure in figures)
            yield Line(f"{row.cite}, {row.table.number}", entries, theirs=True)


def _by_metric(results: Results) -> list[list[Measure]]:
    found: dict[tuple[str, str, str], list[Measure]] = {}
    for measure in results:
        if measure.language != OTHERS:
            found.setdefault((measure.task, measure.setting, measure.metric), []).append(measure)
    return list(found.values())


def _points(results: Results, probe: Sequence[Measure], task: Sequence[Measure]) -> list[tuple[float, float]]:
    """Return (probe, change by transfer) of each system in each language that has both."""
    means = {(one.language, system): result.mean for one in task for system, result in results[one].items()}
    if task[0].setting == GAP:
        changes = {place: -mean for place, mean in means.items()}
    else:
        source = task[0].source
        changes = {
            (language, system): mean - means[source, system]
            for (language, system), mean in means.items()
            if language != source and (source, system) in means
        }
    return [
        (result.mean, changes[one.language, system])
        for one in probe
        for system, result in results[one].items()
        if (one.language, system) in changes
    ]


def _correlation(points: Sequence[tuple[float, float]], probe: Measure, task: Measure) -> Entry | None:
    """Return the correlation, signed so that greater is better on both sides."""
    if len(points) < _MIN_POINTS:
        return None
    found = spearman(*zip(*points, strict=True))
    if math.isnan(found.statistic):
        return None
    greater = task.greater_is_better != (task.setting == GAP)  # of the task's score: a smaller gap is better
    sign = 1 if probe.greater_is_better == greater else -1
    return Entry(f"{sign * found.statistic:.2f} ({p_value(found.p)}, n = {found.n})")


# ---- transfer to derived languages (Tang et al. 2022, tables 3 and 8) ----

_SETTINGS = (SUPERVISED, ZERO_SHOT, GAP)
_PROBE = "embedding_alignment"
_PARTS = ("alignment", "in the dictionary", "held out")
_TRANSFER = (
    "Means over runs. Difference: supervised minus zero-shot (transfer gap). Alignment: percent of words whose "
    "translation is the nearest neighbor; in the dictionary: words that training read an entry of; held out: words "
    "that it did not."
)


def transfer_tables(table: ScoreTable, title: str, recipes: Mapping[str, Recipe] = {}) -> list[Table]:
    """Return the table `transfer`: supervised, zero-shot and difference by task, and alignment, a row a system.

    recipes: of each system, which name its published results. Empty without supervised and zero-shot scores.
    """
    probe = table.filter(task=_PROBE)
    results = aggregate(table) | aggregate(probe, {_PROBE: probe.unique("metric")})
    gaps = [measure for measure in results if measure.setting == GAP and measure.language != OTHERS]
    if not gaps:
        return []
    tasks = list(dict.fromkeys((measure.task, measure.metric) for measure in gaps))
    languages = list(dict.fromkeys(measure.language for measure in gaps))
    columns = [Column(setting, f"{task} ({metric})") for task, metric in tasks for setting in _SETTINGS]
    columns += [Column(name, "p@1 (%)") for name in _PARTS]
    lines = []
    for language in languages:
        for system in systems_of(table):
            found = {
                (one.task, one.metric, one.setting): by_system[system]
                for one, by_system in results.items()
                if one.language == language and system in by_system
            }
            entries = [_plain(found.get((*task, setting))) for task in tasks for setting in _SETTINGS]
            entries += _alignment({metric: one for (task, metric, _), one in found.items() if task == _PROBE})
            if any(entries):
                label = system.label if len(languages) == 1 else f"{system.label}, {language}"
                lines.append(Line(label, tuple(entries)))
    places = _published_places(recipes)
    theirs = list(_published_transfer(places, [task for task, _ in tasks]))
    caption = " ".join(
        [_TRANSFER, *_contamination(table), *([_THEIRS, *_other_metrics(places, tasks)] if theirs else [])]
    )
    return [Table("transfer", f"{title}: transfer and alignment", tuple(columns), (*lines, *theirs), caption)]


def _plain(result: Result | None) -> Entry | None:
    return Entry(f"{result.mean:.1f}") if result else None


def _alignment(found: Mapping[str, Result]) -> list[Entry | None]:
    """Return the alignment over all words, those in the dictionary, and those held out."""
    main = next((name for name in found if ", " not in name and f"{name}{ALL_WORDS}" in found), "p@1")
    split = f"{main}{ALL_WORDS}" in found
    whole = found.get(f"{main}{ALL_WORDS}") or found.get(main)
    return [_plain(whole), _plain(found.get(f"{main}, seen")), _plain(found.get(main) if split else None)]


def _contamination(table: ScoreTable) -> list[str]:
    """Return a sentence on the largest share of contaminated test examples of each task."""
    shares: dict[str, float] = {}
    for row in table:
        if row.contamination:
            shares[row.task] = max(shares.get(row.task, 0.0), row.contamination["ngram"])
    parts = ", ".join(f"{task} up to {share:.1f} %" for task, share in shares.items())
    return [f"Contamination, test examples that share word n-grams with the pre-training text: {parts}."] * bool(parts)


def _published_places(recipes: Recipes) -> list[list[PublishedRow]]:
    """Group published rows by system and setting; tables with the same tasks stay separate."""
    places: list[list[PublishedRow]] = []
    every = [row for recipe in recipes.values() for place in recipe.published for row in place.rows()]
    for row in {(row.where, row.table.task): row for row in every}.values():
        group = next((group for group in places if _belongs(row, group)), None)
        places.append([row]) if group is None else group.append(row)
    return places


def _belongs(row: PublishedRow, group: Sequence[PublishedRow]) -> bool:
    same = (row.cite, row.system, row.setting) == (group[0].cite, group[0].system, group[0].setting)
    return same and all(one.table.number == row.table.number or one.table.task != row.table.task for one in group)


def _published_transfer(places: Iterable[Sequence[PublishedRow]], tasks: Sequence[str]) -> Iterator[Line]:
    wanted = [*((task, setting) for task in tasks for setting in _SETTINGS), (_PROBE, "mean")]
    for found in places:
        figures = {(row.table.task, column): value for row in found for column, value in row.scores.items()}
        entries = [None if one not in figures else Entry(f"{figures[one]:.1f}") for one in wanted]
        if any(entries):
            numbers = " and ".join(dict.fromkeys(row.table.number for row in found))
            label = f"{found[0].cite}, table {numbers}, {found[0].system}, {found[0].setting}"
            yield Line(label, (*entries, None, None), theirs=True)


def _other_metrics(places: Iterable[Sequence[PublishedRow]], tasks: Iterable[tuple[str, str]]) -> list[str]:
    """Return sentences on tasks whose published metric differs from ours."""
    found = {
        f"Published metric of {task}: {row.table.metric} (ours: {metric})."
        for task, metric in tasks
        for row in (row for found in places for row in found)
        if row.table.task == task and row.table.score != metric and not row.scores.keys().isdisjoint(_SETTINGS)
    }
    return sorted(found)
