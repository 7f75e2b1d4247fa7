"""Run folders as the report reads them: checked parts of each run, and the column of the page that a run belongs to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator
from typing_extensions import TypedDict

from interlace.core.display import listed
from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import must_not_be_special, user_path
from interlace.core.json_files import checked, json_record, parse_json, read_json
from interlace.core.ragged import Ragged
from interlace.experiments.score_store import outcomes_key, scores_of_model
from interlace.report.text import short_labels
from interlace.scores import Scale, Score, ScoreTable, table_of_entries
from interlace.scores.examples import Examples
from interlace.tasks import TASKS
from interlace.training import predictions, run_folder

if TYPE_CHECKING:
    from interlace.aligners import Alignments
    from interlace.alignment import WordPairs

Vectors = NDArray[np.float32]

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
class _Decoder(TypedDict, total=False):
    start: str | None


@json_record
class _Model(TypedDict, total=False):
    start: str | None
    decoder: _Decoder | None
    vectors: str | None


@json_record
class _Recipe(TypedDict, total=False):
    """What the report reads of a recipe."""

    name: str
    about: str
    model: _Model
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


class LoggedScores(_Part):
    """An evaluation or diagnosis of `metrics.jsonl`, by names such as `perplexity/de`.

    on: of a diagnosis, the sentence pairs by language pair.
    """

    step: int
    scores: dict[str, float | None]
    on: dict[str, dict[str, Any]] = {}


class SampleRow(_Part):
    """A training example: the changed positions, the predicted ones with their targets, and the side of each token."""

    tokens: list[str]
    changed: list[int] = []
    targets: list[str] = []
    at: list[int] = []
    sides: list[int] = []

    @model_validator(mode="after")
    def _check(self) -> SampleRow:
        if len(self.at) != len(self.targets):
            raise ValueError(
                f"'at' has {len(self.at)} positions and 'targets' {len(self.targets)} tokens"
            )
        if any(not 0 <= position < len(self.tokens) for position in [*self.at, *self.changed]):
            raise ValueError(f"a position is outside the row of {len(self.tokens)} tokens")
        if self.sides and len(self.sides) != len(self.tokens):
            raise ValueError(f"'sides' has {len(self.sides)} entries for {len(self.tokens)} tokens")
        return self


class Sample(_Part):
    """Training examples of one objective on one corpus."""

    objective: str
    corpus: str = ""
    rows: list[SampleRow]


class AlignmentMatrix(_Part):
    """A sentence pair with its alignment links, counted from 0.

    confidence: of each link, in (0, 1]; default: 1. sure, possible: gold links; None without gold.
    """

    corpus: str = ""
    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]
    confidence: list[float] = []
    sure: list[tuple[int, int]] | None = None
    possible: list[tuple[int, int]] | None = None

    @classmethod
    def of(cls, words: WordPairs, alignments: Alignments, row: int, **gold: Any) -> AlignmentMatrix:
        """Return the matrix of a pair by its alignments; raise an IndexError if there is no such pair."""
        links = alignments.links
        confidence = Ragged(alignments.confidence, links.offsets - links.offsets[0])
        return cls(
            corpus="-".join(words.languages) if words.languages != ("source", "target") else "",
            source=[words.source_types[word] for word in words.source[row]],
            target=[words.target_types[word] for word in words.target[row]],
            links=links[row].tolist(),
            confidence=confidence[row].tolist(),
            **gold,
        )

    @model_validator(mode="after")
    def _check(self) -> AlignmentMatrix:
        source_length = len(self.source)
        target_length = len(self.target)
        for i, j in [*self.links, *(self.sure or ()), *(self.possible or ())]:
            if not (0 <= i < source_length and 0 <= j < target_length):
                raise ValueError(
                    f"a link {i}-{j} between {source_length} and {target_length} words"
                )
        if self.confidence and len(self.confidence) != len(self.links):
            raise ValueError(f"{len(self.confidence)} confidences of {len(self.links)} links")
        return self


@dataclass(frozen=True)
class ConceptWords:
    """`words.safetensors`: concepts, a word per language each, with (W, H) vectors before and after training."""

    concepts: list[dict[str, str]]
    before: Vectors
    after: Vectors

    @property
    def words(self) -> list[tuple[int, str, str]]:
        """(concept, language, word) of each vector."""
        words = []
        for concept, translations in enumerate(self.concepts):
            words += [(concept, language, word) for language, word in translations.items()]
        return words

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The first word of each concept with each of its other words."""
        first_words: dict[int, int] = {}  # by concept
        pairs = []
        for index, (concept, _, _) in enumerate(self.words):
            first = first_words.setdefault(concept, index)
            if first != index:
                pairs.append((first, index))
        return pairs


