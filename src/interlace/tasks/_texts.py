"""The raw text of a task's examples, as its reader gives it, to be compared with what a model was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlace.errors import DataError
from interlace.tasks._files import Asked, Part, find_parts
from interlace.tasks._read import _rows_of, reader_of
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.tasks import Task


@dataclass(frozen=True)
class RawText:
    """parts: by name the language, and a text of each example: `text`, or `first` and `second` of a pair."""

    parts: dict[str, tuple[str, list[str]]]


def raw_text(name: str, task: Task, split: str, language: str, root: Path) -> RawText | None:
    """The text of one split of a task in one language; None where it is no running text or no such language is asked.

    A task whose text is not simply what its `reader` makes of its `files` has a method `texts` that gives it as chunks.

    Raises:
        DataError: a file is missing or damaged.
    """
    if not _reads_text(task) or getattr(task, "source", "") == language:
        return None
    asked = Asked(name, split, language, root, str(getattr(task, "source", "")))
    own = getattr(task, "texts", None)
    chunks = list(own(split, language, root) if own else _chunks(task, asked))
    if asked.source:  # of a parallel set, only the side asked for: the other one is the same in all languages
        lines = [line for chunk in chunks for side in _sides(chunk) if side.language == language for line in side.lines]
        return RawText({"text": (language, lines)})
    names = ("first", "second") if any(isinstance(chunk, TextPairs) for chunk in chunks) else ("text",)
    sides = [tuple(_sides(chunk)) for chunk in chunks]
    return RawText(
        {
            part: (sides[0][at].language, [line for each in sides for line in each[at].lines])
            for at, part in enumerate(names)
            if sides
        }
    )


def _reads_text(task: Task) -> bool:
    """Word lists and gold links are no text."""
    fields = type(task).model_fields
    return "files" in fields and "reader" in fields


def _chunks(task: Any, asked: Asked) -> Iterator[Text | TextPairs]:
    """What the reader makes of the files, of a parallel set of both sides."""
    if asked.source:
        sides = [find_parts(task.files, asked, side) for side in (asked.source, asked.of)]
        paths = list(dict.fromkeys(part.path for parts in sides for part in parts))
        yield from reader_of(task.reader, paths).read_chunks(paths, [asked.source, asked.of])
        return
    for part in find_parts(task.files, asked):
        yield from _read(task.reader, part, asked)


def _read(reader: Any, part: Part, asked: Asked) -> list[Any]:
    """Readers of questions and of two columns take two languages, all others one."""
    languages = list(dict.fromkeys((asked.context, asked.question)))
    reads = reader_of(reader, [part.path])
    try:
        chunks = list(reads.read_chunks([part.path], languages))
    except DataError:
        chunks = list(reads.read_chunks([part.path], [languages[0], languages[-1]]))
    return _rows_of(chunks, part.rows) if part.rows else chunks


def _sides(chunk: Text | TextPairs) -> tuple[Text, ...]:
    return (chunk.source, chunk.target) if isinstance(chunk, TextPairs) else (chunk,)
