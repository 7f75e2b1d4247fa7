"""Vectors of single words out of a model, so that tasks score models and static word vectors with the same code.

Legend: n words, H width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.core.settings import Settings
from interlace.data import Sentences
from interlace.embeddings import WordVectors
from interlace.objectives import BoolOrAuto

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


class Reading(Settings):
    """How a word's vector is read off a model; static word vectors are taken as they are."""

    layer: int | None = Field(
        None,
        description="Layer whose states are averaged over the word's subwords, the word being all that is read: "
        "0 embeddings, -1 the last. None: rows of the input table, without position or norm (XLM, section 5.5).",
    )
    pieces: Literal["mean", "single"] = Field(
        "mean", description="Words of several subwords: the mean of their vectors, or left out (as XLM's authors did)."
    )
    tokens_per_batch: int = Field(8192, ge=16, description="Padded subwords in a batch; the input table needs none.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def vectors(self, backbone: Backbone, vocab: Vocab, language: str, words: Sequence[str]) -> WordVectors:
        """The vectors of those of the words that the vocabulary can spell (in one subword, where that is asked for).

        Raises:
            SettingsError: the model has no such layer.
        """
        words = list(dict.fromkeys(words))
        rows = vocab.encode_words(words)
        known = np.flatnonzero(spellable(rows, vocab, single=self.pieces == "single"))
        rows = rows.take(known)
        found = [words[number] for number in known]
        if self.layer is None:
            table = backbone.input_embeddings.detach().float().cpu().numpy()
            return WordVectors(language, found, means(table, rows))
        return WordVectors(language, found, self._states(backbone, vocab, language, rows))

    def _states(self, backbone: Backbone, vocab: Vocab, language: str, rows: Ragged) -> NDArray[np.float32]:
        from interlace.tasks._vectors import sentence_vectors

        layers = int(backbone.model.config.num_hidden_layers)
        if self.layer is None or not -layers - 1 <= self.layer <= layers:
            raise SettingsError(f"reading.layer = {self.layer}, but the model has {layers} layers")
        ids = Ragged(np.ascontiguousarray(rows.flat, np.int32), rows.offsets - rows.offsets[0])
        return sentence_vectors(
            backbone,
            vocab,
            Sentences(ids, Ragged(np.zeros(len(ids.values), np.int32), ids.offsets), language),
            layer=self.layer % (layers + 1),
            max_length=backbone.traits.max_length,
            tokens_per_batch=self.tokens_per_batch,
            language_ids=self.language_ids,
        )


def spellable(rows: Ragged, vocab: Vocab, *, single: bool) -> NDArray[np.bool_]:
    """(n,) which words' subwords are ordinary ones, and one alone where that is asked for."""
    strange = np.bincount(rows.rows()[~np.isin(rows.flat, vocab.regular_ids)], minlength=len(rows))
    return np.asarray((strange == 0) & (rows.lengths == 1 if single else rows.lengths > 0), np.bool_)


def means(table: NDArray[np.float32], rows: Ragged) -> NDArray[np.float32]:
    """(n, H) the mean of each row's vectors; no row is empty."""
    if not len(rows):
        return np.zeros((0, table.shape[1]), np.float32)
    sums = np.add.reduceat(table[rows.flat], rows.offsets[:-1] - rows.offsets[0])
    return np.asarray(sums / rows.lengths[:, None], np.float32)


def whole_words(vocab: Vocab) -> list[str]:
    """The words that are one subword, in the order of their ids: that of frequency, where the vocabulary was learnt."""
    spelled = vocab.surfaces.spelled.take(vocab.regular_ids)
    texts = [_text(row, by_bytes=vocab.surfaces.by_bytes) for row in spelled]
    words = vocab.encode_words(texts)
    firsts = words.flat[np.minimum(words.offsets[:-1] - words.offsets[0], max(len(words.flat) - 1, 0))]
    whole = (words.lengths == 1) & (firsts == vocab.regular_ids)
    return list(dict.fromkeys(texts[number] for number in np.flatnonzero(whole) if texts[number].strip()))


def _text(units: NDArray[Any], *, by_bytes: bool) -> str:
    """What a subword spells; empty where its bytes are no whole characters."""
    if by_bytes:
        return bytes(units.tolist()).decode("utf-8", "ignore")
    return "".join(map(chr, units.tolist()))


def centred(vectors: WordVectors, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """(n, H) all vectors less the mean of these rows, each counted once.

    What else a file of static vectors holds has no say, since of a model none but the words in play are read.
    """
    return np.asarray(vectors.vectors - vectors.vectors[np.unique(rows)].mean(axis=0), np.float32)


def vectors_of(task: str, vectors: Mapping[str, WordVectors], language: str) -> WordVectors:
    """The vectors of one language.

    Raises:
        DataError: there are none; says for which languages there are.
    """
    if language not in vectors:
        raise DataError(f"{task}: there are no word vectors of {language!r}{did_you_mean(language, vectors)}")
    return vectors[language]
