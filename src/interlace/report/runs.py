"""Run folders as the report reads them: checked parts of each run, and the column of the page that a run belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Required, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from interlace.core.display import listed
from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import must_not_be_special
from interlace.core.json_files import checked, json_record, parse_json, read_json
from interlace.experiments.score_store import outcomes_key, scores_of_model
from interlace.report.text import short_labels
from interlace.scores import Scale, Score, ScoreTable, table_of_entries
from interlace.scores.examples import Examples
from interlace.tasks import TASKS
from interlace.training import predictions, run_folder

T = TypeVar("T")


@json_record
class _DerivedLanguage(TypedDict, total=False):
    transformations: list[str]


@json_record
class _Published(TypedDict, total=False):
    where: Required[str]
    task: str
    system: str
    columns: list[str] | None
    note: str


@json_record
class _Recipe(TypedDict, total=False):
    """What the report reads of a recipe."""

    name: str
    about: str
    evaluate: dict[str, Any]
    derived: dict[str, _DerivedLanguage]
    published: list[_Published]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class LoggedStep(_Part):
    """A training step of `metrics.jsonl`; losses are in nats per prediction."""

    step: int
    objective: str
    losses: dict[str, float | None] = {}


class _LoggedScores(_Part):
    """An evaluation or diagnosis of `metrics.jsonl`, by names such as `perplexity/de`."""

    step: int
    scores: dict[str, float | None]


class Sample(_Part):
    """A training example of an objective on a corpus: the texts of its tokens by line, as in previews."""

    objective: str
    corpus: str
    lines: dict[str, list[str]]


@dataclass(frozen=True)
class MappedWords:
    """`words.safetensors`: words with their language, and (W, H) vectors before and after training.

    pairs: numbers of words that translate each other: the first of each concept with each of the others.
    """

    words: list[tuple[str, str]]
    pairs: list[tuple[int, int]]
    before: NDArray[np.float32]
    after: NDArray[np.float32]


@dataclass(frozen=True)
class ReportedRun:
    """A run folder, or the folder of a checkpoint's scores, which has no recipe.

    facts: the content of `run.json`: versions, hardware, and timings in seconds.
    label: of the column on the page: the recipe's name, shared by runs that differ only in the seed; of a checkpoint
        the folder's name.
    style: number of that column; selects colour, marker and dashes in every figure.
    evaluations: by step the scores of evaluations and diagnoses, by names such as `perplexity/de`.
    """

    folder: Path
    recipe: dict[str, Any]
    facts: dict[str, Any]
    label: str
    style: int = 0
    steps: list[LoggedStep] = field(default_factory=list)
    evaluations: dict[int, dict[str, float | None]] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    scores: ScoreTable = field(default_factory=ScoreTable)
    words: MappedWords | None = None


def first_of_each(runs: Iterable[ReportedRun]) -> list[ReportedRun]:
    """Return the first run of each column."""
    columns: dict[str, ReportedRun] = {}
    for run in runs:
        columns.setdefault(run.label, run)
    return list(columns.values())


def of_first_runs(
    runs: Sequence[ReportedRun],
    items: Callable[[ReportedRun], Iterable[T]],
    key: Callable[[T], str],
) -> dict[str, list[T]]:
    """Group the items of runs by key; all items of a key are from the first run that has it."""
    groups: dict[str, list[T]] = {}
    for run in first_of_each(runs):
        of_run: dict[str, list[T]] = {}
        for item in items(run):
            of_run.setdefault(key(item), []).append(item)
        groups |= {name: members for name, members in of_run.items() if name not in groups}
    return groups


def all_scores(runs: Sequence[ReportedRun]) -> ScoreTable:
    """Return the scores of all runs as one table, whose systems are the columns of the page."""
    return ScoreTable(chain.from_iterable(run.scores for run in runs))


def short_names(runs: Sequence[ReportedRun]) -> dict[str, str]:
    """Return by column its name in figures, without the words that all share."""
    labels = [run.label for run in first_of_each(runs)]
    return dict(zip(labels, short_labels(labels), strict=True))


def read_runs(folders: Sequence[Path], baseline: str = "") -> list[ReportedRun]:
    """Read runs and assign them to columns, the baseline first; reject none, a duplicate, and other folders.

    baseline: folder, its name, or the name of a column; default: the first run.
    """
    if not folders:
        raise DataError("a report needs at least one run folder; none was given")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise DataError(f"a run folder is given twice: {listed(folders)}")
    columns = _columns([_read_run(folder) for folder in folders])
    by_label = dict(zip(_labels(columns), columns, strict=True))
    baseline_label = _baseline_label(by_label, baseline)
    runs = []
    for style, label in enumerate(sorted(by_label, key=lambda label: label != baseline_label)):
        for run in by_label[label]:
            scores = ScoreTable(replace(row, system=label, label=label) for row in run.scores)
            runs.append(
                replace(
                    run,
                    label=label,
                    style=style,
                    scores=scores,
                )
            )
    return runs


def _labels(columns: Sequence[Sequence[ReportedRun]]) -> list[str]:
    """Return the names of columns; those with the same name get folder names behind it."""
    names = [runs[0].label for runs in columns]
    folders = _shortest([runs[0].folder for runs in columns])
    labels = []
    for name, folder in zip(names, folders, strict=True):
        is_unique = names.count(name) == 1 or name == folder
        labels.append(name if is_unique else f"{name} ({folder})")
    return labels


def _baseline_label(by_label: Mapping[str, Sequence[ReportedRun]], baseline: str) -> str:
    """Return the column of the baseline; a DataError names the nearest."""
    for label, runs in by_label.items():
        names = {"", label, *(run.folder.name for run in runs)}
        if baseline in names or Path(baseline) in {run.folder for run in runs}:
            return label
    hint = did_you_mean(baseline, by_label)
    raise DataError(f"--baseline {baseline!r}: none of the runs ({listed(by_label)}){hint}")


def read_outcomes(row: Score, root: Path = Path()) -> Examples:
    """Return the stored outcomes of the test examples of a score; a DataError says what is missing.

    root: the folder that `row.run` is relative to.
    """
    key = outcomes_key(vars(row)) if row.key else None
    return predictions.read_outcomes(outcomes_path(row, root), key)


def outcomes_path(row: Score, root: Path = Path()) -> Path:
    """Return the file with the outcomes of the test examples of a score."""
    return predictions.outcomes_file(root / row.run, row.task, row.seed, row.language, row.setting)


def _read_run(folder: Path) -> ReportedRun:
    _check_folder(folder)
    recipe: dict[str, Any] = read_json(folder / run_folder.RECIPE, _Recipe, None) or {}
    evaluation: dict[str, Any] = read_json(folder / run_folder.EVALUATION, _Recipe, None) or {}
    if recipe and "evaluate" in evaluation:  # what the scores were computed with
        recipe = {**recipe, "evaluate": evaluation["evaluate"]}
    scores_path = folder / run_folder.SCORES
    entries = scores_of_model(folder, read_json(scores_path, list[dict[str, Any]], None) or [])
    run = ReportedRun(
        folder=folder,
        recipe=recipe,
        facts=run_folder.read_run(folder),
        label=recipe.get("name") or folder.resolve().name,
        samples=read_json(folder / run_folder.SAMPLES, list[Sample], None) or [],
        scores=table_of_entries(
            entries,
            str(scores_path),
            _scale,
            run=str(folder),
            pretrained=bool(recipe),
        ),
        words=_read_words(folder / run_folder.WORDS),
    )
    metrics_path = folder / run_folder.METRICS
    for number, row in enumerate(run_folder.read_metrics(metrics_path), 1):
        where = f"{metrics_path}, row {number}"
        if row.get("kind") == "step":
            run.steps.append(checked(row, LoggedStep, where))
        elif row.get("kind") in {"evaluation", "diagnosis"}:
            logged = checked(row, _LoggedScores, where)
            run.evaluations.setdefault(logged.step, {}).update(logged.scores)
    return run


def _check_folder(folder: Path) -> None:
    """Raise a DataError if a folder is no run folder; it names the nearest, or where a study's runs are."""
    if not folder.is_dir():
        must_not_be_special(folder, "run folder")
        siblings = [path.name for path in folder.parent.glob("*/")]
        raise DataError(f"{folder}: no such run folder{did_you_mean(folder.name, siblings)}")
    if any((folder / name).is_file() for name in (run_folder.RECIPE, run_folder.SCORES)):
        return
    if (folder / "study.json").is_file():
        raise DataError(
            f"{folder}: a study's folder, not a run's; `interlace study` writes its report to "
            f"{folder / 'report.html'}, and its runs are in {folder / 'cells'}"
        )
    raise DataError(
        f"{folder}: not a run folder: it has neither {run_folder.RECIPE} nor {run_folder.SCORES}"
    )


