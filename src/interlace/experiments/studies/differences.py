"""Tables of differences: each system against the baseline, over all that was drawn again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from interlace.experiments.studies._words import WHOLE
from interlace.experiments.studies.measures import OTHERS
from interlace.experiments.studies.tables import Column, Entry, Line, Table, of_checkpoints
from interlace.scores.statistics import ALPHA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.experiments.studies._comparison import Comparison, Unit
    from interlace.experiments.studies.measures import Measure, Variant

_UNITS: dict[Unit, str] = {"seeds": "other runs", "examples": "other examples", "languages": "other languages"}
_MEANS = {
    "others": " others: the mean of the languages that the task is not tuned on.",
    "mean": " mean: that of all languages or directions that are scored.",
}
_CAPTION = (
    "A system minus the one behind the dash, with a 95 % interval and p after Holm over the systems of a row's score "
    "and language (not over rows). Other runs: Welch's interval and a permutation test over runs. Other examples: a "
    "paired bootstrap and approximate randomisation over the test examples of these very runs. Other languages: "
    f"Student's interval, and signs of the differences turned. Bold: p < {ALPHA}. Behind p, how many there were of "
    "what was drawn."
)
_MCNEMAR = " McNemar: its exact p, unadjusted, where two single runs are set against each other."
_WORDS = (
    f" Scores named {WHOLE!r} are over all words asked, those too that training has read in a dictionary, so that all "
    "systems answer the same ones; other examples are of scores that may leave those out."
)


def differences(found: Sequence[Comparison], title: str) -> list[Table]:
    """A table for each task and setting, named `differences.TASK`; a row a system, score and language.

    Args:
        found: comparisons over any units.
        title: of the study.
    """
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in found:
        groups.setdefault((one.measure.task, one.measure.setting), []).append(one)
    several = {task for task, _ in groups if sum(task == other for other, _ in groups) > 1}
    names = {key: ".".join(key) if key[0] in several else key[0] for key in groups}
    return [_table(names[key], title, some) for key, some in groups.items()]


def _table(name: str, title: str, found: Sequence[Comparison]) -> Table:
    units = [unit for unit in _UNITS if any(one.unit == unit for one in found)]
    sharp = any(not math.isnan(one.mcnemar) for one in found)
    rows: dict[tuple[Measure, Variant], dict[Unit, Comparison]] = {}
    for one in found:
        rows.setdefault((one.measure, one.variant), {})[one.unit] = one
    columns = [Column("", "score", is_text=True), Column("", "language", is_text=True)]
    for unit in units:
        more = ["McNemar"] if sharp and unit == "examples" else []
        columns += [Column(_UNITS[unit], head) for head in ("difference", "95 %", "p (n)", *more)]
    lines = []
    for (measure, variant), by_unit in rows.items():
        entries: list[Entry | None] = [Entry(measure.metric), Entry(measure.name)]
        for unit in units:
            entries += _entries(got := by_unit.get(unit))
            if sharp and unit == "examples":
                entries.append(None if got is None or math.isnan(got.mcnemar) else Entry(_p(got.mcnemar)))
        other = next(iter(by_unit.values())).against
        lines.append(Line(f"{variant.label} \u2212 {other.label}", tuple(entries)))
    means = {measure.name for measure, _ in rows if measure.language == OTHERS}
    caption = _CAPTION + _MCNEMAR * sharp + "".join(_MEANS[name] for name in sorted(means))
    sides = [side for one in found for side in (one.variant, one.against)]
    caption += "".join(f" {sentence}" for sentence in of_checkpoints(sides))
    caption += _WORDS * any(measure.metric.endswith(WHOLE) for measure, _ in rows)
    return Table(f"differences.{name}", f"{title}: differences in {name}", tuple(columns), tuple(lines), caption)


def _entries(one: Comparison | None) -> list[Entry | None]:
    """Difference, interval, p and n."""
    if one is None:
        return [None, None, None]
    digits = "+.1f" if one.measure.unit == "%" else "+.3g"
    low, high = one.difference.low, one.difference.high
    interval = None if math.isnan(low) else Entry(f"{low:{digits}} to {high:{digits}}")
    return [
        Entry(f"{one.difference.value:{digits}}", bold=one.clear),
        interval,
        Entry(f"{_p(one.adjusted)} ({one.n})", bold=one.clear),
    ]


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.2g}"
