"""Vectors of sentences and words from a model as it is.

Legend: n sentences or words, k layers, H width, D dimensions of sentence vectors: H, or those of a dense layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.core.progress import current_progress
from interlace.core.ragged import BoolArray, FloatArray, Ragged
from interlace.core.settings import Settings
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.embeddings import WordVectors
from interlace.models.settings import layer_number
from interlace.objectives import Prepared
from interlace.tasks.common.prediction import InputLimits, buckets, inference

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


def vector_layer(setting: str, layer: int | None, backbone: Backbone) -> int | None:
    """Return the layer of sentence vectors for `layer_vectors`; by default two thirds of the way up (8 of 12).

    The default is None for a model that was trained for sentence vectors. Raise a SettingsError about `setting` if the
    model has no such layer.
    """
    if layer is None and backbone.sentence_head is not None:
        return None
    return layer_number(setting, layer, int(backbone.model.config.num_hidden_layers))


def layer_vectors(
    backbone: Backbone,
    vocab: Vocab,
    sentences: Sentences,
    layer: int | None,
    limits: InputLimits,
) -> FloatArray:
    """Return (n, D) vectors of sentences: the mean states of a layer without special tokens, 0 the embeddings.

    layer: None: the vectors that the model was trained for. Those of a sentence without subwords are zeros.
    """
    import torch

    from interlace.models.backbone import pool

    prepared = Prepared(vocab, backbone.traits)
    max_length = min(limits.max_length, backbone.traits.max_length)
    width = backbone.sentence_width if layer is None else backbone.width
    vectors = np.zeros((len(sentences), width), np.float32)
    progress = current_progress()
    encoded = 0
    with inference(backbone):
        for rows in buckets(sentences, prepared, limits.max_length, limits.tokens_per_batch):
            layout = sentence_layout(sentences.take(rows), vocab, max_length)
            arrays = backbone.traits.encoder_inputs(layout, (sentences.language,))
            inputs = {}
            for name, array in arrays.items():
                inputs[name] = torch.from_numpy(array).to(backbone.device)
            if layer is None:
                batch_vectors = backbone.sentence_vectors(inputs)
            else:
                content = torch.from_numpy(layout.content).to(backbone.device)
                states = backbone.hidden_states(inputs)[layer].float()
                batch_vectors = pool(states, content, "mean")
            vectors[rows] = batch_vectors.cpu().numpy()
            encoded += len(rows)
            progress("encoding sentences", encoded, len(sentences))
    vectors[sentences.lengths == 0] = 0
    return vectors


class WordVectorSettings(Settings):
    """How a word's vector is read from a model's input embeddings, without position or norm (XLM, section 5.5)."""

    multi_subword: Literal["mean", "skip"] = Field(
        "mean",
        description="Words of several subwords: the mean of their vectors, or skip them (as XLM's authors did).",
    )

    def vectors(
        self,
        backbone: Backbone,
        vocab: Vocab,
        language: str,
        words: Sequence[str],
    ) -> WordVectors:
        """Return the vectors of the words that the vocabulary can spell (in one subword, with `skip`)."""
        words = list(dict.fromkeys(words))
        subwords = vocab.encode_words(words)
        single = self.multi_subword == "skip"
        known = np.flatnonzero(spellable(subwords, vocab, single=single))
        table = backbone.input_embeddings.detach().float().cpu().numpy()
        known_words = [words[row] for row in known]
        vectors = mean_rows(table, subwords.take(known))
        return WordVectors(language, known_words, vectors)


def single_words(rows: Ragged, language: str) -> Sentences:
    """Return sentences of one word each from rows of their subwords."""
    ids = Ragged(np.ascontiguousarray(rows.flat, np.int32), rows.offsets - rows.offsets[0])
    return Sentences(ids, Ragged(np.zeros(len(ids.values), np.int32), ids.offsets), language)


def spellable(rows: Ragged, vocab: Vocab, *, single: bool) -> BoolArray:
    """(n,) which words consist of ordinary subwords; with `single`, of one."""
    is_special = ~np.isin(rows.flat, vocab.regular_ids)
    specials = np.bincount(rows.rows()[is_special], minlength=len(rows))
    has_length = rows.lengths == 1 if single else rows.lengths > 0
    return (specials == 0) & has_length


def mean_rows(table: FloatArray, rows: Ragged) -> FloatArray:
    """(n, H) the mean vector of each row's subwords; no row is empty."""
    if not len(rows):
        return np.zeros((0, table.shape[1]), np.float32)
    starts = rows.offsets[:-1] - rows.offsets[0]
    sums = np.add.reduceat(table[rows.flat], starts)
    return np.asarray(sums / rows.lengths[:, None], np.float32)


def whole_words(vocab: Vocab) -> list[str]:
    """Return the words that are one subword, in the order of their ids: of frequency, in a learned vocabulary."""
    texts = []
    for number in vocab.regular_ids.tolist():
        # without the bytes of parts of characters
        texts.append(vocab.surfaces.spellings[number].decode("utf-8", "ignore"))
    words: dict[str, None] = {}
    for text, ids, regular_id in zip(
        texts,
        vocab.encode_words(texts),
        vocab.regular_ids,
        strict=True,
    ):
        if text.strip() and len(ids) == 1 and ids[0] == regular_id:
            words[text] = None
    return list(words)


def vectors_of(task: str, vectors: Mapping[str, WordVectors], language: str) -> WordVectors:
    """Return the vectors of a language; raise a DataError that lists the languages that have some."""
    if language not in vectors:
        raise DataError(
            f"{task}: there are no word vectors of {language!r}{did_you_mean(language, vectors)}"
        )
    return vectors[language]
