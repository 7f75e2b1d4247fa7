"""Text as subwords of which none belongs to two words: lines of scripts without blanks cut where that is needed.

Legend: n lines; W words of all lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab

ROUNDS = 8  # most often a second encoding settles a line; each further one makes at least one more cut


def concatenated(parts: Sequence[Sentences]) -> Sentences:
    """All rows of all parts, in order."""
    if len(parts) == 1:
        return parts[0]
    ids, words = (Ragged.concatenate([getattr(part, name) for part in parts]) for name in ("ids", "words"))
    return Sentences(ids, words, parts[0].language)


def encode_words_apart(text: Text, vocab: Vocab) -> Sentences:
    """Subwords of each line, encoded so that no subword holds the beginning of two words.

    Scripts without blanks, and clitics, often have a subword that runs over the border of two gold words; the second
    word would then have none to be tagged by. Only there is the line cut in two before that word and each part encoded
    by itself, which is what tokenising word by word does everywhere. All other lines keep the ids of the plain line.
    """
    sentences = vocab.encode_text(text)
    touching = _touching(text)
    cut = np.zeros(len(touching), np.bool_)
    for _ in range(ROUNDS):
        new = touching & ~cut & ~_begun(sentences, text.words.lengths)
        if not new.any():
            break
        cut |= new
        lines = np.unique(text.words.rows()[new])
        sentences = _replaced(sentences, lines, _encode_parts(_cut(text, lines, cut), len(lines), vocab))
    return sentences


def _touching(text: Text) -> NDArray[np.bool_]:
    """(W,) whether a word follows another of its line without anything between."""
    spans = text.words.flat
    touching = np.zeros(len(spans), np.bool_)
    touching[1:] = (spans[1:, 0] == spans[:-1, 1]) & (np.diff(text.words.rows()) == 0)
    return touching


def _begun(sentences: Sentences, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(W,) whether a word has any subword; `counts` are the words of each line."""
    starts = np.cumsum(counts) - counts
    begun = np.zeros(int(counts.sum()), np.bool_)
    inside = sentences.words.flat >= 0
    begun[starts[sentences.words.rows()[inside]] + sentences.words.flat[inside]] = True
    return begun


@dataclass(frozen=True)
class _Parts:
    """Lines cut in parts.

    text: a line a part. firsts: the number of each part's first word in its line. owners: the line of each part.
    """

    text: Text
    firsts: NDArray[np.int32]
    owners: NDArray[np.int64]


def _cut(text: Text, lines: NDArray[np.int64], cut: NDArray[np.bool_]) -> _Parts:
    """The given lines, each cut before its marked words."""
    parts: list[str] = []
    spans: list[NDArray[np.int32]] = []
    firsts: list[int] = []
    owners: list[int] = []
    for number, line in enumerate(lines.tolist()):
        words = text.words[line]
        begins = np.flatnonzero(cut[text.words.offsets[line] : text.words.offsets[line + 1]])
        places = [0, *words[begins, 0].tolist(), len(text.lines[line])]
        borders = [0, *begins.tolist(), len(words)]
        for part in range(len(borders) - 1):
            parts.append(text.lines[line][places[part] : places[part + 1]])
            spans.append(words[borders[part] : borders[part + 1]] - places[part])
        firsts += borders[:-1]
        owners += [number] * (len(borders) - 1)
    columns = Ragged.from_lengths(np.concatenate(spans), [len(span) for span in spans])
    return _Parts(
        Text(text.language, parts, columns, text.word_tokenizer), np.array(firsts, np.int32), np.array(owners)
    )


def _encode_parts(parts: _Parts, count: int, vocab: Vocab) -> Sentences:
    """Each part encoded by itself, and the parts of each of the `count` lines put together again.

    Many tokenizers put a blank before every line. Where that is a subword of its own, it is left out inside a line.
    """
    encoded = vocab.encode_text(parts.text)
    ids, words = encoded.ids.flat, encoded.words.flat + np.repeat(parts.firsts, encoded.lengths)
    blank = np.diff(vocab.surfaces.spelled.offsets)[ids] == 0
    kept = ~(blank & (encoded.ids.columns() == 0) & np.repeat(parts.firsts > 0, encoded.lengths))
    lengths = np.bincount(parts.owners[encoded.ids.rows()[kept]], minlength=count)
    build = Ragged.from_lengths
    return Sentences(build(ids[kept], lengths), build(words[kept].astype(np.int32), lengths), parts.text.language)


def _replaced(sentences: Sentences, rows: NDArray[np.int64], new: Sentences) -> Sentences:
    """The sentences with the given rows exchanged."""
    order = np.arange(len(sentences))
    order[rows] = len(sentences) + np.arange(len(rows))
    return concatenated([sentences, new]).take(order)
