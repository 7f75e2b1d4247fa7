"""Word translation: is the nearest word of the other language a translation? By cosine and CSLS; nothing is trained.

Bilingual lexicon induction as in Conneau et al. 2018 (section 3.2), with the mean cosine and distance of translations
as in XLM (table 5). `embedding_alignment` is its quick relative: rows of the table alone, words written alike left out.
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
from interlace.scores.examples import Examples, identity_of
from interlace.tasks._dictionary import read_entries
from interlace.tasks._files import FileQuery, Files, find, find_sides
from interlace.tasks._learnt import DictionaryTask, Learnt
from interlace.tasks._outcomes import Measured
from interlace.tasks._words import Reading, centred, vectors_of, whole_words
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone
    from interlace.tasks import Scale

_NAME = "word_translation"


@dataclass(frozen=True)
class Entries:
    """A dictionary, an entry a row, and for each side the frequent words of a text, where these are candidates too.

    learnt: what training has read of it.
    """

    languages: tuple[str, str]
    source: list[str]
    target: list[str]
    frequent: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    learnt: Learnt = field(default_factory=Learnt)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) words on the source side: one each."""
        return np.ones(len(self), np.int64)

    def words(self) -> tuple[list[str], list[str]]:
        """All words of both sides, the dictionary's first."""
        return [*self.source, *self.frequent[0]], [*self.target, *self.frequent[1]]


@dataclass(frozen=True)
class _Found:
    """What was found, of n words asked and m entries.

    words: (m,) the word of each entry. places: by what is compared, (n,) the place of the best translation.
    alike: (n,) whether a translation is written alike. cosines, distances: (m,) of each entry.
    """

    words: NDArray[np.int64]
    places: dict[str, NDArray[np.int64]]
    alike: NDArray[np.bool_]
    cosines: NDArray[np.float32]
    distances: NDArray[np.float32]

    def scores(self, kept: NDArray[np.bool_]) -> dict[str, float]:
        """The scores of some of the words: kept is (n,)."""
        scores: dict[str, float] = {}
        for by, places in self.places.items():
            found = places[kept]
            scores |= {f"p@{most} {by}": _percent(found <= most) for most in (1, 5, 10)}
            scores[f"mrr {by}"] = 100 * float((1 / found).mean())
        alike = self.alike[kept]
        if 0 < alike.sum() < len(alike):
            scores["p@1 csls, not alike"] = _percent(self.places["csls"][kept & ~self.alike] == 1)
        entries = kept[self.words]
        scores["mean cosine"] = float(self.cosines[entries].mean())
        scores["mean distance"] = float(self.distances[entries].mean())
        return {**scores, "alike": _percent(alike)}


