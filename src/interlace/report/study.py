"""Tables of a study: systems by task, differences from the baseline, alignment and transfer; and their summary."""

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from interlace.core.json_files import read_json, write_json
from interlace.core.randomness import Purpose, generator
from interlace.experiments.recipe import Recipe
from interlace.experiments.studies import GridCell, Study, cells_of
from interlace.experiments.studies.folder import RESULTS, StudyFolder
from interlace.report.runs import outcomes_path, read_outcomes
from interlace.report.tables import LOWER, Column, Entry, Line, Table, write_tables
from interlace.report.text import p_value
from interlace.scores import SUPERVISED, ZERO_SHOT, Score, ScoreTable, held_out
from interlace.scores.comparison import (
    GAP,
    OTHERS,
    Comparison,
    Measure,
    Results,
    System,
    Unit,
    Untested,
    aggregate,
    averaged_languages,
    compare,
    significant_best,
    systems_of,
)
from interlace.scores.examples import Examples
from interlace.scores.findings import Verdict, judge
from interlace.scores.published import PublishedRow
from interlace.scores.published import rows as published_rows
from interlace.scores.statistics import ALPHA, mean_interval, rank_correlation

Recipes = Mapping[str, Recipe]

T = TypeVar("T")

log = logging.getLogger(__name__)

TABLES, COMPARISONS = "tables", "comparisons.json"
IMPOSSIBLE = "\N{DEGREE SIGN}"  # marks a p-value that no scores of so few measurements could make significant
_THEIRS = "Rows in italics are published results (other data and models), not comparable with ours."


def summarize(study: Study, folder: Path, into: Path) -> list[Table]:
    """Write the tables and comparisons of all finished cells into the study's folder, and return the tables.

    folder: of the study's file. Metrics that a task does not have raise a SettingsError.
    """
    place = StudyFolder(into)
    if not read_json(into / RESULTS, default=None):
        return []
    table = place.read_scores()
    baseline = study.reference if len(table.filter(system=study.reference)) else None
    cells = cells_of(study, folder)
    recipes = {cell.system: cell.recipe for cell in cells}
    metrics = study.evaluate.metrics
    compared = compare(table, baseline, metrics=metrics)
    over_examples, untested = _over_examples(table, baseline, into)
    compared += over_examples
    notes = unfinished_note(cells, table) + commits_note(table)
    found = [
        *(replace(one, caption=one.caption + notes) for one in tables(table, study.name, baseline, recipes, metrics)),
        *difference_tables(compared, study.name, table),
        *correlation_tables(table, study.name),
        *transfer_tables(table, study.name, recipes),
        *findings_tables(judge(study.findings, table, len(study.seeds)), study.name),
    ]
    write_tables(into / TABLES, found)
    write_json(into / COMPARISONS, [*map(comparison_json, compared), *map(comparison_json, untested)])
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
        return read_outcomes(row, into)

    baseline = baseline or table[0].system
    found: list[Comparison] = []
    untested: list[Untested] = []
    for rows in table.group("task", "setting").values():
        kept = {outcomes_path(row, into) for row in rows}
        if any(file.is_file() for file in kept) and len(rows.filter(system=baseline)):
            found += compare(rows, baseline, "examples", outcomes=outcomes, draws=2000, untested=untested)
            found += compare(rows, baseline, "both", outcomes=outcomes, untested=untested)
    reasons: dict[tuple[str, ...], list[str]] = {}
    for one in untested:
        if one.unit == "both":  # of too few runs, or said of the examples alone
            continue
        pair = one.measure.task, one.measure.setting, one.system.label, one.baseline.label, one.reason
        reasons.setdefault(pair, []).append(one.measure.name)
    for (task, setting, system, other, reason), languages in reasons.items():
        message = "%s, %s: %s is not compared with %s over test examples in %s: %s"
        log.warning(message, task, setting, system, other, ", ".join(languages), reason)
    return found, untested


