"""Registry of word tokenizers, which return words as character spans of the unchanged line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from interlace.core.registry import Registry
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.core.ragged import Ragged


class WordTokenizer(Settings, ABC):
    """Splits lines into words. Spans are in order, disjoint, not empty, and do not begin or end with white space."""

    @property
    def name(self) -> str:
        """The name of the entry."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_plugin_")

    @property
    def package_versions(self) -> str:
        """Names and versions of the packages that find the words; empty for our own code.

        They are part of cache keys, because another version may find other words.
        """
        return ""

    def of(self, language: str) -> WordTokenizer:  # noqa: ARG002 - most ignore the language
        """Return the word tokenizer for one language, a code such as `"fr"`.

        Raises:
            MissingDependencyError: that language needs a package that is not installed.
        """
        return self

    @abstractmethod
    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line, shape (total, 2) int32."""


WORD_TOKENIZERS: Registry[WordTokenizer] = Registry(__name__, "word tokenizer", WordTokenizer)
