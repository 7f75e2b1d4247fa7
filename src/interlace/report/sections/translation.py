"""Translation: BLEU, the other metrics, and their signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report.runs import all_scores
from interlace.report.sections import Section
from interlace.report.tables import Column, Entry, Line, Table, html_fragment
from interlace.report.text import BLEU, language_name, language_names, number, render, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report.runs import Run
    from interlace.scores import ScoreTable

_COLUMNS = {  # metric: head and decimals
    "bleu": ("BLEU", 1),
    "chrf": ("chrF", 1),
    "tokenized bleu": ("tokenized BLEU", 1),
    "round-trip bleu": ("round trip", 1),
    "round-trip chrf": ("round trip, chrF", 1),
    "copied words": ("copied words, %", 1),
    "copied words, references": ("in references, %", 1),
    "length ratio": ("length ratio", 2),
}
_LEAD = (
    "BLEU is computed on raw text. Tokenized BLEU is comparable only with published tokenized BLEU. Copied words are "
    "shared with the source; more than in the references means that the model copies. Length ratio: output by "
    "reference."
)


def translation(runs: Sequence[Run]) -> Section:
    """Return a table for each task: a row a direction and system."""
    every = all_scores(runs)
    tasks = every.filter(main=True, unit=BLEU).unique("task")
    found = [every.filter(task=task) for task in tasks]
    if not found:
        return Section("Translation", "No translation has been scored.")
    body = render("translation", tasks=[(html_fragment(_table(rows)), _signatures(rows)) for rows in found])
    return Section("Translation", _LEAD, body)


def _table(rows: ScoreTable) -> Table:
    metrics = [name for name in _COLUMNS if len(rows.filter(metric=name))]
    lines = []
    for direction, by_direction in rows.group("language").items():
        for system, some in by_direction.group("label").items():
            entries = [_mean(some.filter(metric=name), _COLUMNS[name][1]) for name in metrics]
            lines.append(Line(language_name(direction), (Entry(system), *entries, _interval(some.filter(main=True)))))
    columns = (Column("System", is_text=True), *(Column(_COLUMNS[name][0]) for name in metrics), Column("BLEU, range"))
    note = "Range: lowest to highest seed, or the 95 % bootstrap interval of a single measurement."
    return Table(rows[0].task, rows[0].task, columns, tuple(lines), note, "Direction")


def _mean(rows: ScoreTable, digits: int) -> Entry | None:
    return Entry(number(sum(row.score for row in rows) / len(rows), digits)) if len(rows) else None


def _interval(rows: ScoreTable) -> Entry | None:
    values = [row.score for row in rows]
    if len(values) > 1:
        return Entry(f"{spread(min(values), max(values))} ({len(values)} seeds)")
    one = rows[0]
    return None if one.low is None or one.high is None else Entry(spread(one.low, one.high))


def _signatures(rows: ScoreTable) -> list[tuple[str, str]]:
    """Return (metric, signature), with the directions if signatures of a metric differ."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows.filter(main=True):
        for name, signature in row.signatures.items():
            found.setdefault((_COLUMNS.get(name, (name,))[0], signature), {})[row.language] = None
    several = len({name for name, _ in found}) < len(found)
    return [
        (f"{name} ({language_names(list(directions))})" if several else name, signature)
        for (name, signature), directions in found.items()
    ]
