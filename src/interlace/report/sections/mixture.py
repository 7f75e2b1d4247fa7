"""Shares of the training tokens by objective, corpus and language."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from markupsafe import Markup

from interlace.report.runs import ReportedRun, first_of_each
from interlace.report.section import Section
from interlace.report.tables import Column, Entry, Line, Table, html_fragment
from interlace.report.text import language_name, percent

_AMOUNTS = {"tokens": "subwords", "rows": "rows", "steps": "steps"}  # key of a mixture -> unit


def mixture(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Mixture`; none without recorded shares."""
    trained = [run for run in first_of_each(runs) if run.facts.get("shares")]
    if not trained:
        return []
    body = html_fragment(_by_corpus(trained)) + _by_language(trained)
    return [
        Section("Mixture", "Shares of the training tokens by objective, corpus and language.", body)
    ]


def _by_corpus(runs: Sequence[ReportedRun]) -> Table:
    names = set()
    for run in runs:
        for name in run.facts["shares"]:
            names |= {name, name.partition("/")[0]}
    lines = []
    for name in sorted(names):  # an objective before its corpora
        objective, _, corpus = name.partition("/")
        entries = tuple(_share(run, name) for run in runs)
        lines.append(
            Line(language_name(corpus) or objective, entries, kind="" if corpus else "mean")
        )
    columns = tuple(Column(run.label) for run in runs)
    return Table("mixture", "Objectives and their corpora", columns, tuple(lines))


def _share(run: ReportedRun, name: str) -> Entry | None:
    """Return the share of a corpus with what was read of it, or of a whole objective."""
    shares: Mapping[str, float] = run.facts["shares"]
    share = shares.get(name)
    if share is None:
        share = sum(part for corpus, part in shares.items() if corpus.startswith(f"{name}/"))
    if not share:
        return None
    mixture: Mapping[str, Any] = run.facts.get("mixture") or {}
    amounts = []
    for key, unit in _AMOUNTS.items():
        amount = mixture.get(key, {}).get(name)
        if amount:
            amounts.append(f"{amount:,} {unit}")
    return Entry(percent(100 * share, 1), small=", ".join(amounts))


def _by_language(runs: Sequence[ReportedRun]) -> Markup:
    counts: list[Mapping[str, int]] = [
        (run.facts.get("mixture") or {}).get("languages", {}) for run in runs
    ]
    languages = dict.fromkeys(chain.from_iterable(counts))
    if not languages:
        return Markup("")
    lines = []
    for language in languages:
        entries = []
        for run_counts in counts:
            share = run_counts.get(language, 0) / max(sum(run_counts.values()), 1)
            entries.append(Entry(percent(100 * share, 1)) if share else None)
        lines.append(Line(language_name(language), tuple(entries)))
    columns = tuple(Column(run.label) for run in runs)
    return html_fragment(Table("languages", "By language", columns, tuple(lines)))
