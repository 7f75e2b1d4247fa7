"""Registry of pre-training objectives: batches are built in numpy, losses are computed in torch.

`Objective` is the contract. Building blocks are in `interlace.objectives.common`: `masking.Masking` selects and masks
tokens, `seq2seq.Seq2SeqObjective` lays out decoder sequences, `dictionaries.Dictionary` reads bilingual dictionaries,
`code_switching.CodeSwitching` exchanges phrases.

Legend: B sequences of a batch, L tokens of the longest sequence, N predictions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from pydantic import Field

from interlace.core.errors import SettingsError
from interlace.core.ragged import AnyArray
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry, Settings
from interlace.data import LabeledExamples, PairLayout, Pairs, Questions, Sentences
from interlace.data.layout import MAX_SPECIALS, SPECIALS, Layout, pair_specials
from interlace.text import LanguagePair

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from interlace.alignment.lexicon import Lexicon
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.families import Traits
    from interlace.objectives.common.dictionaries import Dictionaries

MASK = "[M]"  # the mask token in previews
_BLANK = "▁"

Examples = Sentences | Pairs | LabeledExamples | Questions
BoolOrAuto = bool | Literal["auto"]
PairLayoutOrAuto = PairLayout | Literal["auto"]
LAYOUT = """Special tokens between the sides: those of XLM, RoBERTa or BERT; 'auto': those of the vocabulary's \
family ('xlm' for a vocabulary trained with interlace)."""
AnyPrepared = TypeVar("AnyPrepared", bound="Prepared")
Cells = dict[int, dict[int, str]]  # sequence -> column -> text
# this process's rows of a tensor -> the rows of all processes, and the number of this process's first one among them
GatherRows = Callable[["Tensor"], tuple["Tensor", int]]


