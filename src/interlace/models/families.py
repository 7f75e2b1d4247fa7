"""Families of models that a backbone can be, and the facts about a backbone that batches depend on; without torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlace.core.errors import CheckpointError, SettingsError, did_you_mean
from interlace.core.ragged import Arrays
from interlace.data.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor, nn

# 0 and the end of each packed sequence, by transformers' name of the input
SEQUENCE_ENDS = "cu_seq_lens_q"
LANGUAGES_KEY = "interlace_languages"  # of a configuration: language -> row of its embedding


@dataclass(frozen=True)
class Traits:
    """Facts about a backbone that shape its batches, as plain data.

    family: its name, such as `"bert"` or `"roberta"` (XLM-R too).
    max_length: maximum length of a sequence in tokens, specials included.
    languages: language -> its id in `inputs[language_input]`; empty without language embeddings.
    language_input: name of the input for language ids (`"token_type_ids"`, `"langs"`), or None.
    first_position: position id of the first token (RoBERTa family: pad + 1).
    restarts: whether every layer honors position ids that restart within a sequence. ModernBERT's rotation does, its
        local windows do not; DeBERTa has none.
    """

    family: str
    max_length: int
    languages: dict[str, int] = field(default_factory=dict)
    language_input: str | None = None
    first_position: int = 0
    restarts: bool = True

    @property
    def has_languages(self) -> bool:
        """Whether the model has language embeddings."""
        return self.language_input is not None and bool(self.languages)

    def language_id(self, language: str) -> int:
        """Return the index of a language's embedding; raise a SettingsError if the model has none."""
        if language not in self.languages:
            hint = did_you_mean(language, self.languages)
            raise SettingsError(f"the model has no language embedding for {language!r}{hint}")
        return self.languages[language]

    def feeds_languages(self, setting: bool | Literal["auto"], name: str) -> bool:
        """Return whether to feed language ids; raise a SettingsError about `name` if required but missing."""
        if setting is True and not self.has_languages:
            raise SettingsError(
                f"{name}: language_ids = true, but this {self.family} model has no language embeddings; set "
                f"model.languages = 'embeddings' or {name}.language_ids = 'auto'"
            )
        if setting == "auto":
            return self.has_languages
        return setting

    def encoder_inputs(
        self,
        layout: Layout,
        languages: tuple[str, ...],
        *,
        restart: bool = False,
        language_ids: bool = True,
    ) -> Arrays:
        """Return the encoder's arrays for sequences of one or two sides.

        restart: restart position ids on the second side. language_ids: feed them if the model has language embeddings.
        Raise a SettingsError if a language has no embedding in a model with language embeddings.
        """
        inputs: Arrays = {"input_ids": layout.ids}
        if not layout.real.all():
            inputs["attention_mask"] = layout.real.astype(np.int64)
        # after it, columns are not positions
        inner_padding = (layout.real[:, 1:] > layout.real[:, :-1]).any()
        if restart or inner_padding:
            inputs["position_ids"] = layout.positions(self.first_position, restart=restart)
        if language_ids and self.has_languages:
            ids = np.array(
                [self.language_id(language) for language in languages], dtype=np.int64
            )
            inputs[str(self.language_input)] = ids[np.minimum(layout.sides, len(ids) - 1)]
        return inputs


@dataclass(frozen=True)
class VocabularyHead:
    """The parts of a vocabulary head, applied in turn.

    dense: a square layer, or None (XLM). finish: activation and norm. decoder: the projection to the vocabulary.
    """

    dense: nn.Linear | None
    finish: Callable[[Tensor], Tensor]
    decoder: nn.Linear

    def features(self, states: Tensor) -> Tensor:
        """Return what the decoder reads, from (N, H) states."""
        if self.dense is not None:
            states = self.dense(states)
        return self.finish(states)


