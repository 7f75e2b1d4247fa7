"""Bilingual lexicon induction: is the nearest word of the other language a translation? Nothing is trained.

By cosine and CSLS as in Conneau et al. 2018 (section 3.2), with the mean cosine and distance of translations as in XLM
(table 5). `embedding_alignment` is a quick variant: input embeddings only, without identically spelled words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.neighbors import Csls, ranks, unit
from interlace.core.ragged import BoolArray, IntArray, Ragged
from interlace.tasks import Scores
from interlace.tasks.common.dictionaries import (
    DictionaryTask,
    TrainingEntries,
    Translations,
    read_entries,
)
from interlace.tasks.common.files import find_file
from interlace.tasks.common.vectors import WordVectorSettings, vectors_of, whole_words
from interlace.text import LanguagePair

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone

MAX_WORDS = 200_000  # most frequent words of a language (Conneau et al. 2018, section 3.2)
NEIGHBORS = 10  # k of CSLS (section 2.3)


@dataclass(frozen=True)
class DictionaryEntries:
    """Words and their translations.

    trained: words of entries that were trained on. shared: (n,) whether they share an embedding row with an entry.
    """

    languages: LanguagePair
    words: Translations
    trained: TrainingEntries
    shared: BoolArray

    def __len__(self) -> int:
        return len(self.words)

    @property
    def lengths(self) -> IntArray:
        """(n,) words on the source side: one each."""
        return np.ones(len(self), np.int64)


class WordTranslation(DictionaryTask):
    """P@1, P@5 and P@10 of a dictionary's words, and how near translations are.

    A word's rank is that of its best translation; a wrong word that is as near ranks first. Entries without a vector
    for both words are left out and lower the coverage. Words that were trained on do not count in the main metric.
    Rows name the set of candidates and its size. A source word is no candidate itself, unless it is a translation,
    where both languages share its vector.
    """

    metric = "p@1 csls"
    further_metrics = (
        "p@5 csls",
        "p@10 csls",
        "p@1 cosine",
        "p@5 cosine",
        "p@10 cosine",
        "coverage",
        "held out",
    )
    scoring_version = 3
    other_scales = {
        "mean cosine": ("cosine", True),
        "mean distance": ("L2", False),
    }
    static_vectors = True

    candidates: Literal["dictionary", "vocabulary"] = Field(
        "vocabulary",
        description="Candidates: the dictionary's targets, or all words that have vectors (of a model: that are one "
        "subword). CSLS uses the same sets for neighbors.",
    )
    reading: WordVectorSettings = Field(
        default_factory=WordVectorSettings,
        description="How a word's vector is read from a model.",
    )

    def examples(
        self,
        split: str,
        language: str,
        vocab: Vocab | None,
        root: Root,
    ) -> DictionaryEntries:
        """Read the dictionary into `language`."""
        query = self.query(split, language, root).require_pair()
        words = read_entries(find_file(self.files, query))
        trained = self.training_entries(query)
        shared = np.zeros(len(words), np.bool_)
        if vocab is not None:
            shared = trained.shares_rows(
                vocab,
                vocab.encode_words(words.source),
                vocab.encode_words(words.target),
            )
        return DictionaryEntries((self.source, language), words, trained, shared)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: DictionaryEntries) -> Scores:
        """Measure a model's vectors of single words."""
        candidates = whole_words(vocab)[:MAX_WORDS] if self.candidates == "vocabulary" else []
        vectors = {}
        for language, words in zip(
            examples.languages,
            (examples.words.source, examples.words.target),
            strict=True,
        ):
            vectors[language] = self.reading.vectors(
                backbone,
                vocab,
                language,
                [*words, *candidates],
            )
        return self.measure_words(vectors, examples)

    def measure_words(
        self,
        vectors: Mapping[str, WordVectors],
        examples: DictionaryEntries,
    ) -> Scores:
        """Return `p@1`, `p@5` and `p@10`, each by `csls` and by `cosine`, and what follows.

        `mean cosine` and `mean distance` (not in percent) over the entries; and `coverage`, the share of the
        dictionary's words that have vectors. If some were trained on: all but `coverage` over held-out words, `held
        out` as their share, and the same names with `, all` and `, seen`.
        Raise a DataError if no entry has vectors on both sides.
        """
        source, target = (
            vectors_of(self.name, vectors, language).top(MAX_WORDS)
            for language in examples.languages
        )
        entries = self._entries_with_vectors(source, target, examples)
        source_candidates = self._candidates(source, entries.source_rows)
        target_candidates = self._candidates(target, entries.target_rows)
        csls_ranks, cosine_ranks = entries.ranks(source_candidates, target_candidates)
        words = entries.words
        source_vectors = source.vectors[entries.source_rows]  # (m, H)
        target_vectors = target.vectors[entries.target_rows]
        cosines = (unit(source_vectors) * unit(target_vectors)).sum(axis=1)  # (m,)
        distances = np.linalg.norm(source_vectors - target_vectors, axis=1)

        def metrics_of(kept: BoolArray) -> dict[str, float]:
            metrics = _precisions("csls", csls_ranks[kept])
            metrics |= _precisions("cosine", cosine_ranks[kept])
            kept_entries = kept[words]
            metrics["mean cosine"] = float(cosines[kept_entries].mean())
            metrics["mean distance"] = float(distances[kept_entries].mean())
            return metrics

        groups = examples.trained.groups(entries.spelled, words, entries.shared)
        metrics = groups.metrics(f"{self.name}, {'-'.join(examples.languages)}", metrics_of)

        numbers = _word_numbers(examples.words.source)
        covered = np.unique(numbers[entries.numbers])
        metrics["coverage"] = 100 * len(covered) / len(np.unique(numbers))
        identity = examples.trained.identity(examples.words, examples.shared)
        outcomes = groups.outcomes(numbers, entries.first_numbers, csls_ranks == 1, identity)
        return Scores(
            metrics,
            outcomes,
            details={"candidates": {self.candidates: len(target_candidates)}},
        )

    def _candidates(self, vectors: WordVectors, rows: IntArray) -> IntArray:
        """Return the sorted rows of a side that are candidates, or that candidates count neighbors among."""
        return np.arange(len(vectors)) if self.candidates == "vocabulary" else np.unique(rows)

    def _entries_with_vectors(
        self,
        source: WordVectors,
        target: WordVectors,
        examples: DictionaryEntries,
    ) -> _EntriesWithVectors:
        """Look up all entries; MUSE's dictionaries are in lower case."""
        source_rows = source.find(examples.words.source, fold=True)
        target_rows = target.find(examples.words.target, fold=True)
        numbers = np.flatnonzero((source_rows >= 0) & (target_rows >= 0))
        if not len(numbers):
            source_language, target_language = examples.languages
            raise DataError(
                f"{self.name}: none of the {len(examples)} entries from {source_language!r} to {target_language!r} has "
                "a vector for both words; for a model, reading.multi_subword = 'mean' includes words of several "
                "subwords"
            )
        pairs_of_rows = np.stack([source_rows[numbers], target_rows[numbers]], axis=1)  # (e, 2)
        # of shapes (m, 2) and (e,)
        rows, row_of_entry = np.unique(pairs_of_rows, axis=0, return_inverse=True)
        shared_entries = np.bincount(row_of_entry.ravel(), examples.shared[numbers])  # (m,)
        _, first_entries = np.unique(pairs_of_rows[:, 0], return_index=True)  # (n,)
        return _EntriesWithVectors(
            source,
            target,
            source_rows=rows[:, 0],
            target_rows=rows[:, 1],
            shared=shared_entries > 0,
            numbers=numbers,
            first_numbers=numbers[first_entries],
        )


