"""Every word type becomes a new one, one to one: the language in another script (T_trans of Tang et al. 2022)."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from interlace.derived import Derived, Transformation
from interlace.derived._layout import Layout, relettered
from interlace.derived._letters import Script, exchanged_letters, letter_table
from interlace.derived._opaque import Opaque
from interlace.derived._respelling import exchanged, some_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interlace.text import Text

_REMEMBERED = 1 << 18  # words; some 90 MB


class Transliterate(Transformation):
    """Letter by letter into a script that the text does not use, or word by word into words that show nothing.

    The paper copies the vocabulary, so that no two words of the two languages share anything. `script` does so where
    subwords are learnt from both: letters keep their case and their neighbours, so both sides are cut in the same
    way. With `ids` related words (`walk`, `walked`) do not look related any more. Punctuation and digits are shared
    (words without a letter), unless `keep_marks` says otherwise.
    """

    to: Literal["script", "ids"] = Field(
        "script", description="What words become: the same letters in another script, or unrelated words (Tang et al.)."
    )
    script: Script = Field("armenian", description="The script that takes a-z; rarer letters go on into others.")
    share: float = Field(
        1.0, ge=0, le=1, description="Share of the word types that change, drawn by key; the others are shared."
    )
    keep_marks: bool = Field(
        True,
        description="With `ids`: words without a letter stay. The paper's copy of the vocabulary changes them too.",
    )

    @property
    def undoes(self) -> bool:
        """Always: words are exchanged."""
        return True

    @property
    def spells_marks(self) -> bool:
        """Where marks become words that show nothing."""
        return self.to == "ids" and not self.keep_marks

    def derive(self, text: Text, key: int) -> Derived:
        """The derived lines; what a word becomes hangs on the word and the key alone."""
        if self.to == "script" and self.share >= 1:
            return relettered(Layout(text), letter_table(self.script))  # the same, without looking at types
        return exchanged(text, lambda words: some_of(words, self.spelt(words, key), self.share, key))

    def spelt(self, words: Sequence[str], key: int) -> list[str]:
        """What each of these words becomes where it changes."""
        if self.to == "script":
            return exchanged_letters(words, self.script)
        return list(map(_opaque(key, self.keep_marks), words))


@lru_cache(maxsize=2)
def _opaque(key: int, keep_marks: bool) -> Callable[[str], str]:
    """What each word becomes; kept for as many words as large texts have, for parts of a text share most of theirs."""
    return lru_cache(maxsize=_REMEMBERED)(partial(_exchanged, Opaque(key), keep_marks))


def _exchanged(opaque: Opaque, keep_marks: bool, word: str) -> str:
    if keep_marks and not _spells(word):
        return word
    # A word of syllables goes the way back, which may end at what no word tokenizer finds, or what is kept: it stays.
    other = opaque(word)
    return other if _is_word(other) and (not keep_marks or _spells(other)) else word


def _is_word(text: str) -> bool:
    return text == text.strip() and "\n" not in text


def _spells(word: str) -> bool:
    """Whether there is a letter in the word."""
    return any(letter.isalpha() for letter in word)
