"""Registry of word tokenizers, which return words as character spans of the unchanged line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from interlace.core.errors import require
from interlace.core.ragged import Ragged
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry


class WordTokenizer(RegistryEntry, ABC):
    """Splits lines into words. Spans are in order, disjoint, not empty, and do not begin or end with white space.

    packages: what it needs besides our own; they are checked when it is built, without importing them.
    """

    packages: ClassVar[tuple[str, ...]] = ()

    def model_post_init(self, _context: Any) -> None:
        """Check that the packages are installed; raise a MissingDependencyError if one is not installed."""
        for package in self.packages:
            require(package, f"the word tokenizer {self.name!r}")

    @property
    def package_versions(self) -> str:
        """Names and versions of the packages, such as "jieba 0.42.1", for cache keys; empty for own code."""
        return ", ".join(f"{package} {_version(package)}" for package in self.packages)

    def of(self, language: str) -> WordTokenizer:  # noqa: ARG002 - most ignore the language
        """Return the word tokenizer for one language, a code such as `"fr"`; a package that it needs may be missing."""
        return self

    @abstractmethod
    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line, shape (total, 2) int32."""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # importable, but not installed by pip
        return "?"


WORD_TOKENIZERS: Registry[WordTokenizer] = Registry(__name__, "word tokenizer", WordTokenizer)
WordTokenizerName = Annotated[
    str, AfterValidator(lambda name: WORD_TOKENIZERS.get(name) and name)
]