class WordTranslation(DictionaryTask):
    """P@1, P@5, P@10 and mean reciprocal rank of a dictionary's words, and how near translations are.

    A word's rank is that of its best translation; a wrong word that is as near goes first. Entries without a vector for
    both words are left out and show in the coverage. Where training has read a part of the dictionary, the score is
    over the words that it has not.
    """

    metric: ClassVar[str] = "p@1 csls"
    also: ClassVar[tuple[str, ...]] = (
        *(f"{name} {by}" for by in ("cosine", "csls") for name in ("p@1", "p@5", "p@10", "mrr")),
        *("alike", "coverage", "held out"),
    )
    static: ClassVar[bool] = True
    others: ClassVar[dict[str, Scale]] = {"mean cosine": ("cosine", True), "mean distance": ("L2", False)}

    source: str = Field("en", description="The language of the words asked; candidates are in the language asked for.")
    files: Files = Field(
        "dict/{source}-{target}.txt",
        description="Dictionaries under the data root: source, tab or blank, target (MUSE, xling-eval); a word "
        "may have several.",
    )
    candidates: Literal["dictionary", "text", "vocabulary"] = Field(
        "dictionary",
        description="Words searched: the dictionary's targets; with them the frequent words of `text`; or all words "
        "that there are vectors of (of a model: that are one subword). CSLS counts neighbours among the like of them.",
    )
    text: Files = Field(
        "text/train.{language}.txt", description="With candidates = 'text': text or a word list of each language."
    )
    most: int = Field(200_000, ge=1, description="Frequent words searched, at most (Conneau et al. 2018, section 3.2).")
    neighbours: int = Field(10, ge=1, description="k of CSLS (Conneau et al. 2018, section 2.3: 10).")
    identical: bool = Field(True, description="Also ask entries written alike on both sides; their share is told.")
    centre: bool = Field(
        False,
        description="Subtract each language's mean first, over the words asked, their translations and other "
        "candidates (MUSE: center, over all vectors).",
    )
    fold: bool = Field(
        True, description="Look a word up in any case where static vectors lack it as written (MUSE is in lower case)."
    )
    reading: Reading = Field(default_factory=Reading, description="How a word's vector is read off a model.")

    def examples(self, split: str, language: str, vocab: Vocab | None, root: Path) -> Any:  # noqa: ARG002 - words stay words
        """The dictionary into `language`."""
        if language == self.source:
            raise DataError(
                f"{_NAME}: {language!r} cannot be translated into itself; set another source or leave it out"
            )
        asked = FileQuery(_NAME, split, language, root, self.source)
        source, target = read_entries(find(self.files, asked))
        kept = [self.identical or one != other for one, other in zip(source, target, strict=True)]
        if not any(kept):
            raise DataError(
                f"{_NAME}: all {len(source)} entries into {language!r} are written alike; set identical = true"
            )
        sides = [[word for word, keep in zip(words, kept, strict=True) if keep] for words in (source, target)]
        frequent: tuple[list[str], list[str]] = ([], [])
        if self.candidates == "text":
            one, other = (_frequent(find(self.text, asked, side), self.most) for side in (self.source, language))
            frequent = (one, other)
        return Entries((self.source, language), sides[0], sides[1], frequent, self.learnt_of(asked))

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """The dictionary, what was learnt of it, and the text of both languages, where its words are candidates."""
        asked = FileQuery(_NAME, split, language, root, self.source)
        text = find_sides(self.text, asked) if self.candidates == "text" else []
        return [*super().read_files(split, language, root), *text]

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Entries) -> dict[str, float]:
        """The scores of a model's vectors of single words."""
        more = whole_words(vocab)[: self.most] if self.candidates == "vocabulary" else []
        pairs = zip(examples.languages, examples.words(), strict=True)
        vectors = {side: self.reading.vectors(backbone, vocab, side, [*words, *more]) for side, words in pairs}
        return self.measure_words(vectors, examples)

    def measure_words(self, vectors: Mapping[str, WordVectors], examples: Entries) -> dict[str, float]:
        """The scores of word vectors by language.

        Returns:
            `p@1`, `p@5`, `p@10` and `mrr`, each by `csls` and by `cosine`; `p@1 csls, not alike` over words without a
            translation written alike, where there are such; `mean cosine` and `mean distance` (not in percent) over
            the entries; `alike`, the share of words with a translation written alike; and `coverage`, that of the
            dictionary's words that were asked. Where training has read some of them, all but `coverage` are of those
            it has not, `held out` is their share, and the same names with `, all` and `, seen` are of all and of those
            it has read.

        Raises:
            DataError: there are no vectors of a language, or not one entry has both.
        """
        sides = [vectors_of(_NAME, vectors, language).top(self.most) for language in examples.languages]
        found = self._found(sides[0], sides[1], examples)
        rows = np.unique(found[:, :2], axis=0)
        around = [self._in_play(side, frequent, rows[:, number])
                  for number, (side, frequent) in enumerate(zip(sides, examples.frequent, strict=True))]  # fmt: skip
        tables = [centred(side, play) if self.centre else side.vectors
                  for side, play in zip(sides, around, strict=True)]  # fmt: skip
        asked, words = np.unique(rows[:, 0], return_inverse=True)
        gold = _gold(words, np.searchsorted(around[1], rows[:, 1]))
        queries, candidates, others = unit(tables[0][asked]), unit(tables[1][around[1]]), unit(tables[0][around[0]])
        csls = MarginScorer.csls(candidates, others, self.neighbours)
        spelt = [[side.words[row] for row in rows[:, number]] for number, side in enumerate(sides)]
        pairs = (tables[0][rows[:, 0]], tables[1][rows[:, 1]])
        outcome = _Found(
            words,
            {"csls": ranks(queries, candidates, gold, csls), "cosine": ranks(queries, candidates, gold)},
            np.bincount(words, [one == other for one, other in zip(*spelt, strict=True)]) > 0,
            (unit(pairs[0]) * unit(pairs[1])).sum(axis=1),
            np.linalg.norm(pairs[0] - pairs[1], axis=1),
        )
        coverage = 100 * len({examples.source[entry] for entry in found[:, 2]}) / len(set(examples.source))
        where = f"{_NAME}, {'-'.join(examples.languages)}"
        parts = examples.learnt.parts(words, *spelt)
        counted = parts.counted
        first = found[np.unique(found[:, 0], return_index=True)[1], 2]  # an entry of each word asked
        scores = {**parts.scores(where, outcome.scores), "coverage": coverage}
        return Measured(scores, _outcomes(examples, first[counted], outcome.places["csls"][counted] == 1))

    def _found(self, source: WordVectors, target: WordVectors, examples: Entries) -> NDArray[np.int64]:
        """(m, 3) source row, target row and number of each entry that has both."""
        found = np.stack(
            [
                source.find(examples.source, fold=self.fold),
                target.find(examples.target, fold=self.fold),
                np.arange(len(examples)),
            ],
            axis=1,
        )
        kept = found[(found[:, :2] >= 0).all(axis=1)]
        if not len(kept):
            one, other = examples.languages
            raise DataError(
                f"{_NAME}: none of the {len(examples)} entries from {one!r} to {other!r} has a vector for both words; "
                "for a model, reading.pieces = 'mean' asks words of several subwords too"
            )
        return kept

    def _in_play(self, side: WordVectors, frequent: list[str], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of a side that are candidates, or that candidates count neighbours among; sorted."""
        if self.candidates == "vocabulary":
            return np.arange(len(side))
        more = side.find(frequent)
        return np.unique(np.concatenate([rows, more[more >= 0]]))


def _gold(words: NDArray[np.int64], right: NDArray[np.int64]) -> Ragged:
    """The right candidates of each word asked, from entries in order of the words."""
    return Ragged.from_lengths(right, np.bincount(words))


def _outcomes(examples: Entries, rows: NDArray[np.int64], hits: NDArray[np.bool_]) -> Examples:
    """What each of the dictionary's source words got; those that do not count weigh nothing.

    rows: an entry of each word that counts. hits: whether it found a translation.
    """
    places = {word: place for place, word in enumerate(dict.fromkeys(examples.source))}
    there = np.array([places[examples.source[row]] for row in rows.tolist()], np.int64)
    score, weight = np.zeros(len(places)), np.zeros(len(places))
    score[there], weight[there] = hits, 1
    learnt = examples.learnt.among(examples.source, examples.target)
    return Examples(score, weight, identity_of(examples.source, examples.target, *learnt))


def _percent(true: Any) -> float:
    return 100 * float(np.mean(true))


def _frequent(path: Path, most: int) -> list[str]:
    """The most frequent words of a text, split at blanks; of equals, as they come."""
    counts: Counter[str] = Counter()
    for line in read_lines(path):
        counts.update(line.split())
    return [word for word, _ in counts.most_common(most)]
