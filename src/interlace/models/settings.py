"""What a model is made of, as settings: the shape of a fresh one, or where to start from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from interlace.core.settings import Settings

Attention = Literal["auto", "sdpa", "eager"]
Take = Literal["whole", "embeddings", "none"]


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


class DecoderSettings(Settings):
    """What a translation model writes with; what it reads with is what [model] says (XLM, section 5.1: nine pairs)."""

    start: str | None = Field(
        None, description="Folder or hub name of the checkpoint it begins from; none: that of the encoder."
    )
    take: Take = Field(
        "whole",
        description="What is taken of the start: all its layers and its head, its table of subwords alone "
        "('embeddings'), or no weight. Cross-attention is always drawn fresh.",
    )
    shape: Shape | None = Field(None, description="Shape of a fresh decoder; none: that of the start or the encoder.")
    layers: int | None = Field(None, ge=1, description="How many layers, the lowest of its start; none: all.")
    table: Literal["shared", "own"] = Field(
        "shared", description="Whether both sides read one table of subwords, or the decoder its own."
    )

    def model_post_init(self, _context: object) -> None:
        """A fresh decoder has a shape or that of a start."""
        if self.shape is not None and (self.start is not None or self.layers is not None):
            message = "model.decoder: give either 'shape', of a fresh decoder, or 'start' and 'layers'"
            raise ValueError(message)
        if self.shape is not None and self.take != "whole":
            message = f"take = {self.take!r}, but a decoder with a 'shape' of its own takes nothing; leave it out"
            raise ValueError(message)


class ModelSettings(Settings):
    """The backbone of a recipe: a checkpoint to go on from, or the shape of a fresh one."""

    start: str | None = Field(None, description="Folder or hub name of a checkpoint to go on from.")
    take: Take = Field(
        "whole",
        description="What is taken of the start: all, its table of subwords alone ('embeddings'), or its shape and "
        "vocabulary, but no weight ('none').",
    )
    shape: Shape | None = Field(None, description="Shape of a fresh model, where there is no start.")
    vectors: str | None = Field(
        None,
        description="Vectors of subwords that the tables of a fresh model begin with (EMB in XLM's table 2): the "
        "`vectors/` of a run whose [embeddings] has units = 'subwords', with its tokenizer, or a file in the text "
        "format of fastText (.vec). Rows without one stay drawn.",
    )
    vectors_spread: Literal["drawn", "own"] = Field(
        "drawn",
        description="Spread about zero of the rows that begin with 'vectors': 'drawn', scaled by one number to that of "
        "the table's drawn rows; or their 'own' (XLM's code).",
    )
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
    decoder: DecoderSettings | None = Field(
        None, description="Of a translation model: its decoder; none: begun like the encoder, and with its table."
    )
    attention: Attention = Field(
        "auto",
        description="Attention kernel of the encoder; 'auto': sdpa where the model has it, and a quicker one on a CPU. "
        "A decoder always has those.",
    )

    def model_post_init(self, _context: object) -> None:
        """A start has its own shape; ModernBERT would swallow language ids."""
        if self.start is not None and self.shape is not None:
            message = "give either 'start' or 'shape', not both: a checkpoint has its own shape"
            raise ValueError(message)
        if self.start is None and self.take != "whole":
            message = f"take = {self.take!r} speaks of a 'start'; there is none"
            raise ValueError(message)
        decoder = self.decoder
        if self.start is None and decoder is not None and decoder.start is None and decoder.take != "whole":
            message = f"decoder.take = {decoder.take!r} speaks of a 'start', and neither side has one; leave it out"
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
        self._check_vectors()

    def _check_vectors(self) -> None:
        """Vectors are for tables that nothing else begins."""
        if self.vectors is None:
            if self.vectors_spread != "drawn":
                message = f"vectors_spread = {self.vectors_spread!r} speaks of 'vectors'; there are none"
                raise ValueError(message)
            return
        if self.start is not None:
            message = "give either 'start' or 'vectors', not both: a checkpoint has its own table of subwords"
            raise ValueError(message)
        decoder = self.decoder
        if decoder and decoder.start is not None and decoder.take != "none" and decoder.table == "shared":
            message = "'vectors' and decoder.start each give a table of subwords, and both sides share one"
            raise ValueError(f"{message}; set decoder.table = 'own'")
