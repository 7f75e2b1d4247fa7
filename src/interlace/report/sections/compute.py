"""Time, tokens and devices of each run."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from interlace.report.runs import ReportedRun
from interlace.report.section import Section
from interlace.report.tables import Column, Entry, Line, Table, html_fragment
from interlace.report.text import MISSING, count, duration
from interlace.scores import Score
from interlace.tasks import PER_LANGUAGE

_HEADS = ("device", "parameters", "tokens", "pre-training", "tokens/s", "fine-tuning", "scoring")
_NOTE = (
    "Fine-tuning: each run once, up to its last selected checkpoint, with dev evaluations. Scoring: test sets. "
    "Not included: learning rates that were not selected, training after the selected checkpoint, data preparation."
)


@dataclass(frozen=True)
class _Seconds:
    """Seconds of pre-training, fine-tuning and scoring."""

    training: float
    tuning: float
    scoring: float

    @property
    def total(self) -> float:
        return self.training + self.tuning + self.scoring


def compute(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Compute`, a row per run."""
    seconds = [_seconds(run) for run in runs]
    lines = [_line(run, run_seconds) for run, run_seconds in zip(runs, seconds, strict=True)]
    total = _Seconds(
        training=sum(run_seconds.training for run_seconds in seconds),
        tuning=sum(run_seconds.tuning for run_seconds in seconds),
        scoring=sum(run_seconds.scoring for run_seconds in seconds),
    )
    if len(runs) > 1:
        tokens = count(sum(run.facts.get("tokens", 0) for run in runs))
        texts = (
            "",
            "",
            tokens,
            duration(total.training),
            "",
            duration(total.tuning),
            duration(total.scoring),
        )
        lines.append(Line("total", tuple(Entry(text) for text in texts), kind="mean"))
    lead = "No timings were recorded."
    if total.total:
        lead = f"Pre-training, fine-tuning and scoring: {duration(total.total)}."
    columns = tuple(Column(head) for head in _HEADS)
    table = Table("compute", "Compute by run", columns, tuple(lines), _NOTE, "Run")
    return [Section("Compute", lead, html_fragment(table, "beside"), folded=True)]


def _line(run: ReportedRun, seconds: _Seconds) -> Line:
    device = str(run.facts.get("device") or MISSING)
    processes = run.facts.get("processes") or 1
    if processes > 1:
        device += f" × {processes}"
    tokens = run.facts.get("tokens")
    label = run.label
    if not label.endswith(run.folder.name):
        label += f" ({run.folder.name})"
    texts = (
        device,
        count(run.facts.get("parameters")),
        count(tokens),
        duration(seconds.training),
        count(tokens / seconds.training) if tokens and seconds.training else MISSING,
        duration(seconds.tuning),
        duration(seconds.scoring),
    )
    return Line(label, tuple(Entry(text) for text in texts))


def _seconds(run: ReportedRun) -> _Seconds:
    """Return the times of a run; of rows that share a fine-tuning, the longest time of it."""
    tuning: dict[Hashable, float] = {}
    rows = run.scores.filter(main=True)
    for row in rows:
        if row.tuning:
            key = _fine_tuning(row)
            tuning[key] = max(tuning.get(key, 0.0), float(row.tuning.get("seconds") or 0.0))
    return _Seconds(
        training=run.facts.get("seconds", {}).get("training", 0.0),
        tuning=sum(tuning.values()),
        scoring=sum(row.seconds for row in rows),
    )


def _fine_tuning(row: Score) -> Hashable:
    """Identify the fine-tuning of a row: one for all languages, or one for each."""
    language = row.language if row.setting in PER_LANGUAGE else ""
    return row.task, row.seed, row.key, language, row.tuning.get("learning_rate")
