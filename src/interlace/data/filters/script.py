"""Drops lines in the wrong script: often another language, or only links and codes."""

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.data.filters import Chunk, Filter, Mask, count_by_line, on_all_sides
from interlace.text import Text
from interlace.text.characters import CharacterClasses
from interlace.text.scripts import COMMON, is_private, script_of, scripts_of

# scripts in order of occurrence; there are fewer than 255
_NUMBERS: dict[str, int] = {COMMON: 1}
_CLASSES = CharacterClasses(
    lambda character: _NUMBERS.setdefault(script_of(character), len(_NUMBERS) + 1)
)


class Script(Filter):
    """The share of a line's letters that belong to the scripts of its language; lines without letters are kept."""

    min_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Minimum share of letters in an expected script (OpusFilter: CharacterScoreFilter, 1).",
    )

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where every side is mostly in a script of its language."""
        return on_all_sides(chunk, self._mostly)

    def _mostly(self, text: Text) -> Mask:
        scripts = expected_scripts(text.language)
        if not scripts:
            raise DataError(
                f"filters.script: the scripts of {text.language!r} are not known; remove filters.script"
            )
        classes = _CLASSES.of_lines(text.lines)  # (C,), first, because it adds new scripts
        is_expected = np.array([False, *(script in scripts for script in _NUMBERS)])
        expected = count_by_line(is_expected[classes], text.lines)
        letters = count_by_line(classes != _NUMBERS[COMMON], text.lines)
        return expected >= self.min_share * letters


def expected_scripts(language: str) -> frozenset[str]:
    """Return the scripts of a language; empty if not known, as for a derived language `en_x`."""
    if is_private(language):
        return frozenset()
    return scripts_of(language)