@dataclass(frozen=True)
class Family:
    """A kind of encoder, or of encoder-decoder: what transformers' interfaces do not tell of its models.

    head: modules of its vocabulary head. dense, activation, norm: their paths, those of what precedes the projection to
        the vocabulary; empty: none, and of the activation the function gelu.
    language_input: name of the input for language ids, or None.
    language_path: path of the language embedding below the encoder.
    causal_key: key of a configuration that says whether attention is causal.
    causal: whether attention can be causal.
    restarts: see `Traits`.
    positions_after_padding: whether the first position id is the padding's id plus 1.
    encoder_decoder: whether it is a whole translation model, with layers, positions and cache as transformers has them.
    final_norm: whether a norm after the last layer is no part of it, so that the states of lower layers lack it.
    can_decode: whether its layers can be those of a decoder.
    renamed: pattern of names of weights in published checkpoints -> name in transformers' model.
    """

    name: str
    head: tuple[str, ...]
    dense: str = ""
    activation: str = ""
    norm: str = ""
    language_input: str | None = None
    language_path: str = ""
    causal_key: str = "is_decoder"
    causal: bool = True
    restarts: bool = True
    positions_after_padding: bool = False
    final_norm: bool = False
    can_decode: bool = False
    encoder_decoder: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)

    def is_head(self, weight: str) -> bool:
        """Return whether a weight, given by its name in the model, is one of the vocabulary head."""
        return weight.partition(".")[0] in self.head

    def vocabulary_head(self, model: Any) -> VocabularyHead:
        """Return the parts of the checkpoint's own vocabulary head."""
        from torch.nn.functional import gelu

        decoder = model.get_output_embeddings()
        if not self.dense:
            if getattr(model.config, "scale_decoder_outputs", False):  # T5 before version 1.1
                scale = model.config.d_model**-0.5
                return VocabularyHead(None, lambda states: states * scale, decoder)
            return VocabularyHead(None, lambda states: states, decoder)
        activation: Any = gelu
        if self.activation:
            activation = _member(model, self.activation)
        norm = _member(model, self.norm)
        return VocabularyHead(
            _member(model, self.dense), lambda states: norm(activation(states)), decoder
        )

    def language_embedding(self, model: Any) -> nn.Embedding | None:
        """Return the language embedding, or None where the model has none."""
        if not self.language_path:
            return None
        return _member(model.base_model, self.language_path)

    def first_position(self, config: Any) -> int:
        """Return the position id of the first token; RoBERTa reserves ids up to the padding's for padding."""
        return int(config.pad_token_id) + 1 if self.positions_after_padding else 0

    def max_length(self, config: Any) -> int:
        """Return the maximum length of a sequence in tokens."""
        if self.encoder_decoder:
            # T5 has none, and was trained with 512; mT5 with 1024 (Xue et al. 2021, section 3.2)
            of_t5 = getattr(config, "n_positions", 1024)
            return int(getattr(config, "max_position_embeddings", of_t5))
        return int(config.max_position_embeddings) - self.first_position(config)

    def encoder(self, model: Any) -> Any:
        """Return the part of a transformers model that encodes."""
        return model.get_encoder() if self.encoder_decoder else model.base_model


