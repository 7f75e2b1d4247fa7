"""Registry of static word vectors: one vector a word, all languages in one space; what contextual models are held against.

A method is settings; `fit` takes lines of words, or vectors that exist already, and gives vectors of each language in
one common space. Words stand in order of frequency, the most frequent first, as in the files of word2vec and fastText.
A vocabulary's subwords can stand in the place of words: what a model's table begins with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlace.core.errors import DataError, did_you_mean
from interlace.core.names import file_in
from interlace.core.registry import Registry
from interlace.core.settings import Settings
from interlace.text.lines import atomic, must_exist, read_lines, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress

SUBWORDS = "subwords"  # stands for all languages, where vectors are of a vocabulary's subwords, which they share


@dataclass(frozen=True)
class WordVectors:
    """The vectors of one language's words.

    words: distinct spellings, the most frequent first. vectors: (n, H) float32.

    Raises:
        DataError: there are not as many words as vectors, or a word stands twice.
    """

    language: str
    words: list[str]
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise DataError(
                f"word vectors of {self.language!r}: {len(self.words)} words, but an array of {self.vectors.shape}"
            )
        if len(self._numbers) < len(self.words):
            twice = next(word for number, word in enumerate(self.words) if self._numbers[word] != number)
            raise DataError(f"word vectors of {self.language!r}: the word {twice!r} stands in them twice")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        """H."""
        return int(self.vectors.shape[1])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _folded(self) -> dict[str, int]:
        """The most frequent spelling of each word, case apart."""
        return {word.casefold(): number for number, word in reversed(list(enumerate(self.words)))}

    def find(self, words: Sequence[str], *, fold: bool = False) -> NDArray[np.int64]:
        """(len(words),) the row of each word, -1 where it has none.

        fold: a word that is not there as written is looked up in any case; the most frequent spelling is taken.
        """
        found = [self._numbers.get(word, -1) for word in words]
        if fold:
            pairs = zip(words, found, strict=True)
            found = [self._folded.get(word.casefold(), -1) if row < 0 else row for word, row in pairs]
        return np.array(found, np.int64)

    def top(self, most: int) -> WordVectors:
        """The most frequent words."""
        return self if most >= len(self) else WordVectors(self.language, self.words[:most], self.vectors[:most])

    def moved(self, vectors: NDArray[np.float32]) -> WordVectors:
        """The same words with other vectors."""
        return replace(self, vectors=vectors)

    # ---- on disk ----

    def save(self, folder: Path | str) -> None:
        """Write `LANGUAGE.safetensors` and `LANGUAGE.words` (a word a line) into a folder.

        Raises:
            DataError: the language's name cannot be that of a file.
        """
        from safetensors.numpy import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        words, vectors = (file_in(folder, f"{self.language}{suffix}") for suffix in (".words", _SUFFIX))
        write_lines(words, _as_lines(self.words))
        with atomic(vectors) as partial:  # a link that stands there is replaced and not followed
            save_file({"vectors": np.ascontiguousarray(self.vectors)}, partial)

    @classmethod
    def load(cls, folder: Path | str, language: str) -> WordVectors:
        """What `save` wrote.

        Raises:
            DataError: the folder has none for this language (says for which it has), or a file is damaged.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = Path(folder) / f"{language}{_SUFFIX}"
        if not path.is_file():
            raise DataError(f"{folder}: no word vectors of {language!r}{did_you_mean(language, languages_in(folder))}")
        try:
            vectors = load_file(path)["vectors"]
        except (KeyError, SafetensorError) as error:
            raise DataError(f"{path}: damaged word vectors: {error}") from error
        return cls(language, list(read_lines(must_exist(path.with_suffix(".words")))), vectors)

    @classmethod
    def read(cls, path: Path | str, language: str, most: int | None = None) -> WordVectors:
        """From the text format of word2vec and fastText (`.vec`): a line `words width`, then a word and its numbers.

        most: how many are read; the files are sorted by frequency. A word that comes again is passed over.

        Raises:
            DataError: no header, a line of another width or with something that is no number; names file and line.
        """
        from interlace.embeddings._vec_files import read_vec

        return cls(language, *read_vec(Path(path), most))

    def write(self, path: Path | str) -> None:
        """In the text format of word2vec and fastText; gzip by suffix.

        Raises:
            DataError: a word is empty, or holds a blank or a line feed.
        """
        from interlace.embeddings._vec_files import write_vec

        write_vec(Path(path), self.words, self.vectors)


def _as_lines(words: Sequence[str]) -> Iterator[str]:
    """Lines that are read back as these words: a file's first mark and a line's last return are lost in reading."""
    for number, word in enumerate(words):
        mark = "\ufeff" if not number and word.startswith("\ufeff") else ""
        yield f"{mark}{word}\r" if word.endswith("\r") else mark + word


def is_text_file(name: str) -> bool:
    """Whether vectors of that name are a file of `WordVectors.read`; else they are a folder of `WordVectors.save`."""
    return Path(name).suffix in _TEXT_SUFFIXES


def languages_in(folder: Path | str) -> list[str]:
    """The languages whose vectors a folder holds."""
    return sorted(path.stem for path in Path(folder).glob(f"*{_SUFFIX}"))


@dataclass(frozen=True)
class EmbeddingSources:
    """What vectors are learnt from.

    texts: by language, lines of words; each is read as often as a method asks. given: by language, vectors that exist
    already. dictionaries: by source and target language.
    """

    texts: Mapping[str, Iterable[Sequence[str]]] = field(default_factory=dict)
    given: Mapping[str, WordVectors] = field(default_factory=dict)
    dictionaries: Mapping[tuple[str, str], Lexicon] = field(default_factory=dict)

    @property
    def languages(self) -> list[str]:
        """All languages with text or vectors."""
        return list(dict.fromkeys([*self.texts, *self.given]))


@dataclass(frozen=True)
class CrossLingualVectors:
    """Vectors by language, in one space, and what there is to tell of how they came about: plain data."""

    vectors: dict[str, WordVectors]
    about: dict[str, Any] = field(default_factory=dict)


class EmbeddingMethod(Settings, ABC):
    """A way to word vectors of several languages in one space. Its fields are its settings."""

    needs: ClassVar[frozenset[str]] = frozenset()  # {"dictionaries"}, {"texts"}: what it cannot do without
    joint: ClassVar[bool] = False  # whether it learns from all texts together, so that one text is enough

    @property
    def name(self) -> str:
        """The public name: that of the member's file."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_guest_")

    @property
    def most(self) -> int | None:
        """How many words it takes of vectors that exist already, the most frequent; None: all."""
        return None

    @abstractmethod
    def fit(self, sources: EmbeddingSources, seed: int = 0, progress: Progress | None = None) -> CrossLingualVectors:
        """Learn from all sources; equal sources, settings and seed give equal vectors.

        progress: called with what is done, steps done and steps in all.

        Raises:
            DataError: what the method needs is missing, or a text is too small for its settings.
            MissingDependencyError: vectors are to be learnt from text, and gensim is not installed.
        """


EMBEDDING_METHODS: Registry[Any] = Registry(__name__, "method of word vectors", EmbeddingMethod)
_SUFFIX = ".safetensors"
_TEXT_SUFFIXES = {".vec", ".txt", ".gz"}
