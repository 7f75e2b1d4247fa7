"""A table as Markdown, LaTeX, HTML, and for the terminal."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from interlace.core.files import atomic
from interlace.core.names import file_in
from interlace.scores.collapses import SIGN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import rich.table

    from interlace.experiments.studies.tables import Column, Entry, Line, Table

_TAG = re.compile(r"<(?=[a-zA-Z/!?])")  # where Markdown would begin a tag of HTML
_NEGATIVE = re.compile(r"(?<![\w.-])-(\d[\d.]*)")  # not the hyphen of 1e-05, nor a range of years
_LATEX = str.maketrans(
    {
        **{char: f"\\{char}" for char in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "±": r"$\pm$",
        "†": r"$^\dagger$",
        SIGN: r"$^\ddagger$",
        "↓": r"$\downarrow$",
        "–": "--",
        "−": "$-$",  # pdflatex has no letter for it
        "<": r"$<$",
        ">": r"$>$",
    }
)


def write_tables(folder: Path, tables: Sequence[Table]) -> list[Path]:
    """Write each table as `NAME.md`, `NAME.tex` and `NAME.html`, each whole or not at all."""
    written = []
    for table in tables:
        for suffix, text in (("md", markdown(table)), ("tex", latex(table)), ("html", html(table))):
            path = file_in(folder, f"{table.name}.{suffix}")
            with atomic(path) as partial:
                partial.write_text(text, encoding="utf-8")
            written.append(path)
    return written


def markdown(table: Table) -> str:
    """A pipe table, its caption below."""
    heads = [" ".join(filter(None, [column.group, column.name])) for column in table.columns]
    rule = ["---", *("---" if column.is_text else "---:" for column in table.columns)]
    lines = [["", *heads], rule, *([_md_label(line), *(_md(entry) for entry in line.entries)] for line in table.lines)]
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return f"## {_md_text(table.title)}\n\n{body}\n\n{_md_text(table.caption)}\n"


def _md_text(text: str) -> str:
    return _TAG.sub(r"\<", text)


def _md_cell(text: str) -> str:
    return _md_text(text).replace("|", "\\|")


def _md_label(line: Line) -> str:
    label = _md_cell(line.label)
    return f"*{label}*" if line.theirs else label


def _md(entry: Entry | None) -> str:
    text = _md_cell(_plain(entry))
    return f"**{text}**" if entry and entry.bold else text


def _plain(entry: Entry | None) -> str:
    if entry is None:
        return "–"
    signs = "†" * entry.marked + SIGN * entry.collapsed
    return entry.text + (f" ± {entry.spread}" if entry.spread else "") + signs


def latex(table: Table) -> str:
    """A `table` for the package booktabs."""
    shape = "l" + "".join("l" if column.is_text else "r" for column in table.columns)
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\begin{{tabular}}{{{shape}}}",
        "\\toprule",
        *_latex_groups(table.columns),
        " & ".join(["", *(column.name.translate(_LATEX) for column in table.columns)]) + r" \\",
        "\\midrule",
        *_latex_lines(table.lines),
        "\\bottomrule",
        "\\end{tabular}",
        f"\\caption{{{f'{table.title}. {table.caption}'.translate(_LATEX)}}}",
        f"\\label{{tab:{table.name}}}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_groups(columns: Sequence[Column]) -> list[str]:
    heads, rules, place = [""], [], 2
    for group, span in groups(columns):
        heads.append(f"\\multicolumn{{{span}}}{{c}}{{{group.translate(_LATEX)}}}" if group else "&".join([""] * span))
        rules += [f"\\cmidrule(lr){{{place}-{place + span - 1}}}"] if group else []
        place += span
    return [" & ".join(heads) + r" \\", " ".join(rules)] if rules else []


def _latex_lines(lines: Sequence[Line]) -> Iterator[str]:
    for theirs, block in groupby(lines, key=lambda line: line.theirs):
        if theirs:
            yield "\\midrule"
        for line in block:
            label = line.label.translate(_LATEX)
            yield " & ".join([f"\\textit{{{label}}}" if theirs else label, *map(_tex, line.entries)]) + r" \\"


def _tex(entry: Entry | None) -> str:
    text = _NEGATIVE.sub(r"$-\1$", _plain(entry).translate(_LATEX))
    return f"\\textbf{{{text}}}" if entry and entry.bold else text


def groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """(head, how many columns it spans) from left to right."""
    return [(group, len(list(span))) for group, span in groupby(columns, key=lambda column: column.group)]


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><style>
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 2rem; color-scheme: light dark }}
div {{ overflow-x: auto }}
table {{ border-collapse: collapse; border-block: 2px solid; font-variant-numeric: tabular-nums }}
caption {{ caption-side: bottom; text-align: left; padding-top: .5rem; max-width: 60rem }}
thead {{ border-bottom: 1px solid }}
th, td {{ padding: .2rem .7rem; text-align: right; white-space: nowrap }}
tbody th, .text {{ text-align: left; font-weight: normal }}
thead th[colspan] {{ text-align: center }}
.theirs {{ font-style: italic }}
</style></head><body><h1>{title}</h1><div><table>
<caption>{caption}</caption>
<thead>
{head}
</thead>
<tbody>
{body}
</tbody></table></div></body></html>
"""


def html(table: Table) -> str:
    """A page of its own."""
    spans = "".join(
        f'<th scope="colgroup" colspan="{span}">{escape(group)}</th>' for group, span in groups(table.columns)
    )
    names = "".join(f'<th scope="col">{escape(column.name)}</th>' for column in table.columns)
    head = f"<tr><td></td>{spans}</tr>\n<tr><td></td>{names}</tr>"
    body = "\n".join(_html_line(line, table.columns) for line in table.lines)
    return _PAGE.format(title=escape(table.title), caption=escape(table.caption), head=head, body=body)


def _html_line(line: Line, columns: Sequence[Column]) -> str:
    cells = []
    for entry, column in zip(line.entries, columns, strict=True):
        text = escape(_plain(entry))
        kind = ' class="text"' if column.is_text else ""
        cells.append(f"<td{kind}>{f'<strong>{text}</strong>' if entry and entry.bold else text}</td>")
    kind = ' class="theirs"' if line.theirs else ""
    return f'<tr{kind}><th scope="row">{escape(line.label)}</th>{"".join(cells)}</tr>'


def terminal(table: Table) -> rich.table.Table:
    """For a rich console, without the caption, which would be broken to the width of the table."""
    import rich.table
    from rich.markup import escape as safe

    shown = rich.table.Table(title=safe(table.title), title_justify="left")
    shown.add_column("")
    for column in table.columns:
        head = safe("\n".join(filter(None, [column.group, column.name])))
        shown.add_column(head, justify="left" if column.is_text else "right")
    for line in table.lines:
        cells = [
            f"[bold]{safe(_plain(entry))}[/]" if entry and entry.bold else safe(_plain(entry)) for entry in line.entries
        ]
        shown.add_row(safe(line.label), *cells, style="italic" if line.theirs else None)
    return shown
