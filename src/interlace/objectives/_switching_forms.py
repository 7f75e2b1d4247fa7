"""The two forms of a word: behind a blank and without one.

Many tokenizers mark the blank before a word in its first subword, and a word that begins a line may have none: RoBERTa
reads "Berlin" there and "▁Berlin" inside. So a phrase that is moved is brought into the form that its new place asks
for. Most phrases have it already; of the others each word is encoded once and remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.objectives._switching_joins import subword_kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.data.encoding import Surfaces
    from interlace.data.vocab import Vocab

_BLANKS = ("▁", " ", "Ġ")
_UNKNOWN = "�"  # stands for bytes that are no character
_REMEMBERED = 1 << 20  # words; some hundred MB


class Forms:
    """Both forms of words under one vocabulary.

    blank: (vocabulary,) whether a subword begins with a blank.
    bare: (vocabulary,) whether it is nothing but a blank.
    opens, closes: (vocabulary,) what its first and last character is (see `_switching_joins`).
    inside: (vocabulary,) whether a subword begins inside a character, as subwords of bytes may.
    texts: (vocabulary,) a number that subwords of the same text share, whether with a blank before it or without.
    """

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self._remembered: dict[tuple[bool, bytes], NDArray[np.int32]] = {}
        names = [vocab.tokenizer.id_to_token(number) or "" for number in range(vocab.size)]
        self.blank: NDArray[np.bool_] = np.array([name.startswith(_BLANKS) for name in names], np.bool_)
        self.blank[vocab.special_ids] = False
        self.bare = self.blank & (vocab.surfaces.spelled.lengths == 0)
        self.inside = _begins_inside(vocab.surfaces)
        self.texts = _numbered(vocab.surfaces.spelled)
        self.opens, self.closes = subword_kinds(vocab.surfaces)
        self._word = _Start("a ", self._encode("a"))  # behind a word and a blank
        self._mark = _Start("", self._word.ids[:0])  # at the start of a line
        if self._word.ids.size and self.blank[self._word.ids[0]]:  # there is a blank before lines: behind a mark, then
            self._mark = _Start("(", self._encode("("))

    def converted(self, words: Ragged, wanted: NDArray[np.bool_]) -> Ragged:
        """The subwords of each word with a blank before it or without, as `wanted` (n,) says.

        A word that the tokenizer would not give back stays as it is.
        """
        data, ends = words.flat.astype(np.int32).tobytes(), (4 * (words.offsets - words.offsets[0])).tolist()
        keys = [(blank, data[a:b]) for blank, a, b in zip(wanted.tolist(), ends[:-1], ends[1:], strict=True)]
        for blank in (False, True):
            missing = list(dict.fromkeys(key for key in keys if key[0] is blank and key not in self._remembered))
            self._remember(missing, blank=blank)
        found = [self._remembered[key] for key in keys]
        flat = np.concatenate([np.zeros(0, np.int32), *found])
        if len(self._remembered) > _REMEMBERED:
            self._remembered.clear()
        return Ragged.from_lengths(flat, [len(ids) for ids in found])

    def _remember(self, keys: Sequence[tuple[bool, bytes]], *, blank: bool) -> None:
        start = self._word if blank else self._mark
        for key in keys:
            old = np.frombuffer(key[1], np.int32)
            word = self._text(old).strip()
            new = self._behind(start, word)
            same = len(new) and _UNKNOWN not in word and self._text(new).strip() == word
            self._remembered[key] = new if same else old

    def _behind(self, start: _Start, word: str) -> NDArray[np.int32]:
        """Subwords of a word behind the start of a line; none where they begin inside it."""
        ids = self._encode(start.text + word)
        known = len(ids) > len(start.ids) and (ids[: len(start.ids)] == start.ids).all()
        return ids[len(start.ids) :] if known else ids[:0]

    def _encode(self, line: str) -> NDArray[np.int32]:
        return np.array(self._vocab.tokenizer.encode(line, add_special_tokens=False).ids, np.int32)

    def _text(self, ids: NDArray[np.int32]) -> str:
        text: str = self._vocab.tokenizer.decode(ids.tolist(), skip_special_tokens=False)
        return text


@dataclass(frozen=True)
class _Start:
    """What stands before a word, and its subwords."""

    text: str
    ids: NDArray[np.int32]


def _numbered(spelled: Ragged) -> NDArray[np.int32]:
    """(n,) for each row the number of the first that is equal to it."""
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(row.tobytes(), number) for number, row in enumerate(spelled)], np.int32)


def _begins_inside(surfaces: Surfaces) -> NDArray[np.bool_]:
    spelled = surfaces.spelled
    inside = np.zeros(len(spelled), np.bool_)
    if surfaces.by_bytes:
        some = spelled.lengths > 0
        inside[some] = spelled.values[spelled.offsets[:-1][some]] >> 6 == 0b10  # how UTF-8 marks a byte that goes on
    return inside
