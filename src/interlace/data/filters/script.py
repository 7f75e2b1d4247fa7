"""Drops lines in the wrong script: often another language, or nothing but links and codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.data.filters import Filter
from interlace.data.filters._sides import Classes, by_line, on_all_sides
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
        description="Least share of letters in an expected script (OpusFilter: CharacterScoreFilter, 1).",
    )
    expected: dict[str, list[str]] = Field(
        {}, description="Scripts by language, such as {sr = ['Latin']}, where they are not known or others are meant."
    )

    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:  # noqa: ARG002 - judges alone
        """(n,) where every side is mostly in a script of its language.

        Raises:
            DataError: nobody knows the scripts of a language.
        """
        return on_all_sides(chunk, self._mostly)

    def scripts(self, language: str) -> frozenset[str]:
        """The scripts that text of a language should have; empty where nobody knows, as of `en_x`, made of English."""
        known = frozenset[str]() if is_private(language) else scripts_of(language)
        return frozenset(self.expected.get(language, ())) or known

    def _mostly(self, text: Text) -> NDArray[np.bool_]:
        wanted = self.scripts(text.language)
        if not wanted:
            raise DataError(
                f"filters.script: the scripts of {text.language!r} are not known; "
                f"give them: filters.script.expected.{text.language} = ['Latin']"
            )
        right, letters = letters_in(wanted, text.lines)
        kept: NDArray[np.bool_] = right >= self.min_share * letters
        return kept


def letters_in(scripts: frozenset[str], lines: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) letters of each line in one of the scripts, and (n,) in any."""
    found = _CLASSES.of(lines)  # first, because it meets new scripts
    wanted = np.zeros(256, np.bool_)
    wanted[[number for script, number in _NUMBERS.items() if script in scripts]] = True
    return by_line(wanted[found], lines), by_line(found != _NUMBERS[COMMON], lines)


_NUMBERS: dict[str, int] = {COMMON: 1}  # scripts in the order in which they were met; there are fewer than 255


def _number(character: str) -> int:
    return _NUMBERS.setdefault(script_of(character), len(_NUMBERS) + 1)


_CLASSES = Classes(_number)
