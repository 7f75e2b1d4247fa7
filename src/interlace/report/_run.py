"""What a run folder holds, and which column of the page it belongs to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError
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


_STUDY = "study.json"  # as studies write it
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

    @property
    def models(self) -> list[str]:
        """Of a folder of a checkpoint's scores, what was scored; "" among them where scores do not say it.

        Of an absolute path only the last part is given: a page tells nothing of its author's disk.
        """
        return [] if self.recipe else list(dict.fromkeys(shown_name(score.model) for score in self.scores))


def shown_name(model: str) -> str:
    return Path(model).name if Path(model).is_absolute() else model


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
        if (folder / _STUDY).is_file():
            raise DataError(_is_a_study(folder))
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
        links=read_whole(folder / "alignments.json", list[LinkMatrix]) or [],
        predictions=[
            found
            for path in sorted((folder / "predictions").glob("*.json"))
            if (found := read_whole(path, Predictions)) is not None
        ],
        words=read_words(folder / "words.safetensors"),
    )


def _is_a_study(folder: Path) -> str:
    page = folder / "report.html"
    there = f"its report is {page}" if page.is_file() else f"its report is to be {page}"
    return (
        f"{folder}: a study's folder and not a run's: {there}, which `interlace study STUDY --output {folder}` writes, "
        f"STUDY being the file or name that the study was run by; its runs are the folders in {folder / 'cells'}"
    )


def _neighbours(folder: Path) -> list[str]:
    return [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.parent.is_dir() else []


def _labelled(runs: list[Run]) -> list[Run]:
    """With columns; where runs of one name make several, each has a folder's name behind it."""
    groups: list[list[Run]] = []
    for run in runs:
        group = next((some for some in groups if all(_alike(run, other) for other in some)), None)
        groups.append([run]) if group is None else group.append(run)
    named = [group[0].label for group in groups]
    folders = _shortest([group[0].folder for group in groups])
    column = {
        run.folder: name if named.count(name) == 1 or name == folder else f"{name} ({folder})"
        for group, name, folder in zip(groups, named, folders, strict=True)
        for run in group
    }
    styles = {label: style for style, label in enumerate(dict.fromkeys(column[run.folder] for run in runs))}
    return [replace(run, label=column[run.folder], style=styles[column[run.folder]]) for run in runs]


def _shortest(folders: Sequence[Path]) -> list[str]:
    """As many of their last parts as tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-count:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return names


def _alike(one: Run, other: Run) -> bool:
    """Whether two runs are of one name, trained alike but for the seed, and scored alike wherever both were.

    A run's `evaluate` section may be older than its scores, so it only counts for scores that do not tell more.
    Checkpoints without a recipe are each their own.
    """
    if one.label != other.label or not one.recipe or _trained(one.recipe) != _trained(other.recipe):
        return False
    theirs = _measured(other)
    return all(
        conditions == theirs[place][0] and (not files or not theirs[place][1] or files == theirs[place][1])
        for place, (conditions, files) in _measured(one).items()
        if place in theirs
    )


def _measured(run: Run) -> dict[tuple[str, str, str], tuple[str, str]]:
    """By task, setting and language: under which conditions, and what the files held where that is known."""
    section = json.dumps(run.recipe.get("evaluate"), sort_keys=True)
    return {
        (score.task, score.setting, score.language): (score.settings_key or section, score.files_key)
        for score in run.scores
    }


def _trained(recipe: dict[str, Any]) -> dict[str, Any]:
    """The part of a recipe that a model comes from."""
    return {key: value for key, value in recipe.items() if key not in _OTHER}


def checkpoint_of(run: Run) -> str:
    """A sentence on the checkpoint whose scores a folder holds; "" of what was pre-trained here."""
    if run.recipe:
        return ""
    known = [model for model in run.models if model]
    told = f"scores of {', '.join(known)}" if known else "which checkpoint was scored is not known"
    return f"Not pre-trained here: {told}{', and of one that is not known' if known and '' in run.models else ''}."


def first_of_each(runs: Sequence[Run]) -> list[Run]:
    """The first run of each column, in order of the columns."""
    found: dict[str, Run] = {}
    for run in runs:
        found.setdefault(run.label, run)
    return list(found.values())
