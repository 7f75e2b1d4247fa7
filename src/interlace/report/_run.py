"""What a run folder holds, and which column of the page it belongs to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from interlace.errors import DataError
from interlace.report._parts import (
    Diagnosis,
    Embedding,
    Evaluation,
    Facts,
    LinkMatrix,
    Predictions,
    Sample,
    Score,
    Step,
)
from interlace.report._reading import read_metrics, read_whole
from interlace.report._words import Words, read_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_OTHER = {"seed", "evaluate", "about", "changes", "published"}  # what columns do not differ in


@dataclass(frozen=True)
class Run:
    """A run folder, or one that holds the scores of a checkpoint: its recipe is then empty.

    label: the column this run belongs to: its recipe's name, shared by runs that differ in nothing but the seed and
        were scored under the same conditions; without a recipe the folder's name.
    style: the number of that column; it chooses colour, marker and dashes in every figure.
    """

    folder: Path
    recipe: dict[str, Any]
    facts: Facts
    label: str
    style: int = 0
    steps: list[Step] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    embedding: Embedding | None = None
    links: list[LinkMatrix] = field(default_factory=list)
    predictions: list[Predictions] = field(default_factory=list)
    words: Words | None = None


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs in the order given, with their columns.

    Raises:
        DataError: no folder, a folder twice, not a run folder, or a damaged file (named with its line).
    """
    if not folders:
        raise DataError("a report needs at least one run folder; none was given")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise DataError(f"a run folder is given twice: {', '.join(map(str, folders))}")
    runs = [_read(folder) for folder in folders]
    return _labelled(runs)


def _read(folder: Path) -> Run:
    if not folder.is_dir():
        near = get_close_matches(folder.name, _neighbours(folder), n=1)
        raise DataError(f"{folder}: no such run folder" + (f"; did you mean {near[0]!r}?" if near else ""))
    if not any((folder / name).is_file() for name in ("recipe.json", "scores.json")):
        message = "it holds neither recipe.json (interlace pretrain writes it) nor scores.json (interlace evaluate)"
        raise DataError(f"{folder}: not a run folder: {message}")
    metrics = list(read_metrics(folder / "metrics.jsonl"))
    recipe = read_whole(folder / "recipe.json", dict[str, Any]) or {}
    return Run(
        folder=folder,
        recipe=recipe,
        facts=read_whole(folder / "run.json", Facts) or Facts(),
        label=str(recipe.get("name") or folder.name),
        steps=[line for line in metrics if isinstance(line, Step)],
        evaluations=[line for line in metrics if isinstance(line, Evaluation)],
        diagnoses=[line for line in metrics if isinstance(line, Diagnosis)],
        samples=read_whole(folder / "samples.json", list[Sample]) or [],
        scores=read_whole(folder / "scores.json", list[Score]) or [],
        embedding=read_whole(folder / "embedding.json", Embedding),
        links=read_whole(folder / "links.json", list[LinkMatrix]) or [],
        predictions=[
            found
            for path in sorted((folder / "predictions").glob("*.json"))
            if (found := read_whole(path, Predictions)) is not None
        ],
        words=read_words(folder / "words.safetensors"),
    )


def _neighbours(folder: Path) -> list[str]:
    return [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.parent.is_dir() else []


def _labelled(runs: list[Run]) -> list[Run]:
    """Runs of one name get their folder's name beside it where they do not make one column."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.label, []).append(run)
    apart = {name for name, some in by_name.items() if not _alike(some)}
    labels = [
        f"{run.label} ({run.folder.name})" if run.label in apart and run.label != run.folder.name else run.label
        for run in runs
    ]
    columns = list(dict.fromkeys(labels))
    return [replace(run, label=label, style=columns.index(label)) for run, label in zip(runs, labels, strict=True)]


def _alike(runs: Sequence[Run]) -> bool:
    """Whether they were trained alike but for the seed, and scored alike wherever several were.

    A run's `evaluate` section may be older than its scores, so it only counts for scores that do not tell more.
    """
    if len({json.dumps(_trained(run.recipe), sort_keys=True) for run in runs}) > 1:
        return False
    conditions: dict[tuple[str, str, str], set[str]] = {}
    for run in runs:
        section = json.dumps(run.recipe.get("evaluate"), sort_keys=True)
        for score in run.scores:
            place = score.task, score.setting, score.language
            conditions.setdefault(place, set()).add(score.conditions or section)
    return all(len(some) == 1 for some in conditions.values())


def _trained(recipe: dict[str, Any]) -> dict[str, Any]:
    """The part of a recipe that a model comes from."""
    return {key: value for key, value in recipe.items() if key not in _OTHER}


def first_of_each(runs: Sequence[Run]) -> list[Run]:
    """The first run of each column, in order of the columns."""
    found: dict[str, Run] = {}
    for run in runs:
        found.setdefault(run.label, run)
    return list(found.values())