def comparison_json(one: Comparison | Untested) -> dict[str, Any]:
    """Return a comparison as a JSON object; values that do not exist are null."""
    data: dict[str, Any] = {key: getattr(one.measure, key) for key in ("task", "setting", "language", "metric", "unit")}
    data |= {"system": one.system.label, "against": one.baseline.label}
    keys = (
        *("difference", "low", "high", "p", "holm", "min_p", "min_holm", "significant"),
        *("resampled", "n"),
    )
    if isinstance(one, Untested):
        return data | dict.fromkeys(keys) | {"resampled": one.unit, "reason": one.reason}
    difference = one.difference.value, one.difference.low, one.difference.high
    tested = one.p, one.adjusted_p, one.min_p, one.adjusted_min_p, one.significant
    data |= {**dict(zip(keys, (*difference, *tested, one.unit, one.n), strict=True)), "reason": None}
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in data.items()}


def tables(
    table: ScoreTable,
    title: str,
    baseline: str | None = None,
    recipes: Mapping[str, Recipe] = {},
    metrics: Mapping[str, Sequence[str]] = {},
) -> list[Table]:
    """Return the main table over all tasks, then a table for each task and setting.

    baseline: the system that others are tested against; default: the first.
    recipes: of each system, which name its published results.
    metrics: by task, the metrics to show; default: the main one. Tables of a task also show those that papers print.
    """
    table = held_out.with_same_words(table)
    published = _published_rows(recipes)
    shown = _with_published(table, published, metrics)
    results = aggregate(table, held_out.comparable_metrics(table, shown))
    main = aggregate(table, held_out.comparable_metrics(table, metrics))
    compared = {(one.measure, one.system): one for one in compare(table, baseline, metrics=shown)}
    view = _ScoreView(table, results, compared, baseline or table[0].system, published)
    by_metric = groupby(main, key=lambda measure: (measure.task, measure.setting, measure.metric))
    found = [view.main(title, [list(some) for _, some in by_metric])]
    for name, measures in _named([(measure, measure) for measure in results]).items():
        found.append(view.one(name, f"{title}: {name.replace('.', ', ')}", measures))
    return found


def _named(found: Iterable[tuple[Measure, T]]) -> dict[str, list[T]]:
    """Group by task, and by setting where a task has several."""
    groups: dict[tuple[str, str], list[T]] = {}
    for measure, one in found:
        groups.setdefault((measure.task, measure.setting), []).append(one)
    several = Counter(task for task, _ in groups)
    return {f"{task}.{setting}" if several[task] > 1 else task: some for (task, setting), some in groups.items()}


def _published_rows(recipes: Recipes) -> dict[str, list[tuple[str, PublishedRow]]]:
    """Return by system (note, row) of the published results that its recipe names."""
    return {
        system: [
            (f"{place.where}: {place.note}" if place.note else "", row)
            for place in recipe.published
            for row in place.rows()
        ]
        for system, recipe in recipes.items()
    }


def _with_published(
    table: ScoreTable,
    published: Mapping[str, Sequence[tuple[str, PublishedRow]]],
    metrics: Mapping[str, Sequence[str]] = {},
) -> dict[str, Sequence[str]]:
    """Return the metrics to show by task, with those of ours that papers print of it; default: the main one."""
    known = {(row.task, row.metric) for row in table}
    shown = dict(metrics)
    for row in (row for found in published.values() for _, row in found):
        task, metric = row.table.task, row.table.score
        if (task, metric) in known:
            named = shown.get(task) or table.filter(task=task, main=True).unique("metric")
            shown[task] = list(dict.fromkeys([*named, metric]))
    return shown


def _figures(row: PublishedRow, measure: Measure) -> dict[str, float]:
    return row.figures(measure.task, measure.setting, measure.metric)


