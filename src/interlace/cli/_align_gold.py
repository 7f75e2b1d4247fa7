"""Links compared with those that people drew, chunk by chunk."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from interlace.alignment.agreement import Agreement, agreement
from interlace.alignment.formats import read_alignments
from interlace.cli import notes

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from interlace.alignment import WordPairs
    from interlace.alignment.formats import GoldAlignments
    from interlace.core.ragged import Ragged


@dataclass
class Judge:
    """Gold links, and how those seen so far agree with them."""

    path: Path
    gold: GoldAlignments
    found: Agreement = field(default_factory=Agreement)

    @classmethod
    def of(cls, path: Path, words: WordPairs, numbers: NDArray[np.int64] | None) -> Judge:
        """The gold links of this text, whose pairs may have numbers of their own.

        Raises:
            DataError: the file cannot be read as links, or has other rows than the text.
        """
        return cls(path, read_alignments(path, (words.source.lengths, words.target.lengths), numbers))

    def see(self, first: int, links: Ragged) -> None:
        """Compare the links of the pairs from number `first` on, from 0."""
        sure, possible = (side.slice(first, first + len(links)) for side in (self.gold.sure, self.gold.possible))
        self.found += agreement(links, sure, possible)

    def dump(self) -> dict[str, Any]:
        """Rates as shares, counts, and how the file was read, for JSON."""
        rates = {name: getattr(self.found, name) for name in ("precision", "recall", "f1", "aer")}
        read = {"file": str(self.path), "format": self.gold.format, "base": self.gold.base, "notes": self.gold.notes}
        return {**rates, **asdict(self.found), **read}

    def say(self) -> None:
        """The same in words, on standard error."""
        told = [f"{self.path}: {self.gold.format}, words counted from {self.gold.base}"]
        told += [f"{count:,} {note}" for note, count in self.gold.notes.items()]
        notes.print("; ".join(told), highlight=False, soft_wrap=True, markup=False)
        notes.print(str(self.found), highlight=False, soft_wrap=True)
