"""Read parallel text for the alignment commands: split into words and numbered as it streams; its alignments."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.aligners import ALIGNERS, DEFAULT_ALIGNER
from interlace.alignment import WordPairs
from interlace.alignment.formats import read_alignments
from interlace.alignment.gold_text import read_gold_text
from interlace.alignment.phrases import PhraseRules
from interlace.cli.common.options import language_of
from interlace.cli.common.progress import watching
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_exist
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged
from interlace.data.inspection import is_untokenized
from interlace.readers import READERS
from interlace.readers.gold import Gold
from interlace.text import TextPairs
from interlace.text.lines import read_lines

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Parallel text files.

    files: one per side, or one for both. languages: of source and target. reader: the reader plugin.
    """

    files: list[Path]
    languages: list[str]
    reader: Any

    @classmethod
    def of(cls, files: Sequence[Path], languages: str, reader: str, word_tokenizer: str) -> Source:
        """Build from command line options, without reading.

        Raises:
            SettingsError: not one or two files, not two languages, or no such reader or word tokenizer.
            DataError: a file is missing.
        """
        if not 1 <= len(files) <= 2:
            raise SettingsError(
                f"expected two parallel files, or one with lines `source ||| target`; found {len(files)} files"
            )
        name = reader or ("lines" if len(files) == 2 else "joined")
        kind = READERS.get(name)
        finds_words = (
            "word_tokenizer" in kind.model_fields or word_tokenizer != "whitespace"
        )  # other readers report the unknown key
        built = kind.read({"word_tokenizer": word_tokenizer} if finds_words else {}, f"--reader {name}")
        return cls([must_exist(path) for path in files], _languages(languages, files), built)

    def like(self, files: Sequence[Path]) -> Source:
        """Return other files, one per side, with the same languages and word tokenizer."""
        reader = READERS.get("lines")(word_tokenizer=self.word_tokenizer)
        return Source([must_exist(path) for path in files], self.languages, reader)

    @property
    def word_tokenizer(self) -> str:
        """The word tokenizer; `whitespace` for readers whose files are tokenized."""
        return str(getattr(self.reader, "word_tokenizer", "whitespace"))

    @property
    def numbers(self) -> NDArray[np.int64] | None:
        """Sentence numbers of the gold text format; None for other formats."""
        return read_gold_text(*self.files).numbers if isinstance(self.reader, Gold) else None

    def chunks(self) -> Iterator[TextPairs]:
        """Read the pairs in chunks.

        Raises:
            DataError: a file cannot be read, or holds no pairs; names file and line.
        """
        for number, chunk in enumerate(self.reader.read_chunks(self.files, self.languages)):
            if not isinstance(chunk, TextPairs):
                raise DataError(f"{self.files[0]}: the reader returns single sentences; expected pairs")
            if not number:
                self._hint(chunk)
            yield chunk

    def _hint(self, chunk: TextPairs) -> None:
        names = [str(path) for path in self.files] * (3 - len(self.files))
        unsplit = [name for name, side in zip(names, (chunk.source, chunk.target), strict=True) if is_untokenized(side)]
        if unsplit and self.word_tokenizer == "whitespace" and not isinstance(self.reader, Gold):
            message = (
                "%s: looks like untokenized text, but words are split at white space; try --word-tokenizer unicode"
            )
            log.warning(message, " and ".join(dict.fromkeys(unsplit)))


def numbered(sources: Sequence[Source], spool: Path, progress: Progress) -> tuple[WordPairs, int]:
    """Return the numbered words of all sources, and the number of pairs of the first."""
    rows = np.zeros(len(sources), np.int64)

    def chunks() -> Iterator[TextPairs]:
        for number, source in enumerate(sources):
            for chunk in source.chunks():
                rows[number] += len(chunk)
                progress("reading", int(rows.sum()), 0)
                yield chunk

    words = WordPairs.of(chunks(), spool)
    return words, int(rows[0])


