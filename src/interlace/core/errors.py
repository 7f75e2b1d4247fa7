"""What went wrong for the user: what was found, where, what is expected, and the nearest right answer.

Every error a user can cause is an `InterlaceError`; the command line prints its message and exits with 2.
A traceback is therefore always our own bug.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class InterlaceError(Exception):
    """A mistake in what the user gave us; its message says what, where and how to mend it."""


class SettingsError(InterlaceError):
    """A recipe or an option holds an unknown key or a value out of range."""


class DataError(InterlaceError):
    """A file or a corpus is missing, empty, damaged, or does not fit what reads it."""


class CheckpointError(InterlaceError):
    """A checkpoint is damaged, or belongs to another model."""


class RunError(InterlaceError):
    """A run folder cannot be used as asked, for instance because another process holds it."""


class MissingDependencyError(InterlaceError):
    """An optional package is needed; the message holds the pip command, which may name our extra that brings it."""

    def __init__(self, needed_by: str, package: str, extra: str = "") -> None:
        wanted = f"'interlace[{extra}]'" if extra else package
        super().__init__(f"{needed_by} needs the package {package!r}: pip install {wanted}")


_MOST = 40  # options that are listed: a screen's worth


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """`"; did you mean 'mlm'?"` where an option is near, else the list of them, or how it begins.

    >>> did_you_mean("mml", ["mlm", "tlm"])
    "; did you mean 'mlm'?"
    >>> did_you_mean("zebra", ["mlm", "tlm"])
    '; there are: mlm, tlm'
    """
    options = sorted(options)
    close = get_close_matches(word, options, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = f" and {len(options) - _MOST} more" if len(options) > _MOST else ""
    return f"; there are: {', '.join(options[:_MOST])}{more}" if options else "; there are none"