@dataclass(frozen=True)
class ReportedRun:
    """A run folder, or the folder of a checkpoint's scores, which has no recipe.

    facts: the content of `run.json`: versions, hardware, and timings in seconds.
    label: of the column on the page: the recipe's name, shared by runs that differ only in the seed; of a checkpoint
        the folder's name.
    style: number of that column; selects colour, marker and dashes in every figure.
    """

    folder: Path
    recipe: dict[str, Any]
    facts: dict[str, Any]
    label: str
    style: int = 0
    steps: list[LoggedStep] = field(default_factory=list)
    evaluations: list[LoggedScores] = field(default_factory=list)
    diagnoses: list[LoggedScores] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    scores: ScoreTable = field(default_factory=ScoreTable)
    alignments: list[AlignmentMatrix] = field(default_factory=list)
    words: ConceptWords | None = None

    @property
    def models(self) -> list[str]:
        """The names of the checkpoints of a folder of scores, "" if unknown."""
        if self.recipe:
            return []
        return list(dict.fromkeys(shown_model(row.model) for row in self.scores))


def shown_model(model: str) -> str:
    """Return a model's name without the folders of an absolute path, which are private."""
    return Path(model).name if Path(model).is_absolute() else model


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
    """Read runs, the baseline first, and assign them to columns; reject none, a duplicate, and other folders.

    baseline: folder, its name, or the name of a column; default: the run that others start from, if there is one, else
    the first run.
    """
    if not folders:
        raise DataError("a report needs at least one run folder; none was given")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise DataError(f"a run folder is given twice: {listed(folders)}")
    runs = _labelled([_read_run(folder) for folder in folders])
    label = _baseline_label(runs, baseline)
    return _labelled(sorted(runs, key=lambda run: run.label != label))


def _baseline_label(runs: Sequence[ReportedRun], baseline: str) -> str:
    """Return the column of the baseline; a DataError names the nearest."""
    if not baseline:
        ancestor = next((run for run in runs if _is_ancestor(run, runs)), runs[0])
        return ancestor.label
    for run in runs:
        if (
            baseline in {run.label, run.folder.name}
            or Path(baseline).resolve() == run.folder.resolve()
        ):
            return run.label
    labels = list(dict.fromkeys(run.label for run in runs))
    raise DataError(
        f"--baseline {baseline!r}: none of the runs ({listed(labels)}){did_you_mean(baseline, labels)}"
    )


def _is_ancestor(run: ReportedRun, runs: Sequence[ReportedRun]) -> bool:
    """Return whether other runs start from a run, which itself starts from none of them."""
    has_descendants = any(_starts_from(descendant, run) for descendant in runs)
    return has_descendants and not any(_starts_from(run, start) for start in runs)


def _starts_from(run: ReportedRun, start: ReportedRun) -> bool:
    """Return whether a run's encoder, decoder or embeddings start from another run, or from a checkpoint."""
    model = run.recipe.get("model") or {}
    decoder = model.get("decoder") or {}
    names = [
        name for name in (model.get("start"), decoder.get("start"), model.get("vectors")) if name
    ]
    if not start.recipe:
        return not set(names).isdisjoint(start.scores.unique("model"))
    folder = start.folder.resolve()
    paths = [user_path(name).resolve() for name in names]
    return any(folder == path or folder in path.parents for path in paths)


def read_outcomes(row: Score, root: Path = Path()) -> Examples:
    """Return the stored outcomes of the test examples of a score; a DataError says what is missing.

    root: the folder that `row.run` is relative to.
    """
    key = outcomes_key(vars(row)) if row.key else None
    return predictions.read_outcomes(outcomes_path(row, root), row.language, key)


def outcomes_path(row: Score, root: Path = Path()) -> Path:
    """Return the file with the outcomes of the test examples of a score."""
    return predictions.outcomes_file(root / row.run, row.task, row.seed, row.setting)


def _read_run(folder: Path) -> ReportedRun:
    _check_folder(folder)
    recipe: dict[str, Any] = read_json(folder / run_folder.RECIPE, _Recipe, None) or {}
    evaluation: dict[str, Any] = read_json(folder / run_folder.EVALUATION, _Recipe, None) or {}
    if recipe and "evaluate" in evaluation:  # what the scores were computed with
        recipe = {**recipe, "evaluate": evaluation["evaluate"]}
    metrics = _read_metrics(folder / run_folder.METRICS)
    scores_path = folder / run_folder.SCORES
    entries = scores_of_model(folder, read_json(scores_path, list[dict[str, Any]], None) or [])
    scores = table_of_entries(
        entries, str(scores_path), _scale, run=str(folder), pretrained=bool(recipe)
    )
    return ReportedRun(
        folder=folder,
        recipe=recipe,
        facts=run_folder.read_run(folder),
        label=recipe.get("name") or folder.resolve().name,
        steps=metrics.steps,
        evaluations=metrics.evaluations,
        diagnoses=metrics.diagnoses,
        samples=read_json(folder / run_folder.SAMPLES, list[Sample], None) or [],
        scores=scores,
        alignments=read_json(folder / run_folder.ALIGNMENTS, list[AlignmentMatrix], None) or [],
        words=_read_words(folder / run_folder.WORDS),
    )


