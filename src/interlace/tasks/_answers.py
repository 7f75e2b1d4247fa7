"""Exact match and F1 of answers, as SQuAD v1.1 and MLQA define them (Rajpurkar et al. 2016; Lewis et al. 2020).

Both compare texts after lower-casing, and without punctuation, articles and superfluous white space. SQuAD's rules are
English ones, whatever the language: XQuAD's and TyDi QA GoldP's scores are made with them. MLQA's know the punctuation
of all scripts and the articles of its languages, and count every Chinese character as a word.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from interlace.text.scripts import UNSPACED, is_unspaced, scripts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Rules = Literal["mlqa", "squad"]

_ENGLISH = r"\b(a|an|the)\b"
_ARTICLES = {
    "en": _ENGLISH,
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "ar": "ال",  # wherever it stands, inside words too, as MLQA's program has it
}
_HAN = re.compile("[\u4e00-\u9fa5]")  # MLQA's Chinese characters


class _Punctuation(dict[int, int | None]):
    """A table for `str.translate` that drops ASCII's signs and what Unicode calls punctuation, filled as it is used."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        dropped = character in string.punctuation or unicodedata.category(character).startswith("P")
        self[code] = None if dropped else code
        return self[code]


_ANY = _Punctuation()
_ASCII = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class AnswerNormalizer:
    """What is left of an answer when it is compared.

    language: the answer's. MLQA's own seven are treated as its program does; in others, articles stay, and where the
    script writes no blanks (Japanese, Thai), each of its characters is a word.
    """

    rules: Rules
    language: str

    def words(self, answer: str) -> list[str]:
        """The answer as words; exact match compares all of them."""
        text = answer.lower().translate(_ASCII if self.rules == "squad" else _ANY)
        articles = _ENGLISH if self.rules == "squad" else _ARTICLES.get(self.language)
        if articles:
            text = re.sub(articles, " ", text)
        if self.rules == "mlqa" and _is_unspaced(self.language):
            text = "".join(f" {character} " if self._is_word(character) else character for character in text)
        return text.split()

    def _is_word(self, character: str) -> bool:
        return bool(_HAN.match(character)) if self.language == "zh" else is_unspaced(character)


@lru_cache(maxsize=256)
def _is_unspaced(language: str) -> bool:
    return bool(scripts_of(language) & UNSPACED)


def f1(found: list[str], right: list[str]) -> float:
    """Harmonic mean of precision and recall of words, 0 to 1; 0 where none is common.

    >>> round(f1(["red", "big", "car"], ["big", "car"]), 3)
    0.8
    """
    common = sum((Counter(found) & Counter(right)).values())
    return 2 * common / (len(found) + len(right)) if common else 0.0


Words = list[str]


def compare(found: str, answers: Sequence[str], normaliser: AnswerNormalizer) -> tuple[float, float]:
    """(F1, exact match) against the answer that is nearest in each of them, 0 to 1."""
    return _compared(normaliser.words(found), [normaliser.words(answer) for answer in answers])


def compare_all(
    found: Sequence[str], right: Sequence[Sequence[Words]], normaliser: AnswerNormalizer
) -> dict[str, NDArray[np.float64]]:
    """`f1` and `exact` of each question, (n,) from 0 to 1; NaN where there is no answer to compare with.

    right: the words of the answers to each question (`right_words`).
    """
    scores = [
        _compared(normaliser.words(one), answers) if answers else (np.nan, np.nan)
        for one, answers in zip(found, right, strict=True)
    ]
    columns = np.array(scores, np.float64).reshape(-1, 2)
    return {"f1": columns[:, 0], "exact": columns[:, 1]}


def right_words(answers: Sequence[Sequence[str]], normaliser: AnswerNormalizer) -> list[list[Words]]:
    """The answers to each question as words."""
    return [[normaliser.words(answer) for answer in some] for some in answers]


def _compared(words: Words, right: Sequence[Words]) -> tuple[float, float]:
    return max(f1(words, one) for one in right), float(words in right)
