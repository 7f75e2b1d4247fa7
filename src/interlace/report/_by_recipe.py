"""Scores of more recipes than there are marks: recipes down, a mark a language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report._format import language_name, number, spread
from interlace.report._key_lines import below, key_lines
from interlace.report._svg import STYLES, element, fitted, line, marker, picture, scale, text, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from markupsafe import Markup

    from interlace.report._cells import Cell
    from interlace.report._columns import Column
    from interlace.report._scores import Line, TaskTable

_WIDTH, _LEFT, _RIGHT = 380.0, 12.0, 366.0
_TOP, _ROW = 68.0, 32.0
_NAME = 13.0  # a recipe's name stands so much above its marks: names of studies are long
_TYPE = 11.0
_LANES = 9.0  # marks of one recipe stand a little above each other, so that equal scores stay apart


def is_needed(table: TaskTable, keys: Mapping[str, Column]) -> bool:
    """Whether marks of recipes repeat, and those of languages do not."""
    return len({keys[recipe].style % STYLES for recipe in table.recipes}) < len(table.recipes) and (
        len(_rows(table)) <= STYLES
    )


def _rows(table: TaskTable) -> list[Line]:
    """The languages, and the mean of the others."""
    return [*table.lines, *([table.mean] if table.mean else [])]


def by_recipe(
    table: TaskTable, keys: Mapping[str, Column], title: str, ends: tuple[float, float], mean_name: str
) -> Markup:
    """Recipes down, score across between these ends, a mark a language with the range of its seeds or examples."""
    across = scale(*ends, _LEFT, _RIGHT)
    bottom = _TOP + _ROW * len(table.recipes) - 6
    rows = {_name(row, mean_name): row for row in _rows(table)}
    marks, more = key_lines({name: style for style, name in enumerate(rows)}, 34, _WIDTH)
    parts: list[Markup] = []
    for value in ticks(*ends, 5):
        parts += [line(across(value), _TOP - 22, across(value), bottom - 8, "grid")]
        parts += [text(across(value), bottom + 8, number(value, 0 if value.is_integer() else 1), "tick", "middle")]
    for index, recipe in enumerate(table.recipes):
        y = _TOP + _ROW * index
        parts.append(text(0, y - _NAME + 4, fitted(keys[recipe].short, _TYPE, _RIGHT), "tick"))
        for style, (name, row) in enumerate(rows.items()):
            level = y + (style - (len(rows) - 1) / 2) * _LANES / len(rows)
            if (cell := row.cells[recipe]) is not None:
                parts += _mark(cell, name, style, level, across)
    spoken = f"{title}, by recipe: " + "; ".join(f"{recipe} {_spoken(rows, recipe)}" for recipe in table.recipes)
    whole = below([text(0, 14, title, "title"), *marks], parts, more)
    return picture(_WIDTH, bottom + 16 + more, spoken, whole, "dots")


def _mark(cell: Cell, language: str, style: int, y: float, across: Callable[[float], float]) -> list[Markup]:
    parts = []
    low, high = cell.ends
    if high > low:
        reach = {"x1": across(low), "x2": across(high), "y1": y, "y2": y}
        parts.append(element("line", class_=f"whisker c{style}", **reach))
    told = f"{language}: {number(cell.mean)} ({spread(low, high)})"
    return [*parts, marker(across(cell.mean), y, style, told)]


def _name(row: Line, mean_name: str) -> str:
    return language_name(row.language) + " *" * row.source if row.language else mean_name


def _spoken(rows: Mapping[str, Line], recipe: str) -> str:
    cells = {name: row.cells[recipe] for name, row in rows.items()}
    return ", ".join(f"{name} {number(cell.mean)}" for name, cell in cells.items() if cell) or "not scored"
