"""Corpora of a recipe: where their text stands, and which part of it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from interlace.aligners import ALIGNERS, DEFAULT_ALIGNER, Aligner
from interlace.alignment.phrase_table import TableRules
from interlace.core.errors import DataError
from interlace.core.names import LanguageName, PairName
from interlace.core.schedules import Schedule, within
from interlace.core.settings import Settings
from interlace.embeddings import EMBEDDING_METHODS, EmbeddingMethod
from interlace.readers import READERS, Reader
from interlace.readers.common.subset import ROWS_PATTERN, RowSubset
from interlace.readers.hub import is_hub
from interlace.scores.published import PublishedRow, find_rows
from interlace.tasks.common.files import check_pattern
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class CorpusGroup(Settings):
    """Corpora of one kind: one a language, or one a pair of languages. Paths stand under the data root.

    `{language}`, `{pair}`, `{source}` and `{target}` in a path are filled in.
    """

    languages: list[LanguageName] = Field([], description="A corpus of single sentences for each of these languages.")
    pairs: list[PairName] = Field([], description="A corpus of translations for each of these, such as 'en-de'.")
    reader: dict[str, Any] | str = Field("lines", description="A reader's name, or a table with its settings.")
    train: list[str] = Field(
        [],
        description="Training files: patterns of paths, one a side for 'lines'. None: text that is only measured.",
    )
    dev: list[str] = Field([], description="Held-out files for perplexity, in the same form.")
    rows: str = Field(
        "",
        pattern=ROWS_PATTERN,
        description="Rows of the training files that are read, such as '0:14500'; from 0, the end left out. None: all.",
    )
    share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of those rows that is read, drawn row by row (ALM, figure 5: K %). A smaller share is part "
        "of a larger one, and corpora of files that correspond keep corresponding rows.",
    )
    share_seed: int = Field(0, ge=0, description="Seed of that draw; the same for all seeds of a run.")

    @field_validator("train", "dev", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("train", "dev")
    @classmethod
    def _are_patterns(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            if is_hub(pattern):  # what is made of training text is found again by the content of files
                message = f"{pattern!r}: tasks read data sets of the hub; training text stands in files"
                raise ValueError(message)
        return [check_pattern(pattern, ("language", "pair", "source", "target")) for pattern in patterns]

    @field_validator("languages")
    @classmethod
    def _are_languages(cls, languages: list[str]) -> list[str]:
        for language in languages:
            if "-" in language:  # joins the two languages of a pair
                message = f"a language's name holds no '-', found {language!r}; write {language.replace('-', '_')!r}"
                raise ValueError(message)
        return languages

    def model_post_init(self, _context: Any) -> None:
        """A group holds languages or pairs; its reader must exist."""
        if bool(self.languages) == bool(self.pairs):
            message = "give either 'languages' or 'pairs'"
            raise ValueError(message)
        if not self.train and not self.dev:
            message = "give 'train', or 'dev' alone for text that is measured and not learnt from"
            raise ValueError(message)

    @property
    def trained(self) -> list[str]:
        """The languages or pairs that are learnt from."""
        return [*self.languages, *self.pairs] if self.train else []

    def files(self, split: str, corpus: str, root: Path) -> list[Path]:
        """The files of one corpus of this group."""
        source, _, target = corpus.partition("-")
        names = {"language": corpus, "pair": corpus, "source": source, "target": target}
        patterns: list[str] = getattr(self, split)
        return [root / pattern.format(**names) for pattern in patterns]

    def reading(self, split: str = "train") -> Reader:
        """What reads the files of a split: of training text, the rows and the share that are asked for."""
        if split != "train" or not self._is_part:
            reader: Reader = READERS.build(self.reader)
            return reader
        return RowSubset(reader=self.reader, rows=self.rows, share=self.share, seed=self.share_seed)

    def part(self, split: str = "train") -> dict[str, Any]:
        """What `reading` leaves out hangs on, for the keys of caches; empty where it leaves out nothing."""
        if split != "train" or not self._is_part:
            return {}
        return {"rows": self.rows, "share": [self.share, self.share_seed] if self.share < 1 else None}

    @property
    def _is_part(self) -> bool:
        return bool(self.rows) or self.share < 1


# FROM _vocab:
# The section `[vocab]` of a recipe: a vocabulary learnt from its text, a tokenizer that exists, or one extended.


class VocabSettings(Settings):
    """The vocabulary: learnt from the recipe's training text, or a tokenizer that exists, extended where asked for."""

    start: str | None = Field(
        None,
        description="Folder or hub name of a tokenizer; none: the checkpoint's that the model starts from, or that of "
        "model.vectors, if any.",
    )
    size: int = Field(8000, ge=300, description="Subwords to learn, specials included (XLM: 95k for 15 languages).")
    alpha: float = Field(0.5, ge=0, le=1, description="Exponent of language sampling while learning (XLM: 0.5).")
    seed: int = Field(0, ge=0, description="Seed of that sampling; runs with other seeds share the vocabulary.")
    corpora: list[str] = Field([], description="Groups it is learnt from; none: all. Compared recipes should agree.")
    kind: Literal["byte-bpe", "bpe", "wordpiece", "unigram"] = Field(
        "byte-bpe",
        description="Kind of subwords to learn; byte-bpe has no unknown characters, and like bpe is the same whenever "
        "it is learnt (the trainer of wordpiece breaks ties at random, that of unigram rounds differently).",
    )
    extend: int = Field(
        0, ge=0, description="Subwords to add to a tokenizer that exists, learnt from the text; its own keep their ids."
    )
    extend_min_count: int = Field(
        10, ge=1, description="Times a new subword must be met in the text; rarer ones would hardly be trained."
    )

    def learning(self) -> dict[str, Any]:
        """What a vocabulary that is learnt depends on; extending has no part in it."""
        return {key: value for key, value in self.dump().items() if not key.startswith("extend")}


