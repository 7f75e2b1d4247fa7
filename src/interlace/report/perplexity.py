"""Evaluation during pre-training: perplexity by language, and whatever else was measured on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._columns import columns
from interlace.report._curves import curves_by_panel, of_dictionary
from interlace.report._format import language_name
from interlace.report._lines import domain, panel
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from interlace.report._run import Run

_MEANS = {"mean": "Mean of all", "geometric": "Geometric mean"}
_UNITS = {  # but for `perplexity`, whose unit the run tells
    "causal_perplexity": "perplexity per subword, from left to right",
    "perplexity_per_word": "perplexity per word, from left to right",
    "bleu": "BLEU of greedy translations of development text",
    "round-trip": "BLEU of development text that was translated and translated back",
    "bits_per_character": "bits per character, from left to right",
}
_JUDGED = {"bleu", "round-trip"}
_MOST = 12  # panels of one figure; further languages are named and left out


def perplexity(runs: Sequence[Run]) -> Section:
    """The section: a panel a language with a line a run, all on one scale."""
    names = list(dict.fromkeys(name for run in runs for line in run.evaluations for name in line.scores))
    names = [name for name in names if not of_dictionary(name)]
    kinds = list(dict.fromkeys(name.partition("/")[0] for name in names))
    kinds.sort(key=lambda kind: kind != "perplexity")
    figures = [_figure(runs, kind, [name for name in names if name.partition("/")[0] == kind]) for kind in kinds]
    figures = [figure for figure in figures if figure["panels"]]
    lead = (
        "How well held-out text is predicted while pre-training goes on; lower is better, and the scale is logarithmic."
        if "perplexity" in kinds
        else "What was measured while pre-training went on."
        if figures
        else "No evaluation was recorded during pre-training."
    )
    if _JUDGED & set(kinds):
        lead += " Of BLEU, higher is better."
    several = len(columns(runs)) > 1
    return Section(_heading(kinds), lead, render("panels", figures=figures, keys=columns(runs), several=several))


def _heading(kinds: Sequence[str]) -> str:
    """What is shown; a run that is steered by BLEU has that beside perplexity, or alone."""
    if not _JUDGED & set(kinds):
        return "Perplexity"
    return "BLEU" if len(kinds) == 1 else "Perplexity and BLEU"


def _figure(runs: Sequence[Run], kind: str, names: list[str]) -> dict[str, object]:
    series = {run.folder: [(line.step, line.scores) for line in run.evaluations] for run in runs}
    curves = curves_by_panel(runs, series, {name: name for name in names})
    means = [name for name in curves if name.partition("/")[2] in _MEANS]
    each = [name for name in curves if name not in means]
    shown = [*each[:_MOST], *means[:1]]  # a second mean would look the same
    panels: list[Markup] = []
    unit = _unit(runs, kind)
    if curves:
        span = domain([curve for lines in curves.values() for curve in lines], log="perplexity" in kind)
        panels = [panel(_title(name), curves[name], span, unit) for name in shown]
    where = "in each direction" if kind in _JUDGED else "on the evaluation text of each language"
    caption = f"{unit[:1].upper()}{unit[1:]}, {where}."
    return {"panels": panels, "caption": caption, "hidden": [_title(name) for name in curves if name not in shown]}


def _unit(runs: Sequence[Run], kind: str) -> str:
    """What a kind of score is counted in; runs that read both ways and from left to right do not compare."""
    if kind != "perplexity":
        return _UNITS.get(kind, kind)
    units = dict.fromkeys(str(run.facts.get("perplexity_unit") or "per masked subword") for run in runs)
    return f"perplexity {' or '.join(units)}"


def _title(name: str) -> str:
    kind, _, which = name.partition("/")
    return _MEANS.get(which) or (language_name(which) if which else kind)
