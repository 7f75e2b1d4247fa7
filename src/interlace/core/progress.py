"""Progress callbacks: how long work reports what it does."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # description, steps done, total steps (0: unknown)


def no_progress(description: str, done: int, total: int) -> None:
    """Ignore progress reports."""
