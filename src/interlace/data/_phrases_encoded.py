"""Phrases of a table as subwords, in files: encoding millions takes minutes, so it is done once for a vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data._phrases_table import mapped
from interlace.text.running import running_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.aligned import WordAlignments
    from interlace.data.vocab import Vocab

    Sides = tuple[Sentences, Sentences]

_SIDES = ("source", "target")
_LINES = 50_000  # phrases encoded at a time


def encode(phrases: Ragged, wanted: NDArray[np.int64], side: int, aligned: WordAlignments, vocab: Vocab) -> Sentences:
    """A row a phrase: the wanted ones (sorted numbers) as subwords inside a line; the others are empty."""
    language, parts = aligned.languages[side], []
    for start in range(0, len(wanted), _LINES):
        some = phrases.take(wanted[start : start + _LINES])
        text = running_text(some, aligned.types[side], language, aligned.word_tokenizer)
        parts.append(vocab.encode_phrases(text))
    lengths = np.zeros(len(phrases), np.int64)
    lengths[wanted] = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
    ids, words = (
        np.concatenate([np.zeros(0, np.int32), *(getattr(part, name).flat for part in parts)])
        for name in ("ids", "words")
    )
    return Sentences(Ragged.from_lengths(ids, lengths), Ragged.from_lengths(words, lengths), language)


def write(sides: Sides, into: Path) -> None:
    """Write both sides into a folder."""
    for name, side in zip(_SIDES, sides, strict=True):
        np.save(into / f"{name}_ids.npy", side.ids.flat)
        np.save(into / f"{name}_words.npy", side.words.flat)
        np.save(into / f"{name}_offsets.npy", side.ids.offsets)


def read(folder: Path, languages: tuple[str, str]) -> Sides:
    """Map what `write` wrote.

    Raises:
        DataError: a file is missing or damaged.
    """
    source, target = (_side(folder, name, language) for name, language in zip(_SIDES, languages, strict=True))
    return source, target


def _side(folder: Path, name: str, language: str) -> Sentences:
    offsets = mapped(folder / f"{name}_offsets")
    ids, words = (Ragged(mapped(folder / f"{name}_{column}"), offsets) for column in ("ids", "words"))
    return Sentences(ids, words, language)
