"""Word vectors: little ones, and their text format of word2vec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.embeddings import WordVectors
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from pathlib import Path


def in_the_plane(language: str, **degrees: float) -> WordVectors:
    """Words at these angles; German vectors are twice as long as those of other languages."""
    angles = np.radians(list(degrees.values()))
    length = 2 if language == "de" else 1
    rows = length * np.stack([np.cos(angles), np.sin(angles)], 1)
    return WordVectors(language, list(degrees), rows.astype("f"))


def write_vec(path: Path, vectors: WordVectors) -> None:
    """Write a line with the numbers of words and of dimensions, and one for each word, with exact float32."""
    rows = [" ".join(f"{value:.9g}" for value in row) for row in vectors.vectors.tolist()]
    lines = [f"{word} {row}" for word, row in zip(vectors.words, rows, strict=True)]
    write_lines(path, [f"{len(vectors)} {vectors.width}", *lines])