# FROM _align:
# The `[align]` section of recipes: who finds word links, what it may know beforehand, which phrases are counted.


class AlignSettings(Settings):
    """How the words of translations are linked. The aligner's own settings stand beside these in the section.

    Text in them that holds `{pair}`, `{source}` or `{target}` is filled in, and a path under the data root.
    """

    name: str = Field(DEFAULT_ALIGNER, description="An aligner: see `interlace list aligners`.")
    priors: str | None = Field(
        None,
        description="What the aligner starts from: a dictionary, `source<TAB>target` a line, as a pattern of paths; "
        "or a group of [corpora] whose pairs are linked first and their links counted.",
    )
    phrases: TableRules | None = Field(
        None, description="Which phrase pairs are counted and stored; none: the default rules, where they are needed."
    )
    settings: dict[str, Any] = Field({}, description="The aligner's own settings.")

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "settings" in data:
            return data
        own = {key: value for key, value in data.items() if key in cls.model_fields}
        return {**own, "settings": {key: value for key, value in data.items() if key not in cls.model_fields}}

    @field_validator("priors")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern, names_of("source-target"))

    def model_post_init(self, _context: Any) -> None:
        """The aligner must exist and know its settings."""
        self.aligner(names_of("source-target"))

    def aligner(self, names: Mapping[str, str]) -> Aligner:
        """The aligner for one pair of languages; `names` says what is filled into patterns."""
        settings = {key: _filled(value, names) for key, value in self.settings.items()}
        built: Aligner = ALIGNERS.build({"name": self.name, **settings}, "align")
        return built


def names_of(corpus: str) -> dict[str, str]:
    """What is filled into patterns for a corpus of pairs."""
    source, target = corpus.split("-")
    return {"pair": corpus, "source": source, "target": target}


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and "{" in value:
        return check_pattern(value, names).format(**names)
    return [_filled(part, names) for part in value] if isinstance(value, list) else value


# FROM _embeddings:
# The `[embeddings]` section of recipes: vectors of words as baselines, or those of subwords to begin a model with.