@dataclass(frozen=True)
class _ScoreView:
    """What the tables of scores are made from. published: by system, (note, row) of papers."""

    table: ScoreTable
    results: Results
    compared: Mapping[tuple[Measure, System], Comparison]
    baseline: str
    published: Mapping[str, Sequence[tuple[str, PublishedRow]]]

    @cached_property
    def systems(self) -> list[System]:
        return systems_of(self.table)

    def main(self, title: str, groups: Sequence[Sequence[Measure]]) -> Table:
        """Return by task the source language, and the mean of the others or the only other one."""
        measures: list[Measure] = []
        for group in groups:
            means = [measure for measure in group if measure.language == OTHERS]
            measures += [*(measure for measure in group if measure.is_source)]
            measures += means or [measure for measure in group if not measure.is_source]
        return self._table("main", title, measures, self.systems)

    def one(self, name: str, title: str, measures: Sequence[Measure]) -> Table:
        """Return all languages of a task, with published results below."""
        systems = [system for system in self.systems if any(system in self.results[one] for one in measures)]
        table = self._table(name, title, measures, systems)
        theirs = []
        for system in dict.fromkeys(system.name for system in self.systems):
            for _, row in self.published.get(system, ()):
                figures = [_figures(row, measure).get(measure.language) for measure in measures]
                means = [_figures(row, measure).get("mean") for measure in measures]
                figures.append(next((mean for mean in means if mean is not None), None))
                if any(figure is not None for figure in figures):
                    entries = [None if figure is None else Entry(f"{figure:g}") for figure in figures]
                    about = ", ".join(filter(None, [row.table.task, row.setting, row.table.measured]))
                    theirs.append(Line(f"{row.where} ({about})", (None, *entries), theirs=True))
        if not theirs:
            return table
        lines = [replace(line, entries=(*line.entries, None)) for line in table.lines]
        caption = " ".join([table.caption, _THEIRS, *self._remarks(measures)])
        return replace(
            table, columns=(*table.columns, Column("published mean")), lines=(*lines, *theirs), caption=caption
        )

    def _remarks(self, measures: Sequence[Measure]) -> list[str]:
        """Return what to know before comparing published figures with ours."""
        tuned = self.table.filter(lambda row: bool(row.tuning.get("rule"))).group("task", "setting")
        found: dict[str, None] = {}
        for rows in self.published.values():
            notes = []
            for note, row in rows:
                if matching := [measure for measure in measures if _figures(row, measure)]:
                    ours = [score for one in matching for score in tuned.get((one.task, one.setting), ())]
                    rules = list(dict.fromkeys(str(score.tuning["rule"]) for score in ours))
                    found |= dict.fromkeys(row.remarks({one.unit or one.metric for one in matching}, rules))
                    notes.append(note)
            found |= dict.fromkeys(filter(None, notes))
        return list(found)

    def _table(self, name: str, title: str, measures: Sequence[Measure], systems: Sequence[System]) -> Table:
        best = {one: significant_best(one, self.results[one]) for one in measures}
        lines = []
        for system in systems:
            found = {one: self.results[one][system] for one in measures if system in self.results[one]}
            counts = {len(result.sample) for result in found.values()} or {0}
            entries: list[Entry | None] = [Entry(" to ".join(str(size) for size in sorted({min(counts), max(counts)})))]
            for one in measures:
                if one not in found:
                    entries.append(None)
                    continue
                interval = mean_interval(found[one].sample)
                half = "" if math.isnan(interval.low) else one.format(interval.half_width)
                tested = self.compared.get((one, system))
                marks = system == best[one], tested is not None and tested.significant, found[one].collapsed
                entries.append(Entry(one.format(interval.value), half, *marks))
            lines.append(Line(system.label, tuple(entries)))
        columns = (Column("runs"), *(Column(measure.name, _head(measure)) for measure in measures))
        return Table(name, title, columns, tuple(lines), self._caption(measures))

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
        places = set()  # of the rows that measures are made of: the languages of a mean, both settings of a gap
        for one in measures:
            languages = [one.language] if one.language else averaged_languages(self.results, one)
            settings = (SUPERVISED, ZERO_SHOT) if one.setting == GAP else (one.setting,)
            places |= {(one.task, setting, language) for setting in settings for language in languages}
        rows = self.table.filter(lambda row: (row.task, row.setting, row.language) in places)
        parts += filter(None, [rows.collapse_note(), rows.candidates_note(), rows.majority_note()])
        over_all_words = dict.fromkeys(one.metric for one in measures if one.metric.endswith(held_out.ALL_WORDS))
        return " ".join([*parts, *(held_out.NOTE.format(metric=metric) for metric in over_all_words)])

    def _too_few(self, measures: Sequence[Measure]) -> list[str]:
        """Return a sentence on the systems with too few runs for a significant difference."""
        smallest: dict[str, float] = {}
        for (measure, system), one in self.compared.items():
            if measure in measures and not one.can_be_significant:
                smallest[system.label] = max(smallest.get(system.label, 0.0), one.adjusted_min_p)
        parts = ", ".join(f"{label} {p:.2g}" for label, p in smallest.items())
        return [f"With so few runs these cannot be significant (smallest possible p): {parts}."] if parts else []


