"""What a run folder holds, part by part, as data that was checked. Keys that we do not know are passed over."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


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


class Leak(_Part):
    """Percent of the test examples that stand in the pre-training text: whole, or `n` words of them in a row.

    unknown: models that the run went on from, of whose text nothing is known.
    """

    exact: float
    ngram: float
    n: int = 0
    unknown: tuple[str, ...] = ()


class Score(_Part):
    """One score of one task in one language with one seed, from `scores.json`.

    setting: what was trained on and scored. translations: whose, where there are any. seconds: of scoring alone.
    tuning: how the weights were chosen (`rule`), and the `seconds` and `tokens` of the fine-tuning that they are from.
    signatures: how some of the scores were computed. low, high: of the main one, over test examples.
    key: names the model, the settings and the fine-tuning that the score is of; settings_key: the latter two;
    files_key: what the task's files held; examples: names the test examples themselves, "" where nobody said.
    scores: others that were measured beside it, by name. model: the checkpoint as it was named to `interlace evaluate`;
    "" of a model that was pre-trained here, and where nobody said.
    """

    task: str
    metric: str
    language: str
    source: str
    score: float
    unit: str = "%"
    seed: int = 0
    n: int | None = None
    greater_is_better: bool = True
    setting: str = "zero-shot"
    translations: str = ""
    seconds: float = 0.0
    tuning: dict[str, Any] = {}
    contamination: Leak | None = None
    scores: dict[str, float] = {}
    signatures: dict[str, str] = {}
    low: float | None = None
    high: float | None = None
    key: str = ""
    settings_key: str = ""
    files_key: str = ""
    examples: str = ""
    model: str = ""

    @property
    def collapsed(self) -> bool:
        """Whether the fine-tuning that the score rests on collapsed."""
        return bool(self.tuning.get("collapsed"))


class Wrong(_Part):
    """An example that a model got wrong: its texts, and what was right and predicted of it or of some of its words."""

    texts: list[str]
    gold: str = ""
    predicted: str = ""
    words: list[str] = []
    wrong: list[dict[str, Any]] = []


class Predicted(_Part):
    """How predictions of one language did: `confusion` has a row a gold class; the last column is for none."""

    n: int
    wrong: int
    confusion: list[list[int]] = []
    samples: list[Wrong] = []


class Predictions(_Part):
    """A file of `predictions/`: one task in one setting with one seed, by language."""

    task: str
    setting: str = "zero-shot"
    seed: int = 0
    classes: list[str] = []
    languages: dict[str, Predicted]

    @model_validator(mode="after")
    def _fits(self) -> Predictions:
        wide = len(self.classes)
        for language, found in self.languages.items():
            if found.confusion and [len(row) for row in found.confusion] != [wide + 1] * wide:
                message = f"{language}: expected a table of {wide} rows and {wide + 1} columns"
                raise ValueError(message)
        return self


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
    """A pair of sentences and its word links, words counted from 0, from `alignments.json`.

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
