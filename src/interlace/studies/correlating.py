"""Does what is aligned transfer? Probes of alignment against what is lost from the source to another language.

The paper of ALIGN-MLM gives Spearman's correlation of alignment (P@1 of translations) with what transfer does not lose.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from interlace.statistics.ranking import spearman
from interlace.studies.measures import OTHERS, scores_of
from interlace.studies.tables import Column, Entry, Line, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.studies.measures import Measure, Scores
    from interlace.studies.results import Row

    Group = list[Measure]  # the languages of a score

_LEAST = 4  # points: of three, no order has a p below a third
_CAPTION = (
    "Spearman's correlation of a probe, which trains nothing, with what transfer does not lose: the score in a "
    "language minus that in the source. A point is a system in a language, the mean over its runs; behind the "
    "correlation p and the number of points. Points of one system, or of one language, are not independent, so p is "
    "too low where they are many; correlation over systems says nothing of causes."
)


def correlations(rows: Sequence[Row], title: str) -> list[Table]:
    """A table `alignment`, a row a probe and a column a task that transfers; none where there are too few points.

    Args:
        rows: as `read_results` gives them.
        title: of the study.
    """
    groups = _groups(scores := scores_of(rows))
    tuned = [group for group in groups if any(measure.is_source for measure in group)]
    probes = [group for group in groups if not any(measure.is_source for measure in group)]
    lines = []
    for probe in probes:
        entries = [_entry(_points(scores, probe, task), probe[0], task[0]) for task in tuned]
        if any(entries):
            lines.append(Line(f"{probe[0].task} ({probe[0].metric})", tuple(entries)))
    columns = tuple(Column("", f"{task[0].task}, {task[0].setting}") for task in tuned)
    return [Table("alignment", f"{title}: alignment and transfer", columns, tuple(lines), _CAPTION)] if lines else []


def _groups(scores: Scores) -> list[Group]:
    found: dict[tuple[str, str], Group] = {}
    for measure in scores:
        if measure.language != OTHERS:
            found.setdefault((measure.task, measure.setting), []).append(measure)
    return list(found.values())


def _points(scores: Scores, probe: Group, task: Group) -> list[tuple[float, float]]:
    """(probe, score minus the source's) of each system in each language that has both."""
    source = next(measure for measure in task if measure.is_source)
    points = []
    for measure in task:
        for one in probe:
            if one.language == measure.language and not measure.is_source:
                for variant in scores[measure]:
                    if variant in scores[one] and variant in scores[source]:
                        lost = fmean(scores[measure][variant].values()) - fmean(scores[source][variant].values())
                        points.append((fmean(scores[one][variant].values()), lost))
    return points


def _entry(points: Sequence[tuple[float, float]], probe: Measure, task: Measure) -> Entry | None:
    """Signed so that more is better on both sides."""
    if len(points) < _LEAST:
        return None
    found = spearman(*zip(*points, strict=True))
    if math.isnan(found.statistic):
        return None
    sign = 1 if probe.greater_is_better == task.greater_is_better else -1
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.2g}"
    return Entry(f"{sign * found.statistic:.2f} ({p}, n = {found.n})")