def _head(measure: Measure) -> str:
    """Return the head of a column: task, setting unless zero-shot, metric and unit, and an arrow if lower is better."""
    setting = "" if measure.setting == ZERO_SHOT else f", {measure.setting}"
    lower = LOWER * (measure.greater_is_better is False)
    return f"{measure.task}{setting}{lower} ({measure.metric}{f', {measure.unit}' if measure.unit else ''})"


def checkpoints_note(systems: Iterable[System]) -> list[str]:
    """Return a sentence for captions that names the systems not pre-trained here, or nothing."""
    labels = ", ".join(dict.fromkeys(system.label for system in systems if not system.pretrained))
    note = (
        f"Not pre-trained here: {labels}; their runs are fine-tunings, whose mean counts as one run in tests against "
        "systems that were pre-trained here."
    )
    return [note] if labels else []


_UNITS: dict[Unit, str] = {
    "seeds": "other runs",
    "examples": "other examples",
    "both": "other runs and examples",
}
_DIFFERENCES = (
    "A system minus its baseline, with a 95 % interval and p after Holm over the systems of a row's metric and "
    "language. Column groups name what tests generalize to. Other runs: permutation test of Welch's t over runs; "
    "Welch's interval is descriptive. Other examples: paired bootstrap and approximate randomization over test "
    "examples. Other runs and examples: Student's t with errors clustered by both. Bold: significant, "
    f"p < {ALPHA}. {IMPOSSIBLE}: cannot be significant with so few measurements. n: runs or examples."
)
_MEANS = {
    "others": " others: mean of the languages that the task is not fine-tuned on.",
    "mean": " mean: over all languages or directions.",
}


def difference_tables(found: Sequence[Comparison], title: str, scores: Iterable[Score] = ()) -> list[Table]:
    """Return a table `differences.TASK` for each task and setting, a row per system, metric and language."""
    named, table = _named((one.measure, one) for one in found), ScoreTable(scores)
    return [_difference_table(name, title, some, table) for name, some in named.items()]


def _difference_table(name: str, title: str, found: Sequence[Comparison], scores: ScoreTable) -> Table:
    rows: dict[tuple[Measure, System], dict[Unit, Comparison]] = {}
    for one in found:
        rows.setdefault((one.measure, one.system), {})[one.unit] = one
    heads = {unit: ["difference", "95 %", "p (n)"] for unit in _UNITS if any(one.unit == unit for one in found)}
    columns = [Column("metric", is_text=True), Column("language", is_text=True)]
    columns += [Column(head, _UNITS[unit]) for unit, names in heads.items() for head in names]
    lines = []
    for (measure, system), by_unit in rows.items():
        entries: list[Entry | None] = [Entry(measure.metric), Entry(measure.name)]
        for unit, names in heads.items():
            entries += _difference_entries(by_unit[unit]) if unit in by_unit else [None] * len(names)
        lines.append(Line(f"{system.label} \u2212 {next(iter(by_unit.values())).baseline.label}", tuple(entries)))
    means = sorted({measure.name for measure, _ in rows if measure.language == OTHERS})
    caption = _DIFFERENCES + "".join(_MEANS[mean] for mean in means)
    notes = checkpoints_note(side for one in found for side in (one.system, one.baseline))
    words = (
        f" Metrics with {held_out.ALL_WORDS!r} are over all words, including those that training read in a dictionary; "
        "the columns on other examples may exclude these."
    )
    notes += filter(None, [scores.filter(task=found[0].measure.task).candidates_note()])
    caption = " ".join([caption, *notes]) + words * any(one.metric.endswith(held_out.ALL_WORDS) for one, _ in rows)
    return Table(f"differences.{name}", f"{title}: differences in {name}", tuple(columns), tuple(lines), caption)


