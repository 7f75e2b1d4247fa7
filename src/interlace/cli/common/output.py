"""Write results to a file or to standard output, and summaries as JSON."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import rich.table
from rich.markup import escape

from interlace.cli import notes, output
from interlace.core.display import visible
from interlace.core.json_files import JsonMapping
from interlace.core.outputs import is_stream, open_stream, output_file
from interlace.core.progress import Progress, no_progress
from interlace.text.lines import plain_name, writing

if TYPE_CHECKING:
    from interlace.report.tables import Table


def print_table(table: Table) -> None:
    """Print a table of results with its caption."""
    from interlace.report.tables import terminal

    output.print(terminal(table))
    if table.caption:
        output.print(table.caption, highlight=False, markup=False)


def print_rows(rows: Sequence[JsonMapping], headings: Sequence[str] = ()) -> None:
    """Print a table with a column for each key; numbers are on the right."""
    table = rich.table.Table(box=None, pad_edge=False)
    first_row = rows[0] if rows else {}
    for heading, value in zip(headings or first_row, first_row.values(), strict=True):
        justify: Literal["left", "right"] = "right" if isinstance(value, int) else "left"
        # values are meant to be copied
        table.add_column(heading, justify=justify, overflow="fold")
    for row in rows:
        cells = [escape(_cell(value)) for value in row.values()]
        table.add_row(*cells)
    output.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, list):
        return str(value)
    texts = [str(element) for element in value]
    has_commas = any(", " in text for text in texts)
    return ("; " if has_commas else ", ").join(texts)


def bar_beside(path: Path | None) -> AbstractContextManager[Progress]:
    """Return the context of a progress callback, which draws no bar between lines of standard output on a terminal."""
    if path is None and sys.stdout.isatty():
        return nullcontext(no_progress)
    from interlace.core.bars import watching

    return watching(notes)


@contextmanager
def lines_to(path: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """Yield a function that writes lines to a file, a pipe or a device, or standard output."""
    if path is not None and not (is_stream(path) and plain_name(path) == path):
        with writing(path, output_file) as write:
            yield write
        return
    on_terminal = path is None and sys.stdout.isatty()
    with _standard_output() if path is None else open_stream(path) as file:

        def write_lines(lines: Iterable[str]) -> None:
            for line in lines:
                text = visible(line) if on_terminal else line
                file.write(text.encode("utf-8") + b"\n")

        yield write_lines


@contextmanager
def file_to(path: Path | None) -> Iterator[Path]:
    """Yield a path to write to; without `path`, the content is copied to standard output."""
    if path is not None:
        with output_file(path) as partial:
            yield partial
        return
    with TemporaryDirectory() as folder:
        result = Path(folder, "result")
        yield result
        with _standard_output() as file, result.open("rb") as content:
            if not sys.stdout.isatty():
                shutil.copyfileobj(content, file)
                return
            for line in content:
                text = line.removesuffix(b"\n").decode("utf-8", "backslashreplace")
                file.write(visible(text).encode("utf-8") + b"\n")


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    """Yield binary standard output, which is flushed at the end."""
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
