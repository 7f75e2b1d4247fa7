"""The raw text of a task's examples, as its reader gives it, to be compared with what a model was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.tasks import Task


@dataclass(frozen=True)
class RawText:
    """parts: by name the language, and a text of each example.

    `first` and `second` of a pair, else `text`; texts of several languages are by their names, and each of their
    sentences is an example by itself, without text in the other parts.
    """

    parts: dict[str, tuple[str, list[str]]]


def raw_text(task: Task, split: str, language: str, root: Path) -> RawText | None:
    """The text of one split of a task in one language; None where the task is none of running text.

    Raises:
        DataError: a file is missing or damaged.
    """
    chunks = task.texts(split, language, root)
    if not chunks:
        return None
    alone = len({chunk.language for chunk in chunks if isinstance(chunk, Text)}) == 1
    parts: dict[str, tuple[str, list[str]]] = {}
    rows = 0
    for chunk in chunks:
        for part, side in _parts(chunk, alone=alone):
            lines = parts.setdefault(part, (side.language, []))[1]
            lines.extend([""] * (rows - len(lines)))
            lines.extend(side.lines)
        rows += len(chunk)
    for _, lines in parts.values():
        lines.extend([""] * (rows - len(lines)))
    return RawText(parts)


def _parts(chunk: Text | TextPairs, *, alone: bool) -> list[tuple[str, Text]]:
    if isinstance(chunk, TextPairs):
        return [("first", chunk.source), ("second", chunk.target)]
    return [("text" if alone else chunk.language, chunk)]
