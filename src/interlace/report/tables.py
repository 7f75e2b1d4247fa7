"""Tables of results as Markdown, LaTeX, HTML and terminal output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from interlace.core.files import atomic
from interlace.core.markup import latex_label, latex_text, markdown_text
from interlace.core.names import file_in
from interlace.report.text import render
from interlace.scores import COLLAPSED

if TYPE_CHECKING:
    import rich.table

SIGNIFICANT = "\N{DAGGER}"
LOWER = " \N{DOWNWARDS ARROW}"  # behind the name of a metric of which lower is better
_NEGATIVE = re.compile(r"(?<![\w.-])-(\d[\d.]*)")  # not the hyphen of 1e-05 or of a range of years


@dataclass(frozen=True)
class Entry:
    """A table cell: a number or text.

    spread: half of the confidence interval. significant: differs significantly from the baseline. collapsed: includes a
    collapsed fine-tuning. small: a second line in HTML, such as the range over seeds.
    """

    text: str
    spread: str = ""
    bold: bool = False
    significant: bool = False
    collapsed: bool = False
    small: str = ""

    def __str__(self) -> str:
        marks = SIGNIFICANT * self.significant + COLLAPSED * self.collapsed
        return self.text + (f" ± {self.spread}" if self.spread else "") + marks


@dataclass(frozen=True)
class Column:
    """A column; adjacent columns with the same `group` share a head."""

    name: str
    group: str = ""
    is_text: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a table. theirs: published by a paper. kind: an HTML class, such as `source` or `mean`."""

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
        """(head, number of columns) of adjacent columns."""
        found = [(group, len(list(some))) for group, some in groupby(self.columns, key=lambda column: column.group)]
        return found if any(group for group, _ in found) else []

    def _repr_html_(self) -> str:
        return str(html_fragment(self))


def write_tables(folder: Path, tables: Sequence[Table]) -> list[Path]:
    """Write each table as `NAME.md`, `NAME.tex` and `NAME.html`."""
    written = []
    for table in tables:
        for suffix, text in (("md", markdown(table)), ("tex", latex(table)), ("html", html_page(table))):
            path = file_in(folder, f"{table.name}.{suffix}")
            with atomic(path) as partial:
                partial.write_text(text, encoding="utf-8")
            written.append(path)
    return written


def markdown(table: Table) -> str:
    """Return a pipe table with its caption below."""
    heads = [" ".join(filter(None, [column.group, column.name])) for column in table.columns]
    lines = [[markdown_text(head) for head in (table.head, *heads)]]
    lines.append(["---", *("---" if column.is_text else "---:" for column in table.columns)])
    for line in table.lines:
        texts = ["–" if entry is None else markdown_text(str(entry)) for entry in line.entries]
        label = markdown_text(line.label)
        label = f"*{label}*" if line.theirs else label
        lines.append([label, *_emphasized(line, texts, "**{}**")])
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return f"## {markdown_text(table.title)}\n\n{body}\n\n{markdown_text(table.caption)}\n"


def _emphasized(line: Line, texts: Sequence[str], bold: str) -> list[str]:
    return [bold.format(text) if one and one.bold else text for one, text in zip(line.entries, texts, strict=True)]


def latex(table: Table) -> str:
    """Return a `table` for the package booktabs."""
    heads, rules, place = [""], [], 2
    for group, span in table.groups:
        heads.append(f"\\multicolumn{{{span}}}{{c}}{{{latex_text(group)}}}" if group else "&".join([""] * span))
        rules += [f"\\cmidrule(lr){{{place}-{place + span - 1}}}"] if group else []
        place += span
    body: list[str] = []
    for theirs, block in groupby(table.lines, key=lambda line: line.theirs):
        body += ["\\midrule"] * theirs
        for line in block:
            label = latex_text(line.label)
            texts = ["--" if one is None else _NEGATIVE.sub(r"$-\1$", latex_text(str(one))) for one in line.entries]
            cells = [f"\\textit{{{label}}}" if theirs else label, *_emphasized(line, texts, r"\textbf{{{}}}")]
            body.append(" & ".join(cells) + r" \\")
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\begin{{tabular}}{{l{''.join('l' if column.is_text else 'r' for column in table.columns)}}}",
        "\\toprule",
        *([" & ".join(heads) + r" \\", " ".join(rules)] if rules else []),
        " & ".join(latex_text(head) for head in (table.head, *(column.name for column in table.columns))) + r" \\",
        "\\midrule",
        *body,
        "\\bottomrule",
        "\\end{tabular}",
        f"\\caption{{{latex_text(f'{table.title}. {table.caption}')}}}",
        f"\\label{{tab:{latex_label(table.name)}}}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def html_fragment(table: Table, kind: str = "scores") -> Markup:
    """Return the table in a frame that scrolls; `kind` is its HTML class."""
    return render("table", table=table, kind=kind)


def html_page(table: Table) -> str:
    """Return an HTML page with the table."""
    return str(render("table_page", table=table, body=html_fragment(table)))


def terminal(table: Table) -> rich.table.Table:
    """Return the table for a rich console, without its caption."""
    import rich.table
    from rich.markup import escape

    shown = rich.table.Table(title=escape(table.title), title_justify="left")
    shown.add_column("")
    for column in table.columns:
        head = escape("\n".join(filter(None, [column.group, column.name])))
        shown.add_column(head, justify="left" if column.is_text else "right")
    for line in table.lines:
        cells = ["–" if entry is None else escape(str(entry)) for entry in line.entries]
        style = "italic" if line.theirs else None
        shown.add_row(escape(line.label), *_emphasized(line, cells, "[bold]{}[/]"), style=style)
    return shown
