"""Scores by language and recipe: a dot figure for the shape, a table for the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._by_recipe import by_recipe, is_needed
from interlace.report._cells import FINE_TUNING, PRE_TRAINING, runs_to_tell, unit_between
from interlace.report._columns import columns
from interlace.report._format import BLEU, NARROW, clipped, counted, heading, joined, language_name, number, spread
from interlace.report._other_scores import other_scores
from interlace.report._scores import tables
from interlace.report._svg import element, line, marker, picture, scale, text, ticks
from interlace.report._templates import render
from interlace.scores.collapses import collapses_told
from interlace.scores.statistics import ALPHA
from interlace.tasks.common.dictionaries import ALL, HELD_OUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markupsafe import Markup

    from interlace.report._cells import Cell
    from interlace.report._columns import Column
    from interlace.report._run import Run
    from interlace.report._scores import Line, TaskTable

_WIDTH, _LEFT, _RIGHT = 380.0, 104.0, 366.0
_TOP, _ROW = 40.0, 27.0
_LANE = 4.5  # recipes of one language stand a little above each other, so that equal scores stay apart


def zero_shot(runs: Sequence[Run]) -> Section:
    """The section; without scores, a sentence that says how to get them."""
    results = tables(runs)
    keys = columns(runs)
    body = render(
        "zero_shot",
        results=results,
        keys=keys,
        marked=len(keys) > 1 and not all(is_needed(table, keys) for table in results),
        figures=[_figure(table, keys) for table in results],
        names=[heading(table.task, table.setting) for table in results],
        notes=[_note(table) for table in results],
        others=[other_scores(runs, table) for table in results],
        mean_name=_mean_name,
        sourced=any(row.source for table in results for row in table.lines),
        small=_small_figures(results),
        brackets=_brackets(results),
    )
    return Section("Scores by language", _lead(results), body)


def _brackets(results: Sequence[TaskTable]) -> str:
    """What a difference in brackets means: over what it was tested, and how many that takes; "" where there is none."""
    rivals = max((len(table.recipes) - 1 for table in results), default=0)
    if rivals < 1:
        return ""
    cells = [line.cells for table in results for line in table.lines]
    pairs = [
        (one, other) for row in cells if (one := next(iter(row.values()))) for other in [*row.values()][1:] if other
    ]
    units = {unit_between(*pair) for pair in pairs}
    alone = f"{FINE_TUNING}s alone"
    over = f"{PRE_TRAINING}s"
    if FINE_TUNING in units:
        over += f" (of two checkpoints that were not pre-trained here: over {alone})"
    least = counted(runs_to_tell(rivals), FINE_TUNING if units == {FINE_TUNING} else PRE_TRAINING)
    several = " after Holm over the differences of a row, and not over rows" if rivals > 1 else ""
    tests = f"a permutation test over {alone if units == {FINE_TUNING} else over} tells apart"
    limits = f"p below {ALPHA}{several}, which takes {least} each"
    parts = [f"A difference in brackets is none that {tests} ({limits}), or rests on one."]
    if FINE_TUNING in units:
        parts.append(f"{alone.capitalize()} say nothing of other {PRE_TRAINING}s.")
    if any(len(cell.values) > len(cell.runs) for pair in pairs for cell in pair if not cell.checkpoint):
        parts.append(f"A {PRE_TRAINING}'s score is the mean over its {FINE_TUNING}s.")
    return " ".join(parts)


def _lead(results: Sequence[TaskTable]) -> str:
    if not results:
        return "No task has been scored yet; interlace evaluate fills this section."
    if all(table.unit == BLEU for table in results):
        return "Nothing is fine-tuned: each model translates as it is."
    if not any(table.tuned for table in results):
        return " ".join(filter(None, ["Nothing is fine-tuned: probes measure each model as it is.", _bars(results)]))
    source = joined(list(dict.fromkeys(language_name(table.source) for table in results if table.tuned)))
    others = [
        ("translate-train", "translate-train, where it learns from translations"),
        ("supervised", "supervised, where it learns from the scored language's own examples"),
    ]
    apart = [words for name, words in others if any(table.setting.startswith(name) for table in results)]
    if apart:
        start = f"What is fine-tuned learns from {source} only, but for {joined(apart)}."
    else:
        start = f"What is fine-tuned learns from {source} only; every language is then scored as it stands."
    return " ".join(filter(None, [start, _bars(results)]))


def _bars(results: Sequence[TaskTable]) -> str:
    """What the thin bars of the figures are; "" where there are none."""
    several, single = _spreads(results)
    parts = []
    if several:
        parts.append(
            "Each mark is the mean over seeds, the thin bar behind it runs from the least to the greatest seed."
        )
    if single:
        bar = "of a single measurement it is" if several else "The thin bar behind a mark is"
        parts.append(f"{bar[:1].upper()}{bar[1:]} the middle 95 % over test examples drawn again.")
    return " ".join(parts)


def _small_figures(results: Sequence[TaskTable]) -> str:
    """Which small figures in a table are which; "" where there are none."""
    several, single = _spreads(results)
    parts = ["The small figures are the least and the greatest seed."] if several else []
    if single:
        parts.append(
            "Small figures behind 95 % are of a single measurement: its middle 95 % over test examples drawn again,"
            " which says nothing of other seeds."
        )
    return " ".join(parts)


def _spreads(results: Sequence[TaskTable]) -> tuple[bool, bool]:
    """Whether any cell has several seeds, and whether any is one measurement with an interval over examples."""
    cells = [cell for table in results for cell in _cells(table)]
    return any(cell.seeds > 1 for cell in cells), any(cell.interval for cell in cells)


def _cells(table: TaskTable) -> list[Cell]:
    return [cell for row in table.lines for cell in row.cells.values() if cell is not None]


def _mean_name(table: TaskTable) -> str:
    others = sum(not row.source for row in table.lines)
    if len(table.averaged) < others:
        return f"Mean of {len(table.averaged)} shared"
    return "Mean of others" if others < len(table.lines) else "Mean"


def _note(table: TaskTable) -> str:
    """What the figures of one table rest on."""
    cells = _cells(table)
    seeds = sorted({cell.seeds for cell in cells})
    items = sorted({cell.items for cell in cells if cell.items is not None})
    parts = []
    if seeds:
        many = counted(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        parts.append(f"{many} a cell")
    if items:
        parts.append(f"scored on {spread(items[0], items[-1], 0)} examples a language")
    text = (", ".join(parts)[:1].upper() + ", ".join(parts)[1:] + ".") if parts else ""
    if table.left_out:
        text += f" {counted(table.left_out, 'score').capitalize()} that are not finite numbers are left out."
    if not table.greater_is_better:
        text += " Lower is better."
    text += " ".join(["", *filter(None, [collapses_told(*table.collapses)])])
    if languages := [language_name(language) for language in table.unlike]:
        what = "examples, cut into the same subwords," if "subword" in table.unit else "examples"
        text += (
            f" Recipes are not scored on the same {what} in {joined(languages)}: differences there are of those too."
        )
    return text + _words_asked(table) + _rests_on(table)


def _words_asked(table: TaskTable) -> str:
    """Which words were asked, where training has read an entry of some of them."""
    if not table.asked:
        return ""
    text = f" Held-out words are those of which training has read no entry of a dictionary: {table.metric} is over them"
    if set(table.asked.values()) == {HELD_OUT}:
        return f"{text} alone."
    held = joined([recipe for recipe, words in table.asked.items() if words != ALL])
    others = joined([recipe for recipe, words in table.asked.items() if words == ALL])
    text += f" for {held}, and over all words for {others}" if others else " for some runs only"
    return f"{text}: these do not compare, and '{table.metric}, all' among the other scores does."


def _rests_on(table: TaskTable) -> str:
    """How weights were chosen, whose translations were read, and what of the test text was read before."""
    text = f" Weights were chosen by {joined(table.rules)}." if table.rules else ""
    if table.translations:
        text += f" Translated by {'people' if table.translations == 'human' else 'machine'}."
    if table.leak:
        text += (
            f" Of up to {number(table.leak)}{NARROW}% of a language's examples several words in a row stand in the"
            " pre-training text."
        )
    if table.unread:
        text += f" What {joined(table.unread)} read before is not known, and was not looked into."
    return text


def _figure(table: TaskTable, keys: dict[str, Column]) -> Markup:
    """Languages down, score across, a mark a recipe; the mean of the others under a rule."""
    name = heading(table.task, table.setting)
    unit = f" in {table.unit}" if table.unit and table.unit != table.metric else ""
    title = f"{name}, {table.metric}{unit}"
    if is_needed(table, keys):
        return by_recipe(table, keys, title, _domain(table), _mean_name(table))
    rows = [*table.lines, *([table.mean] if table.mean else [])]
    low, high = _domain(table)
    across = scale(low, high, _LEFT, _RIGHT)
    bottom = _TOP + _ROW * len(rows) + (8 if table.mean else 0)
    parts = [text(0, 14, title, "title")]
    for value in ticks(low, high, 5):
        parts += [line(across(value), _TOP - 12, across(value), bottom - 8, "grid")]
        parts += [text(across(value), bottom + 8, number(value, 0 if value.is_integer() else 1), "tick", "middle")]
    for index, row in enumerate(rows):
        shift = 8 if row is table.mean else 0
        y = _TOP + _ROW * index + shift
        if shift:
            parts.append(line(0, y - _ROW / 2 - 4, _WIDTH, y - _ROW / 2 - 4, "rule"))
        parts += _row(row, _row_name(row, table), y, across, keys)
    spoken = f"{name} by language: " + "; ".join(_spoken(row, table) for row in rows)
    return picture(_WIDTH, bottom + 16, spoken, parts, "dots")


def _row_name(row: Line, table: TaskTable) -> str:
    name = language_name(row.language) if row.language else _mean_name(table)
    return f"{clipped(name, 9)} *" if row.source else clipped(name, 15)


def _row(row: Line, name: str, y: float, across: Callable[[float], float], keys: dict[str, Column]) -> list[Markup]:
    cells = [(keys[recipe], cell) for recipe, cell in row.cells.items() if cell is not None]
    parts = [text(0, y + 4, name, "row" if row.language else "row mean")]
    if len(cells) > 1:
        means = [across(cell.mean) for _, cell in cells]
        parts.append(line(min(means), y, max(means), y, "gap"))
    lanes = len(row.cells)
    for lane, (column, cell) in enumerate(cells):
        level = y + (lane - (lanes - 1) / 2) * (_LANE if lanes < 4 else 3 * _LANE / lanes)
        figures = f"{column.label}: {number(cell.mean)} ({spread(*cell.ends)})"
        if cell.ends[1] > cell.ends[0]:
            ends = {"x1": across(cell.ends[0]), "x2": across(cell.ends[1]), "y1": level, "y2": level}
            parts.append(element("line", class_=f"whisker c{column.style % 8}", **ends))
        parts.append(marker(across(cell.mean), level, column.style, figures))
    return parts


def _spoken(row: Line, table: TaskTable) -> str:
    figures = [f"{recipe} {number(cell.mean)}" for recipe, cell in row.cells.items() if cell is not None]
    name = language_name(row.language) if row.language else _mean_name(table)
    return f"{name} {joined(figures) or 'not scored'}"


def _domain(table: TaskTable) -> tuple[float, float]:
    """Round ends around all scores; percentages stay within 0 and 100."""
    cells = _cells(table)
    low, high = min((cell.ends[0] for cell in cells), default=0.0), max((cell.ends[1] for cell in cells), default=1.0)
    room = max((high - low) * 0.05, 0.5 if table.unit == "%" else abs(high) * 0.01, 1e-6)
    low, high = low - room, high + room
    step = [*ticks(low, high, 5), low, high][:2]
    size = abs(step[1] - step[0]) / 2 or 1.0
    low, high = (low // size) * size, -((-high) // size) * size
    if table.unit == "%" and all(cell.ends[0] >= 0 and cell.ends[1] <= 100 for cell in cells):
        low, high = max(low, 0.0), min(high, 100.0)
    return low, high
