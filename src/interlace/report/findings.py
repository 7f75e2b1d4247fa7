"""Verdicts on the findings of a study as a table."""

import math
from collections.abc import Sequence

from interlace.report.differences import short_p
from interlace.report.tables import Column, Entry, Line, Table
from interlace.scores.findings import Verdict
from interlace.scores.statistics import ALPHA

_PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
_CAPTION = (
    "Findings registered before the runs. Difference: first side minus second, positive where the first is better, and "
    "Welch's interval over runs at 1 - 0.05 / findings in its family. p: permutation test of Welch's t, Holm "
    f"over the family. confirmed: p < {ALPHA} in the claimed direction, or interval within a margin with "
    f"{_PLUS_MINUS}; refuted: the whole interval is below the margin, or outside one with {_PLUS_MINUS}; "
    "undecided: neither; pending: runs are missing. Verdicts hold for these models and data."
)
_TEXT_HEADS = ("source", "family", "verdict")
_NUMBER_HEADS = ("first", "second", "difference", "interval", "margin", "p", "runs")


def findings_tables(verdicts: Sequence[Verdict], title: str) -> list[Table]:
    """Return the table `findings`, a row per finding; none without findings."""
    if not verdicts:
        return []
    columns = [Column(head, is_text=True) for head in _TEXT_HEADS]
    columns += [Column(head) for head in _NUMBER_HEADS]
    decimals = 1 if all(verdict.finding.margin % 1 == 0 for verdict in verdicts) else 2
    lines = [Line(verdict.finding.claim, _entries(verdict, decimals)) for verdict in verdicts]
    return [
        Table("findings", f"{title}: findings", tuple(columns), tuple(lines), _CAPTION, "claim")
    ]


def _entries(verdict: Verdict, decimals: int) -> tuple[Entry, ...]:
    def text(value: float) -> str:
        return "" if math.isnan(value) else f"{value:.{decimals}f}"

    finding = verdict.finding
    difference = verdict.difference
    sign = _PLUS_MINUS if finding.kind == "equal" else ""
    interval = (
        "" if math.isnan(difference.low) else f"{text(difference.low)} to {text(difference.high)}"
    )
    texts = [finding.source, finding.family, verdict.verdict]
    texts += [text(mean) for mean in verdict.means]
    texts += [text(difference.value), interval, f"{sign}{finding.margin:g} {verdict.unit}"]
    texts += ["" if math.isnan(verdict.p) else short_p(verdict.p), str(verdict.runs)]
    return tuple(Entry(text) for text in texts)
