"""Text that is to be aligned: read, split into words and numbered as it streams; a hint where it was never split."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from interlace.alignment import WordPairs
from interlace.alignment.formats import read_alignments
from interlace.alignment.gold_text import read_gold_text
from interlace.alignment.phrases import PhraseRules
from interlace.cli import output
from interlace.cli.common.options import language_of
from interlace.cli.common.progress import watching
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic, must_exist
from interlace.data.inspection import is_untokenized
from interlace.readers import READERS
from interlace.readers.gold import Gold
from interlace.text import TextPairs
from interlace.text.lines import read_lines, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

    from interlace.core.progress import Progress
    from interlace.core.ragged import Ragged

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
            "word_tokenizer" in kind.model_fields or word_tokenizer != "whitespace"
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
        return str(getattr(self.reader, "word_tokenizer", "whitespace"))

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
        if unsplit and self.word_tokenizer == "whitespace" and not isinstance(self.reader, Gold):
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


# FROM _align_links:
# Text and its links as `interlace phrases` and `interlace lexicon` read them.


_BEYOND = 0.01  # share of links outside their sentences from which on they are those of another text


def linked(
    files: Sequence[Path],
    sure: tuple[Path | None, float],
    languages: str,
    word_tokenizer: str,
    reader: str,
    spool: Path,
) -> tuple[WordPairs, Ragged]:
    """The words of a text, one file or two, and its links, the last file.

    sure: the file of the links' confidences, and the least that is wanted.

    Raises:
        SettingsError: not two or three files, no such reader or word tokenizer, or one half of `sure` without the other.
        DataError: a file is missing or damaged, or the links are those of another text.
    """
    grades, least = sure
    if (grades is None) != (not least):
        raise SettingsError("--confidence FILE and --min-confidence NUMBER are wanted together, or neither")
    if not 2 <= len(files) <= 3:
        raise SettingsError(f"expected the files of a text, one or two, and then its links; found {len(files)} files")
    path = must_exist(files[-1], "file of links")
    text = Source.of(files[:-1], languages, reader, word_tokenizer)
    try:
        with watching() as watch:
            words, _ = numbered([text], spool, watch)
    except DataError as error:
        if len(files) > 2 or reader:
            raise
        raise DataError(f"{error}; or is the file of links missing? SOURCE TARGET LINKS are wanted") from None
    links = _links(path, words, text)
    return words, links if grades is None else _sure(links, must_exist(grades, "file of confidences"), least)


def _sure(links: Ragged, path: Path, least: float) -> Ragged:
    """The links whose confidence, in the file, is high enough."""
    lengths, values = [], []
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = np.array(line.split(), np.float32)
        except ValueError:
            raise DataError(f"{path}, line {number}: {line[:40]!r}; expected numbers with blanks between") from None
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
    if read.beyond > _BEYOND * (read.beyond + len(read.possible.flat)):
        raise DataError(
            f"{path}: {'; '.join(f'{count:,} {note}' for note, count in read.notes.items())}. So many that nothing is "
            f"written: these are links of another text, or of words that another word tokenizer found than {words.word_tokenizer!r}"
        )
    for note, count in read.notes.items():
        log.warning("%s: %d %s", path, count, note)
    return read.possible


# FROM _align_output:
# Where results go: a file that appears whole at the end, or standard output.


def must_leave_room(into: Path | None, as_json: bool) -> None:
    """Standard output holds a result or a summary, never both."""
    if as_json and into is None:
        raise SettingsError("--json takes standard output; name a file for the result: --output FILE")


def say(into: Path | None, as_json: bool, summary: dict[str, Any]) -> None:
    """The summary, or the path of what was written; nothing where standard output holds the result."""
    if as_json:
        output.print_json(json.dumps(summary))
    elif into is not None:
        output.print(str(into), soft_wrap=True, highlight=False)


@contextmanager
def lines_to(path: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """What is yielded writes lines, part by part."""
    if path is not None:
        with writing(path) as write:
            yield write
        return
    with _standard_output() as file:
        yield lambda lines: file.writelines(line.encode("utf-8") + b"\n" for line in lines)


@contextmanager
def file_to(path: Path | None, spool: Path) -> Iterator[Path]:
    """A path to write a file at; without a file's name its content goes to standard output, through the spool."""
    if path is not None:
        with atomic(path) as partial:
            yield partial
        return
    result = spool / "result"
    yield result
    with _standard_output() as file, result.open("rb") as written:
        shutil.copyfileobj(written, file)


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    """As bytes. A reader that leaves early, such as `head`, ends the command with 141, as shells say."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        _drop_output()
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(141) from None
        raise


def _drop_output() -> None:
    """Send what is still held to nowhere, or Python fails to write it once more as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
