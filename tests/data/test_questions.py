"""Questions on passages, their windows, and subwords at characters."""

import numpy as np
import pytest

from interlace.core.ragged import Ragged
from interlace.data import Questions, cut_windows
from interlace.data.encoding import subwords_in_span
from interlace.text import Text
from learned_vocabs import KINDS, learned_vocab
from little_rows import sentences_of

LINES = {
    "en": ["Anna reads  a letter.", " Omar's book\t", "", "  "],
    "zh": ["安娜在星期一读一封信。", "奥马尔 2024年"],
    "hi": ["अन्ना चिट्ठी पढ़ती है।"],
    "ar": ["تقرأ آنا رسالة."],
    "de": ["Ümläute & 🦊 Füchse, naïve\u00a0Größe"],
}
NONE = (-1, -1)


def sentences(lengths, first=0):
    lengths = np.asarray(lengths, np.int64)
    ids = Ragged.from_lengths(np.arange(first, first + lengths.sum(), dtype=np.int32), lengths)
    return sentences_of(ids)


def questions_of(questions, passages, owners, spans):
    """Passages of one character a subword; ids of questions are from 1000 on."""
    contexts = sentences(passages)
    columns = contexts.ids.columns()
    return Questions(
        questions=sentences(questions, first=1000),
        passages=contexts,
        owners=np.array(owners, np.int64),
        spans=np.array(spans, np.int32).reshape(-1, 2),
        characters=Ragged(np.stack([columns, columns + 1], axis=1), contexts.ids.offsets),
        texts=["x" * length for length in passages],
        answers=[[] for _ in questions],
        ids=list(map(str, range(len(questions)))),
    )


@pytest.mark.parametrize(
    ("rows", "settings", "pieces", "spans", "lengths"),
    [
        (([3], [5], [0], [(1, 2)]), (8, 4, 2), [[0, 1, 2, 3, 4]], [(1, 2)], [8]),
        (
            ([2], [10], [0], [(4, 5)]),
            (6, 4, 3),
            [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]],
            [NONE, (1, 2), NONE],
            [6, 6, 6],
        ),
        (([20], [3], [0], [(0, 0)]), (8, 3, 2), [[0, 1, 2]], [(0, 0)], [6]),
        (
            ([2, 0, 2], [0, 4], [1, 1, 0], [(0, 3), NONE, NONE]),
            (10, 4, 2),
            [[0, 1, 2, 3], [0, 1, 2, 3], []],
            [(0, 3), NONE, NONE],
            [6, 4, 2],
        ),
    ],
)
def test_windows_by_hand(rows, settings, pieces, spans, lengths):
    windows = cut_windows(questions_of(*rows), *settings)
    assert windows.examples.target.ids.to_lists() == pieces
    assert list(map(tuple, windows.spans.tolist())) == spans
    assert windows.lengths.tolist() == lengths
    last = windows.take([len(windows) - 1])
    assert last.examples.target.ids.to_lists() == pieces[-1:]
    assert last.firsts.tolist() == windows.firsts[-1:].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_subwords_have_the_characters_they_spell(kind):
    text = {key: [line for line in lines if line.strip()] * 3 for key, lines in LINES.items()}
    vocab = learned_vocab(text, 420, kind)
    for language, lines in LINES.items():
        text = Text.of(lines, language)
        subwords, characters = vocab.encode_with_offsets(text)
        assert subwords == vocab.encode_text(text)
        for line, ids, spans in zip(lines, subwords.ids, characters, strict=True):
            for number, (start, end) in zip(ids.tolist(), spans.tolist(), strict=True):
                piece = line[start:end]
                spelled = vocab.surfaces.spellings[number]
                assert piece == piece.strip()
                assert spelled or not piece
                if piece and not vocab.surfaces.by_bytes and number != vocab.unk:
                    assert spelled.decode() == piece
            assert spans[:, 1].max(initial=0) == len(line.rstrip())


def test_converts_spans_of_characters_to_spans_of_subwords():
    """Subwords "ab", " ", "cd", "e" of "ab cde"; "xy" of "xy"."""
    places = Ragged.of([[(0, 2), (3, 2), (3, 5), (5, 6)], [], [(0, 2)]], width=2)
    cases = [
        (0, (0, 2), [0, 0]),
        (0, (3, 6), [2, 3]),
        (0, (4, 5), [2, 2]),
        (0, (1, 4), [0, 2]),
        (0, (5, 6), [3, 3]),
        (1, (0, 1), [-1, -1]),
        (0, (-1, -1), [-1, -1]),
        (2, (2, 2), [-1, -1]),
    ]
    lines, spans, subwords = zip(*cases, strict=True)
    found = subwords_in_span(places, np.array(lines), np.array(spans, np.int32))
    assert found.tolist() == list(subwords)
