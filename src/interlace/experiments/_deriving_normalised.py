"""Text as corpora hold it before it is changed: normalised, with the words and answers that a file tells moved along.

Every file of a derived language is made of such text, so that one word becomes one other word in all of them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from interlace.text import Text, TextPairs
    from interlace.text.normalise import Normalise
    from interlace.text.words import WordTokenizer


def normalised(text: Text, normalise: Normalise, word_tokenizer: WordTokenizer) -> Text:
    """The lines normalised; their words are the file's where it tags them, and otherwise the word tokenizer's."""
    lines = normalise.lines(text.lines, text.language)
    if lines is not text.lines:
        in_pieces = text.tags or text.answers is not None
        text = _rewritten(text, lines, normalise) if in_pieces else replace(text, lines=lines)
    return (
        text if text.tags else replace(text, words=word_tokenizer.split(text.lines), word_tokenizer=word_tokenizer.name)
    )


def normalised_pairs(pairs: TextPairs, normalise: Normalise, word_tokenizer: WordTokenizer) -> TextPairs:
    """Both sides, and the texts of answers."""
    source, target = (normalised(side, normalise, word_tokenizer) for side in (pairs.source, pairs.target))
    answers = pairs.answers
    if answers is not None:
        answers = [[normalise.text(answer, pairs.source.language) for answer in row] for row in answers]
    return replace(pairs, source=source, target=target, answers=answers)


def _rewritten(text: Text, lines: list[str], normalise: Normalise) -> Text:
    """The text with each piece between the borders of words and answers normalised by itself.

    lines: normalised as wholes, which tells the rows that change.
    """
    fresh = list(text.lines)
    words, answers = list(text.words), list(text.answers or [])
    for row, (old, new) in enumerate(zip(text.lines, lines, strict=True)):
        if old == new:
            continue
        places = [*words[row].ravel().tolist(), *(answers[row] if answers else ())]
        cuts = sorted({0, len(old), *(place for place in places if place >= 0)})
        pieces = [_piece(old[start:end], text.language, normalise) for start, end in pairwise(cuts)]
        to = dict(zip(cuts, accumulate(map(len, pieces), initial=0), strict=True)) | {-1: -1}
        fresh[row] = "".join(pieces)
        words[row] = np.array([to[place] for place in words[row].ravel().tolist()], np.int32).reshape(-1, 2)
        if answers:
            answers[row] = (to[answers[row][0]], to[answers[row][1]])
    flat = np.concatenate(words) if words else text.words.flat
    kept = None if text.answers is None else answers
    return replace(text, lines=fresh, words=Ragged.from_lengths(flat, text.words.lengths), answers=kept)


def _piece(old: str, language: str, normalise: Normalise) -> str:
    """A piece normalised; left alone where nothing would stay of a word, or a blank would part it."""
    new = normalise.text(old, language)
    return new if len(new.split()) == len(old.split()) else old