def _check_folder(folder: Path) -> None:
    """Raise a DataError if a folder is no run folder; it names the nearest, or where a study's runs are."""
    if not folder.is_dir():
        must_not_be_special(folder, "run folder")
        raise DataError(f"{folder}: no such run folder{_near_folders(folder)}")
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


def _near_folders(folder: Path) -> str:
    """Return a hint for an error message: the scores of a local checkpoint NAME are in NAME-HASH."""
    if not folder.parent.is_dir():
        return ""
    siblings = [path.name for path in folder.parent.iterdir() if path.is_dir()]
    hashed = sorted(
        name for name in siblings if re.fullmatch(rf"{re.escape(folder.name)}-[0-9a-f]{{6}}", name)
    )
    near = hashed or get_close_matches(folder.name, siblings, n=1)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


@dataclass(frozen=True)
class _Metrics:
    """The records of `metrics.jsonl` by kind."""

    steps: list[LoggedStep] = field(default_factory=list)
    evaluations: list[LoggedScores] = field(default_factory=list)
    diagnoses: list[LoggedScores] = field(default_factory=list)


def _read_metrics(path: Path) -> _Metrics:
    """Read the records of `metrics.jsonl`; unknown kinds are skipped."""
    metrics = _Metrics()
    for number, row in enumerate(run_folder.read_metrics(path), 1):
        where = f"{path}, row {number}"
        kind = row.get("kind")
        if kind == "step":
            metrics.steps.append(checked(row, LoggedStep, where))
        elif kind == "evaluation":
            metrics.evaluations.append(checked(row, LoggedScores, where))
        elif kind == "diagnosis":
            metrics.diagnoses.append(checked(row, LoggedScores, where))
    return metrics


def _read_words(path: Path) -> ConceptWords | None:
    """Read the words of a run; None without a file, or with too few words to draw."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    try:
        with safe_open(path, "np") as file:
            concepts = checked(
                parse_json((file.metadata() or {})["concepts"]), list[dict[str, str]], str(path)
            )
            words = ConceptWords(concepts, file.get_tensor("before"), file.get_tensor("after"))
    except (SafetensorError, KeyError, ValueError) as error:
        raise DataError(f"{path}: damaged: {error}") from error
    if not len(words.words) == len(words.before) == len(words.after):
        sizes = f"{len(words.words)} words, {len(words.before)} and {len(words.after)} vectors"
        raise DataError(f"{path}: damaged: {sizes}")
    if len(words.concepts) < 3 or not words.pairs:
        return None
    return words


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


def _labelled(runs: list[ReportedRun]) -> list[ReportedRun]:
    """Assign runs to columns; columns with the same name get folder names behind it."""
    columns = _columns(runs)
    names = [members[0].label for members in columns]
    folders = _shortest([members[0].folder for members in columns])
    labelled: dict[Path, ReportedRun] = {}
    for style, members in enumerate(columns):
        label = names[style]
        if names.count(label) > 1 and label != folders[style]:
            label = f"{label} ({folders[style]})"
        for run in members:
            scores = ScoreTable(replace(row, system=label, label=label) for row in run.scores)
            labelled[run.folder] = replace(run, label=label, style=style, scores=scores)
    return [labelled[run.folder] for run in runs]


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
        if evaluation in conditions and not conditions[evaluation].agrees_with(condition):
            return False
    return True


def _pretraining(run: ReportedRun) -> dict[str, Any]:
    ignored = {"seed", "evaluate", "about", "changes", "published"}
    return {key: value for key, value in run.recipe.items() if key not in ignored}


@dataclass(frozen=True)
class _ScoringCondition:
    """What a score was computed with; older scores have no key of their files."""

    settings: str
    files: str

    def agrees_with(self, condition: _ScoringCondition) -> bool:
        if self.settings != condition.settings:
            return False
        return self.files == condition.files or not self.files or not condition.files


def _scoring_conditions(run: ReportedRun) -> dict[tuple[str, str, str], _ScoringCondition]:
    """Return what scores were computed with, by task, setting and language."""
    section = json.dumps(
        run.recipe.get("evaluate"), sort_keys=True
    )  # of scores without a settings key
    conditions = {}
    for row in run.scores:
        condition = _ScoringCondition(row.settings_key or section, row.files_key)
        conditions[row.task, row.setting, row.language] = condition
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
