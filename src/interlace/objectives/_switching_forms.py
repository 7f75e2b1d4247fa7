"""The two forms of a word: behind a blank and without one.

Many tokenizers mark the blank before a word in its first subword, and a word that begins a line may have none: RoBERTa
reads "Berlin" there and "▁Berlin" inside. So a phrase that is moved is brought into the form that its new place asks
for. Most phrases have it already; of the others each word is encoded once and remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.objectives._switching_joins import subword_kinds
from interlace.ragged import Ragged
from interlace.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from interlace.data._surfaces import Surfaces
    from interlace.data.vocab import Vocab

_BLANKS = ("▁", " ", "Ġ")
_UNKNOWN = "�"  # stands for bytes that are no character
_REMEMBERED = 1 << 20  # words; some hundred MB
_WORD, _MARK = "a ", "("  # before a word, so that it is read behind a blank, or without one


class Forms:
    """Both forms of words under one vocabulary.

    blank: (vocabulary,) whether a subword begins with a blank.
    bare: (vocabulary,) whether it is nothing but a blank.
    opens, closes: (vocabulary,) what its first and last character is (see `_switching_joins`).
    inside: (vocabulary,) whether a subword begins inside a character, as subwords of bytes may.
    """

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self._remembered: dict[tuple[bool, bytes], NDArray[np.int32]] = {}
        names = [vocab.tokenizer.id_to_token(number) or "" for number in range(vocab.size)]
        self.blank: NDArray[np.bool_] = np.array([name.startswith(_BLANKS) for name in names], np.bool_)
        self.blank[vocab.specials] = False
        self.bare = self.blank & (vocab.surfaces.spelled.lengths == 0)
        self.inside = _begins_inside(vocab.surfaces)
        self.opens, self.closes = subword_kinds(vocab.surfaces)
        self._bare_start = not self._starts_with_blank()

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
        if not keys:
            return
        rows = [np.frombuffer(data, np.int32) for _, data in keys]
        words = [text.strip() for text in self._texts(rows)]
        encoded = self._behind(_WORD, words) if blank else self._bare(words)
        spelled = self._texts(encoded)
        for key, old, new, word, again in zip(keys, rows, encoded, words, spelled, strict=True):
            self._remembered[key] = new if again.strip() == word and len(new) and _UNKNOWN not in word else old

    def _bare(self, words: list[str]) -> Ragged:
        """Subwords of each word without a blank: at the start of a line, or behind a mark where lines get a blank."""
        if self._bare_start:
            return self._vocab.encode(words).ids
        return self._behind(_MARK, words)

    def _behind(self, start: str, words: list[str]) -> Ragged:
        """Subwords of each word behind the start of a line; a blank that is a subword of its own is one of them."""
        lines = [start + word for word in words]
        first = len(start)
        spans = Ragged.of([[(0, 1), (first, len(line))] if len(line) > first else [(0, 1)] for line in lines], width=2)
        sentences = self._vocab.encode_text(Text("", lines, spans))
        mine = sentences.words.flat > 0
        lengths = np.bincount(sentences.ids.rows()[mine], minlength=len(lines))
        return Ragged.from_lengths(sentences.ids.flat[mine], lengths)

    def _texts(self, rows: Iterable[NDArray[np.int32]]) -> list[str]:
        texts: list[str] = self._vocab.tokenizer.decode_batch([row.tolist() for row in rows], skip_special_tokens=False)
        return texts

    def _starts_with_blank(self) -> bool:
        ids = self._vocab.encode(["a"]).ids.flat
        return bool(len(ids)) and bool(self.blank[ids[0]])


def _begins_inside(surfaces: Surfaces) -> NDArray[np.bool_]:
    spelled = surfaces.spelled
    inside = np.zeros(len(spelled), np.bool_)
    if surfaces.by_bytes:
        some = spelled.lengths > 0
        inside[some] = spelled.values[spelled.offsets[:-1][some]] >> 6 == 0b10  # how UTF-8 marks a byte that goes on
    return inside
