"""Published tables as rows of `interlace list published`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlace.scores.published import Row


def listed_papers() -> list[dict[str, Any]]:
    """What there is of each paper."""
    from interlace.scores.published import paper, papers

    found = ((name, paper(name)) for name in papers())
    return [
        {
            "name": name,
            "paper": f"{printed.cite}: {printed.title}",
            "tables": list(dict.fromkeys(table.number for table in printed.tables)),
            "not printed": [f"figure {figure.number}: {figure.about}" for figure in printed.figures],
        }
        for name, printed in found
    ]


def listed_rows(name: str) -> list[dict[str, Any]]:
    """Every row of a paper's tables; what there is to know of a whole table stands in its first row."""
    from interlace.scores.published import paper

    listed, last = [], None
    for row in paper(name).rows():
        of_table = [] if row.table is last else [row.table.note, row.table.errata]
        last = row.table
        listed.append(
            {
                "table": row.table.number,
                "task": row.table.task,
                "metric": row.table.metric,
                "split": row.table.split,
                "setting": row.setting,
                "system": row.system if row.theirs or not row.source else f"{row.system} ({row.source})",
                "scores": [f"{column} {_figure(row, column)}" for column in row.printed],
                "notes": [note for note in (row.note, *of_table) if note],
            }
        )
    return listed


def _figure(row: Row, column: str) -> str:
    """As printed, and what is right where that is wrong."""
    mended = f" (rightly {_number(row.correct[column])})" if column in row.correct else ""
    return _number(row.printed[column]) + mended


def _number(value: float) -> str:
    return f"{value:.1f}" if round(value, 1) == value else f"{value:g}"
