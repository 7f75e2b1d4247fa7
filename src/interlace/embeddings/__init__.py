"""Registry of methods for static word embeddings in one cross-lingual space.

A method is a set of settings; `fit` takes lines of words, or existing vectors, and returns vectors of each language in
one common space. Words are in order of decreasing frequency, as in the files of word2vec and fastText. The subwords of
a vocabulary can take the place of words, to initialize a model's embeddings.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import atomic, must_exist, must_not_be_special
from interlace.core.json_files import JsonObject
from interlace.core.names import file_in
from interlace.core.progress import Progress
from interlace.core.ragged import FloatArray, IntArray
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry
from interlace.text import LanguagePair
from interlace.text.lines import COMPRESSED, read_lines, write_lines

if TYPE_CHECKING:
    from interlace.alignment.lexicon import Lexicon

# the language of vectors of a vocabulary's subwords, which all languages share
SUBWORDS = "subwords"
_SUFFIX = ".safetensors"
_TEXT_SUFFIXES = {".vec", ".txt", *COMPRESSED}


@dataclass(frozen=True)
class WordVectors:
    """The vectors of one language's words; raise a DataError if their numbers differ, or a word is repeated.

    words: distinct spellings by decreasing frequency. vectors: (n, H) float32.
    """

    language: str
    words: list[str]
    vectors: FloatArray

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise DataError(
                f"word vectors of {self.language!r}: {len(self.words)} words, but an array of {self.vectors.shape}"
            )
        if len(self._rows) < len(self.words):
            (repeated, _), *_ = Counter(self.words).most_common(1)
            raise DataError(f"word vectors of {self.language!r}: duplicate word {repeated!r}")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        """H."""
        return int(self.vectors.shape[1])

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def _folded(self) -> dict[str, int]:
        """The row of the most frequent spelling of each word, ignoring case."""
        return {word.casefold(): row for row, word in reversed(list(enumerate(self.words)))}

    def find(self, words: Sequence[str], *, fold: bool = False) -> IntArray:
        """(n,) the row of each word, -1: none; `fold`: else of its most frequent spelling in any case."""
        rows = [self._rows.get(word, -1) for word in words]
        if fold:
            for index, word in enumerate(words):
                if rows[index] < 0:
                    rows[index] = self._folded.get(word.casefold(), -1)
        return np.array(rows, np.int64)

    def top(self, count: int) -> WordVectors:
        """Return the `count` most frequent words."""
        if count >= len(self):
            return self
        return WordVectors(self.language, self.words[:count], self.vectors[:count])

    def with_vectors(self, vectors: FloatArray) -> WordVectors:
        """Return the same words with other vectors."""
        return replace(self, vectors=vectors)

    def save(self, folder: Path | str) -> None:
        """Write `LANGUAGE.safetensors` and `LANGUAGE.words` (a word per line); reject names of no valid file."""
        from safetensors.numpy import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        words_path = file_in(folder, f"{self.language}.words")
        vectors_path = file_in(folder, f"{self.language}{_SUFFIX}")
        # Reading drops a line's last return, so it is doubled.
        write_lines(
            words_path, (f"{word}\r" if word.endswith("\r") else word for word in self.words)
        )
        # replaces a symbolic link instead of following it
        with atomic(vectors_path) as partial:
            save_file({"vectors": np.ascontiguousarray(self.vectors)}, partial)

    @classmethod
    def load(cls, folder: Path | str, language: str) -> WordVectors:
        """Load what `save` wrote; raise a DataError, with the languages there are, if it is missing or damaged."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = Path(folder) / f"{language}{_SUFFIX}"
        must_not_be_special(path)
        if not path.is_file():
            raise DataError(
                f"{folder}: no word vectors of {language!r}{did_you_mean(language, languages_in(folder))}"
            )
        try:
            vectors = load_file(path)["vectors"]
        except (KeyError, SafetensorError) as error:
            raise DataError(f"{path}: damaged word vectors: {error}") from error
        return cls(language, list(read_lines(must_exist(path.with_suffix(".words")))), vectors)

    @classmethod
    def read(cls, path: Path | str, language: str, max_words: int | None = None) -> WordVectors:
        """Read the text format of word2vec and fastText (`.vec`): a line `words width`, then a word and its numbers.

        max_words: number of words to read; the files are sorted by frequency. Repeated words are skipped.
        """
        path = Path(path)
        lines = iter(read_lines(path))
        header = next(lines)
        cells = header.split()
        if len(cells) != 2 or not all(cell.isdecimal() for cell in cells) or int(cells[1]) < 1:
            raise DataError(
                f"{path}, line 1: expected the number of words and the width of their vectors, such as '200000 300', "
                f"found {header[:60]!r}"
            )
        count = int(cells[0])
        width = int(cells[1])
        wanted_words = count if max_words is None else min(max_words, count)
        rows: dict[str, int] = {}
        try:
            vectors = np.zeros((wanted_words, width), np.float32)
        except (MemoryError, ValueError):
            size = f"{wanted_words} vectors of width {width}"
            raise DataError(f"{path}, line 1: {size} are too many for the memory") from None
        read_words = 0
        for number, line in enumerate(lines, 2):
            if len(rows) == wanted_words < count:
                break
            if read_words < count:
                read_words += 1
                word, values = _parse_vector(path, number, line, width)
                if word not in rows:
                    vectors[len(rows)] = values
                    rows[word] = len(rows)
            elif line:
                raise DataError(
                    f"{path}, line {number}: more lines than the {count} words of the header"
                )
        if len(rows) < wanted_words and read_words < count:
            raise DataError(
                f"{path}: incomplete? the header says {count} words, but the file ends after {read_words}"
            )
        return cls(language, list(rows), vectors[: len(rows)])


