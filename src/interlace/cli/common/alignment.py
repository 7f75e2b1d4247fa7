"""Read parallel text for the alignment commands: split into words and numbered as it streams; its alignments."""

from __future__ import annotations

import atexit
import logging
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from interlace.aligners import ALIGNERS, DEFAULT_ALIGNER
from interlace.alignment import WordPairs
from interlace.alignment.formats import read_alignments
from interlace.alignment.gold_text import check_not_numbered, read_gold_text
from interlace.alignment.phrases import PhraseRules
from interlace.cli.common.options import language_of
from interlace.cli.common.progress import watching
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_exist
from interlace.core.json_files import json_record, read_json
from interlace.core.outputs import Output
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged
from interlace.data.tokenization import AUTO, reader_of_words
from interlace.readers import READERS, read_pairs
from interlace.readers.gold import Gold
from interlace.text import TextPairs
from interlace.text.lines import read_lines

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Parallel text: files, one per side or one for both, the languages of source and target, and the reader."""

    files: list[Path]
    languages: list[str]
    reader: Any

    @classmethod
    def of(cls, files: Sequence[Path], languages: str, reader: str, word_tokenizer: str) -> Source:
        """Build from command line options; `-` is standard input. `auto` as word tokenizer reads the first rows."""
        if not 1 <= len(files) <= 2:
            raise SettingsError(
                f"expected two parallel files, or one with lines `source ||| target`; found {len(files)} files"
            )
        name = reader or ("lines" if len(files) == 2 else "joined")
        kind, found = READERS.get(name), _languages(languages, files)
        paths = [must_exist(path) for path in with_stdin(files)]
        if not reader:
            for path in paths:
                check_not_numbered(path)
        text = cls(paths, found, reader_of_words(kind, paths, found, word_tokenizer, f"--reader {name}"))
        if word_tokenizer == AUTO and text.word_tokenizer != "whitespace":
            message = "untokenized text in %s: words by --word-tokenizer %s"
            log.info(message, " and ".join(map(str, files)), text.word_tokenizer)
        return text

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
        """Read the pairs in chunks; raise a DataError as `read_pairs`."""
        return read_pairs(self.reader, self.files, self.languages)


def numbered(sources: Sequence[Source], progress: Progress) -> tuple[WordPairs, int]:
    """Return the numbered words of all sources, and the number of pairs of the first."""
    rows = np.zeros(len(sources), np.int64)

    def chunks() -> Iterator[TextPairs]:
        for number, source in enumerate(sources):
            for chunk in source.chunks():
                rows[number] += len(chunk)
                progress("reading", int(rows.sum()), 0)
                yield chunk

    words = WordPairs.of(chunks(), Path(gettempdir()))
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


class AlignedText(NamedTuple):
    """Parallel text and its alignments; confidence: of each link, (links,), 1 where it is unknown."""

    text: Source
    words: WordPairs
    links: Ragged
    confidence: NDArray[np.float32]


def linked(
    files: Sequence[Path], sure: tuple[Path | None, float], languages: str, word_tokenizer: str, reader: str
) -> AlignedText:
    """Read parallel text and its alignments (the last file), or align the text if there is no such file.

    The word tokenizer that `align` recorded beside the alignments is used unless another one is given.

    sure: file of confidences, and minimum confidence.
    """
    grades, least = sure
    if (grades is None) != (not least):
        raise SettingsError("--confidence FILE and --min-confidence NUMBER must be given together")
    if not 1 <= len(files) <= 3:
        raise SettingsError(f"expected SRC TGT [ALIGNMENTS], found {len(files)} files")
    files = [must_exist(path) for path in with_stdin(files)]
    given = len(files) == 3 or (len(files) == 2 and _holds_links(files[1]))
    if grades is not None and not given:
        raise SettingsError("--confidence: name the alignments that it belongs to: SRC TGT ALIGNMENTS")
    if given and (recorded := _recorded_tokenizer(files[-1])):
        if word_tokenizer not in {AUTO, recorded}:
            raise SettingsError(f"--word-tokenizer {word_tokenizer}: {files[-1]} was made with {recorded!r}")
        word_tokenizer = recorded
    text = Source.of(files[:-1] if given else files, languages, reader, word_tokenizer)
    with watching() as watch:
        words, _ = numbered([text], watch)
        if not given:
            log.info("no alignments given: aligning %d pairs with %s", len(words), DEFAULT_ALIGNER)
            made = ALIGNERS.build(DEFAULT_ALIGNER).fit(words, None, watch).align_training_pairs(words)
            return AlignedText(text, words, made.links, made.confidence)
    links = _links(files[-1], words, text)
    if grades is not None:
        links, confidence = _sure(links, must_exist(grades, "file of confidences"), least)
        return AlignedText(text, words, links, confidence)
    return AlignedText(text, words, links, np.ones(len(links.flat), np.float32))


def record_path(alignments: Path) -> Path:
    """Return the file beside alignments in which `align` records how they were made."""
    return alignments.with_name(f"{alignments.name}.json")


def record_of(alignments: Path) -> Output:
    """Return the record beside alignments as an output, which replaces an older record only."""

    def is_record(path: Path) -> bool:
        try:
            read_json(path, _Record)
        except DataError:
            return False
        return True

    return Output("--output", record_path(alignments), is_earlier=is_record, is_beside=True)


@json_record
class _Record(TypedDict):
    word_tokenizer: str


def _recorded_tokenizer(alignments: Path) -> str:
    """Return the word tokenizer recorded beside alignments; empty if there is no record."""
    path = record_path(alignments)
    if not path.is_file():
        return ""
    found: _Record = read_json(path, _Record, remedy="expected the record of `interlace align`")
    return found["word_tokenizer"]


def with_stdin(files: Sequence[Path]) -> list[Path]:
    """Return the files with `-`, standard input, copied to a temporary file; reject several, or an empty one."""
    if Path("-") not in files:
        return list(files)
    if list(files).count(Path("-")) > 1:
        raise SettingsError("-: standard input can be one of the files, not several")
    with NamedTemporaryFile(prefix="interlace-", delete=False) as copy:
        atexit.register(Path(copy.name).unlink, missing_ok=True)
        shutil.copyfileobj(sys.stdin.buffer, copy)
    if not Path(copy.name).stat().st_size:
        raise DataError("-: standard input is empty")
    return [Path(copy.name) if path == Path("-") else path for path in files]


def _holds_links(path: Path) -> bool:
    """Return whether the first lines with content hold alignment links: text may begin with a score such as 1-0."""
    lines = list(islice((line for line in read_lines(path) if line.strip()), 20))
    return bool(lines) and all(_LINK_LINE.fullmatch(line) for line in lines)


def _sure(links: Ragged, path: Path, least: float) -> tuple[Ragged, Any]:
    """Return the links with at least the minimum confidence, and their confidences."""
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
    return PhraseRules(min_confidence=least).confident(links, np.concatenate(values))


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
