"""The raw text of a task's examples, as its reader gives it, to be compared with what a model was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.text import TextPairs

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.tasks import Task


@dataclass(frozen=True)
class RawText:
    """parts: by name the language, and a text of each example: `text`, or `first` and `second` of a pair."""

    parts: dict[str, tuple[str, list[str]]]


def raw_text(task: Task, split: str, language: str, root: Path) -> RawText | None:
    """The text of one split of a task in one language; None where the task is none of running text.

    Raises:
        DataError: a file is missing or damaged.
    """
    chunks = task.texts(split, language, root)
    if not chunks:
        return None
    parts: dict[str, tuple[str, list[str]]] = {}
    for chunk in chunks:
        sides = {"first": chunk.source, "second": chunk.target} if isinstance(chunk, TextPairs) else {"text": chunk}
        for part, side in sides.items():
            parts.setdefault(part, (side.language, []))[1].extend(side.lines)
    return RawText(parts)
