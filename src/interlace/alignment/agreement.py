"""How links agree with those that people drew: precision, recall, F1 and alignment error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment.links import found_in, ordered
from interlace.core.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged


@dataclass(frozen=True)
class Agreement:
    """Counts over a corpus, and rates from them; the counts of parts of a corpus can be added.

    links: found by an aligner. sure, possible: drawn by people; sure ones are possible too.
    in_sure, in_possible: links found that are sure, and that are possible.

    Rates are shares from 0 to 1 (Och and Ney 2003, section 5). Where there is nothing to be wrong about, nothing is:
    no links found have precision 1, no sure links drawn have recall 1, and neither of both has an error rate of 0.
    """

    links: int = 0
    sure: int = 0
    possible: int = 0
    in_sure: int = 0
    in_possible: int = 0

    @property
    def precision(self) -> float:
        """The share of links found that are possible."""
        return self.in_possible / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """The share of sure links that are found."""
        return self.in_sure / self.sure if self.sure else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 where both are."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def aer(self) -> float:
        """The alignment error rate: 1 - (in sure + in possible) / (links + sure)."""
        drawn = self.links + self.sure
        return 1 - (self.in_sure + self.in_possible) / drawn if drawn else 0.0

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.links + other.links,
            self.sure + other.sure,
            self.possible + other.possible,
            self.in_sure + other.in_sure,
            self.in_possible + other.in_possible,
        )

    def __str__(self) -> str:
        rates = f"precision {self.precision:.1%}, recall {self.recall:.1%}, F1 {self.f1:.1%}, AER {self.aer:.1%}"
        more = self.possible - self.sure
        gold = f"{self.sure:,} sure" + (f" and {more:,} possible" if more else "")
        return f"{rates} ({self.links:,} links; gold: {gold})"


def agreement(links: Ragged, sure: Ragged, possible: Ragged | None = None) -> Agreement:
    """Compare links of n pairs with gold ones, counted over the corpus as a whole.

    links, sure: n rows of (source word, target word), in any order; one that stands twice in its row counts once.
    possible: as well; what is sure is possible whether it stands there or not. None where all links are sure.

    Raises:
        DataError: they differ in rows.
    """
    counts = agreement_by_pair(links, sure, possible).sum(axis=0)
    return Agreement(*map(int, counts))


def agreement_by_pair(links: Ragged, sure: Ragged, possible: Ragged | None = None) -> NDArray[np.int64]:
    """(n, 5) the same of each pair by itself, in the order of the fields of `Agreement`.

    Raises:
        DataError: as `agreement`.
    """
    possible = sure if possible is None else possible
    if not len(links) == len(sure) == len(possible):
        raise DataError(
            f"links of {len(links)} pairs, but gold of {len(sure)} (sure) and {len(possible)} (possible); "
            f"each pair has one row in all"
        )
    links, sure, possible = (ordered(side.rows(), side.flat, len(side)) for side in (links, sure, possible))
    in_sure, in_possible = found_in(links, sure), found_in(links, possible)
    only_sure = _by_row(sure, ~found_in(sure, possible))
    agreed = _by_row(links, in_sure), _by_row(links, in_sure | in_possible)
    return np.stack([links.lengths, sure.lengths, possible.lengths + only_sure, *agreed], axis=1)


def _by_row(links: Ragged, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(n,) how many links of each pair are such."""
    return np.bincount(links.rows()[which], minlength=len(links)).astype(np.int64)
