"""Word similarity: do the cosines of word vectors correlate with human judgments? Nothing is trained.

SimLex-999 (Hill et al. 2015) and the like, and SemEval-2017 task 2 (Camacho-Collados et al. 2017), in one language or
across two: a target such as `en-de` has its first word in English and its second in German.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.neighbors import unit
from interlace.core.ragged import DoubleArray, IntArray
from interlace.tasks import ProbeTask, Scores
from interlace.tasks.common.files import Files, find_file
from interlace.tasks.common.vectors import WordVectorSettings, vectors_of
from interlace.text import LanguagePair
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.embeddings import WordVectors
    from interlace.models.backbone import Backbone


_MIN_PAIRS = 3  # fewer are always nearly on a line
_MIDPOINT = 0.5  # the cosine of a pair without vectors


JudgedPair = tuple[str, str, float]
"""Two words and the score of their similarity."""


@dataclass(frozen=True)
class JudgedPairs:
    """(n,) pairs of words with human judgments of similarity on any scale; languages: of first and second words."""

    languages: LanguagePair
    first: list[str]
    second: list[str]
    scores: DoubleArray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def lengths(self) -> IntArray:
        """(n,) words of a pair: two each."""
        return np.full(len(self), 2)


class WordSimilarity(ProbeTask):
    """Correlation of cosines with human judgments: Spearman's of ranks and Pearson's of values, times 100."""

    metric = "spearman"
    further_metrics = ("pearson", "harmonic", "coverage")
    scores_source = True
    static_vectors = True

    files: Files = Field(
        "similarity/{language}.tsv",
        description="Pairs under the data root: two words and a score per line, separated by tabs, with or without a "
        "header (SimLex-999); {language} is 'en', or 'en-de' for pairs across two languages.",
    )
    gold: Files | None = Field(
        None,
        description="Scores in files of their own, one per line for each pair of `files` (SemEval-2017 task 2).",
    )
    missing: Literal["skip", "midpoint"] = Field(
        "skip",
        description="Pairs with a word without a vector: skipped, or given a cosine of 0.5 (SemEval-2017).",
    )
    reading: WordVectorSettings = Field(
        default_factory=WordVectorSettings,
        description="How a word's vector is read from a model.",
    )

    def examples(
        self,
        split: str,
        language: str,
        vocab: Vocab | None,  # noqa: ARG002
        root: Root,
    ) -> JudgedPairs:
        """Read the pairs of a language, or of two joined by '-'."""
        query = self.query(split, language, root)
        path = find_file(self.files, query)
        gold_path = find_file(self.gold, query) if self.gold else None
        pairs = read_pairs(path, gold_path)
        if not pairs:
            raise DataError(f"{path}: no pair of words in the file")
        first_language, _, second_language = language.partition("-")
        languages = (first_language, second_language or first_language)
        first_words, second_words, scores = map(list, zip(*pairs, strict=True))
        return JudgedPairs(languages, first_words, second_words, np.array(scores, np.float64))

    def measure(self, backbone: Backbone, vocab: Vocab, examples: JudgedPairs) -> Scores:
        """Measure a model's vectors of single words."""
        words: dict[str, list[str]] = {}
        for language, side in zip(
            examples.languages,
            (examples.first, examples.second),
            strict=True,
        ):
            words[language] = words.get(language, []) + side
        vectors = {}
        for language, words_of_language in words.items():
            vectors[language] = self.reading.vectors(
                backbone, vocab, language, words_of_language
            )
        return self.measure_words(vectors, examples)

    def measure_words(
        self, vectors: Mapping[str, WordVectors], examples: JudgedPairs
    ) -> Scores:
        """Return `spearman`, `pearson`, their harmonic mean (0 if one is not positive), and `coverage`, in percent.

        Raise a DataError if fewer than three pairs have vectors, or all judgments are equal.
        """
        first, second = (
            vectors_of(self.name, vectors, language) for language in examples.languages
        )
        first_rows = first.find(examples.first, fold=True)
        second_rows = second.find(examples.second, fold=True)
        is_known = (first_rows >= 0) & (second_rows >= 0)
        if is_known.sum() < _MIN_PAIRS:
            languages = "-".join(dict.fromkeys(examples.languages))
            raise DataError(
                f"{self.name}: {is_known.sum()} of {len(examples)} pairs in {languages!r} have vectors for both words; "
                f"expected {_MIN_PAIRS}"
            )
        first_vectors = unit(first.vectors[first_rows[is_known]])
        second_vectors = unit(second.vectors[second_rows[is_known]])
        cosines = np.full(len(examples), _MIDPOINT)
        cosines[is_known] = (first_vectors * second_vectors).sum(axis=1)
        gold = examples.scores
        if self.missing == "skip":
            cosines = cosines[is_known]
            gold = gold[is_known]
        if np.ptp(gold) == 0:
            raise DataError(f"{self.name}: all {len(gold)} pairs have the score {gold[0]:g}")
        metrics = correlations(cosines, gold)
        metrics["coverage"] = 100 * float(is_known.mean())
        return Scores(metrics)


def correlations(cosines: DoubleArray, gold: DoubleArray) -> dict[str, float]:
    """Return Spearman's, Pearson's and their harmonic mean (SemEval-2017's score), times 100; of a constant 0."""
    from scipy.stats import pearsonr, spearmanr

    if np.ptp(cosines) == 0 or np.ptp(gold) == 0:
        return {"spearman": 0.0, "pearson": 0.0, "harmonic": 0.0}
    spearman = round(100 * float(spearmanr(cosines, gold).statistic), 6)
    pearson = round(100 * float(pearsonr(cosines, gold).statistic), 6)
    harmonic = 0.0
    if min(spearman, pearson) > 0:
        harmonic = 2 * spearman * pearson / (spearman + pearson)
    return {"spearman": spearman, "pearson": pearson, "harmonic": harmonic}


def read_pairs(words: Path, gold: Path | None) -> list[JudgedPair]:
    """Read two words and a score per line; the scores may be in a file of their own.

    Without one, empty lines are skipped, and a first line without a score is a header.

    Raises:
        DataError: a line has no two words or no score, or the files have different numbers of lines.
    """
    lines = read_lines(words)
    name = str(words)
    if gold is not None:
        name = f"{words} and {gold}"
        both = zip_longest(lines, read_lines(gold), fillvalue="")
        lines = ("\t".join(cells) for cells in both)
    pairs = []
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.split("\t")]
        if gold is None and (not line.strip() or (number == 1 and _is_header(cells))):
            continue
        score = _number(cells[2]) if len(cells) > 2 else None
        if score is None or not (cells[0] and cells[1]):
            raise DataError(
                f"{name}, line {number}: expected two words and a score separated by tabs, found {line[:60]!r}"
            )
        pairs.append((cells[0], cells[1], score))
    return pairs


def _is_header(cells: list[str]) -> bool:
    """Return whether cells are names, and no damaged first row."""
    return len(cells) > 2 and all(cell and _number(cell) is None for cell in cells)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
