"""Small multiples of curves over training steps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean

from interlace.report import svg
from interlace.report.figures.line_panel import Curve, Domain, domain, finite, line_panel
from interlace.report.runs import LoggedScores, ReportedRun, first_of_each, short_names
from interlace.report.section import Section
from interlace.report.text import render

MEAN_OF_ALL = "Mean of all"
MAX_PANELS = 12

Logged = Mapping[Path, Sequence[LoggedScores]]  # by run folder
Curves = Mapping[str, Sequence[Curve]]  # by panel


@dataclass(frozen=True)
class PanelFigure:
    """Panels with their caption; hidden: the titles of panels that are not drawn."""

    caption: str
    panels: Sequence[svg.Drawing]
    hidden: Sequence[str] = ()


def panel_figure(
    caption: str,
    curves: Curves,
    unit: str,
    span: Domain,
    shown: Sequence[str],
    title: Callable[[str], str] = str,
) -> PanelFigure:
    """Draw the panels that are `shown`."""
    panels = [line_panel(title(name), curves[name], span, unit) for name in shown]
    hidden = [title(name) for name in curves if name not in shown]
    return PanelFigure(caption, panels, hidden)


def panel_section(
    title: str, lead: str, runs: Sequence[ReportedRun], figures: Sequence[PanelFigure]
) -> list[Section]:
    """Return a section of small multiples with a key of the runs; none without figures."""
    if not figures:
        return []
    styles = {run.label: run.style for run in first_of_each(runs)}
    keys = []
    if len(styles) > 1:
        keys = [(svg.key(style, with_line=True), label) for label, style in styles.items()]
    body = render("panels", figures=figures, keys=keys)
    drawings = list(chain.from_iterable(figure.panels for figure in figures))
    return [Section(title, lead, body, drawings)]


def curves_of(
    runs: Sequence[ReportedRun], logged: Logged, panels: Mapping[str, str]
) -> dict[str, list[Curve]]:
    """Return the curves of each panel, one a run. panels: name of a score -> panel, which shows the mean of several."""
    short = short_names(runs)
    names_by_panel: dict[str, list[str]] = {}
    for name, panel in panels.items():
        names_by_panel.setdefault(panel, []).append(name)
    curves: dict[str, list[Curve]] = {}
    for panel, names in names_by_panel.items():
        for run in runs:
            points = finite([(line.step, _mean(line, names)) for line in logged[run.folder]])
            if points:
                curves.setdefault(panel, []).append(Curve(short[run.label], run.style, points))
    return curves


def _mean(line: LoggedScores, names: Sequence[str]) -> float | None:
    scores = (line.scores.get(name) for name in names)
    present = [score for score in scores if score is not None]
    return fmean(present) if present else None


def score_names(logged: Logged) -> list[str]:
    """Return the names of all logged scores, each once."""
    names: dict[str, None] = {}
    for lines in logged.values():
        for line in lines:
            names |= dict.fromkeys(line.scores)
    return list(names)


def is_of_dictionary(name: str) -> bool:
    """Return whether a score is of an objective's dictionary, such as `align_mlm/train/p@1`."""
    parts = name.split("/")
    return len(parts) == 3 and parts[1] in {"train", "held-out"}


def span_of(panels: Iterable[Sequence[Curve]], log: bool = False) -> Domain:
    """Return the range of the curves of several panels."""
    return domain(list(chain.from_iterable(panels)), log)
