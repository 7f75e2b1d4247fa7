"""Settings of a model (the shape of a fresh one, or the checkpoint to start from) and of generation; without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from interlace.core.errors import SettingsError
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from interlace.core.ragged import AnyArray, IntArray

Part = Literal["embeddings", "head"]
Take = Literal["whole", "embeddings", "none"]


class Shape(Settings):
    """Architecture and size of a fresh encoder."""

    family: Literal["bert", "roberta", "modernbert"] = Field(
        "bert",
        description="Architecture; modernbert has rotary positions, gated layers and no language embeddings.",
    )
    layers: int = Field(
        6, ge=1, le=1000, description="Transformer layers (XLM: 12; for translation 6)."
    )
    width: int = Field(256, ge=8, le=65_536, description="Hidden size (XLM: 1024).")
    heads: int = Field(4, ge=1, description="Attention heads; must divide the width (XLM: 8).")
    feed_forward: int | None = Field(
        None,
        ge=8,
        le=262_144,
        description="Inner size of a layer; none: 4 x width, 8/3 x width in modernbert's gated layers.",
    )
    max_length: int = Field(
        256,
        ge=8,
        le=1 << 20,
        description="Maximum sequence length in tokens with specials (XLM: 256).",
    )
    dropout: float = Field(
        0.1, ge=0, lt=1, description="Share of states dropped in training (XLM: 0.1)."
    )
    attention_dropout: float = Field(
        0.1, ge=0, lt=1, description="Share of attention weights dropped (XLM: 0.1)."
    )
    init_std: float = Field(
        0.02,
        gt=0,
        description="Standard deviation of random weights (BERT: 0.02; XLM's embeddings: width^-0.5).",
    )
    local_attention: int = Field(
        128, ge=2, description="modernbert: window of local layers in tokens, both sides."
    )

    def model_post_init(self, _context: object) -> None:
        """Check that heads divide the width, and evenly for rotary positions."""
        if self.width % self.heads:
            raise ValueError(
                f"width must be a multiple of heads, found {self.width} and {self.heads}"
            )
        if self.family == "modernbert" and self.width // self.heads % 2:
            raise ValueError(
                f"modernbert: width / heads must be even, found {self.width} / {self.heads}"
            )

    @property
    def inner(self) -> int:
        """Inner size of a layer, resolved."""
        if self.feed_forward is not None:
            return self.feed_forward
        if self.family == "modernbert":
            return -(-8 * self.width // 3 // 8) * 8
        return 4 * self.width


class DecoderSettings(Settings):
    """Decoder of a translation model; the encoder is that of [model] (XLM, section 5.1: nine combinations)."""

    start: str | None = Field(
        None,
        description="Folder or hub name of the checkpoint to start from; none: that of the encoder.",
    )
    take: Take = Field(
        "whole",
        description="Weights to take from the start: all layers and the head ('whole'), the input embeddings alone "
        "('embeddings'), or none. Cross-attention is always random.",
    )
    layers: int | None = Field(
        None, ge=1, le=1000, description="Number of layers, the lowest of the start; none: all."
    )
    embeddings: Literal["shared", "own"] = Field(
        "shared",
        description="Whether encoder and decoder share input embeddings, or the decoder has its own.",
    )


class LoraSettings(Settings):
    """Low-rank adapters (LoRA, Hu et al. 2022), by the package peft; merged into the weights at export."""

    rank: int = Field(8, ge=1, description="Rank of the update of each matrix.")
    alpha: int = Field(16, ge=1, description="Scale of the updates, divided by the rank.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout before the adapters.")
    targets: list[str] = Field(
        ["attention"],
        min_length=1,
        description="Linear layers that get adapters: 'attention', 'feed_forward', or names such as 'query'.",
    )
    train: list[Part] = Field(
        [],
        description="Parts also trained in full: 'embeddings' (of new tokens), 'head'.",
    )


class ModelSettings(Settings):
    """The backbone of a recipe: a checkpoint to start from, or the shape of a fresh one."""

    start: str | None = Field(
        None, description="Folder or hub name of the checkpoint to start from."
    )
    take: Take = Field(
        "whole",
        description="What to take from the start: everything ('whole'), its input embeddings alone ('embeddings'), or "
        "only its shape and vocabulary ('none').",
    )
    shape: Shape | None = Field(None, description="Shape of a fresh model, without a start.")
    vectors: str | None = Field(
        None,
        description="Subword vectors that initialize the embeddings of a fresh model (EMB in XLM's table 2): the "
        "`vectors/` of a run whose [embeddings] has units = 'subwords', with its tokenizer, or a file in fastText's "
        "text format (.vec). Other tokens keep random embeddings.",
    )
    vectors_spread: Literal["drawn", "own"] = Field(
        "drawn",
        description="Scale of the embeddings from 'vectors': 'drawn', scaled to the spread of the random embeddings; "
        "or their 'own' (XLM's code).",
    )
    languages: Literal["none", "embeddings"] = Field(
        "none",
        description="'embeddings': a language vector added to every token (XLM, section 3.1).",
    )
    language_names: dict[str, str] = Field(
        {},
        description="Language of the recipe -> the start's name for it, such as zh_cn = 'zh'.",
    )
    decoder: DecoderSettings | None = Field(
        None,
        description="Decoder of a translation model; none: initialized like the encoder, with shared embeddings.",
    )
    freeze: list[Part] = Field(
        [], description="Parts that keep their initial weights: 'embeddings', 'head'."
    )
    lora: LoraSettings | None = Field(
        None,
        description="Low-rank adapters: they are trained in place of the model, whose weights are frozen.",
    )

    def model_post_init(self, _context: object) -> None:
        """Check that the settings do not contradict each other."""
        if self.freeze and self.lora is not None:
            raise ValueError(
                "give either 'freeze' or 'lora': adapters freeze the whole model, except lora.train"
            )
        self._check_start()
        self._check_languages()
        self._check_vectors()

    def _check_start(self) -> None:
        if self.start is not None:
            if self.shape is not None:
                raise ValueError(
                    "give either 'start' or 'shape', not both: a checkpoint has its own shape; remove [model.shape]"
                )
            return
        if self.take != "whole":
            raise ValueError(f"take = {self.take!r} needs a 'start'")
        decoder = self.decoder or DecoderSettings()
        if decoder.start is None and decoder.take != "whole":
            raise ValueError(
                f"decoder.take = {decoder.take!r} needs a 'start' of encoder or decoder"
            )

    def _check_languages(self) -> None:
        if (
            self.languages == "embeddings"
            and self.shape is not None
            and self.shape.family == "modernbert"
        ):
            raise ValueError(
                "languages = 'embeddings': the modernbert family cannot take language embeddings"
            )
        if self.start is None and self.language_names:
            raise ValueError("language_names needs a 'start'")

    def _check_vectors(self) -> None:
        if self.vectors is None:
            if self.vectors_spread != "drawn":
                raise ValueError(f"vectors_spread = {self.vectors_spread!r} needs 'vectors'")
            return
        if self.start is not None:
            raise ValueError(
                "give either 'start' or 'vectors', not both: a checkpoint has its own embeddings"
            )
        decoder = self.decoder or DecoderSettings()
        if (
            decoder.start is not None
            and decoder.take != "none"
            and decoder.embeddings == "shared"
        ):
            raise ValueError(
                "'vectors' and decoder.start both initialize the shared embeddings; set decoder.embeddings = 'own'"
            )


def layer_number(setting: str, layer: int | None, layers: int) -> int:
    """Return the number of a layer from 0, the embeddings; raise a SettingsError if the model has no such layer.

    layer: from the last one if it is negative; None: at two thirds (8 of 12).
    """
    if layer is None:
        layer = round(2 * layers / 3)
    if not -layers - 1 <= layer <= layers:
        raise SettingsError(f"{setting} = {layer}, but the model has the layers 0 to {layers}")
    return layer % (layers + 1)


class SearchSettings(Settings):
    """Settings of beam search, or of greedy search."""

    beam: int = Field(5, ge=1, le=200, description="Beam size; 1: greedy search.")
    length_penalty: float = Field(
        1.0, ge=-10, le=10, description="Exponent of the length that divides a hypothesis's log-probability (XLM: 1); "
        "higher values prefer longer translations, 0 compares the sums.",
    )  # fmt: skip
    max_ratio: float = Field(
        1.5,
        ge=0,
        le=100,
        description="Maximum length of a translation: this times the source's, plus max_extra (XLM).",
    )
    max_extra: int = Field(
        10, ge=0, le=10_000, description="Tokens added to that maximum (XLM: 10)."
    )

    def limits(self, lengths: AnyArray, limit: int) -> IntArray:
        """Return the maximum lengths of translations from source lengths; `limit` is the model's own maximum."""
        return (self.max_ratio * lengths + self.max_extra).astype("int64").clip(0, limit)
