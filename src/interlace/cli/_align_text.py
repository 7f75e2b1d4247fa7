"""Text that is to be aligned: read, split into words and numbered as it streams; a hint where it was never split."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.alignment import WordPairs
from interlace.alignment.gold_text import read_gold_text
from interlace.cli._options import language_of
from interlace.core.errors import DataError, SettingsError
from interlace.data.inspection.tokenised import is_untokenized
from interlace.readers import READERS
from interlace.readers.gold import Gold
from interlace.text import TextPairs
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.core.progress import Progress

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Files of pairs.

    files: one a side, or one for both. languages: of source and target. reader: what reads them.
    """

    files: list[Path]
    languages: list[str]
    reader: Any

    @classmethod
    def of(cls, files: Sequence[Path], languages: str, reader: str, word_tokenizer: str) -> Source:
        """From what was asked for; nothing is read yet.

        Raises:
            SettingsError: not one or two files, not two languages, or no such reader or word tokenizer.
            DataError: a file is missing.
        """
        if not 1 <= len(files) <= 2:
            raise SettingsError(f"pairs stand in two files, or in one as `source ||| target`; found {len(files)} files")
        name = reader or ("lines" if len(files) == 2 else "joined")
        kind = READERS.get(name)
        finds_words = (
            "word_tokenizer" in kind.model_fields or word_tokenizer != "blanks"
        )  # a reader that cannot be asked says so
        built = kind.read({"word_tokenizer": word_tokenizer} if finds_words else {}, f"--reader {name}")
        return cls([must_exist(path) for path in files], _languages(languages, files), built)

    def like(self, files: Sequence[Path]) -> Source:
        """Other files, one a side, in the same languages and split in the same way."""
        reader = READERS.get("lines")(word_tokenizer=self.word_tokenizer)
        return Source([must_exist(path) for path in files], self.languages, reader)

    @property
    def word_tokenizer(self) -> str:
        """What finds the words; of readers whose files say where words are, that which keeps them."""
        return str(getattr(self.reader, "word_tokenizer", "blanks"))

    @property
    def numbers(self) -> NDArray[np.int64] | None:
        """The numbers that the files give their pairs, where they are the text of gold links."""
        return read_gold_text(*self.files).numbers if isinstance(self.reader, Gold) else None

    def chunks(self) -> Iterator[TextPairs]:
        """The pairs, a chunk at a time.

        Raises:
            DataError: a file cannot be read, or holds no pairs; names file and line.
        """
        for number, chunk in enumerate(self.reader.read_chunks(self.files, self.languages)):
            if not isinstance(chunk, TextPairs):
                raise DataError(f"{self.files[0]}: the reader gives single sentences, where pairs are expected")
            if not number:
                self._hint(chunk)
            yield chunk

    def _hint(self, chunk: TextPairs) -> None:
        names = [str(path) for path in self.files] * (3 - len(self.files))
        unsplit = [name for name, side in zip(names, (chunk.source, chunk.target), strict=True) if is_untokenized(side)]
        if unsplit and self.word_tokenizer == "blanks" and not isinstance(self.reader, Gold):
            message = (
                "%s: looks like plain text, but words are what stands between blanks; try --word-tokenizer unicode"
            )
            log.warning(message, " and ".join(dict.fromkeys(unsplit)))


def numbered(sources: Sequence[Source], spool: Path, progress: Progress) -> tuple[WordPairs, int]:
    """All words of the sources, and how many pairs the first of them has; these come first."""
    rows = np.zeros(len(sources), np.int64)

    def chunks() -> Iterator[TextPairs]:
        for number, source in enumerate(sources):
            for chunk in source.chunks():
                rows[number] += len(chunk)
                progress("reading", int(rows.sum()), 0)
                yield chunk

    words = WordPairs.of(chunks(), spool)
    return words, int(rows[0])


def _languages(asked: str, files: Sequence[Path]) -> list[str]:
    if asked:
        codes = [code.strip() for code in asked.split(",")]
        if len(codes) != 2 or not all(codes):
            raise SettingsError(f"--languages {asked!r}: expected those of source and target, such as en,de")
        return codes
    found = [language_of(path) for path in files] if len(files) == 2 else ["", ""]
    return [code or side for code, side in zip(found, ("source", "target"), strict=True)]
