"""Tables for the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any

from rich.table import Table

from interlace.scores import COLLAPSED, ZERO_SHOT, ScoreTable, setting_name, table_of_entries
from interlace.tasks.common.dictionaries import ALL, scored_words

Row = dict[str, Any]
LESS = " \N{DOWNWARDS ARROW}"  # marks scores that are better when lower


def score_table(rows: Iterable[Row]) -> Table:
    """Return a table of tasks by languages: mean over seeds, with the standard deviation for several."""
    return comparison_table({"": list(rows)})


def comparison_table(scores: dict[str, list[Row]]) -> Table:
    """Return a table of tasks and recipes by languages; the mean excludes the source language.

    Scores of collapsed fine-tuning runs are marked, and the caption counts them.
    """
    rows = [row for found in scores.values() for row in found]
    languages = list(dict.fromkeys(row["language"] for row in rows))
    of_source = any(row["language"] == row["source"] for row in rows)
    several = len({row["seed"] for row in rows}) > 1
    said = " (mean: without the source)" if of_source else ""
    table = Table(
        title=f"Scores{' over seeds, ± standard deviation' if several else ''}{said}",
        title_justify="left",
        caption_justify="left",
    )
    lower = f"{LESS.strip()}: lower is better." * any(row.get("greater_is_better", True) is False for row in rows)
    table.caption = " ".join(filter(None, [lower, *_notes(scores)])) or None
    for name in ("task", *(["recipe"] if len(scores) > 1 else [])):
        table.add_column(name, no_wrap=True)
    for name in (*languages, "mean"):
        table.add_column(name, justify="right")
    for kind in dict.fromkeys(_kind(row) for row in rows):
        apart = _scored_entries([row for row in rows if _kind(row) == kind]) != ALL
        above = ""
        for recipe, found in scores.items():
            mine = [row for row in found if _kind(row) == kind]
            if mine:
                cells = [_shown(mine, [language]) for language in languages]
                others = [language for language in languages if language != mine[0]["source"]]
                label = [recipe] if len(scores) > 1 else []
                head = _head(mine[0], _scored_entries(mine) if apart else "")
                table.add_row(head if head != above else "", *label, *cells, _shown(mine, others))
                above = head
    return table


def _kind(row: Row) -> tuple[str, str, str, str]:
    """Return the key of scores that can be averaged."""
    return row["task"], setting_name(row), row["metric"], row["source"]


def _scored_entries(rows: list[Row]) -> str:
    """Return the dictionary entries that scores are over; all, for other tasks."""
    return scored_words(rows[0]["metric"], [row.get("scores", {}) for row in rows])


def _head(row: Row, words: str) -> str:
    """Return two short lines, for narrow terminals; `words`: the scored entries, if systems differ in them."""
    setting = setting_name(row)
    name = row["task"] if setting == ZERO_SHOT else f"{row['task']}, {setting}"
    name += LESS * (row.get("greater_is_better", True) is False)
    return f"{name}\n({', '.join(filter(None, (row['metric'], words.removesuffix(' words'), row['unit'])))})"


def _by_seed(rows: list[Row], languages: list[str]) -> list[float]:
    """Return the mean score over languages for each seed."""
    seeds: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row["language"] in languages:
            seeds[row["seed"]].append(row["score"])
    return [mean(scores) for scores in seeds.values()]


def _shown(rows: list[Row], languages: list[str]) -> str:
    scores = _by_seed(rows, languages)
    if not scores:
        return "–"
    spread = f" ±{stdev(scores):.1f}" if len(scores) > 1 else ""
    collapsed = any(bool((row.get("tuning") or {}).get("collapsed")) for row in rows if row["language"] in languages)
    return f"{mean(scores):.1f}{spread}{COLLAPSED * collapsed}"


def _notes(scores: dict[str, list[Row]]) -> list[str]:
    """Return sentences for the caption on collapsed fine-tunings and on candidates of nearest words."""
    table = ScoreTable(row for name, rows in scores.items() for row in table_of_entries(rows, run=name))
    return [table.collapse_note(), table.candidates_note(), table.majority_note()]
