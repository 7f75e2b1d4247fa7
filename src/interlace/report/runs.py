"""Run folders as the report reads them: checked parts of each run, and the column of the page that a run belongs to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Required

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from interlace.core.display import listed
from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import must_not_be_special, nearest_folder
from interlace.core.json_files import JsonObject, checked, json_record, parse_json, read_json
from interlace.core.ragged import FloatArray
from interlace.scores import Score, ScoreTable, table_of_entries
from interlace.scores.examples import Examples
from interlace.training import predictions, run_folder

_REMEDY = "restore it from a copy, or leave this run out"


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
    evaluate: JsonObject
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

    @property
    def columns(self) -> Iterator[tuple[str, ...]]:
        """For each token its text in every line."""
        return zip_longest(*self.lines.values(), fillvalue="")


@dataclass(frozen=True)
class MappedWords:
    """`words.safetensors`: words with their language, and (W, H) vectors before and after training.

    pairs: numbers of words that translate each other: the first of each concept with each of the others.
    """

    words: list[tuple[str, str]]
    pairs: list[tuple[int, int]]
    before: FloatArray
    after: FloatArray


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
    recipe: JsonObject
    facts: JsonObject
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


def all_scores(runs: Sequence[ReportedRun]) -> ScoreTable:
    """Return the scores of all runs as one table, whose systems are the columns of the page."""
    return ScoreTable(chain.from_iterable(run.scores for run in runs))


def read_runs(folders: Sequence[Path], baseline: str = "") -> list[ReportedRun]:
    """Read runs and assign them to columns, the baseline first; reject none, a duplicate, and other folders.

    baseline: folder, its name, or the name of a column; default: the first run.
    """
    if not folders:
        raise DataError("a report needs at least one run folder; none was given")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise DataError(f"a run folder is given twice: {listed(folders)}")
    columns = _columns([_read_run(folder) for folder in folders])
    baseline_label = _baseline_label(columns, baseline)
    runs = []
    for style, label in enumerate(sorted(columns, key=lambda label: label != baseline_label)):
        for run in columns[label]:
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


def _columns(runs: Sequence[ReportedRun]) -> dict[str, list[ReportedRun]]:
    """Return the runs of each column by its label; folders tell columns of the same name apart."""
    by_settings: dict[Hashable, list[ReportedRun]] = {}
    for run in runs:
        by_settings.setdefault(_conditions(run), []).append(run)
    columns = list(by_settings.values())
    names = Counter(column[0].label for column in columns)
    folders = Counter(column[0].folder.name for column in columns)
    by_label = {}
    for column in columns:
        label = column[0].label
        folder = column[0].folder
        if names[label] > 1:
            label += f" ({folder.name if folders[folder.name] == 1 else folder})"
        by_label[label] = column
    return by_label


def _conditions(run: ReportedRun) -> Hashable:
    """Return what runs of a column share: all settings of pre-training but the seed, and what scores depend on."""
    if not run.recipe:
        return run.folder
    ignored = {"seed", "evaluate", "about", "changes", "published"}
    pretraining = {key: value for key, value in run.recipe.items() if key not in ignored}
    scoring = set()
    for row in run.scores:
        scoring.add((row.task, row.setting, row.language, row.settings_key, row.files_key))
    return json.dumps(pretraining, sort_keys=True), frozenset(scoring)


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
    key = predictions.outcomes_key(vars(row)) if row.key else None
    return predictions.read_outcomes(outcomes_path(row, root), key)


def outcomes_path(row: Score, root: Path = Path()) -> Path:
    """Return the file with the outcomes of the test examples of a score."""
    return predictions.outcomes_file(
        root / row.run,
        row.task,
        row.seed,
        row.language,
        row.setting,
    )


def _read_run(folder: Path) -> ReportedRun:
    _check_folder(folder)
    recipe_path = folder / run_folder.RECIPE
    recipe: JsonObject = read_json(recipe_path, _Recipe, {}, remedy=_REMEDY)
    facts = run_folder.read_run(folder)
    if facts.get("finished") and not recipe_path.exists():
        raise DataError(f"{recipe_path}: missing, although the run is finished; {_REMEDY}")
    evaluation: JsonObject = read_json(folder / run_folder.EVALUATION, _Recipe, {})
    if recipe and "evaluate" in evaluation:  # what the scores were computed with
        recipe = {**recipe, "evaluate": evaluation["evaluate"]}
    run = ReportedRun(
        folder=folder,
        recipe=recipe,
        facts=facts,
        label=recipe.get("name") or folder.resolve().name,
        samples=read_json(folder / run_folder.SAMPLES, list[Sample], []),
        scores=table_of_entries(
            run_folder.read_scores(folder),
            str(folder / run_folder.SCORES),
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
        raise DataError(f"{folder}: no such run folder{nearest_folder(folder)}")
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
    return MappedWords(
        words,
        pairs,
        before,
        after,
    )
