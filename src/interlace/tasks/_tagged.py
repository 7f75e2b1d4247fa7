"""Sentences whose words carry tags, from a task's files: what tasks that tag words share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.data.apart import concatenated, encode_words_apart
from interlace.tasks._files import find_parts
from interlace.tasks._read import read_parts
from interlace.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.tasks._files import FileQuery, Named

Chunks = list[tuple["Path", Text]]  # with the file that each comes from


def read_tagged(files: Named, asked: FileQuery, reader: Mapping[str, Any] | str, kind: str) -> Chunks:
    """All sentences of the files, which have tags of that kind.

    Raises:
        DataError: there are no such files, or the reader gives no such tags.
    """
    chunks = [
        (part.path, chunk)
        for part in find_parts(files, asked)
        for chunk in read_parts(asked.task, reader, [part], [asked.of], Text)
    ]
    for path, chunk in chunks:
        if kind not in chunk.tags:
            hint = did_you_mean(kind, chunk.tags)
            raise DataError(f"{asked.task}: {path}: the reader found no tags of kind {kind!r}{hint}")
    return chunks


def encode_tagged(chunks: Chunks, vocab: Vocab) -> Sentences:
    """Subwords of all sentences, none of which belongs to two words."""
    return concatenated([encode_words_apart(chunk, vocab) for _, chunk in chunks])


def tag_ids(
    asked: FileQuery, chunks: Chunks, kind: str, numbers: Mapping[str, int], strange: Callable[[str], str]
) -> Ragged:
    """A row a sentence with the number of each word's tag.

    strange: what to say of a tag that has none.

    Raises:
        DataError: such a tag, with its file, sentence and word.
    """
    return Ragged.concatenate([_numbered(asked.task, path, chunk, kind, numbers, strange) for path, chunk in chunks])


def _numbered(
    task: str, path: Path, text: Text, kind: str, numbers: Mapping[str, int], strange: Callable[[str], str]
) -> Ragged:
    rows: Sequence[list[str]] = text.tags[kind]
    for line, row in enumerate(rows):
        for word, tag in enumerate(row):
            if tag not in numbers:
                place = f"sentence {text.lines[line]!r}, word {text.tokens(line)[word]!r}"
                raise DataError(f"{task}: {path}: {place}: {strange(tag)}")
    return Ragged.of([[numbers[tag] for tag in row] for row in rows])
