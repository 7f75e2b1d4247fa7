"""What `interlace align` makes of links: lines, confidences, scores against gold, and the picture of one pair."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from interlace.alignment.pharaoh import pharaoh_lines
from interlace.cli._align_gold import Judge
from interlace.cli._align_output import lines_to, must_leave_room, say
from interlace.core.errors import SettingsError
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from interlace.aligners import Alignments
    from interlace.alignment import WordPairs
    from interlace.cli._align_text import Source
    from interlace.report.link_matrix import LinkMatrix


@dataclass
class Results:
    """What is asked for, and what came of it.

    into: a file for the links; None for standard output. pair: the number of the pair that `figure` shows, from 1.
    """

    into: Path | None
    confidence: Path | None
    figure: Path | None
    pair: int
    gold: Path | None
    as_json: bool
    judge: Judge | None = None
    links: int = 0

    def __post_init__(self) -> None:
        """What is asked for must be possible.

        Raises:
            SettingsError: results exclude each other, or a figure's name ends in no format.
            DataError: the gold links are missing.
            MissingDependencyError: the figure's format needs a package that is not installed.
        """
        must_leave_room(self.into, self.as_json)
        if self.gold is not None:
            must_exist(self.gold, "file of gold links")
        if self.figure is not None:
            from interlace.report.link_matrix import must_be_drawable

            must_be_drawable(self.figure)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is written to a screen, so that a bar may stand there."""
        return self.into is not None or not sys.stdout.isatty()

    def prepare(self, words: WordPairs, text: Source) -> None:
        """Read what belongs to the text, and see that it does, before time is spent on it.

        Raises:
            SettingsError: there is no such pair to draw.
            DataError: the gold links are those of another text.
        """
        if self.figure is not None and self.pair > len(words):
            raise SettingsError(f"--pair {self.pair}: the text has {len(words)} pairs")
        if self.gold is not None:
            self.judge = Judge.of(self.gold, words, text.numbers)

    def write(self, aligned: Iterable[tuple[WordPairs, Alignments]]) -> None:
        """Write the links of chunk after chunk, and the figure."""
        matrix = None
        grades_to = nullcontext() if self.confidence is None else lines_to(self.confidence)
        with lines_to(self.into) as write, grades_to as write_grades:
            for words, found in aligned:
                write(pharaoh_lines(found.links))
                if write_grades is not None:
                    write_grades(_grades(found))
                if self.judge is not None:
                    self.judge.see(words.first, found.links)
                if self.figure is not None and words.first < self.pair <= words.first + len(words):
                    matrix = self._matrix(words, found)
                self.links += len(found.links.flat)
        if self.figure is not None and matrix is not None:
            from interlace.report.link_matrix import write_figure

            write_figure(matrix, self.figure)

    def say(self, about: dict[str, Any]) -> None:
        """Scores to standard error, or all that is known as JSON."""
        gold = None if self.judge is None else self.judge.dump()
        if self.judge is not None and not self.as_json:
            self.judge.say()
        say(self.into, self.as_json, {**about, "links": self.links, "gold": gold})

    def _matrix(self, words: WordPairs, found: Alignments) -> LinkMatrix:
        """The pair that was asked for."""
        from interlace.report.link_matrix import LinkMatrix

        row = self.pair - 1 - words.first
        first, last = (found.links.offsets[row + step] - found.links.offsets[0] for step in (0, 1))
        gold = {}
        if self.judge is not None:
            read = self.judge.gold
            gold = {"sure": read.sure[self.pair - 1].tolist(), "possible": read.possible[self.pair - 1].tolist()}
        return LinkMatrix(
            corpus="-".join(words.languages) if words.languages != ("source", "target") else "",
            source=[words.source_types[word] for word in words.source[row]],
            target=[words.target_types[word] for word in words.target[row]],
            links=found.links[row].tolist(),
            confidence=found.confidence[first:last].tolist(),
            **gold,
        )


def _grades(found: Alignments) -> Iterator[str]:
    """The confidence of each link of a pair, a line a pair."""
    grades = [f"{grade:.4g}" for grade in found.confidence.tolist()]
    offsets = (found.links.offsets - found.links.offsets[0]).tolist()
    for start, stop in pairwise(offsets):
        yield " ".join(grades[start:stop])
