"""Training losses over steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from interlace.report.figures.line_panel import Curve, domain, finite, line_panel, smoothed
from interlace.report.panels import PanelFigure, panel_section, span_of
from interlace.report.runs import ReportedRun, short_names
from interlace.report.section import Section


@dataclass(frozen=True)
class _Unit:
    name: str
    caption: str


_LOSS = _Unit(
    "loss in nats per prediction", "Loss in nats per predicted token, over training steps."
)
_SHARE = _Unit("share", "The share that each panel names, over training steps.")


def losses(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Training losses`, a panel per objective and term."""
    short = short_names(runs)
    curves: dict[str, list[Curve]] = {}
    longest_stretch = 1
    for run in runs:
        for term, points in _terms(run).items():
            line = smoothed(finite(points))
            longest_stretch = max(longest_stretch, line.stretch)
            if line.points:
                curves.setdefault(term, []).append(Curve(short[run.label], run.style, line.points))
    shares = {term: lines for term, lines in curves.items() if term.endswith("_share")}
    in_nats = {term: lines for term, lines in curves.items() if term not in shares}
    note = ""
    if longest_stretch > 1:
        note = f" A point is the mean of up to {longest_stretch} logged steps."
    figures = []
    for unit, panels in ((_LOSS, in_nats), (_SHARE, shares)):
        if panels:
            steps = span_of(curves.values()).steps
            drawings = []
            for term, lines in panels.items():
                drawings.append(
                    line_panel(term, lines, replace(domain(lines), steps=steps), unit.name)
                )
            figures.append(PanelFigure(unit.caption + note, drawings))
    lead = "Training losses by objective, all languages together. Scales differ between objectives."
    return panel_section("Training losses", lead, runs, figures)


def _terms(run: ReportedRun) -> dict[str, list[tuple[float, float | None]]]:
    """Return (step, loss) by the name of the term, with its objective if the names differ."""
    terms: dict[str, list[tuple[float, float | None]]] = {}
    for step in run.steps:
        for term, loss in step.losses.items():
            is_only = term == step.objective or (term == "loss" and len(step.losses) == 1)
            name = step.objective if is_only else f"{step.objective}: {term}"
            terms.setdefault(name, []).append((step.step, loss))
    return terms
