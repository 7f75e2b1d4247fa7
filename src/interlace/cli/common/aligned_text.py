"""Read word-aligned text: parallel text and its alignments, which are computed if there are none."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from interlace.aligners import ALIGNERS, DEFAULT_ALIGNER
from interlace.alignment import WordPairs
from interlace.alignment.formats import read_alignments
from interlace.alignment.links import select_links
from interlace.cli import notes
from interlace.cli.common.options import AlignedTextOptions
from interlace.cli.common.parallel_text import (
    AlignmentRecord,
    ParallelFiles,
    numbered,
    record_path,
    with_stdin,
)
from interlace.core.bars import watching
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_exist
from interlace.core.json_files import read_json
from interlace.core.ragged import FloatArray, Ragged
from interlace.readers.common.tokenization import AUTO
from interlace.text.lines import read_lines

log = logging.getLogger(__name__)

# share of links outside of their sentences above which the alignments are rejected
_MAX_OUTSIDE = 0.01
_LINK_LINE = re.compile(r"\s*\d+[-:?pP]\d+([ :]\S+)*\s*")


@dataclass(frozen=True)
class AlignedText:
    """Parallel text and its alignments; confidence: of each link, (links,), 1 where it is unknown."""

    text: ParallelFiles
    words: WordPairs
    links: Ragged
    confidence: FloatArray


def read_aligned_text(options: AlignedTextOptions) -> AlignedText:
    """Read parallel text and its alignments (the last file), or align the text if there is no such file.

    Word tokenizer and languages are those that `align` recorded beside the alignments.
    """
    if (options.confidence is None) != (not options.min_confidence):
        raise SettingsError(
            "--confidence FILE and --min-confidence NUMBER must be given together"
        )
    if len(options.files) > 3:
        raise SettingsError(f"expected SRC TGT [ALIGNMENTS], found {len(options.files)} files")
    files = [must_exist(path) for path in with_stdin(options.files)]
    if len(files) == 3 or (len(files) == 2 and _holds_links(files[1])):
        *text_files, alignments = files
        return _read(text_files, alignments, options)
    if options.confidence is not None:
        raise SettingsError(
            "--confidence: name the alignments that it belongs to: SRC TGT ALIGNMENTS"
        )
    text = ParallelFiles.of(files, options)
    with watching(notes) as progress:
        words, _ = numbered([text], progress)
        log.info("no alignments given: aligning %d pairs with %s", len(words), DEFAULT_ALIGNER)
        fitted = ALIGNERS.build(DEFAULT_ALIGNER).fit(words, None, progress)
        aligned = fitted.align_training_pairs(words)
    return AlignedText(text, words, aligned.links, aligned.confidence)


def _read(files: Sequence[Path], alignments: Path, options: AlignedTextOptions) -> AlignedText:
    """Read parallel text and its alignments, of links with a confidence only those of the minimum."""
    languages: list[str] = []
    record_file = record_path(alignments)
    if record_file.is_file():
        remedy = "expected the record of `interlace align`"
        record: AlignmentRecord = read_json(record_file, AlignmentRecord, remedy=remedy)
        recorded = record["word_tokenizer"]
        if options.word_tokenizer not in {AUTO, recorded}:
            raise SettingsError(
                f"--word-tokenizer {options.word_tokenizer}: {alignments} was made with {recorded!r}"
            )
        options = replace(options, word_tokenizer=recorded)
        languages = record["languages"]
    text = ParallelFiles.of(files, options, languages)
    with watching(notes) as progress:
        words, _ = numbered([text], progress)
    links = _read_links(alignments, words)
    if options.confidence is None:
        return AlignedText(text, words, links, np.ones(len(links.flat), np.float32))
    values = _read_confidence(must_exist(options.confidence, "file of confidences"), links)
    is_confident = values >= np.float32(options.min_confidence)
    return AlignedText(text, words, select_links(links, is_confident), values[is_confident])


def _holds_links(path: Path) -> bool:
    """Return whether the first lines with content hold alignment links: text may begin with a score such as 1-0."""
    lines = (line for line in read_lines(path) if line.strip())
    first_lines = list(islice(lines, 20))
    return bool(first_lines) and all(_LINK_LINE.fullmatch(line) for line in first_lines)


def _read_confidence(path: Path, links: Ragged) -> FloatArray:
    """Read the confidence of each link, a line for each pair."""
    counts = links.lengths.tolist()
    rows: list[FloatArray] = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            rows.append(np.array(line.split(), np.float32))
        except ValueError:
            raise DataError(
                f"{path}, line {number}: expected numbers, found {line!r}"
            ) from None
        if number <= len(counts) and len(rows[-1]) != counts[number - 1]:
            raise DataError(
                f"{path}, line {number}: {len(rows[-1])} confidences of {counts[number - 1]} links"
            )
    if len(rows) != len(counts):
        raise DataError(
            f"{path}: {len(rows):,} lines of confidences, but the text has {len(counts):,} pairs"
        )
    return np.concatenate(rows)


def _read_links(path: Path, words: WordPairs) -> Ragged:
    """Read alignments; warn of links outside of their sentences, and reject the alignments if there are many."""
    alignments = read_alignments(path, (words.source.lengths, words.target.lengths))
    if alignments.beyond > _MAX_OUTSIDE * (alignments.beyond + len(alignments.possible.flat)):
        problems = "; ".join(f"{count:,} {note}" for note, count in alignments.notes.items())
        raise DataError(
            f"{path}: {problems}. The alignments belong to another text, or to another word tokenizer than "
            f"{words.word_tokenizer!r}"
        )
    for note, count in alignments.notes.items():
        log.warning("%s: %d %s", path, count, note)
    return alignments.possible
