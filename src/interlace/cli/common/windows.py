"""Commands that read lines and write results window by window, so that both may be endless."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from interlace.cli.common.output import lines_to
from interlace.cli.common.progress import watching
from interlace.core.progress import no_progress

LINES = 2000  # of a window
WindowSize = Annotated[
    int | None,
    typer.Option(
        "--window",
        min=1,
        help="Lines per window, read before they are processed (2000; at a terminal 1).",
    ),
]


def window_size(window: int | None, input_: Path | None) -> int:
    """Return the lines of a window: as asked for, or else 1 where they are typed at a terminal."""
    if window:
        return window
    is_typed = input_ is None and sys.stdin.isatty()
    return 1 if is_typed else LINES


@contextmanager
def windows_to(into: Path | None, what: str) -> Iterator[Callable[..., None]]:
    """Yield a function that writes a window's lines at once, and shows how many lines of all are done (0: unknown)."""
    is_shown = (
        into is not None or not sys.stdout.isatty()
    )  # a bar would be drawn between lines on a terminal
    with lines_to(into) as write, watching() if is_shown else nullcontext(no_progress) as progress:

        def write_window(lines: Iterable[str], done: int, total: int = 0) -> None:
            write(lines)
            if into is None:
                sys.stdout.buffer.flush()
            progress(what, done, total)

        yield write_window
