"""Training examples as the model reads them, training losses, and scores of evaluations and diagnoses, over steps."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from interlace.report import svg
from interlace.report.charts import Curve, domain, line_panel, smoothed
from interlace.report.runs import ReportedRun, Sample, first_of_each
from interlace.report.sections import Section
from interlace.report.text import language_name, render, short_labels

_LOSS = "Loss in nats per predicted token, or the share that a panel names; a point is the mean over some steps."
_CAPTIONS = {
    "perplexity": "Perplexity of held-out text, {}; lower is better.",
    "causal_perplexity": "Perplexity of held-out text per subword, left to right; lower is better.",
    "bleu": "BLEU of greedy translations of development text.",
    "round-trip": "BLEU of round-trip translations of development text.",
    "alignment": "Words of dictionaries whose nearest neighbor is a translation, in percent.",
    "retrieval": "Sentences whose nearest neighbor is a translation, in percent.",
    "gap": "Mean cosine of translations minus that of other sentence pairs.",
}
_NO_CAPTION = "{}: training and held-out entries of the objective's dictionary."

_MAX_CORPORA = 3  # of an objective

Points = Mapping[str, Sequence[tuple[float, float | None]]]  # (step, value) by panel


@dataclass(frozen=True)
class _Figure:
    """Panels with their caption."""

    caption: str
    panels: Sequence[svg.Drawing]


def training_examples(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Training examples`: for each objective an example of some corpora."""
    by_objective: dict[str, dict[str, Sample]] = {}
    for run in runs:
        for sample in run.samples:
            by_objective.setdefault(sample.objective, {}).setdefault(sample.corpus, sample)
    if not by_objective:
        return None
    shown = {}
    for name, samples in by_objective.items():
        shown[name] = list(samples.values())[:_MAX_CORPORA]
    lead = (
        "What the model reads and predicts, as `interlace preview` shows it; [M] is the mask."
    )
    body = render("samples", objectives=shown, language_name=language_name)
    return Section("Training examples", lead, body)


def losses(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Training losses`, a panel per objective and term."""
    curves = _curves(runs, _terms)
    last_step = _last_step(curves)
    drawings = []
    for term, lines in curves.items():
        drawings.append(
            line_panel(
                term,
                lines,
                domain(lines),
                last_step,
            )
        )
    figures = [_Figure(_LOSS, drawings)] if drawings else []
    lead = "Training losses by objective, all languages together. Scales differ between objectives."
    return _section(
        "Training losses",
        lead,
        runs,
        figures,
    )


def evaluation(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Evaluation during training`, a figure per metric with a panel per language or pair."""
    curves = _curves(runs, _scores)
    metrics: dict[str, dict[str, list[Curve]]] = {}
    for name, lines in curves.items():
        metric, _, panel = name.partition("/")
        if panel != "geometric":
            metrics.setdefault(metric, {})[panel] = lines
    units = [str(run.facts.get("perplexity_unit") or "per masked subword") for run in runs]
    unit = " or ".join(dict.fromkeys(units))
    figures = []
    for metric, panels in metrics.items():
        every_line = [line for lines in panels.values() for line in lines]
        values = domain(every_line, log="perplexity" in metric)
        drawings = []
        for panel in sorted(panels, key=lambda panel: panel == "mean"):
            title = "Mean of all" if panel == "mean" else language_name(panel)
            drawings.append(
                line_panel(
                    title or metric,
                    panels[panel],
                    values,
                    _last_step(curves),
                )
            )
        caption = _CAPTIONS.get(metric, _NO_CAPTION.format(metric)).format(unit)
        figures.append(_Figure(caption, drawings))
    lead = "Measured during pre-training on fixed text that is not trained on."
    return _section(
        "Evaluation during training",
        lead,
        runs,
        figures,
    )


def _terms(run: ReportedRun) -> dict[str, list[tuple[float, float | None]]]:
    """Return (step, loss) by the name of the term, with its objective if the names differ."""
    terms: dict[str, list[tuple[float, float | None]]] = {}
    for step in run.steps:
        for term, loss in step.losses.items():
            is_only = term == step.objective or (term == "loss" and len(step.losses) == 1)
            name = step.objective if is_only else f"{step.objective}: {term}"
            terms.setdefault(name, []).append((step.step, loss))
    return terms


def _scores(run: ReportedRun) -> dict[str, list[tuple[float, float | None]]]:
    """Return (step, score) by the name of the score."""
    points: dict[str, list[tuple[float, float | None]]] = {}
    for step, scores in sorted(run.evaluations.items()):
        for name, score in scores.items():
            points.setdefault(name, []).append((step, score))
    return points


def _curves(
    runs: Sequence[ReportedRun], points_of: Callable[[ReportedRun], Points]
) -> dict[str, list[Curve]]:
    """Return the smoothed curves by panel, one a run, without values that are not finite."""
    labels = [run.label for run in first_of_each(runs)]
    short = dict(zip(labels, short_labels(labels), strict=True))
    curves: dict[str, list[Curve]] = {}
    for run in runs:
        for panel, values in points_of(run).items():
            finite = []
            for step, value in values:
                if value is not None and math.isfinite(value):
                    finite.append((step, value))
            if finite:
                curve = Curve(short[run.label], run.style, smoothed(finite))
                curves.setdefault(panel, []).append(curve)
    return curves


def _last_step(curves: Mapping[str, Sequence[Curve]]) -> float:
    last_step = 1.0
    for lines in curves.values():
        for line in lines:
            last_step = max(last_step, line.points[-1][0])
    return last_step


def _section(
    title: str,
    lead: str,
    runs: Sequence[ReportedRun],
    figures: Sequence[_Figure],
) -> Section | None:
    """Return a section of small multiples with a key of the runs; none without figures."""
    if not figures:
        return None
    styles = {run.label: run.style for run in first_of_each(runs)}
    legend = svg.legend(styles, with_lines=True) if len(styles) > 1 else ""
    body = render("panels", figures=figures, legend=legend)
    drawings: list[svg.Drawing] = []
    for figure in figures:
        drawings += figure.panels
    return Section(
        title,
        lead,
        body,
        drawings,
    )
