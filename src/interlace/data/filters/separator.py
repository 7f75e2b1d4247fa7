"""Drops lines that hold a column separator of other formats, such as `|||`."""

from typing import Annotated

import numpy as np
from pydantic import Field

from interlace.data.filters import Chunk, Filter, Mask, on_all_sides
from interlace.text import Text


class Separator(Filter):
    """Phrase tables and external aligners read `|||` as the end of a column."""

    marks: list[Annotated[str, Field(min_length=1)]] = Field(
        ["|||"], min_length=1, description="Strings that no side may contain."
    )

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where no side contains a mark."""

        def without(text: Text) -> Mask:
            lines, whole = text.lines, "\n".join(text.lines)
            marks = [mark for mark in self.marks if mark in whole]
            return np.fromiter((not any(mark in line for mark in marks) for line in lines), np.bool_, len(lines))

        return on_all_sides(chunk, without)
