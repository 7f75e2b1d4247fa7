"""Families of encoders that a backbone can be, and the facts about a backbone that batches depend on; without torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlace.core.errors import CheckpointError, SettingsError, did_you_mean
from interlace.core.ragged import Arrays
from interlace.data.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

LANGUAGES_KEY = "interlace_languages"  # of a configuration: language -> row of its embedding


@dataclass(frozen=True)
class Traits:
    """Facts about a backbone that shape its batches, as plain data.

    family: `"bert"`, `"roberta"` (XLM-R too), `"modernbert"`, `"xlm"`.
    max_length: maximum length of a sequence in tokens, specials included.
    languages: language -> its id in `inputs[language_input]`; empty without language embeddings.
    language_input: name of the input for language ids (`"token_type_ids"`, `"langs"`), or None.
    first_position: position id of the first token (RoBERTa family: pad + 1).
    restarts: whether every layer honors position ids that restart within a sequence. ModernBERT's rotation does, its
        local windows do not.
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
    """A kind of encoder.

    head: modules of its vocabulary head.
    language_input: name of the input for language ids, or None.
    language_path: path of the language embedding below the encoder.
    causal_key: key of a configuration that says whether attention is causal.
    """

    name: str
    head: tuple[str, ...]
    language_input: str | None = None
    language_path: str = ""
    causal_key: str = "is_decoder"

    def is_head(self, weight: str) -> bool:
        """Return whether a weight, given by its name in the model, is one of the vocabulary head."""
        return weight.partition(".")[0] in self.head

    def vocabulary_head(self, model: Any) -> VocabularyHead:
        """Return the parts of the checkpoint's own vocabulary head."""
        from torch.nn.functional import gelu

        if self.name == "bert":
            head = model.cls.predictions
            change = head.transform
            activation = change.transform_act_fn
            return VocabularyHead(
                change.dense, lambda states: change.LayerNorm(activation(states)), head.decoder
            )
        if self.name == "roberta":
            head = model.lm_head
            return VocabularyHead(
                head.dense, lambda states: head.layer_norm(gelu(states)), head.decoder
            )
        if self.name == "modernbert":
            head = model.head
            return VocabularyHead(
                head.dense, lambda states: head.norm(head.act(states)), model.decoder
            )
        return VocabularyHead(None, lambda states: states, model.pred_layer.proj)

    def language_embedding(self, model: Any) -> nn.Embedding | None:
        """Return the language embedding, or None where the model has none."""
        if not self.language_path:
            return None
        module = model.base_model
        for name in self.language_path.split("."):
            module = getattr(module, name, None)
        return module

    def first_position(self, config: Any) -> int:
        """Return the position id of the first token; RoBERTa reserves ids up to the padding's for padding."""
        return int(config.pad_token_id) + 1 if self.name == "roberta" else 0


_BERT = Family("bert", ("cls",), "token_type_ids", "embeddings.token_type_embeddings")
_ROBERTA = Family("roberta", ("lm_head",), "token_type_ids", "embeddings.token_type_embeddings")
_MODERNBERT = Family("modernbert", ("head", "decoder"))
_XLM = Family(
    "xlm",
    ("pred_layer",),
    "langs",
    "lang_embeddings",
    causal_key="causal",
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
    first = family.first_position(config)
    return Traits(
        family=family.name,
        max_length=int(config.max_position_embeddings) - first,
        languages=language_ids(config),
        language_input=family.language_input,
        first_position=first,
        restarts=family.name != "modernbert",
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
