"""What a run folder holds, read and checked. A part that is not there yet is empty; a damaged one is an error."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from interlace.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Facts(_Part):
    """`run.json`: versions, hardware and timings (seconds)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    seconds: dict[str, float] = {}
    shares: dict[str, float] = {}
    tokens: float | None = None
    parameters: float | None = None

    def get(self, key: str) -> Any:
        """The value of any key of the file; None where it is absent."""
        return getattr(self, key, None)


class Step(_Part):
    """A training step of `metrics.jsonl`; losses are nats a prediction."""

    step: int
    objective: str
    corpus: str = ""
    losses: dict[str, float | None] = {}


class Evaluation(_Part):
    """An evaluation of `metrics.jsonl`; the names are `what/language`."""

    step: int
    scores: dict[str, float | None]


class Diagnosis(_Part):
    """A diagnosis of `metrics.jsonl`; `on` says what each two languages were measured on."""

    step: int
    scores: dict[str, float | None]
    on: dict[str, dict[str, Any]] = {}
    seconds: float = 0.0


class Score(_Part):
    """One score of one task in one language with one seed, from `scores.json`."""

    task: str
    metric: str
    language: str
    source: str
    score: float
    unit: str = "%"
    seed: int = 0
    n: int | None = None
    greater_is_better: bool = True


class SampleRow(_Part):
    """One row as the model saw it: `changed` are the positions altered, `at` those predicted, `sides` 0 or 1."""

    tokens: list[str]
    changed: list[int] = []
    targets: list[str] = []
    at: list[int] = []
    sides: list[int] = []

    @model_validator(mode="after")
    def _fits(self) -> SampleRow:
        if len(self.at) != len(self.targets):
            message = f"'at' has {len(self.at)} positions and 'targets' {len(self.targets)} subwords"
            raise ValueError(message)
        if any(not 0 <= position < len(self.tokens) for position in [*self.at, *self.changed]):
            message = f"a position lies outside the row of {len(self.tokens)} tokens"
            raise ValueError(message)
        if self.sides and len(self.sides) != len(self.tokens):
            message = f"'sides' has {len(self.sides)} entries for {len(self.tokens)} tokens"
            raise ValueError(message)
        return self


class Sample(_Part):
    """Rows of one objective on one corpus, from `samples.json`."""

    objective: str
    corpus: str = ""
    rows: list[SampleRow]


class Word(_Part):
    """A point of the embedding picture."""

    word: str
    language: str
    x: float
    y: float
    concept: int | None = None


class Embedding(_Part):
    """`embedding.json`: word vectors brought to two dimensions; `pairs` are indices of translations."""

    method: str = "pca"
    explained: list[float] = []
    words: list[Word]
    pairs: list[tuple[int, int]] = []

    @model_validator(mode="after")
    def _fits(self) -> Embedding:
        if any(not 0 <= index < len(self.words) for pair in self.pairs for index in pair):
            message = f"a pair names a word outside the list of {len(self.words)}"
            raise ValueError(message)
        return self


class LinkMatrix(_Part):
    """A pair of sentences and its word links, words counted from 0, from `links.json`.

    confidence: of each link, in (0, 1]; none: 1. sure, possible: gold links; None where nobody drew any.
    """

    corpus: str = ""
    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]
    confidence: list[float] = []
    sure: list[tuple[int, int]] | None = None
    possible: list[tuple[int, int]] | None = None

    @model_validator(mode="after")
    def _fits(self) -> LinkMatrix:
        for i, j in [*self.links, *(self.sure or ()), *(self.possible or ())]:
            if not (0 <= i < len(self.source) and 0 <= j < len(self.target)):
                message = f"a link {i}-{j} between {len(self.source)} and {len(self.target)} words"
                raise ValueError(message)
        if self.confidence and len(self.confidence) != len(self.links):
            message = f"{len(self.confidence)} confidences of {len(self.links)} links"
            raise ValueError(message)
        return self


@dataclass(frozen=True)
class Run:
    """A run folder.

    label: the column this run belongs to: its recipe's name, shared by runs that differ in nothing but the seed.
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
    if not (folder / "recipe.json").is_file():
        raise DataError(f"{folder}: not a run folder: it holds no recipe.json (interlace pretrain writes one)")
    metrics = list(_metrics(folder / "metrics.jsonl"))
    recipe = _whole(folder / "recipe.json", dict[str, Any]) or {}
    return Run(
        folder=folder,
        recipe=recipe,
        facts=_whole(folder / "run.json", Facts) or Facts(),
        label=str(recipe.get("name") or folder.name),
        steps=[line for line in metrics if isinstance(line, Step)],
        evaluations=[line for line in metrics if isinstance(line, Evaluation)],
        diagnoses=[line for line in metrics if isinstance(line, Diagnosis)],
        samples=_whole(folder / "samples.json", list[Sample]) or [],
        scores=_whole(folder / "scores.json", list[Score]) or [],
        embedding=_whole(folder / "embedding.json", Embedding),
        links=_whole(folder / "links.json", list[LinkMatrix]) or [],
    )


def _neighbours(folder: Path) -> list[str]:
    return [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.parent.is_dir() else []


def _labelled(runs: list[Run]) -> list[Run]:
    """Runs of one name whose recipes differ in more than the seed get their folder's name beside it."""
    kinds = {
        name: {json.dumps(_without_seed(run.recipe), sort_keys=True) for run in runs if run.label == name}
        for name in {run.label for run in runs}
    }
    labels = [
        run.label if len(kinds[run.label]) == 1 or run.label == run.folder.name else f"{run.label} ({run.folder.name})"
        for run in runs
    ]
    columns = list(dict.fromkeys(labels))
    return [replace(run, label=label, style=columns.index(label)) for run, label in zip(runs, labels, strict=True)]


def _without_seed(recipe: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in recipe.items() if key != "seed"}


def first_of_each(runs: Sequence[Run]) -> list[Run]:
    """The first run of each column, in order of the columns."""
    found: dict[str, Run] = {}
    for run in runs:
        found.setdefault(run.label, run)
    return list(found.values())


def _text(path: Path) -> str | None:
    if not path.is_file():
        return None
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(f"{path}, line {line}: not valid UTF-8") from None


def _whole(path: Path, kind: type[T]) -> T | None:
    """The file as one JSON value of that kind; None where there is no file."""
    text = _text(path)
    if text is None:
        return None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: damaged JSON: {error.msg}") from None
    return _checked(TypeAdapter(kind), data, str(path))


def _metrics(path: Path) -> Iterator[Step | Evaluation | Diagnosis]:
    """The lines of `metrics.jsonl`; kinds we do not know are passed over."""
    parts = {"step": Step, "evaluation": Evaluation, "diagnosis": Diagnosis}
    kinds: dict[str, TypeAdapter[Any]] = {kind: TypeAdapter(part) for kind, part in parts.items()}
    for row, line in enumerate((_text(path) or "").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {row}: damaged JSON: {error.msg}") from None
        if not isinstance(data, dict):
            raise DataError(f"{path}, line {row}: expected an object, found {line[:40]!r}")
        if data.get("kind") in kinds:
            yield _checked(kinds[data["kind"]], data, f"{path}, line {row}")


def _checked(adapter: TypeAdapter[T], data: object, where: str) -> T:
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f", entry {part + 1}" if isinstance(part, int) else f", key {part!r}" for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise DataError(f"{where}{place}: {message[:1].lower()}{message[1:]}") from None