def _read_words(path: Path) -> MappedWords | None:
    """Read the words of a run; None without a file."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    try:
        with safe_open(path, "np") as file:
            text = (file.metadata() or {})["concepts"]
            concepts = checked(parse_json(text), list[dict[str, str]], str(path))
            before = file.get_tensor("before")
            after = file.get_tensor("after")
    except (SafetensorError, KeyError, ValueError) as error:
        raise DataError(f"{path}: damaged: {error}") from error
    words: list[tuple[str, str]] = []
    pairs: list[tuple[int, int]] = []
    for translations in concepts:
        start = len(words)
        words += translations.items()
        pairs += [(start, number) for number in range(start + 1, len(words))]
    if not len(words) == len(before) == len(after):
        sizes = f"{len(words)} words, {len(before)} and {len(after)} vectors"
        raise DataError(f"{path}: damaged: {sizes}")
    return MappedWords(words, pairs, before, after)


def _scale(task: str, metric: str) -> Scale:
    """Return unit and direction of a metric; "" and unknown for tasks that are not installed."""
    if task not in TASKS.names():
        return "", None
    entry = TASKS.get(task)
    unit, greater_is_better = entry.other_scales.get(
        metric.split(", ", maxsplit=1)[0], (entry.unit, entry.greater_is_better)
    )
    # of some tasks these are properties, which only an instance has
    return (
        unit if isinstance(unit, str) else "",
        greater_is_better if isinstance(greater_is_better, bool) else None,
    )


def _columns(runs: Sequence[ReportedRun]) -> list[list[ReportedRun]]:
    """Return the runs of each column."""
    columns: list[list[ReportedRun]] = []
    for run in runs:
        for members in columns:
            if all(_is_same_column(run, member) for member in members):
                members.append(run)
                break
        else:
            columns.append([run])
    return columns


def _is_same_column(run: ReportedRun, member: ReportedRun) -> bool:
    """Return whether two runs share name and pre-training settings but for the seed, and were scored alike."""
    if run.label != member.label or not run.recipe or _pretraining(run) != _pretraining(member):
        return False
    conditions = _scoring_conditions(run)
    for evaluation, condition in _scoring_conditions(member).items():
        if conditions.get(evaluation, condition) != condition:
            return False
    return True


def _pretraining(run: ReportedRun) -> dict[str, Any]:
    ignored = {"seed", "evaluate", "about", "changes", "published"}
    return {key: value for key, value in run.recipe.items() if key not in ignored}


def _scoring_conditions(run: ReportedRun) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return the keys of the settings and files that scores were computed with, by task, setting and language."""
    conditions = {}
    for row in run.scores:
        conditions[row.task, row.setting, row.language] = (row.settings_key, row.files_key)
    return conditions


def _shortest(folders: Sequence[Path]) -> list[str]:
    """Return the last parts of the paths, as many as distinguish them."""
    parts = [folder.resolve().parts for folder in folders]
    longest = max(len(folder_parts) for folder_parts in parts)
    names: list[str] = []
    for length in range(1, longest + 1):
        names = ["/".join(folder_parts[-length:]) for folder_parts in parts]
        if len(set(names)) == len(names):
            break
    return names
