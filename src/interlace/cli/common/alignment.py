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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from interlace.aligners import ALIGNERS, DEFAULT_ALIGNER
from interlace.alignment import WordPairs
from interlace.alignment.formats import read_alignments
from interlace.alignment.gold_text import check_not_numbered, read_gold_text
from interlace.alignment.links import select_links
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
        reader_name = reader or ("lines" if len(files) == 2 else "joined")
        reader_class = READERS.get(reader_name)
        codes = _languages(languages, files)
        paths = [must_exist(path) for path in with_stdin(files)]
        if not reader:
            for path in paths:
                check_not_numbered(path)
        word_reader = reader_of_words(
            reader_class, paths, codes, word_tokenizer, f"--reader {reader_name}"
        )
        text = cls(paths, codes, word_reader)
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
        if isinstance(self.reader, Gold):
            return read_gold_text(*self.files).numbers
        return None

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


def _languages(option: str, files: Sequence[Path]) -> list[str]:
    """Return the codes of both languages; by default from the suffixes of two files."""
    if option:
        codes = [code.strip() for code in option.split(",")]
        if len(codes) != 2 or not all(codes):
            raise SettingsError(
                f"--languages {option!r}: expected source and target, such as en,de"
            )
        return codes
    if len(files) == 1:
        return ["source", "target"]
    return [language_of(files[0]) or "source", language_of(files[1]) or "target"]


_MAX_OUTSIDE = (
    0.01  # share of links outside of their sentences above which the alignments are rejected
)
_LINK_LINE = re.compile(r"\s*\d+[-:?pP]\d+([ :]\S+)*\s*")


@dataclass(frozen=True)
class AlignedText:
    """Parallel text and its alignments; confidence: of each link, (links,), 1 where it is unknown."""

    text: Source
    words: WordPairs
    links: Ragged
    confidence: NDArray[np.float32]


def read_aligned_text(
    files: Sequence[Path],
    *,
    confidence: Path | None,
    min_confidence: float,
    languages: str,
    word_tokenizer: str,
    reader: str,
) -> AlignedText:
    """Read parallel text and its alignments (the last file), or align the text if there is no such file.

    The word tokenizer that `align` recorded beside the alignments is used unless another one is given.
    """
    if (confidence is None) != (not min_confidence):
        raise SettingsError("--confidence FILE and --min-confidence NUMBER must be given together")
    if not 1 <= len(files) <= 3:
        raise SettingsError(f"expected SRC TGT [ALIGNMENTS], found {len(files)} files")
    files = [must_exist(path) for path in with_stdin(files)]
    text_files = files
    alignments = None
    if len(files) == 3 or (len(files) == 2 and _holds_links(files[1])):
        *text_files, alignments = files
        word_tokenizer = _recorded_tokenizer(alignments, word_tokenizer)
    elif confidence is not None:
        raise SettingsError(
            "--confidence: name the alignments that it belongs to: SRC TGT ALIGNMENTS"
        )
    text = Source.of(text_files, languages, reader, word_tokenizer)
    with watching() as progress:
        words, _ = numbered([text], progress)
        if alignments is None:
            log.info("no alignments given: aligning %d pairs with %s", len(words), DEFAULT_ALIGNER)
            fitted = ALIGNERS.build(DEFAULT_ALIGNER).fit(words, None, progress)
            aligned = fitted.align_training_pairs(words)
            return AlignedText(text, words, aligned.links, aligned.confidence)
    links = _read_links(alignments, words, text)
    if confidence is None:
        return AlignedText(text, words, links, np.ones(len(links.flat), np.float32))
    values = _read_confidence(must_exist(confidence, "file of confidences"), links)
    is_confident = values >= np.float32(min_confidence)
    return AlignedText(text, words, select_links(links, is_confident), values[is_confident])


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


def _recorded_tokenizer(alignments: Path, option: str) -> str:
    """Return the word tokenizer recorded beside alignments, or the option if there is no record."""
    path = record_path(alignments)
    if not path.is_file():
        return option
    record: _Record = read_json(path, _Record, remedy="expected the record of `interlace align`")
    name = record["word_tokenizer"]
    if option not in {AUTO, name}:
        raise SettingsError(f"--word-tokenizer {option}: {alignments} was made with {name!r}")
    return name


def with_stdin(files: Sequence[Path]) -> list[Path]:
    """Return the files with `-`, standard input, copied to a temporary file; reject several, or an empty one."""
    standard_input = Path("-")
    if standard_input not in files:
        return list(files)
    if list(files).count(standard_input) > 1:
        raise SettingsError("-: standard input can be one of the files, not several")
    with NamedTemporaryFile(prefix="interlace-", delete=False) as copy:
        atexit.register(Path(copy.name).unlink, missing_ok=True)
        shutil.copyfileobj(sys.stdin.buffer, copy)
    if not Path(copy.name).stat().st_size:
        raise DataError("-: standard input is empty")
    return [Path(copy.name) if path == standard_input else path for path in files]


def _holds_links(path: Path) -> bool:
    """Return whether the first lines with content hold alignment links: text may begin with a score such as 1-0."""
    lines = (line for line in read_lines(path) if line.strip())
    first_lines = list(islice(lines, 20))
    return bool(first_lines) and all(_LINK_LINE.fullmatch(line) for line in first_lines)


def _read_confidence(path: Path, links: Ragged) -> NDArray[np.float32]:
    """Read the confidence of each link, a line for each pair."""
    counts = links.lengths.tolist()
    rows: list[NDArray[np.float32]] = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            rows.append(np.array(line.split(), np.float32))
        except ValueError:
            raise DataError(f"{path}, line {number}: expected numbers, found {line!r}") from None
        if number <= len(counts) and len(rows[-1]) != counts[number - 1]:
            raise DataError(
                f"{path}, line {number}: {len(rows[-1])} confidences of {counts[number - 1]} links"
            )
    if len(rows) != len(counts):
        raise DataError(
            f"{path}: {len(rows):,} lines of confidences, but the text has {len(counts):,} pairs"
        )
    return np.concatenate(rows)


def _read_links(path: Path, words: WordPairs, text: Source) -> Ragged:
    """Read alignments; warn of links outside of their sentences, and reject the alignments if there are many."""
    alignments = read_alignments(path, (words.source.lengths, words.target.lengths), text.numbers)
    if alignments.beyond > _MAX_OUTSIDE * (alignments.beyond + len(alignments.possible.flat)):
        problems = "; ".join(f"{count:,} {note}" for note, count in alignments.notes.items())
        raise DataError(
            f"{path}: {problems}. The alignments belong to another text, or to another word tokenizer than "
            f"{words.word_tokenizer!r}"
        )
    for note, count in alignments.notes.items():
        log.warning("%s: %d %s", path, count, note)
    return alignments.possible
