"""Transfer to derived languages as a table (Tang et al. 2022, tables 3 and 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interlace.report.published_rows import THEIRS, CitedRow, with_printed
from interlace.report.tables import Column, Line, Table, number_entries
from interlace.scores import SUPERVISED, ZERO_SHOT, ScoreTable, held_out
from interlace.scores.aggregation import GAP, OTHERS, Results, System, aggregate, systems_of
from interlace.scores.published import PublishedRow

_SETTINGS = (SUPERVISED, ZERO_SHOT, GAP)
_PROBE = "embedding_alignment"
_PROBE_COLUMNS = ("alignment", "in the dictionary", "held out")
_CAPTION = (
    "Means over runs. Difference: supervised minus zero-shot (transfer gap). Alignment: percent of words whose "
    "translation is the nearest neighbor; in the dictionary: words of entries that were trained on; held out: words "
    "that share neither words nor embedding rows with these."
)

_Key = tuple[str, str, str]  # task, metric, setting


def transfer_tables(scores: ScoreTable, title: str, cited: Sequence[CitedRow] = ()) -> list[Table]:
    """Return the table `transfer`: supervised, zero-shot and difference by task, and alignment, a row per system.

    cited: rows of papers to show below. Empty without supervised and zero-shot scores.
    """
    probe = scores.filter(task=_PROBE)
    metrics = with_printed(scores, {}, cited)
    metrics[_PROBE] = probe.unique("metric")
    results = aggregate(scores, metrics)
    gaps = [measure for measure in results if measure.setting == GAP and measure.language != OTHERS]
    if not gaps:
        return []
    keys: list[_Key] = []
    columns = []
    for task, metric in dict.fromkeys((measure.task, measure.metric) for measure in gaps):
        keys += [(task, metric, setting) for setting in _SETTINGS]
        columns += [Column(setting, f"{task} ({metric})") for setting in _SETTINGS]
    columns += [Column(name, "p@1 (%)") for name in _PROBE_COLUMNS]
    lines = []
    languages = list(dict.fromkeys(measure.language for measure in gaps))
    for language in languages:
        for system in systems_of(scores):
            means = _means(results, language, system)
            figures = [*(means.get(key) for key in keys), *_alignment(means)]
            if any(figure is not None for figure in figures):
                label = system.label if len(languages) == 1 else f"{system.label}, {language}"
                lines.append(Line(label, number_entries(figures, ".1f")))
    theirs = _published_lines(cited, keys)
    notes = [_CAPTION, probe.candidates_note(), scores.majority_note()]
    if theirs:
        notes.append(THEIRS)
    caption = " ".join(filter(None, notes))
    return [
        Table(
            "transfer",
            f"{title}: transfer and alignment",
            tuple(columns),
            (*lines, *theirs),
            caption,
        )
    ]


def _means(results: Results, language: str, system: System) -> dict[_Key, float]:
    """Return the mean over runs of a system in a language by task, metric and setting."""
    means = {}
    for measure, by_system in results.items():
        if measure.language == language and system in by_system:
            means[measure.task, measure.metric, measure.setting] = by_system[system].mean
    return means


def _alignment(means: Mapping[_Key, float]) -> list[float | None]:
    """Return the alignment over all words, those in the dictionary, and those held out."""
    by_metric = {metric: mean for (task, metric, _), mean in means.items() if task == _PROBE}
    main = "p@1"
    for metric in by_metric:
        if ", " not in metric and metric + held_out.ALL_WORDS in by_metric:
            main = metric
            break
    seen = by_metric.get(f"{main}, seen")
    if main + held_out.ALL_WORDS not in by_metric:
        return [by_metric.get(main), seen, None]
    return [by_metric[main + held_out.ALL_WORDS], seen, by_metric.get(main)]


def _published_lines(cited: Sequence[CitedRow], keys: Sequence[_Key]) -> list[Line]:
    """Return a line for each published system and condition, over all tables of it, with figures of our metrics."""
    systems: list[list[PublishedRow]] = []
    for entry in cited:
        group = next((rows for rows in systems if _is_of_same_system(entry.row, rows)), None)
        if group is None:
            systems.append([entry.row])
        else:
            group.append(entry.row)
    lines = []
    for rows in systems:
        figures = {}
        for row in rows:
            for column, figure in row.scores.items():
                figures[row.table.task, row.table.score, column] = figure
        printed = [figures.get(key) for key in keys]
        printed += [figures.get((_PROBE, "p@1", "mean")), None, None]
        entries = number_entries(printed, ".1f")
        if any(entries):
            numbers = " and ".join(dict.fromkeys(row.table.number for row in rows))
            label = f"{rows[0].cite}, table {numbers}, {rows[0].system}, {rows[0].condition}"
            lines.append(Line(label, entries, theirs=True))
    return lines


def _is_of_same_system(row: PublishedRow, rows: Sequence[PublishedRow]) -> bool:
    """Return whether a row is of the system of others, and no other table's row of the same task."""
    first = rows[0]
    if (row.cite, row.system, row.condition) != (first.cite, first.system, first.condition):
        return False
    return all(
        member.table.number == row.table.number or member.table.task != row.table.task
        for member in rows
    )
