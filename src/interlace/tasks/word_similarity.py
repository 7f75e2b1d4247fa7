"""Word similarity: do words that people find alike have vectors that are alike? Correlation; nothing is trained.

SimLex-999 (Hill et al. 2015) and the like, and SemEval-2017 task 2 (Camacho-Collados et al. 2017), in one language or
across two: a target such as `en-de` has its first word in English and its second in German.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.neighbors import unit
from interlace.tasks import Task
from interlace.tasks._files import FileQuery, Files, find
from interlace.tasks._similarity_files import read_apart, read_table
from interlace.tasks._words import Reading, centred, vectors_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone

_NAME = "word_similarity"
_LEAST = 3  # pairs: fewer always lie on a line, or nearly


@dataclass(frozen=True)
class Judged:
    """Pairs of words with how alike people find them, a pair a row.

    languages: of the first and the second words. scores: (n,), on any scale.
    """

    languages: tuple[str, str]
    first: list[str]
    second: list[str]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) words of a pair: two each."""
        return np.full(len(self), 2)


class WordSimilarity(Task):
    """Correlation of cosines with what people say: Spearman's of ranks and Pearson's of values, times 100."""

    metric: ClassVar[str] = "spearman"
    also: ClassVar[tuple[str, ...]] = ("pearson", "harmonic", "coverage")
    by_itself: ClassVar[bool] = True
    static: ClassVar[bool] = True

    files: Files = Field(
        "similarity/{language}.tsv",
        description="Pairs under the data root: two words and a score a line, tabs between, with or without a header "
        "(SimLex-999); {language} is 'en', or 'en-de' for pairs across two languages.",
    )
    gold: Files | None = Field(
        None, description="Scores in files of their own, one a line beside each pair of `files` (SemEval-2017 task 2)."
    )
    column: str = Field("", description="Name of the score's column in the header; none: the third.")
    uncovered: Literal["left out", "midpoint"] = Field(
        "left out", description="Pairs with a word without vector: not counted, or taken for half alike (SemEval-2017)."
    )
    midpoint: float = Field(0.5, ge=-1, le=1, description="The cosine that stands for half alike.")
    fold: bool = Field(True, description="Look a word up in any case where static vectors lack it as written.")
    centre: bool = Field(False, description="Subtract each language's mean over its words in the pairs first.")
    reading: Reading = Field(default_factory=Reading, description="How a word's vector is read off a model.")

    def examples(self, split: str, language: str, vocab: Vocab | None, root: Path) -> Any:  # noqa: ARG002 - words stay words
        """The pairs of a language, or of two joined by '-'."""
        asked = FileQuery(_NAME, split, language, root)
        path = find(self.files, asked)
        rows = read_table(path, self.column) if self.gold is None else read_apart(path, find(self.gold, asked))
        one, _, other = language.partition("-")
        return Judged((one, other or one), *rows)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Judged) -> dict[str, float]:
        """The scores of a model's vectors of single words."""
        words: dict[str, list[str]] = {}
        for language, side in zip(examples.languages, (examples.first, examples.second), strict=True):
            words[language] = words.get(language, []) + side
        vectors = {language: self.reading.vectors(backbone, vocab, language, own) for language, own in words.items()}
        return self.measure_words(vectors, examples)

    def measure_words(self, vectors: Mapping[str, WordVectors], examples: Judged) -> dict[str, float]:
        """`spearman`, `pearson`, their harmonic mean (0 where one is not positive), and `coverage`, all in percent.

        Raises:
            DataError: there are no vectors of a language, or of fewer than three pairs, or people gave all of them the
                same score, so that nothing can go with it.
        """
        sides = [vectors_of(_NAME, vectors, language) for language in examples.languages]
        words = (examples.first, examples.second)
        rows = [side.find(own, fold=self.fold) for side, own in zip(sides, words, strict=True)]
        known = (rows[0] >= 0) & (rows[1] >= 0)
        if known.sum() < _LEAST:
            raise DataError(
                f"{_NAME}: {known.sum()} of {len(examples)} pairs in {'-'.join(dict.fromkeys(examples.languages))!r} "
                f"have vectors for both words; {_LEAST} at least are needed"
            )
        found = np.full(len(examples), self.midpoint)
        tables = self._tables(sides, rows)
        one, other = (unit(table[own[known]]) for table, own in zip(tables, rows, strict=True))
        found[known] = (one * other).sum(axis=1)
        counted = known if self.uncovered == "left out" else np.ones_like(known)
        if np.ptp(examples.scores[counted]) == 0:
            raise DataError(f"{_NAME}: all {counted.sum()} pairs have the score {examples.scores[counted][0]:g}")
        return {**correlations(found[counted], examples.scores[counted]), "coverage": 100 * float(known.mean())}

    def _tables(self, sides: list[WordVectors], rows: list[NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        """(n, H) of each side, the vectors as they are compared.

        rows: those of the first and of the second words, -1 where there is none; one language has one mean.
        """
        if not self.centre:
            return [side.vectors for side in sides]
        played = [own[own >= 0] for own in rows]
        if sides[0] is sides[1]:
            played = [np.concatenate(played)] * 2
        return [centred(side, own) for side, own in zip(sides, played, strict=True)]


def correlations(found: NDArray[np.float64], gold: NDArray[np.float64]) -> dict[str, float]:
    """Spearman's and Pearson's correlation and their harmonic mean (SemEval-2017's official score), times 100.

    What is the same everywhere goes with nothing: 0.
    """
    from scipy.stats import pearsonr, spearmanr

    if np.ptp(found) == 0 or np.ptp(gold) == 0:
        return {"spearman": 0.0, "pearson": 0.0, "harmonic": 0.0}
    both = [round(100 * float(measure(found, gold).statistic), 6) for measure in (spearmanr, pearsonr)]
    harmonic = 2 * both[0] * both[1] / sum(both) if min(both) > 0 else 0.0
    return {"spearman": both[0], "pearson": both[1], "harmonic": harmonic}
