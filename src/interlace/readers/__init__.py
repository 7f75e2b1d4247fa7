"""Registry of readers: one file format a file, from paths to `Text` or `TextPairs`, in chunks so that memory stays flat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from interlace.core.registry import Registry
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import Text, TextPairs

CHUNK = 10_000  # lines a reader hands over at a time: enough to keep all cores at work, few enough for their caches


class Reader(Settings, ABC):
    """Reads one format. Its fields say where things stand in the files (columns, label names)."""

    by_line: ClassVar[bool] = False  # whether every line of a file is a row, so that rows can be named by line

    @abstractmethod
    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Yield chunks of at most `CHUNK` lines; one language makes `Text`, two make `TextPairs`.

        Raises:
            DataError: a file is missing, empty, not UTF-8, or sides differ in length; names file and line.
        """


READERS: Registry[Any] = Registry(__name__, "reader", Reader)
