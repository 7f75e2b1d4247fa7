"""The sections of a recipe: corpora, vocabulary, alignment, word vectors, training and published results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from interlace.aligners import ALIGNERS, DEFAULT_ALIGNER, Aligner
from interlace.alignment.phrase_rules import TableRules
from interlace.core.data_root import Root
from interlace.core.errors import DataError, SettingsError
from interlace.core.json_files import JsonObject
from interlace.core.names import PairName, SingleLanguage
from interlace.core.schedules import Schedule, within
from interlace.core.settings import Settings
from interlace.core.store import merged
from interlace.embeddings import EMBEDDING_METHODS, EmbeddingMethod
from interlace.readers import READERS, ROWS_PATTERN, Reader, RowSubset
from interlace.readers.common.files import check_pattern, find_files, find_sides
from interlace.training.optimizer import OptimizerSettings

if TYPE_CHECKING:
    from interlace.derived import Chain
    from interlace.scores.published import PublishedRow


def pattern_of(*names: str) -> AfterValidator:
    """Return a check that a path pattern has only these placeholders."""
    return AfterValidator(lambda pattern: check_pattern(pattern, names))


TextPattern = Annotated[str, pattern_of("language", "pair", "source", "target")]
TextPatterns = Annotated[
    list[TextPattern],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
]
PairPattern = Annotated[str, pattern_of("source", "target")]


LanguagePattern = Annotated[str, pattern_of("language")]


class CorpusGroup(Settings):
    """Corpora that share file patterns: one per language, or one per language pair.

    Paths are relative to the data root; `{language}`, `{pair}`, `{source}` and `{target}` in them are replaced. `*`,
    `?` and `**` match files, a folder stands for all of its files, and `hub:OWNER/NAME/CONFIGURATION/SPLIT` for a data
    set of the hub.
    """

    languages: list[SingleLanguage] = Field(
        [], description="Languages, with a monolingual corpus each."
    )
    pairs: list[PairName] = Field(
        [], description="Language pairs, such as 'en-de', with a parallel corpus each."
    )
    reader: JsonObject | str = Field(
        "lines", description="Reader: its name, or a table with its settings."
    )
    train: TextPatterns = Field(
        [],
        description="Training files: path patterns, one a side for 'lines'. Empty: the group is only evaluated on.",
    )
    dev: TextPatterns = Field(
        [], description="Held-out files for perplexity, as path patterns."
    )
    rows: str = Field(
        "",
        pattern=ROWS_PATTERN,
        description="Slice of the training rows, as '0:14500'; empty: all.",
    )
    share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of those rows to read, sampled row by row (ALM, figure 5: K %). Smaller shares are subsets "
        "of larger ones, and corresponding files keep corresponding rows.",
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that the group has either languages or pairs, and files."""
        if bool(self.languages) == bool(self.pairs):
            raise ValueError("give either 'languages' or 'pairs'")
        if not self.train and not self.dev:
            raise ValueError("give 'train', or 'dev' alone for text that is only evaluated on")

    @property
    def trained(self) -> list[str]:
        """The languages or pairs with training text."""
        if self.train:
            return [*self.languages, *self.pairs]
        return []

    def files(self, split: str, corpus: str, root: Root) -> list[Path]:
        """Return the files of one corpus of this group; line-aligned files of a pair as `find_sides` does."""
        source, _, target = corpus.partition("-")
        names = {"language": corpus, "pair": corpus, "source": source, "target": target}
        patterns = [pattern.format(**names) for pattern in getattr(self, split)]
        has_sides = target and len(patterns) == 2
        if has_sides and READERS.build(self.reader).by_line:
            return find_sides(root, (patterns[0], patterns[1]), (source, target))
        paths = []
        for pattern in patterns:
            paths += find_files(root, pattern)
        return paths

    def reading(self, split: str = "train") -> Reader:
        """Return the reader of a split; for training text with `rows` and `share` applied."""
        if split == "train" and (self.rows or self.share < 1):
            return RowSubset(reader=self.reader, rows=self.rows, share=self.share)
        return READERS.build(self.reader)


class VocabSettings(Settings):
    """The vocabulary: learned from the recipe's training text, or an existing tokenizer, also trimmed or extended."""

    start: str | None = Field(
        None, description="Tokenizer, folder or hub name; default: of model.start or vectors."
    )
    size: int = Field(
        8000, ge=300, le=10**7, description="Size to learn, special tokens included (XLM: 95k)."
    )
    alpha: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Exponent of language sampling for the vocabulary (XLM: 0.5).",
    )
    corpora: list[str] = Field(
        [], description="Groups to learn from; default: all. Use the same in compared recipes."
    )
    kind: Literal["byte-bpe", "bpe"] = Field(
        "byte-bpe", description="Tokenization algorithm; byte-bpe has no unknown characters."
    )
    trim: Literal["none", "text", "characters"] = Field(
        "none",
        description="Tokens of an existing tokenizer to keep, with their embeddings: 'text', those that the corpora "
        "need, dev included; 'characters', also all others that consist of their characters.",
    )
    extend: int = Field(
        0,
        ge=0,
        description="Tokens to add to an existing tokenizer, each at least ten times in the text; its ids stay.",
    )


