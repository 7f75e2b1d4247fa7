"""How the languages of a model came together while it trained: small multiples over steps, with a line a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlace.report import Section
from interlace.report._columns import columns
from interlace.report._curves import curves_by_panel, of_dictionary
from interlace.report._format import joined, language_name, number, significant
from interlace.report._lines import domain, panel
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from interlace.report._curves import Measured
    from interlace.report._run import Run

_MOST = 12  # panels of one figure; others are named and left out
_LAYERS = 8  # of them, panels of layers: neighbours look alike
_MEAN = "Mean of all"
_PARTS = {"train": "learnt from", "held-out": "held out"}
_ORIGINS = {
    "dev": "held-out pairs",
    "task": "pairs of the dev split of the retrieval task",
    "train": "pairs at the end of the training text, which the model may have seen",
}


@dataclass(frozen=True)
class _Figure:
    """A measure: its name, what a panel's axis shows, and what the caption says of it."""

    measure: str
    unit: str
    caption: str
    sentences: bool = False  # whether it was measured on pairs of sentences


_FIGURES = (
    _Figure(
        "alignment",
        "P@1 in %",
        "Words whose nearest neighbour in the input table is a translation, in percent, over the evaluation's word"
        " lists; a dictionary that a run learns from may share words with them.",
    ),
    _Figure("p@1", "P@1 in %", "The same over an objective's dictionary: what it learns from, and what it never saw."),
    _Figure("cosine", "mean cosine", "Mean cosine of the entries of an objective's dictionary, in the input table."),
    _Figure(
        "retrieval",
        "P@1 in %",
        "Sentences whose nearest neighbour in the other language is their translation, in percent, the mean of both"
        " directions.",
        sentences=True,
    ),
    _Figure(
        "gap",
        "gap of cosines",
        "Mean cosine of translations minus that of all other combinations of the same sentences; 0: a translation is no"
        " nearer than any other sentence.",
        sentences=True,
    ),
    _Figure(
        "cka",
        "linear CKA",
        "Likeness of the two sides of translations by layer (linear CKA, mean over pairs of languages); 1: alike up"
        " to a rotation and a scale.",
        sentences=True,
    ),
    _Figure("accuracy", "% right", "Masked subwords that the model's first guess gets right, in percent."),
    _Figure("causal_accuracy", "% right", "Next subwords that the first guess gets right, in percent."),
)


def diagnostics(runs: Sequence[Run]) -> Section:
    """The section: a figure a measure, a panel a pair of languages, a language or a layer."""
    measured = {run.folder: _measured(run) for run in runs}
    names = list(dict.fromkeys(name for lines in measured.values() for _, scores in lines for name in scores))
    figures = [drawn for figure in _FIGURES if (drawn := _drawn(figure, runs, measured, names))]
    lead = (
        "Fixed words and sentences, looked at while pre-training went on; it does not learn from what is seen here."
        f"{_cost(runs)}"
        if figures
        else "Nothing was measured on the way but perplexity; train.diagnostics.every in a recipe says how often to."
    )
    keys = columns(runs)
    return Section(
        "How the languages come together", lead, render("panels", figures=figures, keys=keys, several=len(keys) > 1)
    )


def _measured(run: Run) -> list[Measured]:
    """All scores by step: those of diagnostics, and those of dictionaries that evaluations have as well."""
    found: dict[int, dict[str, float | None]] = {}
    for line in run.evaluations:
        of_words = {name: score for name, score in line.scores.items() if of_dictionary(name)}
        if of_words:
            found.setdefault(line.step, {}).update(of_words)
    for diagnosis in run.diagnoses:
        found.setdefault(diagnosis.step, {}).update(diagnosis.scores)
    return sorted(found.items())


def _drawn(
    figure: _Figure, runs: Sequence[Run], measured: dict[Path, list[Measured]], names: Sequence[str]
) -> dict[str, Any] | None:
    """The figure as the template wants it; None where nobody measured this."""
    panels = _panels(figure.measure, names)
    curves = curves_by_panel(runs, measured, panels)
    if len(curves) == 2 and _MEAN in curves:
        del curves[_MEAN]  # of one
    if not curves:
        return None
    shown = _chosen(list(curves), _LAYERS if figure.measure == "cka" else _MOST)
    span = domain([curve for name in shown for curve in curves[name]])
    caption = f"{figure.caption}{_on(runs) if figure.sentences else ''}"
    return {
        "panels": [panel(name, curves[name], span, figure.unit) for name in shown],
        "caption": caption,
        "hidden": [name for name in curves if name not in shown],
    }


def _panels(measure: str, names: Iterable[str]) -> dict[str, str]:
    """Name of a score -> title of its panel, for the scores of one measure; the mean stands last."""
    titles: dict[str, str] = {}
    pairs: dict[frozenset[str], str] = {}
    for name in names:
        first, *rest = name.split("/")
        if of_dictionary(name):
            if rest[1] == measure:
                titles[name] = f"{first}, {_PARTS[rest[0]]}"
        elif first == measure == "cka":
            if rest[0] == "mean":
                titles[name] = f"Layer {rest[1]}" if rest[1] != "0" else "Embeddings"
        elif first == measure:
            pair = pairs.setdefault(frozenset(rest[0].split("-")), rest[0])  # both directions are one
            titles[name] = _MEAN if pair == "mean" else language_name(pair)
    return dict(sorted(titles.items(), key=lambda entry: entry[1] == _MEAN))


def _chosen(titles: list[str], most: int) -> list[str]:
    """All, or so many evenly over them with the first and the last."""
    if len(titles) <= most:
        return titles
    return [titles[round(index * (len(titles) - 1) / (most - 1))] for index in range(most)]


def _on(runs: Sequence[Run]) -> str:
    """What sentences were measured on, and whether that was the same for all runs."""
    records = [run.diagnoses[-1].on for run in runs if run.diagnoses and run.diagnoses[-1].on]
    if not records:
        return ""
    kinds: dict[tuple[int, str], list[str]] = {}
    for pair, about in {pair: about for record in records for pair, about in record.items()}.items():
        kinds.setdefault((int(about.get("pairs", 0)), str(about.get("from", ""))), []).append(language_name(pair))
    told = [
        f"{number(count, 0)} {_ORIGINS.get(origin, 'pairs')} ({', '.join(names)})"
        for (count, origin), names in kinds.items()
    ]
    text = f" Measured on {joined(told)}."
    if any(record != records[0] for record in records):
        text += " The runs were not measured on the same pairs: compare each with itself."
    return text


def _cost(runs: Sequence[Run]) -> str:
    """What part of the time of training's steps it took."""
    shares = [
        100 * sum(line.seconds for line in run.diagnoses) / run.facts.seconds["steps"]
        for run in runs
        if run.diagnoses and run.facts.seconds.get("steps")
    ]
    if not shares:
        return ""
    most = "at most " if len(shares) > 1 else ""
    return f" Looking took {most}{significant(max(shares), 2)}\N{NARROW NO-BREAK SPACE}% of the time of the steps."
