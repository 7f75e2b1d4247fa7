"""What differs between the families of encoders that a backbone can be: heads, language tables, first positions.

What a backbone can do, as plain data: all that making a batch needs to know of a model, without torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlace.core.errors import CheckpointError, did_you_mean

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Family:
    """A kind of encoder.

    head: prefixes of the weights of its vocabulary head.
    language_input: the input that language ids come in by, or None.
    language_table: path of the embedding they look up, from the encoder.
    """

    name: str
    head: tuple[str, ...]
    language_input: str | None = None
    language_table: str = ""

    def logits(self, model: Any, states: Tensor) -> Tensor:
        """(N, V) scores from (N, H) states through the checkpoint's own head."""
        if self.name == "bert":
            return model.cls(states)  # type: ignore[no-any-return]
        if self.name == "roberta":
            return model.lm_head(states)  # type: ignore[no-any-return]
        if self.name == "modernbert":
            return model.decoder(model.head(states))  # type: ignore[no-any-return]
        return model.pred_layer(states)[0]  # type: ignore[no-any-return]

    def language_embedding(self, model: Any) -> nn.Embedding | None:
        """The table of language vectors, or None where the model has none."""
        found = model.base_model
        for part in self.language_table.split(".") if self.language_table else ["none"]:
            found = getattr(found, part, None)
        return found  # type: ignore[no-any-return]

    def first_position(self, config: Any) -> int:
        """Position id of the first subword of a row; RoBERTa keeps the ids up to the padding's for padding."""
        return int(config.pad_token_id) + 1 if self.name == "roberta" else 0


_BERT = Family("bert", ("cls.",), "token_type_ids", "embeddings.token_type_embeddings")


_ROBERTA = Family("roberta", ("lm_head.",), "token_type_ids", "embeddings.token_type_embeddings")


_MODERNBERT = Family("modernbert", ("head.", "decoder."))


_XLM = Family("xlm", ("pred_layer.",), "langs", "lang_embeddings")


SEQ2SEQ = ("encoder-decoder", "interlace-seq2seq")  # transformers' translation models, and ours for ModernBERT


DECODER = "modernbert-decoder"  # the causal twin; a backbone holds it in the encoder's form


# `model_type` of a transformers configuration -> family
MODEL_TYPES: dict[str, Family] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "modernbert": _MODERNBERT,
    DECODER: _MODERNBERT,
    "xlm": _XLM,
}


def family_of(config: Any, where: str = "this model") -> Family:
    """The family of a transformers configuration.

    Raises:
        CheckpointError: a kind of model that cannot be a backbone; the message lists those that can.
    """
    kind = str(getattr(config, "model_type", "unknown"))
    if kind not in MODEL_TYPES:
        raise CheckpointError(f"{where}: a {kind!r} model cannot be a backbone{did_you_mean(kind, MODEL_TYPES)}")
    return MODEL_TYPES[kind]


def traits_of(config: Any) -> Traits:
    """What making a batch needs to know of a model with this configuration."""
    from interlace.models.languages import language_ids

    family = family_of(config)
    first = family.first_position(config)
    return Traits(
        family=family.name,
        max_length=int(config.max_position_embeddings) - first,
        languages=language_ids(config),
        language_input=family.language_input,
        first_position=first,
        restarts=family.name != "modernbert",
    )


@dataclass(frozen=True)
class Traits:
    """Facts of a backbone that shape its batches.

    family: `"bert"`, `"roberta"` (XLM-R too), `"modernbert"`, `"xlm"`.
    max_length: longest row in subwords, specials included.
    languages: language -> the id its embedding has in `inputs[language_input]`; empty where there are none.
    language_input: the name of the input that carries language ids (`"token_type_ids"`, `"langs"`), or None.
    first_position: the position id of the first subword (RoBERTa-family: pad + 1).
    restarts: whether a side whose position ids restart is read in every layer at the places they name. ModernBERT's
        rotation goes by them, its local windows by index.
    """

    family: str
    max_length: int
    languages: dict[str, int] = field(default_factory=dict)
    language_input: str | None = None
    first_position: int = 0
    restarts: bool = True
