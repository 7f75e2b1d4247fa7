"""Normalization of text whose words have positions, which follow the changed characters."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from interlace.core.ragged import Int32Array, Ragged
from interlace.text import Text
from interlace.text.normalization import Normalization


def normalized(text: Text, normalization: Normalization) -> Text:
    """Normalize lines; words with tags keep their place in the line."""
    lines = normalization.lines(text.lines, text.language)
    if lines is text.lines or not text.tags:
        return replace(text, lines=lines)
    words = text.words.flat.copy()
    offsets = text.words.offsets - text.words.offsets[0]
    new_lines: list[str] = []
    for row, (line, changed) in enumerate(zip(text.lines, lines, strict=True)):
        if line == changed:
            new_lines.append(line)
            continue
        spans = words[offsets[row] : offsets[row + 1]]
        new_lines.append(_normalized_line(line, spans, normalization, text.language))
    return replace(text, lines=new_lines, words=Ragged(words, offsets))


def _normalized_line(
    line: str,
    spans: Int32Array,
    normalization: Normalization,
    language: str,
) -> str:
    """Normalize each piece between the boundaries of words, unless a word would vanish or be split; move `spans`."""
    boundaries = sorted({0, len(line), *spans.ravel().tolist()})
    normalized_line = ""
    moved = {0: 0}  # boundary -> boundary in the normalized line
    for start, end in pairwise(boundaries):
        piece = line[start:end]
        changed = normalization.text(piece, language)
        if len(changed.split()) != len(piece.split()):
            changed = piece
        normalized_line += changed
        moved[end] = len(normalized_line)
    for span in spans:
        span[:] = [moved[boundary] for boundary in span.tolist()]
    return normalized_line
