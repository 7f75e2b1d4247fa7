"""Bilingual lexicon induction: is the nearest word of the other language a translation? Nothing is trained.

By cosine and CSLS as in Conneau et al. 2018 (section 3.2), with the mean cosine and distance of translations as in XLM
(table 5). `embedding_alignment` is a quick variant: input embeddings only, without identically spelled words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.neighbors import MarginScorer, ranks, unit
from interlace.core.ragged import Ragged
from interlace.scores.examples import identity_of
from interlace.tasks import Scale, Scores
from interlace.tasks.common.dictionaries import DictionaryTask, TrainingEntries, read_entries
from interlace.tasks.common.files import find_file
from interlace.tasks.common.vectors import WordVectorSettings, centered, vectors_of, whole_words
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone


@dataclass(frozen=True)
class DictionaryEntries:
    """Words and their translations, and for each side the frequent words of a text if they are candidates too.

    trained: words of entries that were trained on.
    """

    languages: tuple[str, str]
    source: list[str]
    target: list[str]
    frequent: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    trained: TrainingEntries = field(default_factory=TrainingEntries)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) words on the source side: one each."""
        return np.ones(len(self), np.int64)

    @property
    def words(self) -> tuple[list[str], list[str]]:
        """All words of both sides, the dictionary's first."""
        return [*self.source, *self.frequent[0]], [*self.target, *self.frequent[1]]

    @property
    def identity(self) -> str:
        """Identifies the scored words, which depend on what was trained on."""
        return identity_of(self.source, self.target, *self.trained.overlap(self.source, self.target))


@dataclass(frozen=True)
class _Ranking:
    """The result for n source words and m entries.

    words: (m,) the source word of each entry. ranks: by similarity, (n,) the rank of the best translation.
    identical: (n,) whether a translation is spelled like the word. cosines, distances: (m,) of each entry.
    """

    words: NDArray[np.int64]
    ranks: dict[str, NDArray[np.int64]]
    identical: NDArray[np.bool_]
    cosines: NDArray[np.float32]
    distances: NDArray[np.float32]

    def metrics(self, kept: NDArray[np.bool_]) -> dict[str, float]:
        """Return the metrics over some of the words: kept is (n,)."""
        metrics: dict[str, float] = {}
        for by, all_ranks in self.ranks.items():
            found = all_ranks[kept]
            metrics |= {f"p@{limit} {by}": _percent(found <= limit) for limit in (1, 5, 10)}
            metrics[f"mrr {by}"] = 100 * float((1 / found).mean())
        identical = self.identical[kept]
        if 0 < identical.sum() < len(identical):
            metrics["p@1 csls, not alike"] = _percent(self.ranks["csls"][kept & ~self.identical] == 1)
        entries = kept[self.words]
        metrics["mean cosine"] = float(self.cosines[entries].mean())
        metrics["mean distance"] = float(self.distances[entries].mean())
        return {**metrics, "alike": _percent(identical)}


