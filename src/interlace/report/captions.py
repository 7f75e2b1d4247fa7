"""Captions of tables of scores: what figures and marks mean, and what the scores depend on."""

import math
from collections.abc import Iterable, Mapping, Sequence

from interlace.report.tables import LOWER
from interlace.report.text import number
from interlace.scores import SUPERVISED, ZERO_SHOT, ScoreTable, from_to, held_out
from interlace.scores.aggregation import (
    GAP,
    OTHERS,
    Measure,
    Results,
    System,
    averaged_languages,
)
from interlace.scores.comparison import different_examples
from interlace.scores.statistics import ALPHA

MEANS = (
    "Means over runs ± half of the 95 % interval (Student's t); a run is the mean of its fine-tunings. Of a single "
    "run: lowest and highest fine-tuning, or the 95 % bootstrap interval over test examples of a single one."
)
_SIGNIFICANCE = "Bold: significantly different from {}, the baseline, over runs (p < {} after Holm over systems)."
DIFFERENCES = (
    "Differences: 95 % interval, and p after Holm. Over runs: permutation test of Welch's t and Welch's interval. Over "
    "examples: approximate randomization and paired bootstrap, a statement about these models and not about the "
    "methods that trained them. Over runs and examples: Student's t with errors clustered by both. With fewer than "
    "five runs of each system, differences over runs can hardly be significant."
)
_CHECKPOINTS = (
    "Not pre-trained here: {}; their runs are fine-tunings, whose mean counts as one run in tests against systems that "
    "were pre-trained here."
)
_CONTAMINATION = "Contamination: up to {} % of a language's test examples share word n-grams with training text."


def rows_of(measures: Iterable[Measure], table: ScoreTable) -> ScoreTable:
    """Return the rows of the tasks and settings of measures; a gap is of both of its settings."""
    settings = set()
    for measure in measures:
        if measure.setting == GAP:
            settings |= {(measure.task, SUPERVISED), (measure.task, ZERO_SHOT)}
        else:
            settings.add((measure.task, measure.setting))
    return table.filter(lambda row: (row.task, row.setting) in settings)


def score_notes(
    measures: Sequence[Measure],
    rows: ScoreTable,
    results: Results,
    systems: Sequence[System],
) -> list[str]:
    """Return sentences on what the figures of a table are, and on marks that occur in it."""
    notes = [MEANS]
    if len(systems) > 1:
        notes.append(_SIGNIFICANCE.format(systems[0].label, ALPHA))
    checkpoints = [system.label for system in systems if not system.pretrained]
    if checkpoints:
        notes.append(_CHECKPOINTS.format(", ".join(dict.fromkeys(checkpoints))))
    if any(measure.greater_is_better is False for measure in measures):
        notes.append(f"{LOWER.strip()}: lower is better.")
    for measure in measures:
        if measure.language == OTHERS:
            languages = ", ".join(averaged_languages(results, measure))
            notes.append(f"{measure.name}: mean of {languages}.")
        if measure.metric.endswith(held_out.ALL_WORDS):
            notes.append(held_out.NOTE.format(metric=measure.metric))
    notes += [rows.collapse_note(), rows.candidates_note(), rows.majority_note()]
    return list(dict.fromkeys(filter(None, notes)))


def rules_of(rows: ScoreTable) -> list[str]:
    """Return the rules that selected the weights of fine-tuned models."""
    return list(dict.fromkeys(str(row.tuning["rule"]) for row in rows if "rule" in row.tuning))


def data_notes(rows: ScoreTable) -> list[str]:
    """Return sentences on test examples, selection, translations, signatures and contamination of one task's scores."""
    main = rows.filter(main=True)
    signatures = []
    unknown: list[str] = []
    for row in main:
        signatures += [f"{metric} {text}" for metric, text in row.signatures.items()]
        unknown += row.contamination.get("unknown", ())
    lists: Mapping[str, Sequence[str]] = {
        "Systems have different test examples in": different_examples(main),
        "Weights selected by": rules_of(main),
        "Translations": [name for name in main.unique("translations") if name],
        "Signatures": signatures,
        "Pre-training text unknown": unknown,
    }
    notes = []
    sizes = [row.n for row in main if row.n is not None]
    if sizes:
        notes.append(f"Test examples per language: {from_to(sizes)}.")
    infinite = sum(not math.isfinite(row.score) for row in main)
    if infinite:
        notes.append(f"Left out, not finite: {infinite} scores.")
    for head, items in lists.items():
        if items:
            notes.append(f"{head}: {', '.join(dict.fromkeys(items))}.")
    share = max((row.contamination.get("ngram", 0.0) for row in main), default=0.0)
    if share:
        notes.append(_CONTAMINATION.format(number(share)))
    return notes
