"""The realised mixture: which share of the training subwords came from which objective and corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._columns import columns
from interlace.report._format import language_name
from interlace.report._run import first_of_each
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._run import Run


def shares(runs: Sequence[Run]) -> Section:
    """The section: a bar a recipe for each objective and corpus, all on one scale."""
    shown = [run for run in first_of_each(runs) if run.facts.shares]
    names = list(dict.fromkeys(name for run in shown for name in run.facts.shares))
    longest = max((share for run in shown for share in run.facts.shares.values()), default=1.0) or 1.0
    groups: dict[str, list[dict[str, object]]] = {}
    for name in names:
        objective, _, corpus = name.partition("/")
        bars = [
            {"label": run.label, "style": run.style, "share": run.facts.shares.get(name, 0.0),
             "width": 100 * run.facts.shares.get(name, 0.0) / longest}
            for run in shown
            if run.facts.shares.get(name)
        ]  # fmt: skip
        groups.setdefault(objective, []).append({"corpus": language_name(corpus), "bars": bars})
    totals = {
        objective: [(run.label, total) for run in shown if (total := _total(run, objective)) > 0]
        for objective in groups
    }
    lead = (
        "What training really read, in shares of its subwords."
        if shown
        else "The realised shares of the mixture were not recorded."
    )
    keys = [column for label, column in columns(runs).items() if label in {run.label for run in shown}]
    return Section("Mixture", lead, render("shares", groups=groups, totals=totals, keys=keys))


def _total(run: Run, objective: str) -> float:
    return sum(share for name, share in run.facts.shares.items() if name.partition("/")[0] == objective)
