"""Drops lines without a word, and pairs with such a side."""

from interlace.data.filters import Chunk, Filter, Mask, on_all_sides


class Empty(Filter):
    """A corpus skips such lines anyway; this rule is for `interlace check`."""

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where every side has a word."""
        return on_all_sides(chunk, lambda text: text.words.lengths > 0)
