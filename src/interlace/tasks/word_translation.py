"""Bilingual lexicon induction: is the nearest word of the other language a translation? Nothing is trained.

By cosine and CSLS as in Conneau et al. 2018 (section 3.2), with the mean cosine and distance of translations as in XLM
(table 5). `embedding_alignment` is a quick variant: input embeddings only, without identically spelled words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.neighbors import Csls, ranks, unit
from interlace.core.ragged import Ragged
from interlace.tasks import Scale, Scores
from interlace.tasks.common.dictionaries import DictionaryTask, TrainingEntries, read_entries
from interlace.tasks.common.files import find_file
from interlace.tasks.common.vectors import WordVectorSettings, vectors_of, whole_words
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone


@dataclass(frozen=True)
class DictionaryEntries:
    """Words and their translations, and for each side the frequent words of a text if they are candidates too.

    trained: words of entries that were trained on. shared: (n,) whether they share an embedding row with an entry.
    """

    languages: tuple[str, str]
    source: list[str]
    target: list[str]
    frequent: list[list[str]]
    trained: TrainingEntries
    shared: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) words on the source side: one each."""
        return np.ones(len(self), np.int64)


class WordTranslation(DictionaryTask):
    """P@1, P@5, P@10 and mean reciprocal rank of a dictionary's words, and how near translations are.

    A word's rank is that of its best translation; a wrong word that is as near ranks first. Entries without a vector
    for both words are left out and lower the coverage. Words that were trained on do not count in the main metric.
    Rows name the set of candidates and its size. A source word is no candidate itself, unless it is a translation,
    where both languages share its vector.
    """

    metric: ClassVar[str] = "p@1 csls"
    scoring_version: ClassVar[int] = 3
    same_scale: ClassVar[tuple[str, ...]] = (
        *(f"{name} {by}" for by in ("cosine", "csls") for name in ("p@1", "p@5", "p@10", "mrr")),
        *("identical", "coverage", "held out"),
    )
    other_scales: ClassVar[dict[str, Scale]] = {"mean cosine": ("cosine", True), "mean distance": ("L2", False)}
    static_vectors: ClassVar[bool] = True

    candidates: Literal["dictionary", "text", "vocabulary"] = Field(
        "vocabulary",
        description="Candidates: the dictionary's targets, alone, with the frequent words of `text`, or with all "
        "words that have vectors (of a model: that are one subword). CSLS uses the same sets for neighbors.",
    )
    max_words: int = Field(200_000, ge=1, description="Maximum number of frequent words (Conneau et al. 2018, 3.2).")
    neighbors: int = Field(10, ge=1, description="k of CSLS (Conneau et al. 2018, section 2.3: 10).")
    identical: bool = Field(True, description="Include entries spelled alike on both sides.")
    reading: WordVectorSettings = Field(
        default_factory=WordVectorSettings, description="How a word's vector is read from a model."
    )

    def examples(self, split: str, language: str, vocab: Vocab | None, root: Root) -> DictionaryEntries:
        """Read the dictionary into `language`."""
        query = self.query(split, language, root).require_pair()
        entries = list(zip(*read_entries(find_file(self.files, query)), strict=True))
        kept = [(one, other) for one, other in entries if self.identical or one != other]
        if not kept:
            raise DataError(
                f"{self.name}: all {len(entries)} entries into {language!r} are spelled alike; set identical = true"
            )
        source, target = map(list, zip(*kept, strict=True))
        sides = (self.source, language) if self.candidates == "text" else ()
        frequent = [_frequent(find_file(self.text, query, side), self.max_words) for side in sides] or [[], []]
        trained, shared = self.training_entries(query), np.zeros(len(source), np.bool_)
        if vocab is not None:
            shared = trained.shares_rows(vocab, vocab.encode_words(source), vocab.encode_words(target))
        return DictionaryEntries((self.source, language), source, target, frequent, trained, shared)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: DictionaryEntries) -> Scores:
        """Measure a model's vectors of single words."""
        more = whole_words(vocab)[: self.max_words] if self.candidates == "vocabulary" else []
        words = zip(examples.languages, (examples.source, examples.target), examples.frequent, strict=True)
        vectors = {of: self.reading.vectors(backbone, vocab, of, [*own, *most, *more]) for of, own, most in words}
        return self.measure_words(vectors, examples)

    def measure_words(self, vectors: Mapping[str, WordVectors], examples: DictionaryEntries) -> Scores:
        """Return `p@1`, `p@5`, `p@10` and `mrr`, each by `csls` and by `cosine`, and what follows.

        `p@1 csls, not identical` over words without an identically spelled translation, if there are such; `mean
        cosine` and `mean distance` (not in percent) over the entries; `identical`, the share of words that have such a
        translation; and `coverage`, that of the dictionary's words that have vectors. If some were trained on: all but
        `coverage` over held-out words, `held out` as their share, and the same names with `, all` and `, seen`.
        Raise a DataError if no entry has vectors on both sides.
        """
        sides = [vectors_of(self.name, vectors, language).top(self.max_words) for language in examples.languages]
        found = self._entries_with_vectors(sides[0], sides[1], examples)
        # Entries that differ in case only may have the same rows: one of `rows` for them all.
        rows, row_of_entry = np.unique(found[:, :2], axis=0, return_inverse=True)
        shared = np.bincount(row_of_entry.ravel(), examples.shared[found[:, 2]]) > 0
        spelled = [[side.words[row] for row in rows[:, number]] for number, side in enumerate(sides)]
        words = np.unique(rows[:, 0], return_inverse=True)[1]
        around = self._around(sides, rows, examples.frequent)
        best_ranks, cosines, distances = self._compare(sides, rows, words, around)
        identical = np.bincount(words, [one == other for one, other in zip(*spelled, strict=True)]) > 0

        def measure(kept: NDArray[np.bool_]) -> dict[str, float]:
            metrics: dict[str, float] = {}
            for by, all_ranks in best_ranks.items():
                ranked = all_ranks[kept]
                metrics |= {f"p@{limit} {by}": _percent(ranked <= limit) for limit in (1, 5, 10)}
                metrics[f"mrr {by}"] = 100 * float((1 / ranked).mean())
            if 0 < identical[kept].sum() < kept.sum():
                metrics["p@1 csls, not identical"] = _percent(best_ranks["csls"][kept & ~identical] == 1)
            entries = kept[words]
            means = {"mean cosine": float(cosines[entries].mean()), "mean distance": float(distances[entries].mean())}
            return {**metrics, **means, "identical": _percent(identical[kept])}

        groups = examples.trained.groups(words, shared, *spelled)
        metrics = groups.metrics(f"{self.name}, {'-'.join(examples.languages)}", measure)
        numbers = {word: number for number, word in enumerate(dict.fromkeys(examples.source))}
        outcomes = groups.outcomes(
            np.array([numbers[word] for word in examples.source], np.int64),
            found[np.unique(found[:, 0], return_index=True)[1], 2],
            best_ranks["csls"] == 1,
            examples.trained.identity(examples.source, examples.target, examples.shared),
        )
        covered = {examples.source[entry] for entry in found[:, 2]}
        details = {"candidates": {self.candidates: len(around[1])}}
        return Scores({**metrics, "coverage": 100 * len(covered) / len(numbers)}, outcomes, details=details)

    def _around(
        self, sides: list[WordVectors], rows: NDArray[np.int64], frequent: list[list[str]]
    ) -> list[NDArray[np.int64]]:
        """Return of each side the sorted rows that are candidates, or that candidates count neighbors among."""
        around = []
        for number, (side, words_of_text) in enumerate(zip(sides, frequent, strict=True)):
            more = side.find(words_of_text)
            some = np.unique(np.concatenate([rows[:, number], more[more >= 0]]))
            around.append(np.arange(len(side)) if self.candidates == "vocabulary" else some)
        return around

    def _compare(
        self,
        sides: list[WordVectors],
        rows: NDArray[np.int64],
        words: NDArray[np.int64],
        around: list[NDArray[np.int64]],
    ) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.float32], NDArray[np.float32]]:
        """Rank the candidates of n source words, and measure the cosine and distance of m entries.

        rows: (m, 2) rows of the words of each entry. words: (m,) the source word of each. around: as `_around` returns.
        Returns: (n,) the rank of the best translation by similarity; (m,) cosines and (m,) distances.
        """
        source_vectors = sides[0].vectors
        target_vectors = sides[1].vectors
        gold = Ragged.from_lengths(np.searchsorted(around[1], rows[:, 1]), np.bincount(words))
        queries = unit(source_vectors[np.unique(rows[:, 0])])
        others = unit(source_vectors[around[0]])
        candidates = unit(target_vectors[around[1]])
        csls = Csls.of(candidates, others, self.neighbors)
        source = source_vectors[rows[:, 0]]
        target = target_vectors[rows[:, 1]]
        own = _same_vectors(sides[0], sides[1], np.unique(rows[:, 0]), around[1])
        found = {by: ranks(queries, candidates, gold, scorer, own) for by, scorer in (("csls", csls), ("cosine", None))}
        return found, (unit(source) * unit(target)).sum(axis=1), np.linalg.norm(source - target, axis=1)

    def _entries_with_vectors(
        self, source: WordVectors, target: WordVectors, examples: DictionaryEntries
    ) -> NDArray[np.int64]:
        """(m, 3) source row, target row and number of each entry that has both."""
        source_rows = source.find(examples.source, fold=True)  # MUSE's dictionaries are in lower case
        target_rows = target.find(examples.target, fold=True)
        found = np.stack([source_rows, target_rows, np.arange(len(examples))], axis=1)
        kept = found[(found[:, :2] >= 0).all(axis=1)]
        if not len(kept):
            one, other = examples.languages
            raise DataError(
                f"{self.name}: none of the {len(examples)} entries from {one!r} to {other!r} has a vector for both "
                "words; for a model, reading.multi_subword = 'mean' includes words of several subwords"
            )
        return kept


def _same_vectors(
    source: WordVectors, target: WordVectors, rows: NDArray[np.int64], candidates: NDArray[np.int64]
) -> Ragged:
    """Return, for each row of `source`, the place of the candidate with the same spelling and the same vector, if any.

    Languages share vectors in a model's input embeddings, and where they are trained on one text.
    """
    found = target.find([source.words[row] for row in rows])
    same = np.isin(found, candidates) & (source.vectors[rows] == target.vectors[found]).all(axis=1)
    return Ragged.from_lengths(np.searchsorted(candidates, found[same]), same)


def _percent(true: Any) -> float:
    return 100 * float(np.mean(true))


def _frequent(path: Path, limit: int) -> list[str]:
    """Return the most frequent words of a text, split at blanks; equally frequent ones in the order of the text."""
    counts = Counter(word for line in read_lines(path) for word in line.split())
    return [word for word, _ in counts.most_common(limit)]
