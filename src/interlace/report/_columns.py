"""The key to the columns: which marker, dashes and short name stand for which recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.report._format import short_labels
from interlace.report._run import first_of_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._run import Run


@dataclass(frozen=True)
class Column:
    """A recipe as figures show it; `short` is its name without what all the names share."""

    label: str
    short: str
    style: int


def columns(runs: Sequence[Run]) -> dict[str, Column]:
    """By label, in order."""
    firsts = first_of_each(runs)
    shorts = short_labels([run.label for run in firsts])
    return {run.label: Column(run.label, short, run.style) for run, short in zip(firsts, shorts, strict=True)}
