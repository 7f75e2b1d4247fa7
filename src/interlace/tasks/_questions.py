"""Questions and passages of a task's files, encoded: each passage once, each answer as a span of its subwords."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data._places import subwords_in_span
from interlace.data.apart import concatenated
from interlace.data.questions import Questions
from interlace.tasks._encode import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.data.vocab import Vocab
    from interlace.text import Text, TextPairs


def encode_questions(chunks: Sequence[TextPairs], vocab: Vocab) -> Questions:
    """All questions of the chunks in their order.

    Raises:
        DataError: they are pairs without answers, such as translations.
    """
    answers = [row for chunk in chunks for row in chunk.answers or []]
    places = [place for chunk in chunks for place in chunk.source.answers or []]
    count = sum(map(len, chunks))
    if not len(answers) == len(places) == count:
        raise DataError("the reader gives pairs without answers; set another 'reader', such as 'squad'")
    numbers: dict[str, int] = {}
    parts = [vocab.encode_with_offsets(new) for chunk in chunks if len(new := _unseen(chunk.source, numbers))]
    characters = Ragged.concatenate([spans for _, spans in parts])
    owners = np.array([numbers[line] for chunk in chunks for line in chunk.source.lines], np.int64)
    return Questions(
        questions=encode((chunk.target for chunk in chunks), vocab),
        passages=concatenated([sentences for sentences, _ in parts]),
        owners=owners,
        spans=subwords_in_span(characters, owners, np.array(places, np.int32).reshape(-1, 2)),
        characters=characters,
        texts=list(numbers),
        answers=answers,
        ids=[key for chunk in chunks for key in chunk.ids or [""] * len(chunk)],
    )


def _unseen(text: Text, numbers: dict[str, int]) -> Text:
    """The lines that are not in `numbers` yet, each once; they are added to it."""
    new = np.zeros(len(text), np.bool_)
    for row, line in enumerate(text.lines):
        if line not in numbers:
            numbers[line] = len(numbers)
            new[row] = True
    return text.where(new)
