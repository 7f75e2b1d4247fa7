"""Tables of results as Markdown, HTML and terminal output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from interlace.core.files import atomic
from interlace.core.markup import markdown_text
from interlace.core.names import file_in
from interlace.report.text import DASH, render

if TYPE_CHECKING:
    import rich.table

LOWER = " \N{DOWNWARDS ARROW}"  # behind the name of a metric of which lower is better


@dataclass(frozen=True)
class Entry:
    """A table cell: a number or text; small: its second line in HTML, in brackets elsewhere."""

    text: str
    small: str = ""
    bold: bool = False

    def __str__(self) -> str:
        return f"{self.text} ({self.small})" if self.small else self.text


def number_entries(values: Iterable[float | None], form: str) -> tuple[Entry | None, ...]:
    """Return a cell for each number, None where it is missing; form: a format specification."""
    return tuple(None if value is None else Entry(format(value, form)) for value in values)


@dataclass(frozen=True)
class Column:
    """A column; adjacent columns with the same `group` share a head."""

    name: str
    group: str = ""
    is_text: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a table. theirs: published by a paper. kind: an HTML class, `mean` or `difference`."""

    label: str
    entries: tuple[Entry | None, ...] = ()
    theirs: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """A table with its caption; `name` is the name of its files."""

    name: str
    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    caption: str = ""
    head: str = ""  # of the first column

    @property
    def groups(self) -> list[tuple[str, int]]:
        """(head, number of columns) of adjacent columns; empty without heads."""
        if not any(column.group for column in self.columns):
            return []
        by_group = groupby(self.columns, key=lambda column: column.group)
        return [(group, len(list(columns))) for group, columns in by_group]

    def _repr_html_(self) -> str:
        return str(html_fragment(self))


def write_tables(folder: Path, tables: Sequence[Table]) -> list[Path]:
    """Write each table as `NAME.md`."""
    paths = []
    for table in tables:
        path = file_in(folder, f"{table.name}.md")
        with atomic(path) as partial:
            partial.write_text(markdown(table), encoding="utf-8")
        paths.append(path)
    return paths


def markdown(table: Table) -> str:
    """Return a pipe table with its caption below."""
    heads = [f"{column.group} {column.name}".strip() for column in table.columns]
    rows = [[markdown_text(head) for head in (table.head, *heads)]]
    rows.append(["---", *("---" if column.is_text else "---:" for column in table.columns)])
    for line in table.lines:
        label = markdown_text(line.label)
        if line.theirs:
            label = f"*{label}*"
        rows.append([label, *_texts(line, markdown_text, "**{}**")])
    body = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"## {markdown_text(table.title)}\n\n{body}\n\n{markdown_text(table.caption)}\n"


def _texts(
    line: Line,
    escape: Callable[[str], str],
    bold: str,
) -> list[str]:
    """Return the cells of a line as escaped text; bold: a template."""
    texts = []
    for entry in line.entries:
        if entry is None:
            texts.append(DASH)
        elif entry.bold:
            texts.append(bold.format(escape(str(entry))))
        else:
            texts.append(escape(str(entry)))
    return texts


def html_fragment(table: Table, kind: str = "scores") -> Markup:
    """Return the table in a frame that scrolls; `kind` is its HTML class."""
    return render("table", table=table, kind=kind)


def terminal(table: Table) -> rich.table.Table:
    """Return the table for a rich console, without its caption."""
    import rich.table
    from rich.markup import escape

    shown = rich.table.Table(title=escape(table.title), title_justify="left")
    shown.add_column("")
    for column in table.columns:
        head = escape(f"{column.group}\n{column.name}".strip())
        shown.add_column(head, justify="left" if column.is_text else "right")
    for line in table.lines:
        cells = _texts(line, escape, "[bold]{}[/]")
        shown.add_row(
            escape(line.label),
            *cells,
            style="italic" if line.theirs else None,
        )
    return shown