@dataclass
class Batch:
    """Arrays of one micro-batch. The training loop converts them to tensors.

    inputs: the encoder's arguments: `input_ids` (B, L) and, only where needed, `attention_mask`, `position_ids`,
        `token_type_ids` or `langs`, all (B, L); of a packed row also `SEQUENCE_ENDS`.
    at: (N,) sequence and (N,) column of each prediction.
    labels: (N,) correct token ids.
    extra: further arrays that the objective's `loss` reads.
    places: those that are indices into the flattened batch, row * L + column; packing changes them.
    sides: (B, L) 0 and 1 for the two sides of pairs, or None; only for previews.
    counts: number of predictions by loss term, known before the forward pass. All batches of a corpus have the same
        terms in the same order, because processes sum them by position; the loop checks this.
    tokens: number of tokens without padding.
    languages: number of tokens by language, with the same keys in all batches of a corpus; empty if unknown.
    sequences: B; by default the rows of `input_ids`.
    """

    inputs: dict[str, Any]
    at: tuple[Any, Any]
    labels: Any
    counts: dict[str, float]
    tokens: int
    extra: dict[str, Any] = field(default_factory=dict)
    sides: Any = None
    languages: dict[str, int] = field(default_factory=dict)
    places: dict[str, Any] = field(default_factory=dict)
    sequences: int = 0

    def __post_init__(self) -> None:
        """Count the sequences."""
        if not self.sequences:
            self.sequences = len(self.inputs["input_ids"])

    @classmethod
    def of(
        cls,
        layout: Layout,
        languages: tuple[str, ...],
        prepared: Prepared,
        *,
        at: tuple[Any, Any],
        labels: Any,
        counts: Mapping[str, float],
        extra: dict[str, Any] | None = None,
    ) -> Batch:
        """Return a batch that reads the sequences of `layout`; `languages` are those of their sides."""
        fed = prepared.language_ids
        restart = prepared.restart
        return cls(
            prepared.traits.encoder_inputs(
                layout, languages, restart=restart, language_ids=fed
            ),
            at=at,
            labels=labels,
            counts=dict(counts),
            tokens=layout.tokens,
            extra=extra or {},
            sides=layout.sides if len(languages) > 1 else None,
            languages=tokens_by_language(layout, languages),
        )

    def to(self, device: torch.device) -> Batch:
        """Return the batch with tensors on `device` instead of arrays."""
        return self._mapped(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Batch:
        """Return the batch with tensors in page-locked memory, from which a GPU copies without waiting."""
        return self._mapped(lambda tensor: tensor.pin_memory())

    def _mapped(self, move: Callable[[Tensor], Tensor]) -> Batch:
        from torch import as_tensor

        return replace(
            self,
            inputs={name: move(as_tensor(array)) for name, array in self.inputs.items()},
            at=(move(as_tensor(self.at[0])), move(as_tensor(self.at[1]))),
            labels=move(as_tensor(self.labels)),
            extra={name: move(as_tensor(array)) for name, array in self.extra.items()},
            places={name: move(as_tensor(array)) for name, array in self.places.items()},
        )


@dataclass(frozen=True)
class Term:
    """A loss summed (not averaged) over a batch, with its weight relative to other terms."""

    total: Tensor
    weight: float = 1.0


@dataclass(frozen=True)
class Resources:
    """Data that an objective may read once, before training.

    frequencies: (vocabulary,) count of each token in the objective's corpora; None unless `needs_frequencies`.
    lexicons: (source language, target language) -> lexicon, for objectives that need `lexicon`.
    languages: languages of the recipe; the vocabulary or a pre-trained model may have more.
    """

    vocab: Vocab
    traits: Traits
    frequencies: np.ndarray[Any, Any] | None = None
    seed: int = 0
    lexicons: dict[LanguagePair, Lexicon] = field(default_factory=dict)
    languages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """What every batch of an objective needs; objectives subclass it to add their own.

    language_ids: whether language ids are fed. layout: of pairs. restart: whether positions restart on the second side.
    dictionaries: the dictionary entries of objectives that need `lexicon`; stored with the run.
    """

    vocab: Vocab
    traits: Traits
    language_ids: bool = field(default=False, kw_only=True)
    layout: PairLayout | None = field(default=None, kw_only=True)
    restart: bool = field(default=False, kw_only=True)
    dictionaries: Dictionaries | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Preview:
    """Annotations of a batch for `interlace preview`.

    lines: name of a line -> sequence -> column -> text below the token in that column.
    notes: statements about the whole batch.
    """

    lines: Mapping[str, Cells]
    notes: Sequence[str] = field(default_factory=list)


class Component(Settings):
    """Settings that several objectives have as a field, such as `Masking`."""

    @property
    def needs_frequencies(self) -> bool:
        """Whether token frequencies are read."""
        return False

    def for_evaluation(self) -> Self:
        """Return the settings used for held-out perplexity."""
        return self


class Objective(RegistryEntry, ABC):
    """A pre-training objective. Subclasses define `batch`; the default `loss` is cross-entropy at `batch.at`."""

    reads: ClassVar[type] = Sentences  # or Pairs
    # full sequences of running text instead of single sentences
    streams: ClassVar[bool] = False
    # "masked" (bidirectional), "causal" (left to right) or "seq2seq"
    architecture: ClassVar[str] = "masked"
    # examples longer than max_length are dropped, not truncated
    drops_long: ClassVar[bool] = False
    # its loss reads states at `batch.at` and `batch.places` only, so a batch may be one packed row
    packs: ClassVar[bool] = False
    packed_share: ClassVar[float] = (
        1.0  # of a row that is planned: less where `packed_tokens` are estimates
    )
    term: ClassVar[str] = "loss"  # name of the default loss term
    # Data required with its pairs: "links", "phrases", "known" (translations from the phrase table), "text"; or
    # "lexicon", together with a field `dictionary: Dictionary`.
    needs: ClassVar[frozenset[str]] = frozenset()

    max_length: int = Field(
        256,
        ge=8,
        description="Maximum sequence length in tokens, special tokens included (XLM: 256).",
    )
    language_ids: BoolOrAuto = Field(
        "auto", description="Feed language ids; 'auto': if the model embeds them."
    )

    @property
    def needs_frequencies(self) -> bool:
        """Whether `prepare` reads token frequencies, which takes a pass over the corpora."""
        return any(part.needs_frequencies for part in self._components().values())

    def prepare(self, resources: Resources) -> Prepared:
        """Check that the model and the data suit the settings; compute what every batch needs.

        Raises:
            SettingsError: language ids are required, and the model has no language embeddings.
        """
        language_ids = resources.traits.feeds_languages(self.language_ids, self.name)
        return Prepared(resources.vocab, resources.traits, language_ids=language_ids)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:  # noqa: ARG002 - subclasses use it
        """Return extra heads, which are trained and checkpointed with the backbone and dropped at export."""
        from torch import nn

        return nn.ModuleDict()

    @abstractmethod
    def batch(self, examples: Any, prepared: Any, step: int, rng: np.random.Generator) -> Batch:
        """Return a batch: a pure function of its arguments, without torch; several threads call it at once."""

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:  # noqa: ARG002
        """Return the summed cross-entropy at `batch.at`."""
        from interlace.objectives.common.losses import states_at, vocabulary_loss

        states = states_at(backbone.encode(batch.inputs), batch.at)
        return {self.term: Term(vocabulary_loss(backbone, states, batch.labels)[0])}

    def packed_length(self) -> int | None:
        """Return the tokens per side that sentences or pairs are packed into (`data.packing`); None: not packed."""
        return None

    def pair_costs(self, source: AnyArray, target: AnyArray) -> AnyArray:
        """Return (n,) tokens that pairs with sides of these lengths take in a batch, padding and specials included.

        The default is one sequence with both sides. Batch sizes are computed from it.
        """
        return np.minimum(source + target + MAX_SPECIALS, self.max_length)

    def sentence_costs(self, lengths: AnyArray) -> AnyArray:
        """Return (n,) tokens that single sentences of these lengths take in a batch."""
        return np.minimum(lengths + MAX_SPECIALS, self.max_length)

    def packed_tokens(self, prepared: Prepared, *sides: AnyArray) -> AnyArray:
        """Return (n,) tokens that sentences or pairs with sides of these lengths take in a packed row."""
        specials = SPECIALS
        if len(sides) == 2:
            layout = prepared.layout
            specials = pair_specials(prepared.vocab, layout, restart=prepared.restart)
        return np.minimum(np.sum(sides, axis=0) + specials, self.max_length)

    def for_evaluation(self) -> Self:
        """Return the objective used for held-out perplexity, with settings that are comparable between runs."""
        return self.model_copy(
            update={name: part.for_evaluation() for name, part in self._components().items()}
        )

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Return annotations of a batch of numpy arrays, by default the predicted tokens."""
        name = "next" if self.architecture == "causal" else "predicts"
        return Preview({name: place_texts(*batch.at, token_texts(vocab, batch.labels))})

    def _components(self) -> dict[str, Component]:
        return {name: value for name, value in self if isinstance(value, Component)}


class UpdateObjective(Objective):
    """An objective whose loss compares the vectors of all sequences of an update, over micro-batches and processes.

    If an update is one micro-batch, `loss` computes all. Otherwise the loop first computes the vectors of each one and
    drops their graphs, `with_gradients` computes the gradient of the whole update's loss in all vectors, and `loss`
    backpropagates it through those of its micro-batch (GradCache, Gao et al. 2021).
    """

    @abstractmethod
    def vectors(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the vectors of a batch, (n, ...)."""

    @abstractmethod
    def with_gradients(
        self, batches: Sequence[Batch], vectors: Sequence[Tensor], gather: GatherRows
    ) -> list[Batch]:
        """Return the micro-batches of this process with gradients in `extra`, from which `loss` computes its terms.

        vectors: of each micro-batch, without a graph. gather: collects rows over processes.
        """


OBJECTIVES: Registry[Objective] = Registry(__name__, "objective", Objective)


def place_texts(rows: Any, columns: Any, texts: Sequence[str]) -> Cells:
    """Arrange texts by sequence and column; `rows` and `columns` are (n,) arrays."""
    cells: Cells = {}
    for row, column, text in zip(rows.tolist(), columns.tolist(), texts, strict=True):
        cells.setdefault(row, {})[column] = text
    return cells


def token_texts(vocab: Vocab, ids: Any) -> list[str]:
    """Return tokens for people: without the word-start mark, but with `+` before tokens inside a word."""
    specials = {int(number) for number in vocab.special_ids}
    mask = vocab.mask if vocab.has_mask else None
    names = vocab.tokens(ids)
    blanks = any(name.startswith(_BLANK) for name in names)
    texts = []
    for number, name in zip(np.asarray(ids).tolist(), names, strict=True):
        if number == mask:
            texts.append(MASK)
        elif number in specials or not blanks:
            texts.append(name)
        else:
            texts.append(name.removeprefix(_BLANK) if name.startswith(_BLANK) else f"+{name}")
    return texts


def tokens_by_language(layout: Layout, languages: tuple[str, ...]) -> dict[str, int]:
    """Return the number of tokens in each language; special tokens count for their side."""
    source = languages[0]
    target = languages[-1]
    if source == target:
        return {source: layout.tokens}
    target_tokens = int((layout.sides == 1).sum())  # the side of padding is 0
    return {source: layout.tokens - target_tokens, target: target_tokens}


def with_pair_layout(prepared: AnyPrepared, objective: Any) -> AnyPrepared:
    """Return `prepared` with the layout of pairs and whether positions restart, by the objective's settings.

    `layout = "auto"` is the layout of the vocabulary's family. `reset_positions = "auto"` restarts only if language ids
    distinguish the sides: else restarted positions make the first words of both sides look alike. Restarting is an
    error where layers of the model use relative positions only.
    """
    traits = prepared.traits
    name = objective.name
    restart = objective.reset_positions
    if restart is True and not traits.restarts:
        message = f"{name}: reset_positions = true, but layers of {traits.family} models ignore position ids"
        raise SettingsError(f"{message}; set {name}.reset_positions = 'auto'")
    if restart == "auto":
        restart = traits.restarts and traits.has_languages
    if objective.layout == "auto":
        layout = prepared.vocab.pair_layout
    else:
        layout = objective.layout
    return replace(prepared, layout=layout, restart=restart)
