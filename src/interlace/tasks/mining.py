"""Bitext mining (BUCC 2018; Artetxe & Schwenk 2019): which sentences of two texts translate each other, if any?

Pairs are accepted from a threshold that is best on the dev set. BUCC's files name their sentences and have gold pairs.
Parallel files can be used as well: a share of their pairs is kept, and of each other pair one side stays, which has no
translation then.

Legend: n sources, m targets, P proposed pairs, g gold pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.errors import DataError
from interlace.core.neighbors import Margin, MarginScorer, nearest
from interlace.core.randomness import Purpose, generator
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Scores
from interlace.tasks.common import files as task_files
from interlace.tasks.common.vectors import SentenceVectorTask, words_per_line
from interlace.text import Text
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

    Floats = NDArray[np.float64]

MiningSearch = Literal["max", "intersection", "forward", "backward"]


@dataclass(frozen=True)
class Bitext:
    """Two texts with some translations of each other. gold: (g, 2) rows of source and target, each pair once."""

    source: Sentences
    target: Sentences
    gold: NDArray[np.int64]


@dataclass(frozen=True)
class MiningExamples:
    """The scored bitext, and the one that the threshold is chosen on."""

    scored: Bitext
    dev: Bitext

    def __len__(self) -> int:
        return len(self.scored.gold)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(g,) subwords of both sides of each gold pair."""
        source, target = self.scored.source.lengths, self.scored.target.lengths
        return np.asarray(source[self.scored.gold[:, 0]] + target[self.scored.gold[:, 1]], np.int64)


class Mining(SentenceVectorTask):
    """F1 of the accepted pairs, in percent, at the threshold that is best on the dev set."""

    metric: ClassVar[str] = "f1"
    same_scale: ClassVar[tuple[str, ...]] = ("best f1", "precision", "recall")

    files: task_files.Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="The text of each side under the data root: a pattern, or a table by split or 'test.de'; "
        "{language} is the source for one side and the target for the other.",
    )
    reader: task_files.ReaderSettings = Field(
        "lines",
        description="Reader of one side. With 'gold', its labels are the names of sentences: for BUCC's files {name = "
        "'tsv', columns = [1], label = 0, header = false}.",
    )
    gold: task_files.Files | None = Field(
        None, description="Files with the names of a source and its target per line; none: the files are parallel."
    )
    parallel_share: float = Field(
        0.5, gt=0, le=1, description="Of parallel files, the share of pairs that keep both sides (BUCC: about 0.03)."
    )
    search: MiningSearch = Field(
        "max",
        description="Proposed pairs: each source's nearest target ('forward'), each target's nearest source "
        "('backward'), their 'intersection', or 'max': the best of both from the top, each sentence once (Artetxe & "
        "Schwenk 2019, section 3.2).",
    )
    margin: Margin = Field("ratio", description="Similarity, as in 'retrieval' (the same, section 3.1: ratio).")

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> MiningExamples:
        """Encode both texts of the split and of the dev set, with the pairs that translate each other."""
        found = []
        for name in (split, "dev"):
            query = self.query(name, language, root).require_pair()
            source, target = ([chunk for _, chunk in self._side(query, side)] for side in (query.source, language))
            if self.gold is None:
                source, target, gold = self._separate(query, source, target)
            else:
                gold = _read_gold(task_files.find_file(self.gold, query), source, target)
            found.append(Bitext(task_files.encode(source, vocab), task_files.encode(target, vocab), gold))
        return MiningExamples(*found)

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """Return the files of the split, and of the dev set, which determines the threshold."""
        return [*super().read_files(split, language, root), *super().read_files("dev", language, root)]

    def read_chunks(self, query: task_files.FileQuery) -> task_files.Chunks[Text]:
        """Read both texts."""
        return [chunk for language in (query.source, query.language) for chunk in self._side(query, language)]

    def measure(self, backbone: Backbone, vocab: Vocab, examples: MiningExamples) -> Scores:
        """Return `f1`, `precision` and `recall` at the dev set's threshold, and `best f1` at the scored set's own."""
        mined = []
        for text in (examples.scored, examples.dev):
            source, target = (self.vectors(backbone, vocab, side) for side in (text.source, text.target))
            around = MarginScorer.of(self.margin, source, target, self.neighbors)
            mined.append(mine(source, target, around, text.gold, self.search))
        scored, dev = mined
        bitext, threshold = examples.scored, dev.best_threshold()
        precision, recall, f1 = scored.scores_at(threshold)
        best = scored.scores_at(scored.best_threshold())[2]
        identity = identity_of(bitext.gold.ravel(), words_per_line(bitext.source), words_per_line(bitext.target))
        outcomes = Examples(*scored.by_source(threshold, bitext.gold, len(bitext.source)), identity)
        return Scores({"f1": f1, "precision": precision, "recall": recall, "best f1": best}, outcomes)

    def _side(self, query: task_files.FileQuery, language: str) -> task_files.Chunks[Text]:
        return task_files.read_text(
            self.name, self.reader, [language], Text, task_files.find_parts(self.files, query, language)
        )

    def _separate(
        self, query: task_files.FileQuery, source: list[Text], target: list[Text]
    ) -> tuple[list[Text], list[Text], NDArray[np.int64]]:
        """Return parallel text of which a fixed draw of pairs keeps both sides, and the rows of those pairs."""
        count, other = (sum(map(len, side)) for side in (source, target))
        if count != other:
            raise DataError(
                f"{self.name}: {query.split}: {count} lines in {self.source!r}, but {other} in {query.language!r}; "
                "expected parallel files, or files of pairs in 'gold'"
            )
        order = generator(Purpose.SAMPLE, 0, count).permutation(count)
        separated = order[max(1, round(self.parallel_share * count)) :]
        here, there = np.ones(count, np.bool_), np.ones(count, np.bool_)
        here[separated[::2]], there[separated[1::2]] = False, False
        rows = np.flatnonzero(here & there)
        gold = np.stack([(np.cumsum(side) - 1)[rows] for side in (here, there)], axis=1)
        return task_files.masked(source, here), task_files.masked(target, there), gold


