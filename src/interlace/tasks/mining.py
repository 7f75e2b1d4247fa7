"""Bitext mining (BUCC 2018; Artetxe & Schwenk 2019): which sentences of two texts translate each other, if any do?

A pair is believed from a margin that is best on the dev set. BUCC's files name their sentences and have gold pairs.
Parallel files do as well: a share of their pairs is kept, of the others one side stays, where it has no translation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.neighbors import Margin, MarginScorer
from interlace.core.randomness import Purpose, generator
from interlace.objectives import BoolOrAuto
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Task
from interlace.tasks._encode import encode
from interlace.tasks._files import FileQuery, Files, find, find_parts
from interlace.tasks._mined import Mined, Search, mine
from interlace.tasks._outcomes import Measured
from interlace.tasks._read import read_parts, where
from interlace.tasks.retrieval import Retrieval, words_a_line
from interlace.text import Text
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


@dataclass(frozen=True)
class Texts:
    """Two texts of which some sentences translate each other.

    gold: (g, 2) rows of source and target, each pair once.
    """

    source: Sentences
    target: Sentences
    gold: NDArray[np.int64]


@dataclass(frozen=True)
class TwoSplits:
    """What is scored, and where the threshold is found."""

    scored: Texts
    dev: Texts

    def __len__(self) -> int:
        return len(self.scored.gold)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(g,) subwords of both sides of each gold pair."""
        source, target = self.scored.source.lengths, self.scored.target.lengths
        return np.asarray(source[self.scored.gold[:, 0]] + target[self.scored.gold[:, 1]], np.int64)


