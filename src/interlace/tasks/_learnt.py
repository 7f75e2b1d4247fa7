"""Which entries of a dictionary training has read: a score over those tells of memory, one over others of alignment.

ALIGN-MLM (Tang et al. 2022, section 5) scores pairs that it pulled together along with others. Here a word is *seen*
where an entry of it was learnt from, and *held out* where neither it nor one of its translations stands in what was
learnt from. A word between the two only counts among all.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from pydantic import Field, PrivateAttr

from interlace.tasks import Task
from interlace.tasks._dictionary import read_entries
from interlace.tasks._files import FileQuery, Files, find_parts
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

log = logging.getLogger(__name__)

KEPT = "dictionaries"  # the folder of a run that holds what was learnt from: source, target, part and fate a line
DRAWN, USED = "drawn", "used"  # the part and the fate of what was learnt from
HELD_OUT, ALL = "held-out words", "all words"  # what a main score is over


def scored_words(metric: str, scores: Iterable[Mapping[str, float]]) -> str:
    """Over which words the main score of some rows is: `HELD_OUT`, `ALL`, or some one and some the other.

    metric: the main score. scores: of each row, everything that was measured.
    """
    told = {HELD_OUT if f"{metric}, all" in each and each.get("held out") else ALL for each in scores}
    return " or ".join(sorted(told, reverse=True))


@dataclass(frozen=True)
class Learnt:
    """Words of the entries that training has read, in lower case."""

    source: frozenset[str] = frozenset()
    target: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[tuple[str, str]]) -> Learnt:
        """The words of both sides."""
        pairs = [(source.casefold(), target.casefold()) for source, target in entries]
        return cls(frozenset(source for source, _ in pairs), frozenset(target for _, target in pairs))

    def among(self, source: Sequence[str], target: Sequence[str]) -> tuple[list[str], list[str]]:
        """Which of these words training has read, on each side: what a score is over hangs on them."""
        sides = (self.source, source), (self.target, target)
        one, other = (sorted(learnt & {word.casefold() for word in words}) for learnt, words in sides)
        return one, other

    def parts(self, groups: NDArray[np.int64], source: Sequence[str], target: Sequence[str]) -> Parts:
        """What each word asked is.

        groups: (m,) the number of the word asked of each entry. source, target: the words of each entry.
        """
        seen = np.bincount(groups, [word.casefold() in self.source for word in source]) > 0
        met = np.bincount(groups, [word.casefold() in self.target for word in target]) > 0
        return Parts(seen, ~(seen | met))


@dataclass(frozen=True)
class Parts:
    """seen, held_out: (n,) for each word asked, whether it is of that part."""

    seen: NDArray[np.bool_]
    held_out: NDArray[np.bool_]

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(n,) which words the main score is over: those held out, or all where none is."""
        return self.held_out if self.held_out.any() else np.ones(len(self.held_out), np.bool_)

    def scores(self, what: str, scored: Callable[[NDArray[np.bool_]], dict[str, float]]) -> dict[str, float]:
        """The scores of what is held out, and beside them those of all and of what was seen, where any was.

        what: names the task in a warning. scored: the scores of some of the words asked.
        """
        whole = np.ones(len(self.seen), np.bool_)
        if self.held_out.all():
            return scored(whole)
        if not self.held_out.any():
            log.warning(
                "%s: training has read all %d words that are asked, or their translations; the score is over these",
                what, len(whole),
            )  # fmt: skip
        others = {"all": whole, **({"seen": self.seen} if self.seen.any() else {})}
        told = {f"{key}, {part}": value for part, some in others.items() for key, value in scored(some).items()}
        return {**scored(self.counted), **told, "held out": 100 * float(self.held_out.mean())}


class DictionaryTask(Task):
    """A task over a dictionary that tells apart what the run that is scored has learnt from."""

    learnt: Files | None = Field(
        None,
        description="Dictionaries of which systems that are compared may have read entries, such as MUSE's "
        "'dict/{source}-{target}.0-5000.txt': words in them do not count in the score. Those kept with the run that is "
        "scored never do. '..txt[:500]' are the first 500 entries.",
    )
    _run: Path | None = PrivateAttr(None)

    def after(self, run: Path | None) -> Self:
        """The task that looks in this run for what was learnt from."""
        task = self.model_copy()
        task._run = run  # noqa: SLF001 - a copy of its own
        return task

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """The dictionary, and what was learnt of it; what a run keeps goes with its model."""
        asked = FileQuery(type(self).__name__, split, language, root, getattr(self, "source", ""))
        learnt = [part.path for part in find_parts(self.learnt, asked)] if self.learnt is not None else []
        return [*super().read_files(split, language, root), *learnt]

    def learnt_of(self, asked: FileQuery) -> Learnt:
        """What was learnt of the dictionary that is asked for.

        Raises:
            DataError: a file is named and not there, or it is no dictionary.
        """
        entries: list[tuple[str, str]] = []
        for part in find_parts(self.learnt, asked) if self.learnt is not None else []:
            pairs = list(zip(*read_entries(part.path), strict=True))
            entries += pairs[part.rows] if part.rows else pairs
        if self._run is not None:
            entries += _kept(self._run / KEPT, asked.source, asked.of)
        return Learnt.of(entries)


def _kept(folder: Path, source: str, target: str) -> Iterator[tuple[str, str]]:
    """The entries in a run's folder that were learnt from, in either direction of the dictionary."""
    for name, turned in ((f"*.{source}-{target}.tsv", False), (f"*.{target}-{source}.tsv", True)):
        for path in sorted(folder.glob(name)):
            for cells in (line.split("\t") for line in read_lines(path)):
                if cells[2:] == [DRAWN, USED]:
                    yield (cells[1], cells[0]) if turned else (cells[0], cells[1])
