"""Recipes, compute, and how to reproduce the page."""

import json
import shlex
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from interlace.core.store import leaves
from interlace.report.runs import Run, first_of_each, shown_model
from interlace.report.sections import Section
from interlace.report.tables import Column, Entry, Line, Table, html_fragment
from interlace.report.text import MISSING, count, duration, render
from interlace.scores import ScoreTable
from interlace.tasks import PER_LANGUAGE
from interlace.training.run_folder import EVALUATION, RECIPE

_FACTS = (
    *("checkpoint", "interlace", "python", "torch", "transformers", "platform", "processor", "cores", "threads"),
    *("device", "processes"),
)


def setup(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Recipe`, `Compute` and `Reproduction`."""
    shown = first_of_each(runs)
    seconds = dict.fromkeys(part for run in shown for part in run.facts.get("seconds", {}))
    derived = dict.fromkeys(language for run in shown for language in _derived(run))
    names = [*_FACTS, *(f"subwords of {language}" for language in derived), *(f"time: {part}" for part in seconds)]
    rows = {name: [_fact(run, name) for run in shown] for name in names}
    rows = {name: values for name, values in rows.items() if set(values) != {MISSING}}
    shared = {name: values[0] for name, values in rows.items() if len(set(values)) == 1}
    differing = {name: values for name, values in rows.items() if name not in shared}
    table = _facts_table("Versions and timings", [run.label for run in shown], differing) if differing else ""
    body = render("reproduction", shared=shared, table=table, commands=_commands(runs))
    return [
        *_recipe(runs),
        _compute(runs),
        Section("Reproduction", "Versions, hardware, and commands that reproduce this page.", body, folded=True),
    ]


def _recipe(runs: Sequence[Run]) -> list[Section]:
    """Return a table of the settings that differ, and each recipe as JSON."""
    shown = [run for run in first_of_each(runs) if run.recipe]
    if not shown:
        return []
    flat = [{key: _text(value) for key, value in leaves(run.recipe)} for run in shown]
    keys = dict.fromkeys(key for one in flat for key in one if key not in {"name", "about", "published"})
    rows = {key: [one.get(key, MISSING) for one in flat] for key in keys}
    differing = {key: values for key, values in rows.items() if len(set(values)) > 1}
    lead = f"{len(differing)} of {len(rows)} settings differ." if len(shown) > 1 else "All settings, with defaults."
    sources = [(run.label, json.dumps(run.recipe, indent=2, ensure_ascii=False)) for run in shown]
    table = _facts_table("Settings that differ", [run.label for run in shown], differing) if differing else ""
    return [Section("Recipe", lead, render("recipe", table=table, sources=sources), folded=True)]


def _facts_table(title: str, labels: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Any:
    columns = tuple(Column(label, is_text=True) for label in labels)
    lines = tuple(Line(name, tuple(map(Entry, values))) for name, values in rows.items())
    return html_fragment(Table("facts", title, columns, lines), "facts")


def _text(value: object) -> str:
    if value is None or value in ({}, "", []):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_text(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _compute(runs: Sequence[Run]) -> Section:
    spent = [_seconds(run) for run in runs]
    total = [sum(each) for each in zip(*spent, strict=True)]
    rows = []
    for run, (training, tuning, scoring) in zip(runs, spent, strict=True):
        facts, processes = run.facts, run.facts.get("processes") or 1
        device = str(facts.get("device") or MISSING) + (f" × {processes}" if processes > 1 else "")
        speed = count(facts["tokens"] / training) if facts.get("tokens") and training else MISSING
        label = run.label if run.label.endswith(run.folder.name) else f"{run.label} ({run.folder.name})"
        counts = [count(facts.get("parameters")), count(facts.get("tokens"))]
        rows.append([label, device, *counts, duration(training), speed, duration(tuning), duration(scoring)])
    lines = [Line(label, tuple(map(Entry, entries))) for label, *entries in rows]
    if len(runs) > 1:
        tokens = count(sum(run.facts.get("tokens", 0) for run in runs))
        entries = ["", "", tokens, duration(total[0]), "", duration(total[1]), duration(total[2])]
        lines.append(Line("total", tuple(map(Entry, entries)), kind="mean"))
    lead = "No timings were recorded."
    if sum(total):
        lead = f"Pre-training, fine-tuning and scoring: {duration(sum(total))}."
    heads = ("device", "parameters", "tokens", "pre-training", "tokens/s", "fine-tuning", "scoring")
    note = (
        "Fine-tuning: each run once, up to its last selected checkpoint, with dev evaluations. Scoring: test sets. "
        "Not included: learning rates that were not selected, training after the selected checkpoint, data preparation."
    )
    table = Table("compute", "Compute by run", tuple(map(Column, heads)), tuple(lines), note, "Run")
    return Section("Compute", lead, html_fragment(table, "beside"), folded=True)


def _seconds(run: Run) -> tuple[float, float, float]:
    """Return seconds of pre-training, fine-tuning (the longest of rows that share one) and scoring."""
    tuned: dict[tuple[Hashable, ...], float] = {}
    main = run.scores.filter(main=True)
    for row in main:
        if row.tuning:
            alone = row.language if row.setting in PER_LANGUAGE else ""
            one = row.task, row.seed, row.key, alone, row.tuning.get("learning_rate")
            tuned[one] = max(tuned.get(one, 0.0), float(row.tuning.get("seconds") or 0.0))
    return run.facts.get("seconds", {}).get("training", 0.0), sum(tuned.values()), sum(row.seconds for row in main)


def _derived(run: Run) -> dict[str, str]:
    """Return for each derived language the shares of running subwords shared and tokenized alike with the original."""
    text = "{shared:.1f} % shared with the original, {cut_alike:.1f} % tokenized alike"
    rows = [row for row in run.facts.get("data") or [] if row.get("derived")]
    return {row["languages"][0]: text.format(**row["derived"]) for row in rows}


def _fact(run: Run, name: str) -> str:
    if name.startswith("time: "):
        return duration(run.facts.get("seconds", {}).get(name.removeprefix("time: ")))
    if name.startswith("subwords of "):
        return _derived(run).get(name.removeprefix("subwords of "), MISSING)
    if name == "checkpoint":
        return ", ".join(model or "unknown" for model in run.models) or MISSING
    value = run.facts.get(name)
    return MISSING if value is None else str(value)


def _commands(runs: Sequence[Run]) -> list[str]:
    """Return the commands, with absolute paths reduced to their last part."""
    lines, shown = [], []
    for run in runs:
        found = Path(run.folder.name) if run.folder.is_absolute() else run.folder
        again = Path("again", found.name)  # a finished run would not run again in its own folder
        shown.append(str(found if "" in run.models else again))
        if run.recipe:
            lines.append(["pretrain", str(found / RECIPE), "--output", str(again)])
            if run.scores:
                used = ["--recipe", str(found / EVALUATION)] if (run.folder / EVALUATION).is_file() else []
                lines.append(["evaluate", str(again), *used, *_evaluated(run.scores)])
        for model in run.models:
            scored = ScoreTable(row for row in run.scores if shown_model(row.model) == model)
            how = ["--recipe", str(found / EVALUATION), *_evaluated(scored), "--output", str(again)]
            lines.append(["evaluate", model, *how] if model else [f"# {run.label}: unknown checkpoint"])
    lines.append(["report", *shown, "--output", str(Path("again", "report.html"))])
    return [" ".join(["interlace", *map(shlex.quote, words)]) if len(words) > 1 else words[0] for words in lines]


def _evaluated(scores: ScoreTable) -> list[str]:
    """Return options for the tasks and seeds of these scores."""
    seeds = max(len(rows.unique("seed")) for rows in scores.group("task").values())
    return ["--tasks", ",".join(scores.unique("task")), "--seeds", str(seeds)]