def _difference_entries(one: Comparison) -> list[Entry | None]:
    """Return difference, interval, and p with n."""
    low, high = map(one.measure.format_difference, (one.difference.low, one.difference.high))
    return [
        Entry(one.measure.format_difference(one.difference.value), bold=one.significant),
        None if math.isnan(one.difference.low) else Entry(f"{low} to {high}"),
        Entry(f"{_p(one.adjusted_p)}{IMPOSSIBLE * (not one.can_be_significant)} ({one.n})", bold=one.significant),
    ]


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


_FINDINGS = (
    "Findings registered before the runs. Difference: first side minus second, positive where the first is better, and "
    "Welch's interval over runs at 1 - 0.05 / findings in its family. p: permutation test of Welch's t, Holm "
    f"over the family. confirmed: p < {ALPHA} in the claimed direction, or interval within a margin with "
    "\N{PLUS-MINUS SIGN}; refuted: the whole interval is below the margin, or outside one with \N{PLUS-MINUS SIGN}; "
    "undecided: neither; pending: runs are missing. Verdicts hold for these models and data."
)


def findings_tables(found: Sequence[Verdict], title: str) -> list[Table]:
    """Return the table `findings`, a row per finding; none without findings."""
    heads = ["source", "family", "verdict", "first", "second", "difference", "interval", "margin", "p", "runs"]
    columns = tuple(Column(head, is_text=head in heads[:3]) for head in heads)
    decimals = 1 if all(one.finding.margin % 1 == 0 for one in found) else 2
    lines = [Line(one.finding.claim, tuple(map(Entry, _verdict_texts(one, decimals)))) for one in found]
    return [Table("findings", f"{title}: findings", columns, tuple(lines), _FINDINGS, "claim")] if found else []


def _verdict_texts(one: Verdict, decimals: int) -> list[str]:
    numbers = [*one.means, one.difference.value, one.difference.low, one.difference.high]
    a, b, value, low, high = ("" if math.isnan(number) else f"{number:.{decimals}f}" for number in numbers)
    sign, finding = "\N{PLUS-MINUS SIGN}" * (one.finding.kind == "equal"), one.finding
    tested = [a, b, value, f"{low} to {high}" * bool(low)]
    p = "" if math.isnan(one.p) else _p(one.p)
    return [
        finding.source,
        finding.family,
        one.verdict,
        *tested,
        f"{sign}{finding.margin:g} {one.unit}",
        p,
        str(one.runs),
    ]


_CORRELATION = (
    "Spearman correlation of a probe with the transfer gap, negated: zero-shot minus supervised scores in a "
    "language, or the score in a language minus that in the source if a task has no supervised scores. Systems, by the "
    "mean over their runs, are ranked within each condition (a language under one combination of settings), and the "
    "test permutes systems in all conditions alike, since scores of one system are not independent. p is two-sided, "
    f"unadjusted; {IMPOSSIBLE}: cannot be significant (p < {ALPHA}) with so few systems. n: systems x conditions."
)


