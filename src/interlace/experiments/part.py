"""Parts that a text is cut into, so that several devices or machines share it.

A part is of lines that stand together: what is made of the parts, joined in their order, is what is made of the whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import count_lines, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Part:
    """Part `number`, from 1, `of` so many, of as good as equal size."""

    number: int
    of: int

    @classmethod
    def read(cls, said: str) -> Part:
        """From `"2/4"`, the second of four.

        Raises:
            SettingsError: it is no such part.
        """
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", said)
        number, of = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= of:
            raise SettingsError(f"--part {said!r}: expected I/N, from 1/N to N/N, such as 1/4 for the first of four")
        return cls(number, of)

    def lines_of(self, path: Path) -> Stretch:
        """This part of a file.

        Raises:
            DataError: the file cannot be read, or has fewer lines than there are parts, if these are several.
        """
        total = count_lines(path)
        if total < self.of > 1:
            what = f"its lines ({total}) are too few for {self.of} parts" if total else "the file is empty"
            raise DataError(f"{path}: {what}")
        return Stretch(path, total * (self.number - 1) // self.of, total * self.number // self.of)


@dataclass(frozen=True)
class Stretch:
    """Lines of a file that stand together: from number `first`, counted from 0, to before `last`."""

    path: Path
    first: int
    last: int

    def __iter__(self) -> Iterator[str]:
        return islice(read_lines(self.path), self.first, self.last)

    def __len__(self) -> int:
        return self.last - self.first
