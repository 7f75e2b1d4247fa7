"""Word vectors in the text format of word2vec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.embeddings import WordVectors


def write_vec(path: Path, vectors: WordVectors) -> None:
    """Write a line with the numbers of words and of dimensions, and one for each word, with exact float32."""
    rows = [" ".join(f"{value:.9g}" for value in row) for row in vectors.vectors.tolist()]
    lines = [f"{word} {row}" for word, row in zip(vectors.words, rows, strict=True)]
    write_lines(path, [f"{len(vectors)} {vectors.width}", *lines])
