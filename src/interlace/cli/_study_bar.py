"""How far a study is: a bar on a terminal, else a line in the log now and then."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from interlace.cli import notes
from interlace.cli._progress import LOG_EVERY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.experiments.studies.running import Standing

log = logging.getLogger(__name__)


@contextmanager
def standing_bar(title: str) -> Iterator[Callable[[Standing], None]]:
    """Cells done, the time left as finished ones tell it, what runs and what failed."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, TextColumn("{task.fields[told]}"), console=notes, transient=True, disable=not notes.is_terminal
    ) as bar:
        task = bar.add_task(escape(title), total=None, told="")
        logged, done = time.monotonic(), -1

        def watch(now: Standing) -> None:
            nonlocal logged, done
            told = in_words(now)
            bar.update(task, completed=now.done, total=now.total, told=escape(told))
            if not notes.is_terminal and (now.done > max(done, 0) or time.monotonic() - logged >= 10 * LOG_EVERY):
                logged = time.monotonic()
                log.info("%s: %d of %d cells%s", title, now.done, now.total, f"; {told}" if told else "")
            done = now.done

        try:
            yield watch
        except KeyboardInterrupt:
            notes.print("stopped; the same command goes on from what is saved", highlight=False)
            raise


def in_words(now: Standing) -> str:
    """`about 12 min left; running alm,seed=0; 1 failed`."""
    parts = [f"about {_span(now.left)} left"] if now.left is not None and now.done < now.total else []
    parts += [f"running {', '.join(now.running)}"] if now.running else []
    parts += [f"{len(now.failed)} failed"] if now.failed else []
    return "; ".join(parts)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