def _languages(given: str, files: Sequence[Path]) -> list[str]:
    if given:
        codes = [code.strip() for code in given.split(",")]
        if len(codes) != 2 or not all(codes):
            raise SettingsError(f"--languages {given!r}: expected source and target, such as en,de")
        return codes
    found = [language_of(path) for path in files] if len(files) == 2 else ["", ""]
    return [code or side for code, side in zip(found, ("source", "target"), strict=True)]


_MAX_OUTSIDE = 0.01  # share of links outside of their sentences above which the alignments are rejected
_LINK_LINE = re.compile(r"\s*\d+[-:?pP]\d+([ :]\S+)*\s*")


def linked(
    files: Sequence[Path],
    sure: tuple[Path | None, float],
    languages: str,
    word_tokenizer: str,
    reader: str,
    spool: Path,
) -> tuple[WordPairs, Ragged]:
    """Read parallel text and its alignments (the last file), or align the text if there is no such file.

    sure: file of confidences, and minimum confidence.

    Raises:
        SettingsError: wrong number of files, unknown reader or word tokenizer, or only one of confidences and minimum.
        DataError: a file is missing or damaged, or the alignments belong to another text.
    """
    grades, least = sure
    if (grades is None) != (not least):
        raise SettingsError("--confidence FILE and --min-confidence NUMBER must be given together")
    if not 1 <= len(files) <= 3:
        raise SettingsError(f"expected SRC TGT [ALIGNMENTS], found {len(files)} files")
    files = [must_exist(path) for path in files]
    given = len(files) == 3 or (len(files) == 2 and _holds_links(files[1]))
    if grades is not None and not given:
        raise SettingsError("--confidence: name the alignments that it belongs to: SRC TGT ALIGNMENTS")
    text = text_of(files, languages, reader, word_tokenizer)
    with watching() as watch:
        words, _ = numbered([text], spool, watch)
        if not given:
            log.info("no alignments given: aligning %d pairs with %s", len(words), DEFAULT_ALIGNER)
            return words, ALIGNERS.build(DEFAULT_ALIGNER).fit(words, None, watch).align_training_pairs(words).links
    links = _links(files[-1], words, text)
    return words, links if grades is None else _sure(links, must_exist(grades, "file of confidences"), least)


def text_of(files: Sequence[Path], languages: str, reader: str, word_tokenizer: str) -> Source:
    """Return the parallel text of `SRC TGT [ALIGNMENTS]` or `SRC [ALIGNMENTS]`."""
    given = len(files) == 3 or (len(files) == 2 and _holds_links(files[1]))
    return Source.of(files[:-1] if given else files, languages, reader, word_tokenizer)


def _holds_links(path: Path) -> bool:
    """Return whether the first line with content holds alignment links."""
    line = next((line for line in read_lines(path) if line.strip()), "")
    return _LINK_LINE.fullmatch(line) is not None


def _sure(links: Ragged, path: Path, least: float) -> Ragged:
    """Return the links with at least the minimum confidence."""
    lengths, values = [], []
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = np.array(line.split(), np.float32)
        except ValueError:
            raise DataError(f"{path}, line {number}: {line[:40]!r}; expected numbers separated by spaces") from None
        lengths.append(len(row))
        values.append(row)
    if len(lengths) != len(links):
        raise DataError(f"{path}: {len(lengths):,} lines of confidences, but the text has {len(links):,} pairs")
    if (other := np.flatnonzero(links.lengths != lengths)).size:
        at = int(other[0])
        raise DataError(f"{path}, line {at + 1}: {lengths[at]} confidences of {links.lengths[at]} links")
    return PhraseRules(min_confidence=least).confident(links, np.concatenate(values))[0]


def _links(path: Path, words: WordPairs, text: Source) -> Ragged:
    read = read_alignments(path, (words.source.lengths, words.target.lengths), text.numbers)
    if read.beyond > _MAX_OUTSIDE * (read.beyond + len(read.possible.flat)):
        raise DataError(
            f"{path}: {'; '.join(f'{count:,} {note}' for note, count in read.notes.items())}. The "
            f"alignments belong to another text, or to another word tokenizer than {words.word_tokenizer!r}"
        )
    for note, count in read.notes.items():
        log.warning("%s: %d %s", path, count, note)
    return read.possible
