"""Differences of systems from a baseline as tables: over other runs, other test examples, and both."""

import math
from collections.abc import Iterable, Sequence

from interlace.report.captions import checkpoints_note
from interlace.report.tables import Column, Entry, Line, Table, table_names
from interlace.scores import Score, ScoreTable, held_out
from interlace.scores.aggregation import OTHERS, Measure, System
from interlace.scores.comparison import Comparison, Unit
from interlace.scores.statistics import ALPHA

IMPOSSIBLE = "\N{DEGREE SIGN}"  # marks a p-value that no scores of so few measurements could make significant
_UNITS: dict[Unit, str] = {
    "seeds": "other runs",
    "examples": "other examples",
    "both": "other runs and examples",
}
_HEADS = ("difference", "95 %", "p (n)")
_CAPTION = (
    "A system minus its baseline, with a 95 % interval and p after Holm over the systems of a row's metric and "
    "language. Column groups name what tests generalize to. Other runs: permutation test of Welch's t over runs; "
    "Welch's interval is descriptive. Other examples: paired bootstrap and approximate randomization over test "
    "examples. Other runs and examples: Student's t with errors clustered by both. Bold: significant, "
    f"p < {ALPHA}. {IMPOSSIBLE}: cannot be significant with so few measurements. n: runs or examples."
)
_MEANS = {
    "mean": "mean: over all languages or directions.",
    "others": "others: mean of the languages that the task is not fine-tuned on.",
}
_ALL_WORDS = (
    f"Metrics with {held_out.ALL_WORDS!r} are over all words, including those that training read in a dictionary; "
    "the columns on other examples may exclude these."
)


def difference_tables(
    comparisons: Sequence[Comparison], title: str, scores: Iterable[Score] = ()
) -> list[Table]:
    """Return a table `differences.TASK` for each task and setting, a row per system, metric and language."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        groups.setdefault((comparison.measure.task, comparison.measure.setting), []).append(
            comparison
        )
    table = ScoreTable(scores)
    tables = []
    for key, name in table_names(groups).items():
        members = groups[key]
        notes = [_caption(members), table.filter(task=members[0].measure.task).candidates_note()]
        tables.append(_difference_table(name, title, members, " ".join(filter(None, notes))))
    return tables


def _difference_table(
    name: str, title: str, comparisons: Sequence[Comparison], caption: str
) -> Table:
    rows: dict[tuple[Measure, System], dict[Unit, Comparison]] = {}
    for comparison in comparisons:
        rows.setdefault((comparison.measure, comparison.system), {})[comparison.unit] = comparison
    tested = {comparison.unit for comparison in comparisons}
    units = [unit for unit in _UNITS if unit in tested]
    columns = [Column("metric", is_text=True), Column("language", is_text=True)]
    for unit in units:
        columns += [Column(head, _UNITS[unit]) for head in _HEADS]
    lines = []
    for (measure, system), by_unit in rows.items():
        entries: list[Entry | None] = [Entry(measure.metric), Entry(measure.name)]
        for unit in units:
            entries += _entries(by_unit.get(unit))
        baseline = next(iter(by_unit.values())).baseline
        lines.append(Line(f"{system.label} \N{MINUS SIGN} {baseline.label}", tuple(entries)))
    return Table(
        f"differences.{name}",
        f"{title}: differences in {name}",
        tuple(columns),
        tuple(lines),
        caption,
    )


def _entries(comparison: Comparison | None) -> list[Entry | None]:
    """Return difference, interval, and p with n."""
    if comparison is None:
        return [None, None, None]
    measure = comparison.measure
    difference = comparison.difference
    interval = None
    if not math.isnan(difference.low):
        interval = Entry(
            f"{measure.format_difference(difference.low)} to {measure.format_difference(difference.high)}"
        )
    mark = "" if comparison.can_be_significant else IMPOSSIBLE
    return [
        Entry(measure.format_difference(difference.value), bold=comparison.significant),
        interval,
        Entry(
            f"{short_p(comparison.adjusted_p)}{mark} ({comparison.n})", bold=comparison.significant
        ),
    ]


def _caption(comparisons: Sequence[Comparison]) -> str:
    systems = []
    for comparison in comparisons:
        systems += [comparison.system, comparison.baseline]
    measures = [comparison.measure for comparison in comparisons]
    means = sorted({measure.name for measure in measures if measure.language == OTHERS})
    notes = [_CAPTION, *(_MEANS[mean] for mean in means), checkpoints_note(systems)]
    if any(measure.metric.endswith(held_out.ALL_WORDS) for measure in measures):
        notes.append(_ALL_WORDS)
    return " ".join(filter(None, notes))


def short_p(p: float) -> str:
    """Format a p-value for a table: `< 0.001` or `0.04`."""
    return "< 0.001" if p < 0.001 else f"{p:.2g}"
