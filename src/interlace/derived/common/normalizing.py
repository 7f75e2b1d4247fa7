"""Normalization of text whose words and answers have positions, which follow the changed characters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.derived.common.labels import NOWHERE, Span
from interlace.text import Text, TextPairs
from interlace.text.normalization import Normalization


def normalized_pairs(pairs: TextPairs, normalization: Normalization) -> TextPairs:
    """Normalize both sides, and the texts of answers."""
    source = normalized(pairs.source, normalization)
    target = normalized(pairs.target, normalization)
    if pairs.answers is None:
        return replace(pairs, source=source, target=target)
    language = pairs.source.language
    answers: list[list[str]] = []
    for accepted in pairs.answers:
        answers.append([normalization.text(answer, language) for answer in accepted])
    return replace(pairs, source=source, target=target, answers=answers)


def normalized(text: Text, normalization: Normalization) -> Text:
    """Normalize lines; words with tags and answers keep their place in the line."""
    lines = normalization.lines(text.lines, text.language)
    if lines is text.lines:
        return text
    if not text.tags and text.answers is None:
        return replace(text, lines=lines)
    rows: list[_Row] = []
    for number, (line, changed) in enumerate(zip(text.lines, lines, strict=True)):
        answer = NOWHERE if text.answers is None else text.answers[number]
        row = _Row(line, text.words[number], answer)
        rows.append(row if line == changed else row.normalized(normalization, text.language))
    if not rows:
        return text
    words = Ragged.from_lengths(np.concatenate([row.words for row in rows]), text.words.lengths)
    answers = None if text.answers is None else [row.answer for row in rows]
    return replace(text, lines=[row.line for row in rows], words=words, answers=answers)


@dataclass(frozen=True)
class _Row:
    """A line, the spans of its words, shape (words, 2), and that of its answer."""

    line: str
    words: NDArray[np.int32]
    answer: Span

    def normalized(self, normalization: Normalization, language: str) -> _Row:
        """Normalize each piece between the boundaries of words and answer, unless a word would vanish or be split."""
        boundaries = {0, len(self.line), *self.words.ravel().tolist(), *self.answer}
        line = ""
        moved = {-1: -1, 0: 0}  # boundary -> boundary in the normalized line
        for start, end in pairwise(sorted(boundaries - {-1})):
            piece = self.line[start:end]
            changed = normalization.text(piece, language)
            line += changed if len(changed.split()) == len(piece.split()) else piece
            moved[end] = len(line)
        words = [moved[boundary] for boundary in self.words.ravel().tolist()]
        start, end = self.answer
        return _Row(line, np.array(words, np.int32).reshape(-1, 2), (moved[start], moved[end]))
