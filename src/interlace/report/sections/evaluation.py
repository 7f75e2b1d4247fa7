"""Perplexity and BLEU of held-out text over training steps."""

from collections.abc import Sequence

from interlace.report.panels import (
    MAX_PANELS,
    MEAN_OF_ALL,
    Curves,
    PanelFigure,
    curves_of,
    is_of_dictionary,
    panel_figure,
    panel_section,
    score_names,
    span_of,
)
from interlace.report.runs import ReportedRun
from interlace.report.section import Section
from interlace.report.text import language_name

_MEANS = {"mean": MEAN_OF_ALL, "geometric": "Geometric mean"}
_UNITS = {
    "causal_perplexity": "perplexity per subword, left to right",
    "perplexity_per_word": "perplexity per word, left to right",
    "bits_per_character": "bits per character, left to right",
    "bleu": "BLEU of greedy translations of development text",
    "round-trip": "BLEU of round-trip translations of development text",
}
_TRANSLATION = {"bleu", "round-trip"}
_MASKED = "per masked subword"


def evaluation(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `... during training`, a figure per metric with a panel per language or direction."""
    logged = {run.folder: run.evaluations for run in runs}
    names = [name for name in score_names(logged) if not is_of_dictionary(name)]
    metrics = list(dict.fromkeys(name.partition("/")[0] for name in names))
    metrics.sort(key=lambda metric: metric != "perplexity")
    units = dict(_UNITS)
    perplexity_units = dict.fromkeys(
        str(run.facts.get("perplexity_unit") or _MASKED) for run in runs
    )
    units["perplexity"] = f"perplexity {' or '.join(perplexity_units)}"
    figures = []
    for metric in metrics:
        panels = {name: name for name in names if name.partition("/")[0] == metric}
        curves = curves_of(runs, logged, panels)
        if curves:
            figures.append(_figure(metric, units.get(metric, metric), curves))
    has_translations = not _TRANSLATION.isdisjoint(metrics)
    has_perplexity = not _TRANSLATION.issuperset(metrics)
    subjects = ["Perplexity"] if has_perplexity else []
    lead = "Evaluation during pre-training."
    if has_translations:
        subjects.append("BLEU")
        lead += " Higher BLEU is better."
    if "perplexity" in metrics:
        lead += " Lower perplexity is better; its axis is logarithmic."
    return panel_section(f"{' and '.join(subjects)} during training", lead, runs, figures)


def _figure(metric: str, unit: str, curves: Curves) -> PanelFigure:
    """Draw the panels of a metric: those of languages, then the first of its means."""
    means = [name for name in curves if name.partition("/")[2] in _MEANS]
    curves = {name: lines for name, lines in curves.items() if name not in means[1:]}
    shown = [name for name in curves if name not in means][:MAX_PANELS] + means[:1]
    caption = f"{unit[:1].upper()}{unit[1:]}, over training steps."
    if unit.endswith(_MASKED):
        caption += " For all objectives, 15 % of the tokens are masked."
    span = span_of(curves.values(), log="perplexity" in metric)
    return panel_figure(caption, curves, unit, span, shown, _title)


def _title(name: str) -> str:
    metric, _, place = name.partition("/")
    if place in _MEANS:
        return _MEANS[place]
    return language_name(place) if place else metric
