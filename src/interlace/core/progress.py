"""Progress callbacks: how long work reports what it does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[str, int, int], None]  # description, steps done, total steps (0: unknown)


def no_progress(description: str, done: int, total: int) -> None:
    """Ignore progress reports."""


_current: ContextVar[Progress] = ContextVar("progress", default=no_progress)


@contextmanager
def reporting(progress: Progress) -> Iterator[None]:
    """Within the context, make a callback the current one of this thread."""
    token = _current.set(progress)
    try:
        yield
    finally:
        _current.reset(token)


def current_progress() -> Progress:
    """Return the callback for work that is given none, such as a download deep inside of other work."""
    return _current.get()
