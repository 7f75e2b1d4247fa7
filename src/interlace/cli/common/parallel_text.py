"""Parallel text of the alignment commands: split into words and numbered as it streams."""

from __future__ import annotations

import atexit
import logging
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from interlace.alignment import WordPairs
from interlace.cli.common.options import TextOptions, language_names, language_of
from interlace.core.display import show_as
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_exist
from interlace.core.json_files import json_record, read_json
from interlace.core.outputs import STANDARD_INPUT, Output
from interlace.core.progress import Progress
from interlace.core.ragged import IntArray
from interlace.readers import READERS, read_pairs, reader_for
from interlace.readers.common.tokenization import (
    AUTO,
    check_not_numbered,
    reader_with_word_tokenizer,
)
from interlace.text import TextPairs

log = logging.getLogger(__name__)


@json_record
class AlignmentRecord(TypedDict):
    """What `align` records beside alignments, and other commands read."""

    word_tokenizer: str
    languages: list[str]


@dataclass(frozen=True)
class ParallelFiles:
    """Parallel text: files, one per side or one for both, the languages of source and target, and the reader."""

    files: list[Path]
    languages: list[str]
    reader: Any

    @classmethod
    def of(
        cls, files: Sequence[Path], options: TextOptions, recorded: Sequence[str] = ()
    ) -> ParallelFiles:
        """Build from command line options; `-` is standard input. `auto` as word tokenizer reads the first rows.

        recorded: languages, unless there is an option; else those of the files' names.
        """
        if not 1 <= len(files) <= 2:
            raise SettingsError(
                f"expected two parallel files, or one with lines `source ||| target`; found {len(files)} files"
            )
        default_reader = "lines" if len(files) == 2 else reader_for(files[0], "joined")
        reader_name = options.reader or default_reader
        reader_class = READERS.get(reader_name)
        codes = language_names(options.languages, 2) or list(recorded) or _languages_of(files)
        paths = [must_exist(path) for path in with_stdin(files)]
        if not options.reader:
            for path in paths:
                check_not_numbered(path)
        word_reader = reader_with_word_tokenizer(
            reader_class, paths, codes, options.word_tokenizer, f"--reader {reader_name}"
        )
        text = cls(paths, codes, word_reader)
        if options.word_tokenizer == AUTO and text.word_tokenizer != "whitespace":
            message = "untokenized text in %s: words by --word-tokenizer %s"
            log.info(message, " and ".join(map(str, files)), text.word_tokenizer)
        return text

    def like(self, files: Sequence[Path]) -> ParallelFiles:
        """Return other files, one per side, with the same languages and word tokenizer."""
        reader = READERS.get("lines")(word_tokenizer=self.word_tokenizer)
        return ParallelFiles([must_exist(path) for path in files], self.languages, reader)

    @property
    def word_tokenizer(self) -> str:
        """The word tokenizer; `whitespace` for readers whose files are tokenized."""
        return str(getattr(self.reader, "word_tokenizer", "whitespace"))

    @property
    def numbers(self) -> IntArray | None:
        """Sentence numbers of the gold text format; None for other formats."""
        if self.reader.name != "gold":
            return None
        from interlace.alignment.gold_text import read_gold_text

        return read_gold_text(*self.files).numbers

    def chunks(self) -> Iterator[TextPairs]:
        """Read the pairs in chunks; raise a DataError as `read_pairs`."""
        return read_pairs(self.reader, self.files, self.languages)


def numbered(texts: Sequence[ParallelFiles], progress: Progress) -> tuple[WordPairs, int]:
    """Return the numbered words of all texts, and the number of pairs of the first."""
    rows = np.zeros(len(texts), np.int64)

    def chunks() -> Iterator[TextPairs]:
        for number, text in enumerate(texts):
            for chunk in text.chunks():
                rows[number] += len(chunk)
                progress("reading", int(rows.sum()), 0)
                yield chunk

    words = WordPairs.of(chunks(), Path(gettempdir()))
    return words, int(rows[0])


def _languages_of(files: Sequence[Path]) -> list[str]:
    """Return the languages of source and target by the suffixes of two files."""
    if len(files) == 1:
        return ["source", "target"]
    return [language_of(files[0]) or "source", language_of(files[1]) or "target"]


def record_path(alignments: Path) -> Path:
    """Return the file beside alignments in which `align` records how they were made."""
    return alignments.with_name(f"{alignments.name}.json")


def has_record(alignments: Path) -> bool:
    """Return whether alignments are an earlier output of `align`, which recorded how they were made."""
    return _is_record(record_path(alignments))


def record_of(alignments: Path) -> Output:
    """Return the record beside alignments as an output, which replaces an older record only."""
    return Output("--output", record_path(alignments), is_earlier=_is_record)


def _is_record(path: Path) -> bool:
    try:
        read_json(path, AlignmentRecord)
    except DataError:
        return False
    return True


def with_stdin(files: Sequence[Path]) -> list[Path]:
    """Return the files with standard input (`-`) copied to a temporary file; reject several, or an empty one."""
    paths = [STANDARD_INPUT if path == Path("-") else path for path in files]
    if STANDARD_INPUT not in paths:
        return paths
    if paths.count(STANDARD_INPUT) > 1:
        raise SettingsError("-: standard input can be one of the files, not several")
    with NamedTemporaryFile(prefix="interlace-", delete=False) as copy:
        atexit.register(Path(copy.name).unlink, missing_ok=True)
        show_as(copy.name, "standard input")
        shutil.copyfileobj(sys.stdin.buffer, copy)
    if not Path(copy.name).stat().st_size:
        raise DataError("-: standard input is empty")
    return [Path(copy.name) if path == STANDARD_INPUT else path for path in paths]