class EntrySettings(Settings):
    """A section whose keys that are not its own fields are the `settings` of a registry entry."""

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("settings", {}), dict):
            return data
        section: JsonObject = {}
        settings: JsonObject = {}
        for key, value in data.items():
            if key in cls.model_fields:
                section[key] = value
            else:
                settings[key] = value
        section["settings"] = merged(section.get("settings", {}), settings)
        return section


class AlignSettings(EntrySettings):
    """Word alignment of parallel corpora. Further keys of the section are settings of the aligner.

    `{pair}`, `{source}` and `{target}` in settings are replaced; paths are relative to the data root.
    """

    name: str = Field(DEFAULT_ALIGNER, description="Aligner: see `interlace list aligners`.")
    phrases: TableRules | None = Field(
        None, description="Rules of phrase extraction, for objectives that need phrases."
    )
    settings: JsonObject = Field({}, description="Settings of the aligner.")

    def model_post_init(self, _context: Any) -> None:
        """Check that the aligner exists and has these settings."""
        self.aligner(names_of("source-target"))

    def aligner(self, names: Mapping[str, str]) -> Aligner:
        """Return the aligner of one language pair; `names` replaces placeholders in patterns."""
        settings = {key: _filled(value, names) for key, value in self.settings.items()}
        return ALIGNERS.build({"name": self.name, **settings}, "align")


def names_of(corpus: str) -> dict[str, str]:
    """Return the values of the placeholders `{pair}`, `{source}` and `{target}` for a corpus such as `en-de`."""
    source, target = corpus.split("-")
    return {"pair": corpus, "source": source, "target": target}


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and "{" in value:
        return check_pattern(value, names).format(**names)
    if isinstance(value, list):
        return [_filled(part, names) for part in value]
    return value


class EmbeddingSettings(EntrySettings):
    """Word or token vectors learned from the corpora. Further keys of the section are settings of the method."""

    name: str = Field("concat", description="Method: see `interlace list embedding-methods`.")
    units: Literal["words", "subwords"] = Field(
        "words",
        description="words: of each language; subwords: tokens of [vocab] over the text of all languages, to "
        "initialize a model's embeddings (Lample et al. 2018b, section 4; XLM's EMB).",
    )
    vectors: Annotated[str, pattern_of("language")] | None = Field(
        None,
        description="Existing vectors of each language, in the text format of word2vec and fastText, as a path pattern "
        "with {language}; default: learned from the corpora.",
    )
    dictionary: PairPattern | None = Field(
        None,
        description="Dictionary between the pivot and each other language, with `source<TAB>target` lines: a path "
        "pattern with {source} and {target}, in either direction.",
    )
    dictionary_share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the dictionary's source words for training, sampled with the recipe's seed like "
        "`dictionary.share` of objectives; tasks score the others.",
    )
    settings: JsonObject = Field({}, description="Settings of the method.")

    def model_post_init(self, _context: Any) -> None:
        """Check the method's settings and its input."""
        method = self.method()
        if "dictionaries" in method.needs and self.dictionary is None:
            raise ValueError(f"{self.name} needs a dictionary: set embeddings.dictionary")
        if "texts" in method.needs and self.vectors is not None:
            raise ValueError(
                f"{self.name} learns from text and does not read embeddings.vectors"
            )
        if self.units == "subwords" and not method.joint:
            raise ValueError(
                f"units = 'subwords': {self.name} learns each language separately, so shared tokens would get two "
                "vectors; use a joint method such as 'concat'"
            )

    def method(self) -> EmbeddingMethod:
        """Return the method with its settings."""
        return EMBEDDING_METHODS.build({"name": self.name, **self.settings}, "embeddings")


Alpha = Annotated[Schedule, AfterValidator(lambda schedule: within(schedule, 0.0, 1.0))]


class DiagnosticSettings(Settings):
    """Cross-lingual diagnostics, measured on fixed rows during training without changing it.

    Retrieval of sentences in both directions, and the cosine of translations minus that of other pairs.
    """

    every: int = Field(
        0,
        ge=0,
        description="Steps between measurements; also at the start and the end; 0: off.",
    )
    pairs: int = Field(
        128,
        ge=8,
        le=4096,
        description="Maximum sentence pairs per language pair, from the dev split of evaluate.tasks.retrieval.",
    )


