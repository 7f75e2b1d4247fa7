"""Registry of readers: one file format per module. A reader yields `Text` or `TextPairs` in chunks of lines."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from interlace.core.registry import Registry
from interlace.core.settings import Settings
from interlace.text import Text, TextPairs

CHUNK = 10_000  # lines per chunk: enough to occupy all cores, few enough for the CPU caches


class Reader(Settings, ABC):
    """Reads one file format. Its fields name columns, label names and the like."""

    by_line: ClassVar[bool] = False  # whether line numbers of the file are row numbers

    @abstractmethod
    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Yield chunks of at most `CHUNK` lines: `Text` for one language, `TextPairs` for two.

        Raises:
            DataError: a file is missing, empty or not UTF-8, or the sides differ in length; names file and line.
        """


READERS: Registry[Any] = Registry(__name__, "reader", Reader)
