"""Text and its links as `interlace phrases` and `interlace lexicon` read them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from interlace.cli._align_text import Source, numbered
from interlace.cli._progress import watching
from interlace.errors import DataError, SettingsError
from interlace.links.formats import read_gold
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlace.links import WordPairs
    from interlace.ragged import Ragged

log = logging.getLogger(__name__)

_BEYOND = 0.01  # share of links outside their sentences from which on they are those of another text


def linked(files: Sequence[Path], languages: str, splitter: str, reader: str, spool: Path) -> tuple[WordPairs, Ragged]:
    """The words of a text, one file or two, and its links, the last file.

    Raises:
        SettingsError: not two or three files, or no such reader or splitter.
        DataError: a file is missing or damaged, or the links are those of another text.
    """
    if not 2 <= len(files) <= 3:
        raise SettingsError(f"expected the files of a text, one or two, and then its links; found {len(files)} files")
    path = must_exist(files[-1], "file of links")
    text = Source.of(files[:-1], languages, reader, splitter)
    with watching() as watch:
        words, _ = numbered([text], spool, watch)
    return words, _links(path, words, text)


def _links(path: Path, words: WordPairs, text: Source) -> Ragged:
    read = read_gold(path, (words.source.lengths, words.target.lengths), text.numbers)
    if read.beyond > _BEYOND * (read.beyond + len(read.possible.flat)):
        raise DataError(
            f"{path}: {'; '.join(f'{count:,} {note}' for note, count in read.notes.items())}; these are links of "
            f"another text, or of words that another splitter found than {words.splitter!r}"
        )
    for note, count in read.notes.items():
        log.warning("%s: %d %s", path, count, note)
    return read.possible
