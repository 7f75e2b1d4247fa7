"""Training losses by objective, averaged over stretches of steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._columns import columns
from interlace.report._lines import Curve, domain, finite, panel, smoothed
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._run import Run


def losses(runs: Sequence[Run]) -> Section:
    """The section: a panel a loss term with a line a run."""
    names = list(dict.fromkeys(name for run in runs for name in _series(run)))
    keys = columns(runs)
    curves: dict[str, list[Curve]] = {}
    size = 1
    for name in names:
        curves[name] = []
        for run in runs:
            points, width = smoothed(finite(_series(run).get(name, [])))
            size = max(size, width)
            curves[name] += [Curve(keys[run.label].short, run.style, points)] if points else []
    steps = (
        domain([curve for lines in curves.values() for curve in lines]).steps if any(curves.values()) else (0.0, 1.0)
    )
    panels = {
        name: panel(name, lines, replace(domain(lines), steps=steps), "share" if _is_share(name) else _LOSS)
        for name, lines in curves.items()
        if lines
    }
    note = f" A point is the mean of up to {size} recorded steps of that objective." if size > 1 else ""
    lead = (
        "What the optimiser saw, all languages together. Objectives differ in difficulty: compare lines, not panels."
        if panels
        else "No training step was recorded."
    )
    shares = [drawn for name, drawn in panels.items() if _is_share(name)]
    nats = [drawn for name, drawn in panels.items() if not _is_share(name)]
    figures = [
        {"panels": drawn, "caption": caption + note, "hidden": []}
        for drawn, caption in (
            (nats, "Nats a predicted subword, over training steps."),
            (shares, "No losses: the share of the predicted subwords that this can be said of, over training steps."),
        )
        if drawn
    ]
    return Section("Training losses", lead, render("panels", figures=figures, keys=keys, several=len(keys) > 1))


_LOSS = "loss in nats a prediction"


def _is_share(name: str) -> bool:
    """Whether a term without weight, such as WEAM's `aligned_share`, only says how often something holds."""
    return name.endswith("_share")


def _series(run: Run) -> dict[str, list[tuple[float, float | None]]]:
    """By name of the term (with its objective where the two are called differently): (step, loss)."""
    series: dict[str, list[tuple[float, float | None]]] = {}
    for step in run.steps:
        for term, value in step.losses.items():
            plain = term == step.objective or (term == "loss" and len(step.losses) == 1)
            name = step.objective if plain else f"{step.objective}: {term}"
            series.setdefault(name, []).append((step.step, value))
    return series