class EmbeddingSettings(Settings):
    """Which vectors are learnt from the corpora. The method's own settings stand beside these in the section."""

    name: str = Field("concat", description="A method of word vectors: see `interlace list vectors`.")
    units: Literal["words", "subwords"] = Field(
        "words",
        description="What has a vector: the words of each language, or the subwords of [vocab] over the text of all "
        "languages together, for a model's table to begin with (Lample et al. 2018b, section 4; XLM's EMB).",
    )
    vectors: str | None = Field(
        None,
        description="Vectors of each language that exist already, in the text format of word2vec and fastText, as a "
        "pattern of paths with {language}; none: they are learnt from the corpora.",
    )
    dictionary: str | None = Field(
        None,
        description="Dictionary of the pivot and each other language, `source<TAB>target` a line: a pattern of paths "
        "with {source} and {target}; in whichever direction there is one.",
    )
    dictionary_share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the dictionary's source words learnt from, drawn with the recipe's seed, as "
        "`dictionary.share` of objectives is; tasks score the others.",
    )
    settings: dict[str, Any] = Field({}, description="The method's own settings.")

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        own = {key: value for key, value in data.items() if key in cls.model_fields and key != "settings"}
        beside = {key: value for key, value in data.items() if key not in cls.model_fields}
        return {**own, "settings": {**data.get("settings", {}), **beside}}

    @field_validator("vectors")
    @classmethod
    def _names_languages(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern, ("language",))

    @field_validator("dictionary")
    @classmethod
    def _names_pairs(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern, ("source", "target"))

    def model_post_init(self, _context: Any) -> None:
        """The method must exist, know its settings and have what it needs."""
        needs = self.method().needs
        if "dictionaries" in needs and self.dictionary is None:
            message = f"{self.name} needs a dictionary: say where one is in embeddings.dictionary"
            raise ValueError(message)
        if "texts" in needs and self.vectors is not None:
            message = f"{self.name} learns from text, so embeddings.vectors is of no use to it"
            raise ValueError(message)
        if self.units == "subwords" and not self.method().joint:
            joint = ", ".join(name for name in EMBEDDING_METHODS.names() if EMBEDDING_METHODS.get(name).joint)
            message = (
                f"units = 'subwords': {self.name} learns each language by itself, and a subword that two write would"
            )
            raise ValueError(f"{message} have two vectors; these learn from all text together: {joint}")

    def method(self) -> EmbeddingMethod:
        """The method with its settings."""
        built: EmbeddingMethod = EMBEDDING_METHODS.build({"name": self.name, **self.settings}, "embeddings")
        return built


# FROM _train:
# The section `[train]` of a recipe: how long and how fast, and how the mixture is drawn.


Alpha = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1.0))]


# FROM _diagnostics:
# The section `[train.diagnostics]` of a recipe: what is measured beside perplexity while a run trains.


Measure = Literal["alignment", "retrieval", "gap", "cka", "accuracy"]


class DiagnosticSettings(Settings):
    """How the languages of a model come together, measured now and then on fixed rows; training is not touched."""

    every: int = Field(
        0, ge=0, description="Steps between measurements; also before the first step and after the last. 0: none."
    )
    measures: list[Measure] = Field(
        [],
        description="alignment: nearest neighbours in the input table over evaluate.dictionary and the dictionaries of "
        "objectives; retrieval: of sentences, both ways; gap: cosine of translations less that of others; cka: by "
        "layer; accuracy: of masked subwords, by language. None: all that the recipe has data for.",
    )
    pairs: int = Field(
        128,
        ge=8,
        le=4096,
        description="Most translations of two languages: from corpora.GROUP.dev, else from the dev split of "
        "evaluate.tasks.retrieval, else the last of the training text.",
    )
    tokens: int = Field(2048, ge=256, description="Most held-out subwords a language that accuracy is measured on.")
    cka: Literal["debiased", "plain"] = Field(
        "debiased",
        description="debiased: unrelated sides have 0 (Nguyen et al. 2021); plain: as Kornblith et al. (2019), near 1 "
        "for any sides with fewer pairs than the model is wide.",
    )


