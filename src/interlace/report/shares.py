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


_AMOUNTS = (("subwords", "tokens"), ("rows", "rows"), ("steps", "steps"))  # as people and as `run.json` call them


def shares(runs: Sequence[Run]) -> Section:
    """The section: a bar a recipe for each objective and corpus, all on one scale."""
    shown = [run for run in first_of_each(runs) if run.facts.shares]
    names = list(dict.fromkeys(name for run in shown for name in run.facts.shares))
    longest = max((share for run in shown for share in run.facts.shares.values()), default=1.0) or 1.0
    groups: dict[str, list[dict[str, object]]] = {}
    for name in names:
        objective, _, corpus = name.partition("/")
        bars = [
            {"label": _amount(run, name), "style": run.style, "share": run.facts.shares.get(name, 0.0),
             "width": 100 * run.facts.shares.get(name, 0.0) / longest}
            for run in shown
            if run.facts.shares.get(name)
        ]  # fmt: skip
        groups.setdefault(objective, []).append({"corpus": language_name(corpus), "bars": bars})
    languages = _languages(shown)
    totals = {
        objective: [(run.label, total) for run in shown if (total := _total(run, objective)) > 0]
        for objective in groups
    }
    if languages:
        groups["all, by language"], totals["all, by language"] = languages, []
    lead = (
        "What training really read, in shares of its subwords."
        if shown
        else "The realised shares of the mixture were not recorded."
    )
    keys = [column for label, column in columns(runs).items() if label in {run.label for run in shown}]
    return Section("Mixture", lead, render("shares", groups=groups, totals=totals, keys=keys))


def _amount(run: Run, name: str) -> str:
    """The run's label, with what it read of this source where that was recorded."""
    mixture = run.facts.get("mixture") or {}
    parts = [f"{count:,} {what}" for what, key in _AMOUNTS if (count := mixture.get(key, {}).get(name))]
    return f"{run.label}: {', '.join(parts)}" if parts else run.label


def _languages(runs: Sequence[Run]) -> list[dict[str, object]]:
    """A row a language, with a bar a run; empty where no run recorded them."""
    counts = {run.label: (run.facts.get("mixture") or {}).get("languages", {}) for run in runs}
    names = list(dict.fromkeys(name for found in counts.values() for name in found))
    parts = {label: {name: count / max(sum(found.values()), 1) for name, count in found.items()}
             for label, found in counts.items()}  # fmt: skip
    longest = max((part for found in parts.values() for part in found.values()), default=1.0) or 1.0
    return [
        {
            "corpus": language_name(name),
            "bars": [
                {"label": run.label, "style": run.style, "share": part, "width": 100 * part / longest}
                for run in runs
                if (part := parts[run.label].get(name, 0.0)) > 0
            ],
        }
        for name in names
    ]


def _total(run: Run, objective: str) -> float:
    return sum(share for name, share in run.facts.shares.items() if name.partition("/")[0] == objective)
