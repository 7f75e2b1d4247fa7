"""The subwords that a derived language shares with its original, under the vocabulary of a run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.data.vocab import Vocab
from interlace.derived import Chain
from interlace.experiments.texts import RecipeTexts
from interlace.text import Text

log = logging.getLogger(__name__)

_SAMPLED = 5000  # lines of each corpus, which take about 0.3 s


class DerivedSubwords(NamedTuple):
    """Percent of running subwords of a derived language that also occur in the original, and that are cut alike there.

    Lines are respelled in their order, so that moved words do not count as cut otherwise. Single blanks and special
    tokens do not count.
    """

    shared: float
    cut_alike: float

    @classmethod
    def of(
        cls, vocab: Vocab, originals: Sequence[Text], respelled: Sequence[Text]
    ) -> DerivedSubwords:
        """Compare original and respelled texts; at least one."""
        original_subwords = [_located_subwords(vocab, text) for text in originals]
        derived_subwords = [_located_subwords(vocab, text) for text in respelled]
        original_ids = np.concatenate([subwords.ids for subwords in original_subwords])
        derived_ids = np.concatenate([subwords.ids for subwords in derived_subwords])
        shared = np.isin(derived_ids, original_ids).sum()
        alike = 0
        for original, derived in zip(original_subwords, derived_subwords, strict=True):
            alike += np.isin(derived.positions, original.positions).sum()
        return cls(_percent(shared, len(derived_ids)), _percent(alike, len(derived_ids)))

    def __str__(self) -> str:
        return f"{self.shared:.1f} % are shared, {self.cut_alike:.1f} % are cut alike"


_COPIED = str(DerivedSubwords(0, 100))  # of a copy of the vocabulary, as in Tang et al. (2022)


def _percent(count: np.int64 | int, total: int) -> float:
    return round(100 * float(count) / total, 3)


@dataclass(frozen=True)
class _LocatedSubwords:
    """Subwords of a text that are neither blank nor special.

    ids: (T,) their ids. positions: (T,) line, start and end of each as one number.
    """

    ids: NDArray[np.int32]
    positions: NDArray[np.int64]


def _located_subwords(vocab: Vocab, text: Text) -> _LocatedSubwords:
    sentences, spans = vocab.encode_with_offsets(text)
    ids = sentences.ids.flat  # (all subwords,)
    counted = ~vocab.surfaces.blank(ids) & ~np.isin(ids, vocab.special_ids)
    lines = sentences.ids.rows()[counted].astype(np.int64)
    starts, ends = spans.flat[counted].T.astype(np.int64)
    return _LocatedSubwords(ids[counted], (lines << 40) + (starts << 20) + ends)


def derived_subwords(texts: RecipeTexts, vocab: Vocab) -> dict[str, DerivedSubwords]:
    """Measure the subwords of each derived language; warn unless they are those of a copied vocabulary.

    The paper copies it (Tang et al. 2022). There is no warning if a setting or transformation shares words.
    """
    measured: dict[str, DerivedSubwords] = {}
    for name, language in texts.recipe.derived.items():
        chain = language.located(texts.root, name)
        samples = _samples(texts, language.of)
        if not samples:
            continue
        spelling = Chain(
            transformations=tuple(step for step in chain.transformations if not step.moves_words)
        )
        respelled = [spelling.apply(sample, language.seed).text for sample in samples]
        subwords = DerivedSubwords.of(vocab, samples, respelled)
        measured[name] = subwords
        if not chain.shares_words and str(subwords) != _COPIED:
            log.warning(
                "derived.%s: of its running subwords, %s; a copy of the vocabulary of %r has 0 and 100 %%, as one of "
                "kind 'bpe' that is learned from both languages",
                name,
                subwords,
                language.of,
            )
    return measured


def _samples(texts: RecipeTexts, language: str) -> list[Text]:
    """Return the first lines with words of each monolingual training text of a language."""
    samples: list[Text] = []
    for text in texts.in_language(language):
        if len(text.languages) > 1:
            continue
        first_chunk = next(iter(text.side(language)), None)
        if first_chunk is not None:
            is_first = np.arange(len(first_chunk)) < _SAMPLED
            samples.append(first_chunk.where(is_first & (first_chunk.words.lengths > 0)))
    return samples