class WordTranslation(DictionaryTask):
    """P@1, P@5, P@10 and mean reciprocal rank of a dictionary's words, and how near translations are.

    A word's rank is that of its best translation; a wrong word that is as near ranks first. Entries without a vector
    for both words are left out and lower the coverage. Words that were trained on do not count in the main metric.
    """

    metric: ClassVar[str] = "p@1 csls"
    same_scale: ClassVar[tuple[str, ...]] = (
        *(f"{name} {by}" for by in ("cosine", "csls") for name in ("p@1", "p@5", "p@10", "mrr")),
        *("alike", "coverage", "held out"),
    )
    other_scales: ClassVar[dict[str, Scale]] = {"mean cosine": ("cosine", True), "mean distance": ("L2", False)}
    static_vectors: ClassVar[bool] = True

    candidates: Literal["dictionary", "text", "vocabulary"] = Field(
        "dictionary",
        description="Candidates: the dictionary's targets; with them the frequent words of `text`; or all words with "
        "vectors (of a model: all words that are one subword). CSLS counts neighbors among the like of them.",
    )
    max_words: int = Field(200_000, ge=1, description="Maximum number of frequent words (Conneau et al. 2018, 3.2).")
    neighbors: int = Field(10, ge=1, description="k of CSLS (Conneau et al. 2018, section 2.3: 10).")
    identical: bool = Field(True, description="Include entries spelled alike on both sides; `alike` is their share.")
    center: bool = Field(
        False,
        description="Subtract each language's mean first, over the source words, their translations and other "
        "candidates (MUSE: center, over all vectors).",
    )
    ignore_case: bool = Field(
        True, description="Look a word up in any case if static vectors lack it as written (MUSE is in lower case)."
    )
    reading: WordVectorSettings = Field(
        default_factory=WordVectorSettings, description="How a word's vector is read from a model."
    )

    def examples(self, split: str, language: str, vocab: Vocab | None, root: Path) -> DictionaryEntries:  # noqa: ARG002
        """Read the dictionary into `language`."""
        if language == self.source:
            raise DataError(f"{self.name}: source and target are both {language!r}; set another source or leave it out")
        query = self.query(split, language, root)
        source, target = read_entries(find_file(self.files, query))
        kept = [self.identical or one != other for one, other in zip(source, target, strict=True)]
        if not any(kept):
            raise DataError(
                f"{self.name}: all {len(source)} entries into {language!r} are spelled alike; set identical = true"
            )
        sides = [[word for word, keep in zip(words, kept, strict=True) if keep] for words in (source, target)]
        frequent: tuple[list[str], list[str]] = ([], [])
        if self.candidates == "text":
            paths = [find_file(self.text, query, side) for side in (self.source, language)]
            frequent = (_frequent(paths[0], self.max_words), _frequent(paths[1], self.max_words))
        return DictionaryEntries((self.source, language), sides[0], sides[1], frequent, self.training_entries(query))

    def measure(self, backbone: Backbone, vocab: Vocab, examples: DictionaryEntries) -> Scores:
        """Measure a model's vectors of single words."""
        more = whole_words(vocab)[: self.max_words] if self.candidates == "vocabulary" else []
        pairs = zip(examples.languages, examples.words, strict=True)
        vectors = {side: self.reading.vectors(backbone, vocab, side, [*words, *more]) for side, words in pairs}
        return self.measure_words(vectors, examples)

    def measure_words(self, vectors: Mapping[str, WordVectors], examples: DictionaryEntries) -> Scores:
        """Measure word vectors by language.

        Returns:
            `p@1`, `p@5`, `p@10` and `mrr`, each by `csls` and by `cosine`; `p@1 csls, not alike` over words without an
            identically spelled translation, if there are such; `mean cosine` and `mean distance` (not in percent) over
            the entries; `alike`, the share of words with an identically spelled translation; and `coverage`, that of
            the dictionary's words that have vectors. If some were trained on: all but `coverage` over held-out words,
            `held out` as their share, and the same names with `, all` and `, seen`.

        Raises:
            DataError: there are no vectors of a language, or no entry has both.
        """
        sides = [vectors_of(self.name, vectors, language).top(self.max_words) for language in examples.languages]
        found = self._entries_with_vectors(sides[0], sides[1], examples)
        rows = np.unique(found[:, :2], axis=0)
        spelled = [[side.words[row] for row in rows[:, number]] for number, side in enumerate(sides)]
        ranking = self._rank(sides, rows, spelled, examples)
        groups = examples.trained.groups(ranking.words, *spelled)
        metrics = groups.metrics(f"{self.name}, {'-'.join(examples.languages)}", ranking.metrics)
        covered = {examples.source[entry] for entry in found[:, 2]}
        numbers = {word: number for number, word in enumerate(dict.fromkeys(examples.source))}
        outcomes = groups.outcomes(
            np.array([numbers[word] for word in examples.source], np.int64),
            found[np.unique(found[:, 0], return_index=True)[1], 2],
            ranking.ranks["csls"] == 1,
            examples.identity,
        )
        return Scores({**metrics, "coverage": 100 * len(covered) / len(numbers)}, outcomes)

    def _rank(
        self, sides: list[WordVectors], rows: NDArray[np.int64], spelled: list[list[str]], examples: DictionaryEntries
    ) -> _Ranking:
        """Rank the candidates of each source word. rows: (m, 2) rows of the words of each entry."""
        around = [
            self._candidates(side, frequent, rows[:, number])
            for number, (side, frequent) in enumerate(zip(sides, examples.frequent, strict=True))
        ]
        tables = [
            centered(side, used) if self.center else side.vectors for side, used in zip(sides, around, strict=True)
        ]
        queried, words = np.unique(rows[:, 0], return_inverse=True)
        gold = Ragged.from_lengths(np.searchsorted(around[1], rows[:, 1]), np.bincount(words))
        queries, candidates, others = unit(tables[0][queried]), unit(tables[1][around[1]]), unit(tables[0][around[0]])
        csls = MarginScorer.csls(candidates, others, self.neighbors)
        source, target = (table[rows[:, number]] for number, table in enumerate(tables))
        return _Ranking(
            words,
            {"csls": ranks(queries, candidates, gold, csls), "cosine": ranks(queries, candidates, gold)},
            np.bincount(words, [one == other for one, other in zip(*spelled, strict=True)]) > 0,
            (unit(source) * unit(target)).sum(axis=1),
            np.linalg.norm(source - target, axis=1),
        )

    def _entries_with_vectors(
        self, source: WordVectors, target: WordVectors, examples: DictionaryEntries
    ) -> NDArray[np.int64]:
        """(m, 3) source row, target row and number of each entry that has both."""
        rows = [side.find(words, fold=self.ignore_case) for side, words in
                ((source, examples.source), (target, examples.target))]  # fmt: skip
        found = np.stack([*rows, np.arange(len(examples))], axis=1)
        kept = found[(found[:, :2] >= 0).all(axis=1)]
        if not len(kept):
            one, other = examples.languages
            raise DataError(
                f"{self.name}: none of the {len(examples)} entries from {one!r} to {other!r} has a vector for both "
                "words; for a model, reading.multi_subword = 'mean' includes words of several subwords"
            )
        return kept

    def _candidates(self, side: WordVectors, frequent: list[str], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sorted rows of a side that are candidates, or that candidates count neighbors among."""
        if self.candidates == "vocabulary":
            return np.arange(len(side))
        more = side.find(frequent)
        return np.unique(np.concatenate([rows, more[more >= 0]]))


def _percent(true: Any) -> float:
    return 100 * float(np.mean(true))


def _frequent(path: Path, limit: int) -> list[str]:
    """Return the most frequent words of a text, split at blanks; equally frequent ones in the order of the text."""
    counts: Counter[str] = Counter()
    for line in read_lines(path):
        counts.update(line.split())
    return [word for word, _ in counts.most_common(limit)]