def correlation_tables(table: ScoreTable, title: str) -> list[Table]:
    """Return the table `alignment`, a row per probe and a column per fine-tuned task; none with too few points."""
    results = aggregate(table)
    groups = _by_metric(results)
    gaps = [group for group in groups if group[0].setting == GAP]
    with_gap = {group[0].task for group in gaps}
    tuned = [group for group in groups if any(one.is_source for one in group) and group[0].task not in with_gap]
    tuned += gaps
    trained = {group[0].task for group in tuned}
    whole = aggregate(held_out.over_all_words(table.filter(lambda row: row.task not in trained)))
    replaced = trained | {measure.task for measure in whole}  # main metrics there are over different words
    probes = [*(group for group in groups if group[0].task not in replaced), *_by_metric(whole)]
    lines = []
    for probe in probes:
        entries = tuple(_correlation({**results, **whole}, probe, task) for task in tuned)
        if any(entries):
            lines.append(Line(f"{probe[0].task} ({probe[0].metric})", entries))
    if not lines:
        return []
    heads = ["\u2212 difference" if task[0].setting == GAP else task[0].setting for task in tuned]
    columns = tuple(Column(f"{task[0].task}, {head}") for task, head in zip(tuned, heads, strict=True))
    printed = {(row.table.task, row.table.score) for row in published_rows()}
    for row in published_rows("correlation of alignment and transfer"):  # ALIGN-MLM's, with the signs of ours
        same = [task[0].setting == GAP and (task[0].task, task[0].metric) in printed for task in tuned]
        figures = [row.scores.get(task[0].task) if one else None for one, task in zip(same, tuned, strict=True)]
        if any(figure is not None for figure in figures):
            entries = tuple(None if figure is None else Entry(f"{-figure:.2f}") for figure in figures)
            lines.append(Line(f"{row.cite}, {row.table.number}", entries, theirs=True))
    caption = " ".join(filter(None, [_CORRELATION, table.candidates_note()]))
    return [Table("alignment", f"{title}: alignment and transfer", columns, tuple(lines), caption)]


def _by_metric(results: Results) -> list[list[Measure]]:
    found: dict[tuple[str, str, str], list[Measure]] = {}
    for measure in results:
        if measure.language != OTHERS:
            found.setdefault((measure.task, measure.setting, measure.metric), []).append(measure)
    return list(found.values())


def _correlation(results: Results, probes: Sequence[Measure], tasks: Sequence[Measure]) -> Entry | None:
    """Correlate a probe with the change by transfer over systems and languages; greater is better on both sides."""
    probe, task = probes[0], tasks[0]
    changes = {(one.language, system): result.mean for one in tasks for system, result in results[one].items()}
    if task.setting == GAP:
        changes = {place: -mean for place, mean in changes.items()}
    else:
        changes = {
            (language, system): mean - changes[task.source, system]
            for (language, system), mean in changes.items()
            if language != task.source and (task.source, system) in changes
        }
    lone = len({system.name for _, system in changes}) == 1  # its variants are compared with each other
    points = {
        ((one.language, () if lone else system.axes), system if lone else system.name): (
            result.mean,
            changes[one.language, system],
        )
        for one in probes
        for system, result in results[one].items()
        if (one.language, system) in changes
    }
    found, conditions = rank_correlation(points, generator(Purpose.STATISTICS, 0, 4))
    if math.isnan(found.statistic):
        return None
    greater = task.greater_is_better != (task.setting == GAP)  # of the task's score: a smaller gap is better
    sign = 1 if probe.greater_is_better == greater else -1
    mark = IMPOSSIBLE * (found.min_p >= ALPHA)
    return Entry(f"{sign * found.statistic:.2f} ({p_value(found.p)}{mark}, n = {found.n} x {conditions})")


_SETTINGS = (SUPERVISED, ZERO_SHOT, GAP)
_PROBE = "embedding_alignment"
_TRANSFER = (
    "Means over runs. Difference: supervised minus zero-shot (transfer gap). Alignment: percent of words whose "
    "translation is the nearest neighbor; in the dictionary: words of entries that were trained on; held out: words "
    "that share neither words nor embedding rows with these."
)


