"""Drops lines in the wrong script: often another language, or only links and codes."""

from itertools import chain

import numpy as np
from pydantic import Field, field_validator

from interlace.core.errors import DataError, did_you_mean
from interlace.data.filters import Chunk, Filter, Mask, count_by_line, on_all_sides
from interlace.text import Text
from interlace.text.scripts import BY_LANGUAGE, COMMON, is_private, script_of, scripts_of
from interlace.text.word_tokenizers.common.characters import CharacterClasses

_NUMBERS: dict[str, int] = {COMMON: 1}  # scripts in order of occurrence; there are fewer than 255
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
    expected: dict[str, list[str]] = Field(
        {},
        description="Scripts by language, such as {sr = ['Latin']}, if they are not known or others are expected.",
    )

    @field_validator("expected")
    @classmethod
    def _are_scripts(cls, expected: dict[str, list[str]]) -> dict[str, list[str]]:
        known = {*chain.from_iterable(BY_LANGUAGE.values())}
        for name in chain.from_iterable(expected.values()):
            if name not in known and all(script_of(chr(code)) != name for code in range(0x20000)):
                raise ValueError(f"there is no script {name!r}{did_you_mean(name, known)}")
        return expected

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where every side is mostly in a script of its language."""
        return on_all_sides(chunk, self._mostly)

    def scripts(self, language: str) -> frozenset[str]:
        """Return the expected scripts of a language; empty if not known, as for a derived language `en_x`."""
        if is_private(language):
            known = frozenset[str]()
        else:
            known = scripts_of(language)
        return frozenset(self.expected.get(language, ())) or known

    def _mostly(self, text: Text) -> Mask:
        scripts = self.scripts(text.language)
        if not scripts:
            raise DataError(
                f"filters.script: the scripts of {text.language!r} are not known; "
                f"set filters.script.expected.{text.language} = ['Latin'], for example"
            )
        found = _CLASSES.of_lines(text.lines)  # first, because it adds new scripts
        wanted = np.array([False, *(script in scripts for script in _NUMBERS)])
        right = count_by_line(wanted[found], text.lines)
        return np.asarray(
            right >= self.min_share * count_by_line(found != _NUMBERS[COMMON], text.lines)
        )