class Mining(Task):
    """F1 of the pairs that are believed, in percent, at the threshold that is best on the dev set."""

    metric: ClassVar[str] = "f1"
    also: ClassVar[tuple[str, ...]] = ("best f1", "precision", "recall")

    source: str = Field("en", description="One of the two languages; the other one is the language asked for.")
    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="The text of each side under the data root: a pattern, or a table by split or 'test.de'; "
        "{language} is the source for one side and the target for the other.",
    )
    reader: dict[str, Any] | str = Field(
        "lines",
        description="What reads one side. With 'gold', its labels are the names of sentences: of BUCC's files {name = "
        "'tsv', columns = [1], label = 0, header = false}.",
    )
    gold: Files | None = Field(
        None, description="Files with the names of a source and its target a line; none: the files are parallel."
    )
    kept: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Of parallel files, the share of pairs of which both sides stay (BUCC: about 0.03).",
    )
    search: Search = Field(
        "max",
        description="Pairs proposed: 'forward', 'backward', their 'intersection', or 'max', the best of both from the "
        "top with each sentence once (Artetxe & Schwenk 2019, section 3.2).",
    )
    margin: Margin = Field("ratio", description="What is compared: as in 'retrieval' (the same, section 3.1: ratio).")
    neighbours: int = Field(4, ge=1, description="Nearest neighbours of 'distance' and 'ratio' (the same: 4).")
    layer: int | None = Field(
        None, description="Layer whose states are taken: 0 embeddings, -1 the last; none: two thirds up (XTREME: 8/12)."
    )
    centre: bool = Field(
        False, description="Subtract each text's mean vector first (Libovický et al. 2020, section 4)."
    )
    max_length: int = Field(256, ge=8, description="Longest row in subwords, at most the model's own.")
    tokens_per_batch: int = Field(8192, ge=16, description="Padded subwords in a batch.")
    language_ids: BoolOrAuto = Field("auto", description="Feed language ids; 'auto': where the model has embeddings.")

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Any:
        """Both texts of the split, and of the dev set, with the rows of the pairs that translate each other."""
        if language == self.source:
            raise DataError(f"mining: {language!r} cannot be paired with itself; set another source or leave it out")
        scored, dev = (
            self._both(FileQuery("mining", name, language, root, self.source), vocab) for name in (split, "dev")
        )
        return TwoSplits(scored, dev)

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """Those of the split, and of the dev set, which sets the threshold."""
        return [*super().read_files(split, language, root), *super().read_files("dev", language, root)]

    def texts(self, split: str, language: str, root: Path) -> list[Text]:
        """Both texts; none of the source alone."""
        if language == self.source:
            return []
        asked = FileQuery("mining", split, language, root, self.source)
        return [chunk for side in (self.source, language) for chunk in self._side(asked, side)]

    def measure(self, backbone: Backbone, vocab: Vocab, examples: TwoSplits) -> Measured:
        """`f1`, `precision` and `recall` at the dev set's threshold, and `best f1`, at the scored set's own."""
        scored, dev = (self._mined(backbone, vocab, texts) for texts in (examples.scored, examples.dev))
        texts, threshold = examples.scored, dev.best_threshold()
        precision, recall, f1 = scored.scored(threshold)
        best = scored.scored(scored.best_threshold())[2]
        identity = identity_of(texts.gold.ravel(), words_a_line(texts.source), words_a_line(texts.target))
        each = Examples(*scored.by_source(threshold, texts.gold, len(texts.source)), identity)
        return Measured({"f1": f1, "precision": precision, "recall": recall, "best f1": best}, each)

    def _mined(self, backbone: Backbone, vocab: Vocab, texts: Texts) -> Mined:
        encoder = Retrieval(
            layer=self.layer,
            centre=self.centre,
            max_length=self.max_length,
            tokens_per_batch=self.tokens_per_batch,
            language_ids=self.language_ids,
        )
        source, target = (encoder.vectors(backbone, vocab, side) for side in (texts.source, texts.target))
        around = MarginScorer.of(self.margin, source, target, self.neighbours)
        return mine(source, target, around, texts.gold, self.search)

    def _both(self, asked: FileQuery, vocab: Vocab) -> Texts:
        source, target = (self._side(asked, language) for language in (self.source, asked.of))
        if self.gold is None:
            source, target, gold = self._apart(asked, source, target)
        else:
            gold = _named(find(self.gold, asked), source, target)
        return Texts(encode(source, vocab), encode(target, vocab), gold)

    def _side(self, asked: FileQuery, language: str) -> list[Text]:
        parts = find_parts(self.files, asked, language)
        return read_parts("mining", self.reader, parts, [language], Text)

    def _apart(
        self, asked: FileQuery, source: list[Text], target: list[Text]
    ) -> tuple[list[Text], list[Text], NDArray[np.int64]]:
        """Parallel text of which only some pairs keep both sides, and the rows of those; drawn once and for all."""
        count, other = (sum(map(len, side)) for side in (source, target))
        if count != other:
            raise DataError(
                f"mining: {asked.split}: {count} lines in {self.source!r}, but {other} in {asked.of!r}; parallel files "
                "are needed, or 'gold' names the pairs"
            )
        order = generator(Purpose.SAMPLE, 0, count).permutation(count)
        apart = order[max(1, round(self.kept * count)) :]
        here, there = np.ones(count, np.bool_), np.ones(count, np.bool_)
        here[apart[::2]], there[apart[1::2]] = False, False
        rows = np.flatnonzero(here & there)
        gold = np.stack([(np.cumsum(side) - 1)[rows] for side in (here, there)], axis=1)
        return where(source, here), where(target, there), gold


def _named(path: Path, source: list[Text], target: list[Text]) -> NDArray[np.int64]:
    """(g, 2) rows of the pairs whose names a file holds, in either order of the sides."""
    sides = [_names(side, path) for side in (source, target)]
    gold = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        names = line.split()
        if len(names) != 2:
            raise DataError(f"mining: {path}, line {number}: expected the names of two sentences, found {line[:60]!r}")
        if names[0] not in sides[0]:
            names.reverse()
        if names[0] not in sides[0] or names[1] not in sides[1]:
            raise DataError(f"mining: {path}, line {number}: no sentences are named {line[:60]!r}, one on each side")
        gold.append((sides[0][names[0]], sides[1][names[1]]))
    if not gold:
        raise DataError(f"mining: {path}: no pair in the file")
    return np.unique(np.array(gold, np.int64), axis=0)


def _names(side: list[Text], path: Path) -> dict[str, int]:
    """The row of each name."""
    if any(chunk.labels is None for chunk in side):
        raise DataError(
            f"mining: {path} names sentences, but the reader of the text finds no names; set reader = {{name = 'tsv', "
            "columns = [1], label = 0, header = false}, or what your files need"
        )
    names = [name for chunk in side for name in chunk.labels or []]
    found = {name: row for row, name in enumerate(names)}
    if len(found) < len(names):
        raise DataError(f"mining: {path}: two sentences in {side[0].language!r} have one name")
    return found
