"""Registry of word tokenizers: what counts as a word, as character spans on the unchanged line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from interlace.core.registry import Registry
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.core.ragged import Ragged


class WordTokenizer(Settings, ABC):
    """Finds words. Spans are in order, disjoint, never empty and never hold white space at their ends."""

    @property
    def name(self) -> str:
        """The public name: that of the member's file."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_guest_")

    @property
    def made_with(self) -> str:
        """The packages that find the words, with their versions; empty for what this package does by itself.

        Another version may find other words, so what is made from them is made again.
        """
        return ""

    def of(self, language: str) -> WordTokenizer:  # noqa: ARG002 - most find words in the same way in all languages
        """The word tokenizer for text of one language, a code such as `"fr"`; it counts as the same by name.

        Raises:
            MissingDependencyError: that language needs a package that is not installed.
        """
        return self

    @abstractmethod
    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans, shape (total, 2) int32."""


WORD_TOKENIZERS: Registry[WordTokenizer] = Registry(__name__, "word tokenizer", WordTokenizer)