def transfer_tables(table: ScoreTable, title: str, recipes: Mapping[str, Recipe] = {}) -> list[Table]:
    """Return the table `transfer`: supervised, zero-shot and difference by task, and alignment, a row per system.

    recipes: of each system, which name its published results. Empty without supervised and zero-shot scores.
    """
    probe = table.filter(task=_PROBE)
    results = aggregate(table, _with_published(table, _published_rows(recipes)) | {_PROBE: probe.unique("metric")})
    gaps = [measure for measure in results if measure.setting == GAP and measure.language != OTHERS]
    if not gaps:
        return []
    tasks = dict.fromkeys((measure.task, measure.metric) for measure in gaps)
    languages = dict.fromkeys(measure.language for measure in gaps)
    columns = [Column(setting, f"{task} ({metric})") for task, metric in tasks for setting in _SETTINGS]
    columns += [Column(name, "p@1 (%)") for name in ("alignment", "in the dictionary", "held out")]
    lines = []
    for language in languages:
        for system in systems_of(table):
            means = {
                (one.task, one.metric, one.setting): by_system[system].mean
                for one, by_system in results.items()
                if one.language == language and system in by_system
            }
            found = [means.get((*task, setting)) for task in tasks for setting in _SETTINGS]
            found += _alignment({metric: mean for (task, metric, _), mean in means.items() if task == _PROBE})
            if any(mean is not None for mean in found):
                label = system.label if len(languages) == 1 else f"{system.label}, {language}"
                lines.append(Line(label, tuple(None if mean is None else Entry(f"{mean:.1f}") for mean in found)))
    caption = [_TRANSFER, *filter(None, [probe.candidates_note(), table.majority_note()])]
    if shares := {
        task: max(row.contamination.get("ngram", 0.0) for row in rows)
        for task, rows in table.filter(lambda row: bool(row.contamination)).group("task").items()
    }:
        parts = ", ".join(f"{task} up to {share:.1f} %" for task, share in shares.items())
        caption.append(f"Contamination, test examples that share word n-grams with the pre-training text: {parts}.")
    theirs = _published_transfer(recipes, list(tasks))
    caption += [_THEIRS] if theirs else []
    return [Table("transfer", f"{title}: transfer and alignment", tuple(columns), (*lines, *theirs), " ".join(caption))]


def _alignment(found: Mapping[str, float]) -> list[float | None]:
    """Return the alignment over all words, those in the dictionary, and those held out."""
    main = next((name for name in found if ", " not in name and f"{name}{held_out.ALL_WORDS}" in found), "p@1")
    whole = found.get(f"{main}{held_out.ALL_WORDS}")
    seen, unseen = found.get(f"{main}, seen"), found.get(main)
    return [unseen, seen, None] if whole is None else [whole, seen, unseen]


def _published_transfer(recipes: Recipes, tasks: Sequence[tuple[str, str]]) -> list[Line]:
    """Return a line for each published system and setting, over all tables of it, with figures of our metrics."""
    every = {(row.where, row.table.task): row for found in _published_rows(recipes).values() for _, row in found}
    places: list[list[PublishedRow]] = []
    for row in every.values():
        group = next((group for group in places if _belongs(row, group)), None)
        places.append([row]) if group is None else group.append(row)
    wanted = [*((*task, setting) for task in tasks for setting in _SETTINGS), (_PROBE, "p@1", "mean")]
    lines = []
    for found in places:
        figures = {(row.table.task, row.table.score, key): value for row in found for key, value in row.scores.items()}
        entries = [None if one not in figures else Entry(f"{figures[one]:.1f}") for one in wanted]
        if any(entries):
            numbers = " and ".join(dict.fromkeys(row.table.number for row in found))
            label = f"{found[0].cite}, table {numbers}, {found[0].system}, {found[0].condition}"
            lines.append(Line(label, (*entries, None, None), theirs=True))
    return lines


def _belongs(row: PublishedRow, group: Sequence[PublishedRow]) -> bool:
    same = (row.cite, row.system, row.condition) == (group[0].cite, group[0].system, group[0].condition)
    return same and all(one.table.number == row.table.number or one.table.task != row.table.task for one in group)
