"""Score by amount of training text, where runs differ in it (Yang et al. 2020, figure 5)."""

from __future__ import annotations

import json
from statistics import fmean
from typing import TYPE_CHECKING, Any

from interlace.report.charts import SizePoint, size_chart
from interlace.report.score_tables import task_scores
from interlace.report.sections import Section, figure_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report.runs import Run
    from interlace.report.svg import Drawing

_MAY_DIFFER = {"name", "seed", "corpora", "data_root", "about", "published", "changes", "evaluate"}  # recipe keys
_MAY_DIFFER_IN = {"train": {"steps"}, "toy": {"sentences", "pairs"}}
_LEAD = (
    "Horizontal: rows of training text, logarithmic. Vertical: mean score over the languages other than the source, "
    "with the range over runs."
)


def data_size(runs: Sequence[Run]) -> Section:
    """Return a chart a task, with a line a system: runs that differ only in text, length and seed."""
    sizes = {run.folder: _size(run) for run in runs}
    systems: dict[str, list[Run]] = {}
    for run in runs:
        if sizes[run.folder]:
            systems.setdefault(_system(run), []).append(run)
    varied = [found for found in systems.values() if len({sizes[run.folder] for run in found}) > 1]
    labels = _labels(varied)
    lines: dict[str, dict[str, list[SizePoint]]] = {}
    for label, found in zip(labels, varied, strict=True):
        for title, points in _points(found, {run.folder: sizes[run.folder] for run in found}).items():
            if len(points) > 1:
                lines.setdefault(title, {})[label] = points
    figures: list[tuple[str, Drawing]] = [("", size_chart(title, some)) for title, some in lines.items()]
    return figure_section("Score by amount of text", _LEAD, figures)


def _size(run: Run) -> int:
    """Return the rows of the text that objectives read: sentences, and sentence pairs."""
    data: list[dict[str, Any]] = run.facts.get("data") or []
    objectives = run.recipe.get("objectives")
    entries = objectives.values() if isinstance(objectives, dict) else []
    named = [entry.get("corpora") if isinstance(entry, dict) else None for entry in entries]
    # one side of a corpus of pairs is "en-de:en"; an objective that names no corpora reads all
    read = {part for names in named for name in names or () for part in (name, name.rpartition(":")[0]) if part}
    return sum(
        int(corpus.get("rows") or 0)
        for corpus in data
        if corpus.get("split") == "train"
        and (not named or not all(named) or read & {corpus.get("group"), corpus.get("corpus")})
    )


def _system(run: Run) -> str:
    """Identify runs that differ only in text, length and seed."""
    kept = {key: value for key, value in run.recipe.items() if key not in _MAY_DIFFER}
    for section, keys in _MAY_DIFFER_IN.items():
        if isinstance(found := kept.get(section), dict):
            kept[section] = {key: value for key, value in found.items() if key not in keys}
    return json.dumps(kept, sort_keys=True)


def _labels(systems: Sequence[Sequence[Run]]) -> list[str]:
    """Return the names of the objectives, with the starting checkpoint if several systems share them."""
    objectives = [runs[0].recipe.get("objectives") for runs in systems]
    labels = [
        " + ".join(found) if isinstance(found, dict) else runs[0].label
        for found, runs in zip(objectives, systems, strict=True)
    ]
    return [
        f"{label}, {_start(runs[0])}" if labels.count(label) > 1 else label
        for label, runs in zip(labels, systems, strict=True)
    ]


def _start(run: Run) -> str:
    """Return the name of the checkpoint that a run started from; of `RUN/model`, that of the run."""
    model = run.recipe.get("model")
    parts = (
        [part for part in str((model or {}).get("start") or "").split("/") if part] if isinstance(model, dict) else []
    )
    return "random" if not parts else parts[-2] if parts[-1] == "model" and len(parts) > 1 else parts[-1]


def _points(runs: Sequence[Run], sizes: dict[Any, int]) -> dict[str, list[SizePoint]]:
    """Return by task and metric a point a size; a run's value is the mean over seeds and languages."""
    values: dict[str, dict[int, list[float]]] = {}
    for run in runs:
        for one in task_scores(run.scores):
            means = [result.mean for measure in one.others for result in one.results[measure].values()]
            if means:
                by_size = values.setdefault(f"{one.name}, {one.first.metric}", {})
                by_size.setdefault(sizes[run.folder], []).append(fmean(means))
    return {
        title: [SizePoint(size, fmean(each), min(each), max(each)) for size, each in sorted(by_size.items())]
        for title, by_size in values.items()
    }