@dataclass(frozen=True)
class _EntriesWithVectors:
    """The entries whose words both have vectors, without those that differ from another in case only.

    source_rows, target_rows: (m,) rows of the words of each, sorted. shared: (m,) whether an embedding row was trained
    on. numbers: (e,) all entries of the dictionary that have vectors. first_numbers: (n,) the first of each source
    word.
    """

    source: WordVectors
    target: WordVectors
    source_rows: IntArray
    target_rows: IntArray
    shared: BoolArray
    numbers: IntArray
    first_numbers: IntArray

    @property
    def words(self) -> IntArray:
        """(m,) the number of the source word of each entry, from 0."""
        return np.asarray(np.unique(self.source_rows, return_inverse=True)[1], np.int64)

    @property
    def spelled(self) -> Translations:
        """The words as the vectors spell them."""
        source = [self.source.words[row] for row in self.source_rows]
        return Translations(source, [self.target.words[row] for row in self.target_rows])

    def ranks(
        self,
        source_candidates: IntArray,
        target_candidates: IntArray,
    ) -> tuple[IntArray, IntArray]:
        """Two of (n,): the rank of each source word's best translation, from 1, by CSLS and by cosine.

        source_candidates, target_candidates: sorted rows. CSLS counts neighbors of the latter among the former.
        """
        word_rows = np.unique(self.source_rows)  # (n,)
        queries = unit(self.source.vectors[word_rows])
        candidates = unit(self.target.vectors[target_candidates])
        neighbors = unit(self.source.vectors[source_candidates])
        csls = Csls.of(candidates, neighbors, NEIGHBORS)
        translations = np.searchsorted(target_candidates, self.target_rows)
        gold = Ragged.from_lengths(translations, np.bincount(self.words))
        own_vectors = self._same_vectors(word_rows, target_candidates)
        csls_ranks = ranks(queries, candidates, gold, csls, own_vectors)
        return csls_ranks, ranks(queries, candidates, gold, None, own_vectors)

    def _same_vectors(self, word_rows: IntArray, candidates: IntArray) -> Ragged:
        """Return, for each source word, the place of the candidate with the same spelling and the same vector, if any.

        Languages share vectors in a model's input embeddings, and where they are trained on one text.
        """
        same_spelling = self.target.find([self.source.words[row] for row in word_rows])
        equal = (self.source.vectors[word_rows] == self.target.vectors[same_spelling]).all(
            axis=1
        )
        is_own = np.isin(same_spelling, candidates) & equal
        return Ragged.from_lengths(np.searchsorted(candidates, same_spelling[is_own]), is_own)


def _precisions(similarity: str, ranks: IntArray) -> dict[str, float]:
    """Return the percentage of words whose translation is among the nearest 1, 5 and 10."""
    precisions = {}
    for limit in (1, 5, 10):
        is_near = ranks <= limit
        precisions[f"p@{limit} {similarity}"] = 100 * float(is_near.mean())
    return precisions


def _word_numbers(words: Sequence[str]) -> IntArray:
    """(n,) a number for each distinct word, in order of appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int64)
