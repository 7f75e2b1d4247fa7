"""Captions of tables of scores: what figures and marks mean, and what the scores depend on."""

import math
from collections.abc import Iterable, Sequence

from interlace.report.tables import LOWER
from interlace.report.text import number
from interlace.scores import SUPERVISED, ZERO_SHOT, ScoreTable, from_to, held_out
from interlace.scores.aggregation import (
    GAP,
    OTHERS,
    Measure,
    Result,
    Results,
    System,
    averaged_languages,
)
from interlace.scores.comparison import different_examples
from interlace.scores.statistics import ALPHA

MEANS_NOTE = "Means over runs ± half of the 95 % interval (Student's t); a run is the mean of its fine-tunings."


def rows_of(measures: Iterable[Measure], table: ScoreTable) -> ScoreTable:
    """Return the rows of the tasks and settings of measures; a gap is of both of its settings."""
    settings = set()
    for measure in measures:
        if measure.setting == GAP:
            settings |= {(measure.task, SUPERVISED), (measure.task, ZERO_SHOT)}
        else:
            settings.add((measure.task, measure.setting))
    return table.filter(lambda row: (row.task, row.setting) in settings)


def significance_notes(baseline: str) -> list[str]:
    """Return sentences on bold figures and on the mark of differences from the baseline."""
    test = f"permutation test over runs, p < {ALPHA} after Holm over the systems of a column"
    return [
        f"Bold: significantly better than every other system ({test}).",
        f"†: significantly different from {baseline} (same test).",
    ]


def checkpoints_note(systems: Iterable[System]) -> str:
    """Return a sentence that names the systems not pre-trained here, or nothing."""
    labels = ", ".join(dict.fromkeys(system.label for system in systems if not system.pretrained))
    if not labels:
        return ""
    return (
        f"Not pre-trained here: {labels}; their runs are fine-tunings, whose mean counts as one run in tests against "
        "systems that were pre-trained here."
    )


def direction_note(measures: Iterable[Measure]) -> str:
    """Return a sentence on the arrow of metrics of which lower is better, if there are any."""
    lower = any(measure.greater_is_better is False for measure in measures)
    return f"{LOWER.strip()}: lower is better." if lower else ""


def mean_notes(measures: Iterable[Measure], results: Results) -> list[str]:
    """Return a sentence for each name of a mean, on the languages that it is over."""
    languages: dict[str, list[str]] = {}
    for measure in measures:
        if measure.language == OTHERS:
            names = languages.setdefault(measure.name, [])
            codes = ", ".join(averaged_languages(results, measure))
            if codes not in names:
                names.append(codes)
    return [f"{name}: mean of {' or of '.join(texts)}." for name, texts in languages.items()]


def words_notes(measures: Sequence[Measure], rows: ScoreTable) -> list[str]:
    """Return sentences on the words that scores of a dictionary are over."""
    notes = []
    held_out_tasks = {
        row.task for row in rows if row.metric == held_out.HELD_OUT_SHARE and row.score
    }
    for measure in measures:
        if measure.metric.endswith(held_out.ALL_WORDS):
            notes.append(held_out.NOTE.format(metric=measure.metric))
        elif measure.main and measure.task in held_out_tasks:
            notes.append(
                f"{measure.metric} is over held-out words (no dictionary entry read in training)."
            )
    return list(dict.fromkeys(notes))


def rules_of(rows: ScoreTable) -> list[str]:
    """Return the rules that selected the weights of fine-tuned models."""
    return list(dict.fromkeys(str(row.tuning["rule"]) for row in rows if "rule" in row.tuning))


def data_notes(rows: ScoreTable, results: Sequence[Result]) -> list[str]:
    """Return sentences on test examples, selection, translations, signatures and contamination of one task's scores."""
    main = rows.filter(main=True)
    notes = []
    sizes = [result.n for result in results if result.n is not None]
    if sizes:
        notes.append(f"Test examples per language: {from_to(sizes)}.")
    infinite = sum(not math.isfinite(row.score) for row in main)
    if infinite:
        notes.append(f"Left out, not finite: {infinite} scores.")
    signatures = []
    unknown: list[str] = []
    for row in main:
        signatures += [f"{metric} {text}" for metric, text in row.signatures.items()]
        unknown += row.contamination.get("unknown", ())
    lists = {
        "Systems have different test examples in": different_examples(main),
        "Weights selected by": rules_of(main),
        "Translations": [name for name in main.unique("translations") if name],
        "Signatures": signatures,
        "Pre-training text unknown": unknown,
    }
    for head, items in lists.items():
        if items:
            notes.append(f"{head}: {', '.join(dict.fromkeys(items))}.")
    share = max((row.contamination.get("ngram", 0.0) for row in main), default=0.0)
    if share:
        notes.append(
            f"Contamination: up to {number(share)} % of a language's test examples share word n-grams with the "
            "pre-training text."
        )
    return notes
