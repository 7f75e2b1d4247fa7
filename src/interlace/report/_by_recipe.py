"""Scores of more recipes than there are marks: recipes down, a mark a language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report._format import clipped, heading, language_name, number, spread
from interlace.report._key_lines import below, key_lines
from interlace.report._svg import STYLES, element, line, marker, picture, scale, text, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from markupsafe import Markup

    from interlace.report._columns import Column
    from interlace.report._scores import Cell, TaskTable

_WIDTH, _LEFT, _RIGHT = 380.0, 12.0, 366.0
_TOP, _ROW = 68.0, 32.0
_NAME = 13.0  # a recipe's name stands so much above its marks: names of studies are long
_LONGEST = 58  # characters


def is_needed(table: TaskTable) -> bool:
    """Whether marks of recipes would repeat, and those of languages do not."""
    return len(table.recipes) > STYLES >= len(table.lines)


def by_recipe(table: TaskTable, keys: Mapping[str, Column], ends: tuple[float, float]) -> Markup:
    """Recipes down, score across between these ends, a mark a language with the range of its seeds."""
    across = scale(*ends, _LEFT, _RIGHT)
    bottom = _TOP + _ROW * len(table.recipes) - 6
    named = {language_name(row.language) + " *" * row.source: style for style, row in enumerate(table.lines)}
    title = f"{heading(table.task, table.setting)}, {table.metric}"
    marks, more = key_lines(named, 34, _WIDTH)
    parts: list[Markup] = []
    for value in ticks(*ends, 5):
        parts += [line(across(value), _TOP - 22, across(value), bottom - 8, "grid")]
        parts += [text(across(value), bottom + 8, number(value, 0 if value.is_integer() else 1), "tick", "middle")]
    for index, recipe in enumerate(table.recipes):
        y = _TOP + _ROW * index
        parts.append(text(0, y - _NAME + 4, clipped(keys[recipe].short, _LONGEST), "tick"))
        for style, row in enumerate(table.lines):
            if (cell := row.cells[recipe]) is not None:
                parts += _mark(cell, language_name(row.language), style, y, across)
    spoken = f"{heading(table.task, table.setting)} by recipe: " + "; ".join(
        f"{recipe} {_spoken(table, recipe)}" for recipe in table.recipes
    )
    whole = below([text(0, 14, title, "title"), *marks], parts, more)
    return picture(_WIDTH, bottom + 16 + more, spoken, whole, "dots")


def _mark(cell: Cell, language: str, style: int, y: float, across: Callable[[float], float]) -> list[Markup]:
    parts = []
    if cell.high > cell.low:
        reach = {"x1": across(cell.low), "x2": across(cell.high), "y1": y, "y2": y}
        parts.append(element("line", class_=f"whisker c{style}", **reach))
    told = f"{language}: {number(cell.mean)} ({spread(cell.low, cell.high)})"
    return [*parts, marker(across(cell.mean), y, style, told)]


def _spoken(table: TaskTable, recipe: str) -> str:
    cells = {language_name(row.language): row.cells[recipe] for row in table.lines}
    return ", ".join(f"{name} {number(cell.mean)}" for name, cell in cells.items() if cell) or "not scored"