def _read_gold(path: Path, source: list[Text], target: list[Text]) -> NDArray[np.int64]:
    """(g, 2) rows of the pairs whose names a file holds, in either order of the sides."""
    sides = []
    for side in (source, target):
        if any(chunk.labels is None for chunk in side):
            raise DataError(
                f"mining: {path} names sentences, but the reader of the text finds no names; set reader = {{name = "
                "'tsv', columns = [1], label = 0, header = false}, or what your files need"
            )
        names = [name for chunk in side for name in chunk.labels or []]
        sides.append({name: row for row, name in enumerate(names)})
        if len(sides[-1]) < len(names):
            raise DataError(f"mining: {path}: two sentences in {side[0].language!r} have the same name")
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


@dataclass(frozen=True)
class MinedPairs:
    """Proposed pairs, best first.

    pairs: (P, 2) rows of source and target. scores: (P,) their margins, descending. right: (P,) whether they are gold
    pairs. gold: number of gold pairs.
    """

    pairs: NDArray[np.int64]
    scores: NDArray[np.float32]
    right: NDArray[np.bool_]
    gold: int

    def best_threshold(self) -> float:
        """Return the margin with the highest F1: midway between the last accepted pair and the next."""
        found = np.arange(1, len(self.scores) + 1)
        f1 = 2 * np.cumsum(self.right) / (found + self.gold)
        ends = np.append(self.scores[1:] != self.scores[:-1], True)  # equal margins are accepted together
        last = int(np.argmax(np.where(ends, f1, -1)))
        below = self.scores[last + 1] if last + 1 < len(self.scores) else self.scores[last]
        return (float(self.scores[last]) + float(below)) / 2

    def by_source(self, threshold: float, gold: NDArray[np.int64], sources: int) -> tuple[Floats, Floats]:
        """Return twice the right pairs, and accepted and gold pairs together, of each source: F1 is their ratio.

        gold: (g, 2) the gold pairs.
        """
        accepted = self.scores >= threshold
        pairs = np.bincount(self.pairs[accepted, 0], minlength=sources)
        right = np.bincount(self.pairs[accepted & self.right, 0], minlength=sources)
        expected = np.bincount(gold[:, 0], minlength=sources)
        return (2 * right).astype(np.float64), (pairs + expected).astype(np.float64)

    def scores_at(self, threshold: float) -> tuple[float, float, float]:
        """Return precision, recall and F1, in percent, of the pairs whose margin reaches the threshold."""
        accepted = self.scores >= threshold
        found, right = int(accepted.sum()), int(self.right[accepted].sum())
        precision, recall = (100 * right / of if of else 0.0 for of in (found, self.gold))
        return precision, recall, 200 * right / (found + self.gold) if right else 0.0


def mine(
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    around: MarginScorer,
    gold: NDArray[np.int64],
    search: MiningSearch,
) -> MinedPairs:
    """Propose pairs of (n, H) and (m, H) vectors of length 1.

    gold: (g, 2) rows of source and target, each pair once.
    """
    forward, forward_scores = nearest(source, target, around)
    backward, backward_scores = nearest(target, source, around.reversed())
    there = np.stack([np.arange(len(source)), forward], axis=1)
    back = np.stack([backward, np.arange(len(target))], axis=1)
    mutual = backward[forward] == np.arange(len(source))
    pairs, scores = {
        "forward": (there, forward_scores),
        "backward": (back, backward_scores),
        "intersection": (there[mutual], forward_scores[mutual]),
        "max": (np.concatenate([there, back]), np.concatenate([forward_scores, backward_scores])),
    }[search]
    order = np.argsort(-scores, kind="stable")
    pairs, scores = pairs[order], scores[order]
    if search == "max":  # from the top, each sentence once
        kept, taken = np.zeros(len(pairs), np.bool_), (set[int](), set[int]())
        for place, (one, other) in enumerate(pairs.tolist()):
            if one not in taken[0] and other not in taken[1]:
                kept[place] = True
                taken[0].add(one)
                taken[1].add(other)
        pairs, scores = pairs[kept], scores[kept]
    keys, gold_keys = (side[:, 0] * len(target) + side[:, 1] for side in (pairs, gold))
    return MinedPairs(pairs, scores, np.isin(keys, gold_keys), len(gold))