class TrainSettings(Settings):
    """How long and how fast."""

    steps: int = Field(1000, ge=1, description="Updates.")
    tokens_per_batch: int = Field(4096, ge=16, description="Padded subwords in a micro-batch, on one process.")
    micro_batches: int = Field(1, ge=1, description="Micro-batches that make up a step, on one process.")
    alternate: bool = Field(
        False, description="Take the objectives in turn, an update each (XLM), instead of drawing them by weight."
    )
    language_alpha: Alpha = Field(
        "0.7",
        description="Exponent of language sampling within an objective, a number or a schedule over steps (XLM: 0.7; "
        "mmBERT falls from 0.7 over 0.5 to 0.3 by stage). Corpora of one language share what it gets by their size.",
    )
    max_passes: float | None = Field(
        None,
        gt=0,
        description="Most times an objective reads a corpus over the run, on average; what a small one may not have "
        "goes to the others (UniMax, Chung et al. 2023); none: no limit.",
    )
    sampling_unit: Literal["tokens", "sentences"] = Field("sentences", description="What language shares count.")
    optimizer: OptimizerSettings = Field(default_factory=OptimizerSettings, description="Optimiser and learning rate.")
    precision: Literal["auto", "no", "bf16"] = Field(
        "auto",
        description="Autocast precision of matrix products; 'auto': bf16 where the hardware computes in it (GPUs since "
        "Ampere, CPUs with AVX-512), else float32. Where that differs, so do the last digits of a run.",
    )
    evaluate_every: int = Field(0, ge=0, description="Steps between evaluations of perplexity; 0: only at the end.")
    evaluate_tokens: int = Field(
        20_000, ge=256, description="Most held-out subwords a language, or sources a direction, in an evaluation."
    )
    diagnostics: DiagnosticSettings = Field(
        default_factory=DiagnosticSettings, description="What else is measured now and then."
    )
    patience: int = Field(
        0, ge=0, description="Evaluations without a better one before stopping, which ends with the best; 0: never."
    )
    stop_by: Literal["perplexity", "bleu", "round-trip"] = Field(
        "perplexity",
        description="What patience and the best checkpoint go by: mean perplexity, or mean BLEU of greedy translations "
        "of the dev text of the task mt, in all directions that are learnt (XLM's code, without supervision), or of "
        "round trips of that of the task round_trip, which needs no translations (Lample et al. 2018a).",
    )
    checkpoint_every: int = Field(0, ge=0, description="Steps between checkpoints; 0: only at the end.")
    keep: int = Field(2, ge=1, description="Newest checkpoints kept, beside the best.")
    threads: int | None = Field(None, ge=1, description="Torch threads; none: as torch finds.")
    trackers: list[Literal["aim", "clearml", "comet_ml", "mlflow", "tensorboard", "trackio", "wandb"]] = Field(
        [], description="Where losses are also sent, through accelerate; each needs its package."
    )

    def model_post_init(self, _context: Any) -> None:
        """Patience counts evaluations, so there must be some on the way."""
        if self.patience and not self.evaluate_every:
            message = "patience counts evaluations on the way: set train.evaluate_every too"
            raise ValueError(message)


# FROM _published:
# Which rows of papers' tables a recipe stands for, so that a reader has their figures beside ours.


_FIGURES = {"metric", "scores"}


class Published(Settings):
    """A row of a paper's table (`interlace.scores.published`); its scale and data may differ from ours."""

    where: str = Field(description="Paper, table and row, as `interlace list published` has them.")
    task: str = Field("", description="Where the table has the row for several tasks, one of them; none: all.")
    system: str = Field("", description="Where several systems share the row's name, one of them.")
    columns: list[str] | None = Field(None, min_length=1, description="Languages or settings; none: all of the row.")
    note: str = Field("", description="What to know before comparing with this recipe.")

    @model_validator(mode="before")
    @classmethod
    def _without_figures(cls, given: Any) -> Any:
        """Runs of old hold the figures themselves, and what was measured in words of their own."""
        if isinstance(given, dict) and given.keys() >= _FIGURES:
            return {"where": given.get("where", "")}
        return given

    @model_validator(mode="after")
    def _is_there(self) -> Published:
        try:
            self.rows()
        except DataError as error:
            raise ValueError(str(error)) from None
        return self

    def rows(self) -> list[PublishedRow]:
        """The row, once for each of its measures."""
        return find_rows(self.where, self.task, self.system, self.columns)
