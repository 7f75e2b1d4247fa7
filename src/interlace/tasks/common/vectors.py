"""Vectors of sentences and words from a model as it is.

Legend: n sentences or words, k layers, H width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.core.settings import Settings
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.embeddings import WordVectors
from interlace.models.settings import layer_number
from interlace.objectives import BoolOrAuto, Prepared
from interlace.tasks.common.prediction import InputLimits, buckets, inference

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


def layer_vectors(
    backbone: Backbone, vocab: Vocab, sentences: Sentences, layer: int, limits: InputLimits
) -> NDArray[np.float32]:
    """Return (n, H) mean states of sentences in a layer, 0 the embeddings; zeros if there are no subwords."""
    import torch

    from interlace.models.backbone import pool

    prepared = Prepared(vocab, backbone.traits)
    feed = backbone.traits.feeds_languages(limits.language_ids, "sentence vectors")
    vectors = np.zeros((len(sentences), backbone.width), np.float32)
    with inference(backbone):
        for rows in buckets(sentences, prepared, limits.max_length, limits.tokens_per_batch):
            layout = sentence_layout(sentences.take(rows), vocab, min(limits.max_length, backbone.traits.max_length))
            arrays = backbone.traits.encoder_inputs(layout, (sentences.language,), language_ids=feed)
            inputs = {name: torch.from_numpy(array).to(backbone.device) for name, array in arrays.items()}
            content = torch.from_numpy(layout.content).to(backbone.device)
            states = backbone.hidden_states(inputs)
            vectors[rows] = pool(states[layer].float(), content, "mean").cpu().numpy()
    return vectors


class WordVectorSettings(Settings):
    """How a word's vector is read from a model; static word vectors are taken as they are."""

    layer: int | None = Field(
        None,
        description="Layer whose states are averaged over the word's subwords, the word being the whole input: "
        "0 embeddings, -1 the last. None: rows of the input embeddings, without position or norm (XLM, section 5.5).",
    )
    multi_subword: Literal["mean", "skip"] = Field(
        "mean", description="Words of several subwords: the mean of their vectors, or skip them (as XLM's authors did)."
    )
    tokens_per_batch: int = Field(8192, ge=16, description="Tokens per batch, padding included, where a layer is set.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': if the model embeds them.")

    def vectors(self, backbone: Backbone, vocab: Vocab, language: str, words: Sequence[str]) -> WordVectors:
        """Return the vectors of the words that the vocabulary can spell (in one subword, with `skip`)."""
        words = list(dict.fromkeys(words))
        rows = vocab.encode_words(words)
        known = np.flatnonzero(spellable(rows, vocab, single=self.multi_subword == "skip"))
        rows, found = rows.take(known), [words[number] for number in known]
        if self.layer is None:
            table = backbone.input_embeddings.detach().float().cpu().numpy()
            return WordVectors(language, found, mean_rows(table, rows))
        layer = layer_number("reading.layer", self.layer, int(backbone.model.config.num_hidden_layers))
        limits = InputLimits(backbone.traits.max_length, self.tokens_per_batch, self.language_ids)
        return WordVectors(language, found, layer_vectors(backbone, vocab, single_words(rows, language), layer, limits))


def single_words(rows: Ragged, language: str) -> Sentences:
    """Return sentences of one word each from rows of their subwords."""
    ids = Ragged(np.ascontiguousarray(rows.flat, np.int32), rows.offsets - rows.offsets[0])
    return Sentences(ids, Ragged(np.zeros(len(ids.values), np.int32), ids.offsets), language)


def spellable(rows: Ragged, vocab: Vocab, *, single: bool) -> NDArray[np.bool_]:
    """(n,) which words consist of ordinary subwords; with `single`, of one."""
    special = np.bincount(rows.rows()[~np.isin(rows.flat, vocab.regular_ids)], minlength=len(rows))
    return np.asarray((special == 0) & (rows.lengths == 1 if single else rows.lengths > 0), np.bool_)


def mean_rows(table: NDArray[np.float32], rows: Ragged) -> NDArray[np.float32]:
    """(n, H) the mean vector of each row's subwords; no row is empty."""
    if not len(rows):
        return np.zeros((0, table.shape[1]), np.float32)
    sums = np.add.reduceat(table[rows.flat], rows.offsets[:-1] - rows.offsets[0])
    return np.asarray(sums / rows.lengths[:, None], np.float32)


def whole_words(vocab: Vocab) -> list[str]:
    """Return the words that are one subword, in the order of their ids: of frequency, in a learned vocabulary."""
    spelled, by_bytes = vocab.surfaces.spelled.take(vocab.regular_ids), vocab.surfaces.by_bytes
    texts = [  # empty if the bytes of a subword are no whole characters
        bytes(row.tolist()).decode("utf-8", "ignore") if by_bytes else "".join(map(chr, row.tolist()))
        for row in spelled
    ]
    words = vocab.encode_words(texts)
    firsts = words.flat[np.minimum(words.offsets[:-1] - words.offsets[0], max(len(words.flat) - 1, 0))]
    whole = (words.lengths == 1) & (firsts == vocab.regular_ids)
    return list(dict.fromkeys(texts[number] for number in np.flatnonzero(whole) if texts[number].strip()))


def vectors_of(task: str, vectors: Mapping[str, WordVectors], language: str) -> WordVectors:
    """Return the vectors of a language; raise a DataError that lists the languages that have some."""
    if language not in vectors:
        raise DataError(f"{task}: there are no word vectors of {language!r}{did_you_mean(language, vectors)}")
    return vectors[language]
