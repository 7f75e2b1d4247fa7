"""Words are what stands between white space (Unicode's, as `str.split()` sees it)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.characters import code_points, is_space, line_starts, spans_by_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.core.ragged import Ragged


class Whitespace(WordTokenizer):
    """Words are what stands between white space; the default, and the right one for tokenised text."""

    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans."""
        blank = is_space(code_points(lines))  # a line feed ends the last line, so every word ends
        edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
        if len(blank) and not blank[0]:
            edges = np.concatenate([[0], edges])
        return spans_by_line(edges[::2], edges[1::2], line_starts(lines))
