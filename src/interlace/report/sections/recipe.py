"""Settings of the runs that differ, and their recipes."""

import json
from collections.abc import Sequence
from itertools import chain

from interlace.core.store import leaves
from interlace.report.runs import ReportedRun, first_of_each
from interlace.report.section import Section
from interlace.report.tables import facts_table
from interlace.report.text import MISSING, render

_IGNORED = {"name", "about", "published"}


def recipe(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Recipe`: a table of the settings that differ, and each recipe as JSON."""
    pretrained = [run for run in first_of_each(runs) if run.recipe]
    if not pretrained:
        return []
    settings = [_settings(run) for run in pretrained]
    keys = dict.fromkeys(chain.from_iterable(settings))
    differing = {}
    for key in keys:
        values = [run_settings.get(key, MISSING) for run_settings in settings]
        if len(set(values)) > 1:
            differing[key] = values
    lead = "All settings, with defaults."
    if len(pretrained) > 1:
        lead = f"{len(differing)} of {len(keys)} settings differ."
    sources = [
        (run.label, json.dumps(run.recipe, indent=2, ensure_ascii=False)) for run in pretrained
    ]
    table = facts_table("Settings that differ", [run.label for run in pretrained], differing)
    return [Section("Recipe", lead, render("recipe", table=table, sources=sources), folded=True)]


def _settings(run: ReportedRun) -> dict[str, str]:
    """Return the settings of a recipe as text, by key."""
    return {key: _text(value) for key, value in leaves(run.recipe) if key not in _IGNORED}


def _text(value: object) -> str:
    if value is None or value in ({}, "", []):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_text(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
