"""Progress bars on standard error and in notebooks; log lines where there is neither."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from interlace.core.display import VisibleRecord, timed_lines, visible
from interlace.core.progress import reporting

log = logging.getLogger(__name__)
BAR_WIDTH = 16  # so that 80 columns hold step, remaining time, speed and a loss
LOG_EVERY = 30.0  # seconds between log lines without a terminal
# seconds between drawings of a bar in a notebook; the first is after as long, so that short work draws none
REDRAW_EVERY = 0.5


class _LogLines:
    """Logs the progress of tasks at intervals, with the time left at the mean speed since a task began here."""

    def __init__(self) -> None:
        self.logged = time.monotonic()
        self.task = ""
        self.start = self.logged
        self.done_at_start = 0

    def show(self, task: str, done: int, total: int, state: str) -> None:
        """Take the progress of a task, which may be a new one."""
        now = time.monotonic()
        if task != self.task or done < self.done_at_start:
            self.task = task
            self.start = now
            self.done_at_start = done
        if now - self.logged < LOG_EVERY:
            return
        self.logged = now
        line = f"{task}: {done:,}"
        if total:
            line += f" of {total:,}"
        since_start = done - self.done_at_start
        if total and since_start > 0:
            seconds = (total - done) * (now - self.start) / since_start
            line += f", {timedelta(seconds=round(seconds))} left"
        if state:
            line += f", {state}"
        log.info("%s", line)


class _NotebookBar:
    """Draws a bar below a notebook's cell, by updates of one output, and removes it at the end."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.drawn = time.monotonic()
        self.output: Any = None

    def redraw(self) -> None:
        """Draw the bar, unless it was drawn just now."""
        now = time.monotonic()
        if now - self.drawn < REDRAW_EVERY:
            return
        self.drawn = now
        if self.output is None:
            from IPython.display import display  # which every notebook has

            self.output = display(self.progress, display_id=True)
        else:
            self.output.update(self.progress)

    def remove(self) -> None:
        """Leave an empty output."""
        if self.output is not None:
            self.output.update({"text/plain": ""}, raw=True)


@contextmanager
def watching(console: Console | None = None) -> Iterator[Callable[..., None]]:
    """Yield a progress callback (description, done, total, state); a total of 0 is unknown, the state optional.

    console: of standard error; None: a new one. Within the context, it is the `current_progress`, and without a
    terminal or notebook, lines are logged to standard error.
    """
    if console is None:
        is_quiet = os.environ.get("RANK", "0") != "0"  # as on the command line
        console = Console(stderr=True, quiet=is_quiet)
    state_column = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # the width that is left
    columns = (
        TextColumn("{task.description}"),
        BarColumn(BAR_WIDTH),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}", table_column=state_column),
    )
    progress = Progress(
        *columns, console=console, transient=True, expand=True, disable=not console.is_terminal
    )
    bar = progress.add_task("", total=None, state="")
    log_lines = _LogLines()
    notebook_bar = _NotebookBar(progress)

    def show(task: str, done: int, total: int, state: str = "") -> None:
        progress.update(
            bar,
            description=escape(visible(task)),
            completed=done,
            total=total or None,
            state=escape(state),
        )
        if console.is_jupyter:
            notebook_bar.redraw()
        elif not console.is_terminal:
            log_lines.show(task, done, total, state)

    shows_lines = not (console.is_terminal or console.is_jupyter or console.quiet)
    try:
        with _logging_to_stderr() if shows_lines else nullcontext(), progress, reporting(show):
            yield show
    finally:
        notebook_bar.remove()


@contextmanager
def _logging_to_stderr() -> Iterator[None]:
    """Within the context, log timed lines, unless the program has a handler or a level for the package's logger."""
    package = logging.getLogger("interlace")
    if package.hasHandlers() or package.level != logging.NOTSET:
        yield
        return
    handler = timed_lines()
    record_factory = logging.getLogRecordFactory()
    logging.setLogRecordFactory(VisibleRecord)
    package.addHandler(handler)
    package.setLevel(logging.INFO)
    try:
        yield
    finally:
        package.setLevel(logging.NOTSET)
        package.removeHandler(handler)
        logging.setLogRecordFactory(record_factory)
