"""Words separated by white space, as `str.split()` finds them."""

from collections.abc import Sequence

import numpy as np

from interlace.core.ragged import Ragged
from interlace.text.characters import (
    code_points,
    is_space,
    line_starts,
    spans_by_line,
)
from interlace.text.word_tokenizers import WordTokenizer


class Whitespace(WordTokenizer):
    """Words separated by white space; the default, for text that is already tokenized."""

    def split(self, lines: Sequence[str]) -> Ragged:
        """Return (start, end) character spans per line."""
        # a line feed ends the last line, so every word ends
        blank = is_space(code_points(lines))
        is_edge = blank[1:] != blank[:-1]
        edges = np.flatnonzero(is_edge) + 1
        if len(blank) and not blank[0]:
            edges = np.append(0, edges)
        starts = edges[::2]
        ends = edges[1::2]
        return spans_by_line(starts, ends, line_starts(lines))