def _member(module: Any, path: str) -> Any:
    """Return the member of a module at a dotted path; None where there is none."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


_TOKEN_TYPES = ("token_type_ids", "embeddings.token_type_embeddings")
_BERT_HEAD = (
    ("cls",),
    "cls.predictions.transform.dense",
    "cls.predictions.transform.transform_act_fn",
    "cls.predictions.transform.LayerNorm",
)
_ROBERTA_HEAD = (("lm_head",), "lm_head.dense", "", "lm_head.layer_norm")

_BERT = Family("bert", *_BERT_HEAD, *_TOKEN_TYPES, can_decode=True)
_ROBERTA = Family(
    "roberta", *_ROBERTA_HEAD, *_TOKEN_TYPES, positions_after_padding=True, can_decode=True
)
_ROBERTA_XL = Family(
    "xlm-roberta-xl",
    *_ROBERTA_HEAD,
    *_TOKEN_TYPES,
    positions_after_padding=True,
    final_norm=True,
)
_GTE = Family("gte", *_ROBERTA_HEAD, *_TOKEN_TYPES)
_NOMIC = Family(
    "nomic_bert", *_BERT_HEAD[:3], "cls.predictions.transform.layer_norm", *_TOKEN_TYPES
)
_REMBERT = Family(
    "rembert",
    ("cls",),
    "cls.predictions.dense",
    "cls.predictions.activation",
    "cls.predictions.LayerNorm",
    *_TOKEN_TYPES,
)
_DISTILBERT = Family(
    "distilbert",
    ("vocab_transform", "vocab_layer_norm", "vocab_projector"),
    "vocab_transform",
    "activation",
    "vocab_layer_norm",
)
# relative positions, which take no position ids
_DEBERTA = Family(
    "deberta-v2",
    *_BERT_HEAD,
    causal=False,
    restarts=False,
    renamed={
        r"^lm_predictions\.lm_head\.(dense|LayerNorm)": r"cls.predictions.transform.\1",
        r"^lm_predictions\.lm_head\.bias": "cls.predictions.bias",
    },
)
_EUROBERT = Family("eurobert", ("lm_head",), final_norm=True)
_MODERNBERT = Family(
    "modernbert",
    ("head", "decoder"),
    "head.dense",
    "head.act",
    "head.norm",
    restarts=False,
    final_norm=True,
    can_decode=True,
)
_XLM = Family(
    "xlm",
    ("pred_layer",),
    language_input="langs",
    language_path="lang_embeddings",
    causal_key="causal",
)


def _encoder_decoder(name: str, *, positions_after_padding: bool = False) -> Family:
    return Family(
        name,
        ("lm_head",),
        causal=False,
        restarts=False,
        positions_after_padding=positions_after_padding,
        encoder_decoder=True,
    )


SEQ2SEQ = "encoder-decoder"  # `model_type` of a translation model

# `model_type` of a transformers configuration -> family
MODEL_TYPES: dict[str, Family] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "modernbert": _MODERNBERT,
    "xlm": _XLM,
    "xlm-roberta-xl": _ROBERTA_XL,
    "distilbert": _DISTILBERT,
    "rembert": _REMBERT,
    "deberta-v2": _DEBERTA,
    "eurobert": _EUROBERT,
    "gte": _GTE,
    "nomic_bert": _NOMIC,
    "mbart": _encoder_decoder("mbart"),
    "m2m_100": _encoder_decoder("m2m_100", positions_after_padding=True),
    "t5": _encoder_decoder("t5"),
    "mt5": _encoder_decoder("mt5"),
}


def family_of(config: Any) -> Family:
    """Return the family of a transformers configuration; otherwise a CheckpointError lists the possible model types."""
    kind = str(getattr(config, "model_type", "unknown"))
    if kind not in MODEL_TYPES:
        raise CheckpointError(
            f"a {kind!r} model cannot be a backbone{did_you_mean(kind, MODEL_TYPES)}"
        )
    return MODEL_TYPES[kind]


def traits_of(config: Any) -> Traits:
    """Return the traits of a model with this configuration."""
    family = family_of(config)
    return Traits(
        family=family.name,
        max_length=family.max_length(config),
        languages=language_ids(config),
        language_input=family.language_input,
        first_position=family.first_position(config),
        restarts=family.restarts,
    )


def language_ids(config: Any) -> dict[str, int]:
    """Return language -> row of its embedding, sorted by row; empty without language embeddings."""
    family = family_of(config)
    if family.language_input is None:
        return {}
    if family.name == "xlm" and not (config.n_langs > 1 and config.use_lang_emb):
        return {}
    stored = getattr(config, LANGUAGES_KEY, None) or getattr(config, "lang2id", None) or {}
    rows = {str(language): int(row) for language, row in stored.items()}
    return {language: rows[language] for language in sorted(rows, key=rows.__getitem__)}
