"""New words that show nothing of the old: a keyed one-to-one map from words to runs of syllables.

A word's bytes pass through a network of Feistel's kind, in which each byte hangs on all others, and are written as
syllables, one a byte. So `walk` and `walked` have nothing in common, no two words become one, nothing has to be
remembered, and the way back is known. A word of those syllables goes the way back: the map exchanges words.
"""

from __future__ import annotations

from hashlib import shake_128

_FIRST = 0x1401  # Canadian syllabics: 256 letters without case, whose script writes blanks between words
_ROUNDS = 4  # from four on, both halves hang on all of the word (Luby and Rackoff 1988)
_SYLLABLES = "".join(map(chr, range(_FIRST, _FIRST + 256)))
_LETTERS = frozenset(_SYLLABLES)


class Opaque:
    """The map of one key."""

    def __init__(self, key: int) -> None:
        self._key = key.to_bytes(8, "little")
        order = sorted(range(256), key=lambda byte: self._bits(b"byte", bytes([byte]), 8))
        self._there = bytes(order)  # a word of one byte has no halves
        self._back = bytes(order.index(byte) for byte in range(256))

    def __call__(self, word: str) -> str:
        """The word for which this one is exchanged."""
        if word and _LETTERS.issuperset(word):
            data = self._decoded(bytes(ord(letter) - _FIRST for letter in word))
            try:
                original = data.decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                return word  # no word becomes this one
            return word if _LETTERS.issuperset(original) else original
        return self._encoded(word.encode("utf-8", "surrogatepass")).decode("latin-1").translate(_SYLLABLES)

    def _encoded(self, data: bytes) -> bytes:
        data = data.translate(self._there)
        for step in range(_ROUNDS):
            data = self._round(data, step)
        return data

    def _decoded(self, data: bytes) -> bytes:
        for step in reversed(range(_ROUNDS)):
            data = self._round(data, step)
        return data.translate(self._back)

    def _round(self, data: bytes, step: int) -> bytes:
        """One half changed by what the other says; done twice, it is undone."""
        half = len(data) // 2
        left, right = data[:half], data[half:]
        if step % 2:
            return left + _added(right, self._bits(b"%d" % step, left, len(right))) if left else data
        return _added(left, self._bits(b"%d" % step, right, half)) + right

    def _bits(self, step: bytes, data: bytes, count: int) -> bytes:
        return shake_128(self._key + step + b"\0" + data).digest(count)


def _added(one: bytes, other: bytes) -> bytes:
    size = len(one)
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).to_bytes(size, "little")
