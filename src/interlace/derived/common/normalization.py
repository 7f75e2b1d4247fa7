"""Normalization of text whose words and answers have positions, which follow the changed characters."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from interlace.text import Text, TextPairs
    from interlace.text.normalization import Normalization


def normalized_pairs(pairs: TextPairs, normalize: Normalization) -> TextPairs:
    """Normalize both sides, and the texts of answers."""
    source, target = normalized(pairs.source, normalize), normalized(pairs.target, normalize)
    answers = pairs.answers
    if answers is not None:
        answers = [[normalize.text(answer, pairs.source.language) for answer in row] for row in answers]
    return replace(pairs, source=source, target=target, answers=answers)


def normalized(text: Text, normalize: Normalization) -> Text:
    """Normalize lines; words with tags and answers keep their place in the line."""
    lines = normalize.lines(text.lines, text.language)
    if lines is text.lines:
        return text
    if text.tags or text.answers is not None:
        return _normalized_pieces(text, lines, normalize)
    return replace(text, lines=lines)


def _normalized_pieces(text: Text, lines: list[str], normalize: Normalization) -> Text:
    """Normalize each piece between the boundaries of words and answers by itself.

    lines: normalized as a whole, to find the rows that change.
    """
    fresh = list(text.lines)
    words, answers = list(text.words), list(text.answers or [])
    for row, (old, new) in enumerate(zip(text.lines, lines, strict=True)):
        if old == new:
            continue
        places = [*words[row].ravel().tolist(), *(answers[row] if answers else ())]
        cuts = sorted({0, len(old), *(place for place in places if place >= 0)})
        pieces = [_piece(old[start:end], text.language, normalize) for start, end in pairwise(cuts)]
        to = dict(zip(cuts, accumulate(map(len, pieces), initial=0), strict=True)) | {-1: -1}
        fresh[row] = "".join(pieces)
        words[row] = np.array([to[place] for place in words[row].ravel().tolist()], np.int32).reshape(-1, 2)
        if answers:
            answers[row] = (to[answers[row][0]], to[answers[row][1]])
    flat = np.concatenate(words) if words else text.words.flat
    kept = None if text.answers is None else answers
    return replace(text, lines=fresh, words=Ragged.from_lengths(flat, text.words.lengths), answers=kept)


def _piece(old: str, language: str, normalize: Normalization) -> str:
    """Normalize a piece, unless a word would vanish or be split by a blank."""
    new = normalize.text(old, language)
    return new if len(new.split()) == len(old.split()) else old
