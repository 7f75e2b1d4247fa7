"""Tables for the terminal."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from rich.table import Table

from interlace.scores import COLLAPSED, ScoreTable, table_of_entries
from interlace.tasks.common.dictionaries import ALL, scored_words

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = dict[str, Any]
LESS = " \N{DOWNWARDS ARROW}"  # behind what is the better the lower it is


def score_table(rows: Iterable[Row]) -> Table:
    """Tasks down, languages across, mean over seeds with the spread where there are several."""
    return comparison_table({"": list(rows)})


def comparison_table(scores: dict[str, list[Row]]) -> Table:
    """Tasks and recipes down, languages across, settings apart; the mean is of all languages but the source.

    What rests on a collapsed fine-tuning has a sign, and the caption says how many collapsed.
    """
    rows = [row for found in scores.values() for row in found]
    languages = list(dict.fromkeys(row["language"] for row in rows))
    of_source = any(row["language"] == row["source"] for row in rows)
    table = Table(title=_title(rows, of_source), title_justify="left", caption_justify="left")
    lower = f"{LESS.strip()}: lower is better." * any(row.get("greater_is_better", True) is False for row in rows)
    table.caption = " ".join(filter(None, [lower, _collapses(scores)])) or None
    for name in ("task", *(["recipe"] if len(scores) > 1 else [])):
        table.add_column(name, no_wrap=True)
    for name in (*languages, "mean"):
        table.add_column(name, justify="right")
    for kind in dict.fromkeys(_kind(row) for row in rows):
        apart = _asked([row for row in rows if _kind(row) == kind]) != ALL
        above = ""
        for recipe, found in scores.items():
            mine = [row for row in found if _kind(row) == kind]
            if mine:
                cells = [_shown(mine, [language]) for language in languages]
                others = [language for language in languages if language != mine[0]["source"]]
                label = [recipe] if len(scores) > 1 else []
                head = _head(mine[0], _asked(mine) if apart else "")
                table.add_row(head if head != above else "", *label, *cells, _shown(mine, others))
                above = head
    return table


def _title(rows: list[Row], of_source: bool) -> str:
    """Speaks of a spread only where there is one."""
    several = len({row["seed"] for row in rows}) > 1
    said = " (mean: without the source)" if of_source else ""
    return f"Scores{' over seeds, ± standard deviation' if several else ''}{said}"


def _kind(row: Row) -> tuple[str, str, str, str]:
    """What scores have in common that may be averaged."""
    return row["task"], row.get("setting", "zero-shot"), row["metric"], row["source"]


def _asked(rows: list[Row]) -> str:
    """Over which words scores of a dictionary are, where training has read some of it; of other tasks, over all."""
    return scored_words(rows[0]["metric"], [row.get("scores", {}) for row in rows])


def _head(row: Row, asked: str) -> str:
    """Two short lines, for narrow terminals. asked: over which words, where that is not the same for all to compare."""
    setting = row.get("setting", "zero-shot")
    name = row["task"] if setting == "zero-shot" else f"{row['task']}, {setting}"
    name += LESS * (row.get("greater_is_better", True) is False)
    return f"{name}\n({', '.join(filter(None, (row['metric'], asked.removesuffix(' words'), row['unit'])))})"


def _by_seed(rows: list[Row], languages: list[str]) -> list[float]:
    """For each seed, the mean score over the languages."""
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
    collapsed = any(_has_collapsed(row) for row in rows if row["language"] in languages)
    return f"{mean(scores):.1f}{spread}{COLLAPSED * collapsed}"


def _has_collapsed(row: Row) -> bool:
    return bool((row.get("tuning") or {}).get("collapsed"))


def _collapses(scores: dict[str, list[Row]]) -> str:
    """Return a sentence on collapsed fine-tunings for the caption."""
    return ScoreTable(row for name, rows in scores.items() for row in table_of_entries(rows, run=name)).collapse_note()
