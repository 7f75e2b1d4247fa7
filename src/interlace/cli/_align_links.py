"""Text and its links as `interlace phrases` and `interlace lexicon` read them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment.formats import read_alignments
from interlace.alignment.phrases import PhraseRules
from interlace.cli._align_text import Source, numbered
from interlace.cli._progress import watching
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import must_exist, read_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlace.alignment import WordPairs
    from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)

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
