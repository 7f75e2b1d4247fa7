"""Drops lines in the wrong script: often another language, or only links and codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.data.filters import Filter
from interlace.data.filters.common import CharacterClasses, count_by_line, on_all_sides
from interlace.text.scripts import COMMON, is_private, script_of, scripts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Script(Filter):
    """The share of a line's letters that belong to the scripts of its language; lines without letters are kept."""

    min_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Minimum share of letters in an expected script (OpusFilter: CharacterScoreFilter, 1).",
    )
    expected: dict[str, list[str]] = Field(
        {}, description="Scripts by language, such as {sr = ['Latin']}, if they are not known or others are expected."
    )

    def keep(self, chunk: Text | TextPairs) -> NDArray[np.bool_]:
        """(n,) where every side is mostly in a script of its language.

        Raises:
            DataError: the scripts of a language are not known.
        """
        return on_all_sides(chunk, self._mostly)

    def scripts(self, language: str) -> frozenset[str]:
        """Return the expected scripts of a language; empty if not known, as for a derived language `en_x`."""
        known = frozenset[str]() if is_private(language) else scripts_of(language)
        return frozenset(self.expected.get(language, ())) or known

    def _mostly(self, text: Text) -> NDArray[np.bool_]:
        wanted = self.scripts(text.language)
        if not wanted:
            raise DataError(
                f"filters.script: the scripts of {text.language!r} are not known; "
                f"set filters.script.expected.{text.language} = ['Latin'], for example"
            )
        right, letters = letters_in(wanted, text.lines)
        kept: NDArray[np.bool_] = right >= self.min_share * letters
        return kept


def letters_in(scripts: frozenset[str], lines: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) letters of each line in one of the scripts, and (n,) in any."""
    found = _CLASSES.of(lines)  # first, because it adds new scripts
    wanted = np.zeros(256, np.bool_)
    wanted[[number for script, number in _NUMBERS.items() if script in scripts]] = True
    return count_by_line(wanted[found], lines), count_by_line(found != _NUMBERS[COMMON], lines)


_NUMBERS: dict[str, int] = {COMMON: 1}  # scripts in order of occurrence; there are fewer than 255


def _number(character: str) -> int:
    return _NUMBERS.setdefault(script_of(character), len(_NUMBERS) + 1)


_CLASSES = CharacterClasses(_number)
