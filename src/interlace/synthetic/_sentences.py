"""Sentences within lines: which runs of words change their order among themselves.

Tang et al. (2022) say that the period ends a sentence (appendix F); their code takes `.`, `!` and `?` and leaves the
mark where it is. Both readings are settings, and so is a line as one sentence, as their code has it for NLI.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.synthetic._layout import Layout

Split = Literal["marks", "period", "line"]
SPLIT: Split = Field(
    "marks",
    description="What ends a sentence: a word of end marks (. ! ? and those of other scripts), a period alone (Tang et "
    "al. 2022, appendix F), or the line. A mark counts where it is a word of its own.",
)
KEEP: bool = Field(True, description="Whether end marks stay at the end of their sentence (code of Tang et al. 2022).")

_MARKS = ".!?\u2026\u203d\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u3002\uff01\uff1f\uff0e\uff61"
_PERIODS = "."
_BEYOND = 0xFFFF


def sentences(layout: Layout, split: Split, *, keep: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first word of each sentence and the one behind its last, over all lines; runs without words are left out.

    keep: leave the marks that end a sentence out of it.
    """
    ends_line = layout.offsets[1:]
    # A line that does not go on to other sentences may end in a mark just as well.
    marks = _end_marks(layout, _PERIODS if split == "period" else _MARKS)
    cuts = np.flatnonzero(marks) + 1 if split != "line" else np.zeros(0, np.int64)
    if keep and split == "line":
        marks = _last_marks(marks, layout.offsets)
    bounds = np.unique(np.concatenate([layout.offsets[:1], cuts, ends_line]))
    starts, ends = bounds[:-1], bounds[1:].copy()
    if keep and len(ends):
        if split == "line":
            trailing = np.concatenate([[0], np.cumsum(marks)])
            ends -= trailing[ends] - trailing[starts]
        else:
            ends -= marks[ends - 1]
    full = ends > starts
    return starts[full], ends[full]


def _end_marks(layout: Layout, marks: str) -> NDArray[np.bool_]:
    """(W,) which words are made of end marks alone."""
    table = _table(marks)
    found = _known(table, layout.codes[layout.starts])
    long = np.flatnonzero(found & (layout.ends - layout.starts > 1))
    if len(long):
        sizes = layout.ends[long] - layout.starts[long]
        firsts = np.cumsum(sizes) - sizes
        at = np.arange(sizes.sum()) + np.repeat(layout.starts[long] - firsts, sizes)
        found[long] = np.logical_and.reduceat(_known(table, layout.codes[at]), firsts)
    return found


def _known(table: NDArray[np.bool_], codes: NDArray[Any]) -> NDArray[np.bool_]:
    """Which characters are marks."""
    found: NDArray[np.bool_] = table[codes if codes.dtype == np.uint8 else np.minimum(codes, _BEYOND)]
    return found


@cache
def _table(marks: str) -> NDArray[np.bool_]:
    table = np.zeros(_BEYOND + 1, np.bool_)
    table[[ord(mark) for mark in marks]] = True
    return table


def _last_marks(marks: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(W,) the marks that stand at the end of their line, with nothing but marks behind them."""
    if not len(marks):
        return marks
    last = np.maximum.accumulate(np.where(~marks, np.arange(len(marks)), -1))
    ends = np.repeat(offsets[1:], np.diff(offsets))
    return marks & (last[ends - 1] < np.arange(len(marks)))
