"""From scores that were measured while runs trained to the lines of panels."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from interlace.report._columns import columns
from interlace.report._lines import Curve, finite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from interlace.report._run import Run

Measured = tuple[int, "Mapping[str, float | None]"]  # the step, and scores by name


def of_dictionary(name: str) -> bool:
    """Whether a score is of an objective's dictionary: `OBJECTIVE/train/p@1` and the like."""
    return name.count("/") == 2 and name.split("/")[1] in {"train", "held-out"}


def curves_by_panel(
    runs: Sequence[Run], measured: Mapping[Path, Sequence[Measured]], panels: Mapping[str, str]
) -> dict[str, list[Curve]]:
    """The lines of each panel, one a run; panels without a finite value are left out.

    measured: by the run's folder. panels: name of a score -> its panel; scores of one panel are averaged.
    """
    keys = columns(runs)
    found: dict[str, list[Curve]] = {}
    for panel in dict.fromkeys(panels.values()):
        names = [name for name, where in panels.items() if where == panel]
        for run in runs:
            points = finite([(step, _mean(scores, names)) for step, scores in measured[run.folder]])
            if points:
                found.setdefault(panel, []).append(Curve(keys[run.label].short, run.style, points))
    return found


def _mean(scores: Mapping[str, float | None], names: Sequence[str]) -> float | None:
    """The mean of those that were measured."""
    values = [value for name in names if (value := scores.get(name)) is not None]
    return fmean(values) if values else None