def is_text_file(name: str) -> bool:
    """Return whether vectors of that name are a file of `WordVectors.read`, not a folder of `WordVectors.save`."""
    return Path(name).suffix in _TEXT_SUFFIXES


def languages_in(folder: Path | str) -> list[str]:
    """Return the languages whose vectors are in a folder."""
    return sorted(path.stem for path in Path(folder).glob(f"*{_SUFFIX}"))


def induce_lexicon(
    source: WordVectors, target: WordVectors, *, max_words: int = 15_000
) -> Lexicon:
    """Return mutual nearest neighbors by CSLS as a lexicon (Conneau et al. 2018, section 2.3), by source frequency.

    The vectors are in one space. Words without a letter are dropped.

    max_words: most frequent words of each language to use.
    """
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.neighbors import mutual_nearest, unit

    source = source.top(max_words)
    target = target.top(max_words)
    source_rows, target_rows = mutual_nearest(unit(source.vectors), unit(target.vectors), 10)
    source_words = [source.words[row] for row in source_rows.tolist()]
    target_words = [target.words[row] for row in target_rows.tolist()]
    return Lexicon.of(zip(source_words, target_words, repeat(1.0))).words()


@dataclass(frozen=True)
class EmbeddingSources:
    """The input of an embedding method.

    texts: by language, lines of words, iterated over several times. vectors: by language, existing vectors.
    dictionaries: by source and target language.
    """

    texts: Mapping[str, Iterable[Sequence[str]]] = field(default_factory=dict)
    vectors: Mapping[str, WordVectors] = field(default_factory=dict)
    dictionaries: Mapping[LanguagePair, Lexicon] = field(default_factory=dict)

    @property
    def languages(self) -> list[str]:
        """All languages with text or vectors."""
        return list(dict.fromkeys([*self.texts, *self.vectors]))


@dataclass(frozen=True)
class CrossLingualVectors:
    """Vectors by language, in one space, and a record of their training as plain data."""

    vectors: dict[str, WordVectors]
    about: JsonObject = field(default_factory=dict)


class EmbeddingMethod(RegistryEntry, ABC):
    """A way to get word vectors of several languages in one space; its fields are its settings."""

    needs: ClassVar[frozenset[str]] = frozenset()  # required input: {"dictionaries"}, {"texts"}
    # whether it trains on all texts together, so that one text is enough
    joint: ClassVar[bool] = False

    @property
    def max_words(self) -> int | None:
        """The number of most frequent words used of existing vectors; None: all."""
        return None

    @abstractmethod
    def fit(
        self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None
    ) -> CrossLingualVectors:
        """Train on all sources; equal sources, settings and seed give equal vectors.

        Raises:
            DataError: an input of the method is missing, or a text is too small for its settings.
            SettingsError: the pivot of a mapping is none of the languages.
            MissingDependencyError: vectors are trained on text, and gensim is not installed.
        """


EMBEDDING_METHODS: Registry[Any] = Registry(__name__, "embedding method", EmbeddingMethod)


def _parse_vector(path: Path, number: int, line: str, width: int) -> tuple[str, FloatArray]:
    """Parse a word and its numbers; words may contain white space other than U+0020, which is the separator."""
    word, _, numbers = line.partition(" ")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy's sign of an invalid number
        try:
            values = np.fromstring(numbers, np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            values = np.empty(0, np.float32)
    if not word or len(values) != width or not np.isfinite(values).all():
        raise DataError(
            f"{path}, line {number}: expected a word and {width} finite numbers separated by single blanks, "
            f"found {line[:60]!r}"
        )
    return word, values