class TrainSettings(Settings):
    """Length, batches, optimization, evaluation and checkpoints of pre-training."""

    steps: int = Field(1000, ge=1, description="Number of updates.")
    tokens_per_update: int = Field(
        4096, ge=16, description="Tokens of an update with padding, over all devices."
    )
    tokens_per_micro_batch: int | None = Field(
        None,
        ge=16,
        description="Maximum tokens that a device processes at once; an update is the sum of micro-batches, shared "
        "between the processes. Default: the whole update, which only one process can train.",
    )
    alternate: bool = Field(
        False, description="Alternate objectives, one update each (XLM); else sample by weight."
    )
    language_alpha: Alpha = Field(
        "0.7",
        description="Exponent of language sampling within an objective, a number or a schedule over steps (XLM: 0.7; "
        "mmBERT: 0.7, 0.5 and 0.3 by stage). Corpora of one language share its draws in proportion to size.",
    )
    optimizer: OptimizerSettings = Field(
        default_factory=OptimizerSettings, description="Optimizer and learning rate."
    )
    resume_from: str = Field(
        "",
        description="Checkpoint of another run of the same recipe, apart from `train`, to go on from: weights, state "
        "of the optimizer and position in the data, such as for a decay from a stable run (Hu et al. 2024).",
    )
    precision: Literal["auto", "no", "bf16", "fp16"] = Field(
        "auto",
        description="Autocast precision of matrix products; 'auto': bf16 if the hardware supports it (GPUs since "
        "Ampere, CPUs with AVX-512), else float32; fp16: with loss scaling, for older GPUs (V100, T4). With autocast, "
        "other products have TF32's precision on a GPU. Results depend on it in the last digits.",
    )
    gradient_checkpointing: bool = Field(
        False,
        description="Recompute activations of each layer in the backward pass: updates take about a third longer, and "
        "activations take the memory of one layer and of the inputs of all (Chen et al. 2016).",
    )
    compile: bool | Literal["auto"] = Field(
        "auto",
        description="Compile the model with torch.compile, which takes a minute or two at the first updates; 'auto': "
        "on a GPU, for 2,000 updates or more.",
    )
    evaluate_every: int = Field(
        0, ge=0, description="Steps between evaluations of perplexity; 0: only at the end."
    )
    evaluate_tokens: int = Field(
        20_000,
        ge=256,
        description="Maximum held-out tokens per language (source tokens per direction).",
    )
    diagnostics: DiagnosticSettings = Field(
        default_factory=DiagnosticSettings, description="Cross-lingual diagnostics."
    )
    patience: int = Field(
        0,
        ge=0,
        description="Evaluations without improvement before stopping at the best; 0: off.",
    )
    stop_by: Literal["perplexity", "bleu"] = Field(
        "perplexity",
        description="Criterion of patience and of the best checkpoint. perplexity: mean; bleu: mean BLEU of greedy "
        "translations of the dev text of the task mt in all learned directions (as XLM's code).",
    )
    checkpoint_every: int = Field(
        1000, ge=0, description="Steps between checkpoints; 0: only at the end and SIGTERM."
    )
    keep: int = Field(2, ge=1, description="Latest checkpoints to keep, besides the best.")
    threads: int | None = Field(
        None, ge=1, le=1024, description="Torch threads; default: torch's."
    )
    trackers: list[Literal["tensorboard", "wandb"]] = Field(
        [],
        description="Experiment trackers for losses and scores; each needs its package. Cells of a study are runs of "
        "their own.",
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that early stopping has evaluations."""
        if self.patience and not self.evaluate_every:
            raise ValueError("patience needs train.evaluate_every")
        if self.patience and self.resume_from:
            raise ValueError("patience has no effect on a run that goes on from resume_from")
        if self.tokens_per_update % self.micro_batch_tokens:
            raise ValueError(
                f"tokens_per_update ({self.tokens_per_update}) must be a multiple of tokens_per_micro_batch "
                f"({self.micro_batch_tokens})"
            )

    @property
    def micro_batch_tokens(self) -> int:
        """Tokens of a micro-batch with padding."""
        return min(
            self.tokens_per_micro_batch or self.tokens_per_update, self.tokens_per_update
        )

    @property
    def micro_batches(self) -> int:
        """Micro-batches of an update, over all processes."""
        return self.tokens_per_update // self.micro_batch_tokens

    def check_processes(self, count: int) -> None:
        """Raise a SettingsError unless the micro-batches divide evenly by processes."""
        if self.micro_batches % count:
            raise SettingsError(
                f"micro-batches ({self.micro_batches}) cannot be shared by {count} processes evenly; use another "
                f"number of them, or set train.tokens_per_micro_batch to {self.tokens_per_update // count} or less"
            )


class Published(Settings):
    """A row of a paper's table (`interlace.scores.published`); its scale and data may differ from ours."""

    where: str = Field(description="Paper, table and row: see `interlace list published`.")
    task: str = Field(
        "", description="Task, if the table has the row for several; default: all."
    )
    system: str = Field("", description="System, if several share the row's name.")
    note: str = Field("", description="Note on the comparison with this recipe.")

    @model_validator(mode="after")
    def _is_there(self) -> Published:
        try:
            self.rows()
        except DataError as error:
            raise ValueError(str(error)) from None
        return self

    def rows(self) -> list[PublishedRow]:
        """Return the row, once per metric."""
        from interlace.scores.published import find_rows

        return find_rows(self.where, self.task, self.system)


class OriginalPattern(Settings):
    """Files of the original language, and the names of the files that are derived from them."""

    original: LanguagePattern = Field(
        description="Original files below the data root; '*' matches any name."
    )
    derived: LanguagePattern = Field(
        "",
        description="Derived files, with {language} and as many '*'; default: named as the original files.",
    )
    reader: JsonObject | str = Field(
        "",
        description="Reader: its name, or a table with its settings. Default: by the name of the file.",
    )

    @property
    def target(self) -> str:
        """The pattern of the derived files."""
        return self.derived or self.original

    def model_post_init(self, _context: Any) -> None:
        """Check the wildcards and the reader."""
        if self.original.count("*") != self.target.count("*"):
            raise ValueError(f"{self.target!r} needs as many '*' as {self.original!r}")
        if self.reader:
            READERS.build(self.reader)


class DerivedLanguage(Settings):
    """A language derived from another one, and the files that are derived.

    A path is looked up first among the derived files, then below the data root.

    Tang et al. (2022, section 3) study transfer between English and languages derived from it, so that two languages
    differ only in the property that was transformed.
    """

    of: SingleLanguage = Field(description="The original language, which has files.")
    transformations: list[str] = Field(
        min_length=1,
        description="Transformations in order of application: a list, or names joined by '+'. Tang et al. (2022, "
        "section 4) write the last one first: 'invert+transliterate' is their T_trans after T_inv.",
    )
    settings: dict[str, JsonObject] = Field(
        {},
        description="Settings of transformations by name; those of transformations that are not applied are only "
        "checked. Files in them are relative to the data root; '*' in a list of them matches any name.",
    )
    seed: int = Field(0, ge=0, description="Seed of random transformations.")
    files: list[OriginalPattern] = Field(
        [],
        description="Original files to derive, as path patterns with {language}, such as 'text/*.{language}.txt'; a "
        "table gives the reader, or the name of the derived file.",
    )
    translations: dict[
        Literal["train", "dev"], Annotated[str, pattern_of("language", "pair")]
    ] = Field(
        {},
        description="Translations of the training or development text of the corpora, by split: a pattern with "
        "{language} and {pair}, such as 'parallel/train.{pair}.{language}'.",
    )
    alignments: Annotated[str, pattern_of("pair")] = Field(
        "",
        description="Word alignments of the training translations: a path pattern with {pair}.",
    )
    dictionary: PairPattern = Field(
        "",
        description="Dictionary of the training text: a path pattern with {source} and {target}.",
    )
    parallel: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the training sentences with a translation; a smaller share is a subset of a larger one "
        "(Tang et al. 2022, table 1: 0.01 to 1).",
    )

    @field_validator("files", mode="before")
    @classmethod
    def _as_tables(cls, files: Any) -> Any:
        if not isinstance(files, list):
            return files
        return [{"original": entry} if isinstance(entry, str) else entry for entry in files]

    @field_validator("transformations", mode="before")
    @classmethod
    def _listed(cls, names: Any) -> Any:
        if isinstance(names, str):
            return [name.strip() for name in names.split("+")]
        return names

    def model_post_init(self, _context: Any) -> None:
        """Check all settings, also of transformations that are not applied."""
        from interlace.derived import TRANSFORMATIONS

        try:
            for name, settings in self.settings.items():
                TRANSFORMATIONS.build({"name": name, **settings}, f"settings.{name}")
            self.chain()
        except SettingsError as error:  # as a ValueError it is reported with the section's path
            message = str(error)
            raise ValueError(message) from None

    def chain(self) -> Chain:
        """Return the transformations, with files as in the settings."""
        from interlace.derived import chain

        return chain(
            {"name": name, **self.settings.get(name, {})} for name in self.transformations
        )
