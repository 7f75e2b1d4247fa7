"""What became of each word: counted over chunks of text and its derived text, and told as a dictionary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.text import TextPairs

if TYPE_CHECKING:
    from interlace.core.ragged import Ragged
    from interlace.text import Text


@dataclass
class Became:
    """counts: (word, derived word) -> how often, of words with a letter in them."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, old: Text, new: Text, links: Ragged) -> None:
        """Count the links of a chunk."""
        found = Lexicon.count(WordPairs.of([TextPairs(old, new, links)]), links).words()
        for entry in range(len(found)):
            source, target, count = found[entry]
            self.counts[source, target] += int(count)

    def entries(self) -> list[tuple[str, str]]:
        """All that was counted, the most frequent first."""
        return sorted(self.counts, key=lambda entry: (-self.counts[entry], entry))
