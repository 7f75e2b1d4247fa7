"""What runs were trained on, with which settings, and what that took."""

import json
from collections.abc import Sequence
from typing import Any

from interlace.core.store import leaves
from interlace.report.runs import ReportedRun, first_of_each
from interlace.report.sections import Section
from interlace.report.tables import Column, Entry, Line, Table, html_fragment
from interlace.report.text import MISSING, count, duration, language_name, percent, render

_IGNORED = {"name", "about", "published"}
_HEADS = ("device", "processes", "parameters", "tokens", "time", "tokens/s")


def mixture(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Mixture`; none without recorded shares."""
    trained = [run for run in first_of_each(runs) if run.facts.get("shares")]
    shares = {run.label: run.facts["shares"] for run in trained}
    names = sorted(set().union(*shares.values()))
    if not names:
        return None
    lines = []
    for name in names:
        objective, _, corpus = name.partition("/")
        entries = []
        for shares_of_run in shares.values():
            share = shares_of_run.get(name)
            entries.append(Entry(percent(100 * share, 1)) if share else None)
        lines.append(Line(f"{objective}, {language_name(corpus)}", tuple(entries)))
    columns = tuple(map(Column, shares))
    table = Table(
        "mixture",
        "Objectives and their corpora",
        columns,
        tuple(lines),
    )
    return Section("Mixture", "Shares of the training tokens.", html_fragment(table))


def recipe(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Recipe`: a table of the settings that differ, and each recipe as JSON."""
    pretrained = [run for run in first_of_each(runs) if run.recipe]
    if not pretrained:
        return None
    settings = [dict(leaves(run.recipe)) for run in pretrained]
    keys: dict[str, None] = {}
    for run_settings in settings:
        keys |= dict.fromkeys(run_settings)
    lines = []
    for key in keys:
        texts = [_text(run_settings.get(key, MISSING)) for run_settings in settings]
        if len(set(texts)) > 1 and key not in _IGNORED:
            lines.append(Line(key, tuple(map(Entry, texts))))
    columns = tuple(Column(run.label, is_text=True) for run in pretrained)
    table = html_fragment(
        Table(
            "settings",
            "Settings that differ",
            columns,
            tuple(lines),
        ),
        "facts",
    )
    sources = []
    for run in pretrained:
        sources.append((run.label, json.dumps(run.recipe, indent=2, ensure_ascii=False)))
    body = render(
        "recipe",
        table=table if lines else "",
        sources=sources,
    )
    lead = f"{len(lines)} of {len(keys)} settings differ."
    return Section(
        "Recipe",
        lead,
        body,
        folded=True,
    )


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def compute(runs: Sequence[ReportedRun]) -> Section:
    """Return the section `Compute`, a row per run."""
    lines = []
    for run in runs:
        tokens = run.facts.get("tokens")
        seconds = run.facts.get("seconds", {}).get("training")
        texts = (
            str(run.facts.get("device") or MISSING),
            str(run.facts.get("processes") or 1),
            count(run.facts.get("parameters")),
            count(tokens),
            duration(seconds),
            count(tokens / seconds) if tokens and seconds else MISSING,
        )
        label = run.label
        if not label.endswith(run.folder.name):
            label += f" ({run.folder.name})"
        lines.append(Line(label, tuple(map(Entry, texts))))
    columns = tuple(map(Column, _HEADS))
    table = Table(
        "compute",
        "Compute by run",
        columns,
        tuple(lines),
        head="Run",
    )
    lead = "Pre-training, without evaluation and preparation of data."
    return Section(
        "Compute",
        lead,
        html_fragment(table, "beside"),
        folded=True,
    )
