"""What a model is made of, as settings: the shape of a fresh one, or where to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from interlace.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

Attention = Literal["auto", "sdpa", "eager"]


class Shape(Settings):
    """Size and kind of a fresh encoder."""

    family: Literal["bert", "roberta", "modernbert"] = Field(
        "bert", description="Architecture; modernbert has rotary positions, gated layers and no language embeddings."
    )
    layers: int = Field(6, ge=1, description="Transformer layers (XLM: 12; for translation 6).")
    width: int = Field(256, ge=8, description="Size of a subword's state (XLM: 1024).")
    heads: int = Field(4, ge=1, description="Attention heads; must divide the width (XLM: 8).")
    feed_forward: int | None = Field(
        None, ge=8, description="Inner size of a layer; none: 4 x width, 8/3 x width in modernbert's gated layers."
    )
    max_length: int = Field(256, ge=8, description="Longest row in subwords, specials included (XLM: 256).")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of states dropped while training (XLM: 0.1).")
    attention_dropout: float = Field(0.1, ge=0, lt=1, description="Share of attention weights dropped (XLM: 0.1).")
    init_std: float = Field(
        0.02, gt=0, description="Deviation of fresh weights (BERT: 0.02; XLM's code draws embeddings at width^-0.5)."
    )
    tie: bool = Field(True, description="One table for reading and predicting subwords (Press & Wolf 2017).")
    local_attention: int = Field(128, ge=2, description="modernbert: subwords that a local layer sees around each.")

    def model_post_init(self, _context: object) -> None:
        """Heads share the width equally; rotation needs an even share."""
        if self.width % self.heads:
            message = f"width must be a multiple of heads, found {self.width} and {self.heads}"
            raise ValueError(message)
        if self.family == "modernbert" and self.width // self.heads % 2:
            message = f"modernbert: width / heads must be even, found {self.width} / {self.heads}"
            raise ValueError(message)

    @property
    def inner(self) -> int:
        """The inner size of a layer as resolved."""
        if self.feed_forward is not None:
            return self.feed_forward
        return 4 * self.width if self.family != "modernbert" else -(-8 * self.width // 3 // 8) * 8


class ModelSettings(Settings):
    """The backbone of a recipe: a checkpoint to go on from, or the shape of a fresh one."""

    start: str | None = Field(None, description="Folder or hub name of a checkpoint to go on from.")
    shape: Shape | None = Field(None, description="Shape of a fresh model, where there is no start.")
    languages: Literal["none", "embeddings"] = Field(
        "none", description="'embeddings': a vector a language added to every subword (XLM, section 3.1)."
    )
    language_names: dict[str, str] = Field(
        {}, description="Language of the recipe -> the name that the start has it under, such as zh_cn = 'zh'."
    )
    new_languages: Literal["mean", "plain"] = Field(
        "mean",
        description="With 'embeddings', what a language new to the start begins as: the mean of its languages, or what "
        "a caller without language ids gets ('plain'; also where it has no languages).",
    )
    language_copies: dict[str, str] = Field(
        {}, description="New language -> one that the start has, whose embedding it begins as, such as gsw = 'de'."
    )
    new_subwords: Literal["mean", "random"] = Field(
        "mean",
        description="With vocab.extend, what new rows begin as: the mean of the rows of the subwords that spelt them, "
        "or drawn about the mean of the table with its spread (Hewitt 2021).",
    )
    attention: Attention = Field(
        "auto", description="Attention kernel; 'auto': sdpa where the model has it, and a quicker one on a CPU."
    )

    def model_post_init(self, _context: object) -> None:
        """A start has its own shape; ModernBERT would swallow language ids."""
        if self.start is not None and self.shape is not None:
            message = "give either 'start' or 'shape', not both: a checkpoint has its own shape"
            raise ValueError(message)
        if self.languages == "embeddings" and self.shape is not None and self.shape.family == "modernbert":
            message = "languages = 'embeddings': the modernbert family cannot take language embeddings"
            raise ValueError(message)
        if self.start is None and (self.language_names or self.language_copies):
            message = "language_names and language_copies speak of the languages of a 'start'; there is none"
            raise ValueError(message)
        if self.language_copies and self.languages == "none":
            message = "language_copies gives languages an embedding: set languages = 'embeddings'"
            raise ValueError(message)

    def build(self, vocab: Vocab, languages: Sequence[str], seed: int = 0, *, causal: bool = False) -> Backbone:
        """The backbone; `languages` get an embedding each where the settings say so.

        causal: whether it is to be a causal model; any family here can be.

        Raises:
            CheckpointError: the start is missing, damaged, or does not fit the vocabulary.
            SettingsError: the family of the start cannot take language embeddings, or it lacks a language named here.
        """
        from interlace.models.build import fresh, load
        from interlace.models.languages import Arrival

        names = tuple(languages) if self.languages == "embeddings" else ()
        if self.start is not None:
            arrival = Arrival(self.language_names, self.language_copies, mean=self.new_languages == "mean")
            return load(
                self.start,
                vocab,
                names,
                attention=self.attention,
                seed=seed,
                causal=causal,
                arrival=arrival,
                new_subwords=self.new_subwords,
            )
        return fresh(self.shape or Shape(), vocab, names, seed, attention=self.attention, causal=causal)
