"""Cross-lingual diagnostics over training steps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlace.report.panels import (
    MAX_PANELS,
    MEAN_OF_ALL,
    curves_of,
    is_of_dictionary,
    panel_figure,
    panel_section,
    score_names,
    span_of,
)
from interlace.report.runs import LoggedScores, ReportedRun
from interlace.report.section import Section
from interlace.report.text import language_name, language_names, number


@dataclass(frozen=True)
class _Measure:
    unit: str
    caption: str


_MEASURES = {
    "alignment": _Measure(
        "P@1 in %",
        "Words of the evaluation's dictionaries whose nearest neighbor is a translation, in percent.",
    ),
    "p@1": _Measure(
        "P@1 in %",
        "The same over an objective's dictionary: entries that it trains on, and held-out entries.",
    ),
    "cosine": _Measure(
        "mean cosine",
        "Mean cosine of the entries of an objective's dictionary, input embeddings.",
    ),
    "retrieval": _Measure(
        "P@1 in %",
        "Sentences whose nearest neighbor in the other language is a translation, in percent.",
    ),
    "gap": _Measure(
        "cosine gap", "Mean cosine of translations minus that of other sentence pairs."
    ),
}


def diagnostics(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Cross-lingual diagnostics`, a figure per measure with a panel per language pair."""
    logged = {run.folder: _diagnosed(run) for run in runs}
    names = score_names(logged)
    figures = []
    for name, measure in _MEASURES.items():
        curves = curves_of(runs, logged, _panels(name, names))
        if len(curves) == 2 and MEAN_OF_ALL in curves:
            del curves[MEAN_OF_ALL]  # of a single panel
        if curves:
            shown = evenly(list(curves), MAX_PANELS)
            span = span_of(curves[panel] for panel in shown)
            figures.append(panel_figure(measure.caption, curves, measure.unit, span, shown))
    lead = "Measured during pre-training on fixed words and sentences that are not trained on."
    return panel_section("Cross-lingual diagnostics", lead + _pairs_note(runs), runs, figures)


def _diagnosed(run: ReportedRun) -> list[LoggedScores]:
    """Return by step the scores of diagnoses, and those of dictionaries in evaluations."""
    by_step: dict[int, dict[str, float | None]] = {}
    for line in run.evaluations:
        of_words = {name: score for name, score in line.scores.items() if is_of_dictionary(name)}
        if of_words:
            by_step.setdefault(line.step, {}).update(of_words)
    for line in run.diagnoses:
        by_step.setdefault(line.step, {}).update(line.scores)
    return [LoggedScores(step=step, scores=scores) for step, scores in sorted(by_step.items())]


def _panels(measure: str, names: Iterable[str]) -> dict[str, str]:
    """Return score name -> panel title of one measure, the mean last."""
    titles: dict[str, str] = {}
    pairs: dict[frozenset[str], str] = {}  # by languages, so that both directions are one
    for name in names:
        parts = name.split("/")
        if is_of_dictionary(name):
            objective, split, score = parts
            if score == measure:
                titles[name] = f"{objective}, {'trained on' if split == 'train' else 'held out'}"
        elif parts[0] == measure:
            pair = pairs.setdefault(frozenset(parts[1].split("-")), parts[1])
            titles[name] = MEAN_OF_ALL if pair == "mean" else language_name(pair)
    return dict(sorted(titles.items(), key=lambda entry: entry[1] == MEAN_OF_ALL))


def evenly(titles: list[str], count: int) -> list[str]:
    """Return all titles, or `count` spread evenly with the first and the last."""
    if len(titles) <= count:
        return titles
    return [titles[round(index * (len(titles) - 1) / (count - 1))] for index in range(count)]


def _pairs_note(runs: Sequence[ReportedRun]) -> str:
    """Return what sentence pairs were measured, and whether runs differ in it."""
    records = [run.diagnoses[-1].on for run in runs if run.diagnoses and run.diagnoses[-1].on]
    if not records:
        return ""
    by_pair: dict[str, Mapping[str, Any]] = {}
    for record in records:
        by_pair |= record
    pairs_by_size: dict[int, list[str]] = {}
    for pair, about in by_pair.items():
        pairs_by_size.setdefault(int(about.get("pairs", 0)), []).append(pair)
    parts: list[str] = []
    for size, pairs in pairs_by_size.items():
        parts.append(f"{number(size, 0)} dev pairs of the retrieval task ({language_names(pairs)})")
    note = f" The sentences are {', '.join(parts)}."
    if any(record != records[0] for record in records):
        note += " The pairs differ between runs."
    return note
