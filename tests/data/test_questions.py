"""Questions on passages, their windows, and subwords at characters."""

import numpy as np
import pytest

from interlace.core.ragged import Ragged
from interlace.data import Questions, Sentences, cut_windows
from interlace.data.encoding import subwords_in_span
from interlace.data.vocab import Vocab
from interlace.text import Text

LINES = {
    "en": ["Anna reads  a letter.", " Omar's book\t", "", "  "],
    "zh": ["安娜在星期一读一封信。", "奥马尔 2024年"],
    "hi": ["अन्ना चिट्ठी पढ़ती है।"],
    "ar": ["تقرأ آنا رسالة."],
    "de": ["Ümläute & 🦊 Füchse, naïve\u00a0Größe"],
}


def sentences(lengths, language="en", first=0):
    lengths = np.asarray(lengths, np.int64)
    ids = Ragged.from_lengths(np.arange(first, first + lengths.sum(), dtype=np.int32), lengths)
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), language)


def questions_of(questions, passages, owners, spans):
    """Passages of one character a subword; ids of questions are from 1000 on."""
    contexts = sentences(passages)
    places = np.stack([contexts.ids.columns(), contexts.ids.columns() + 1], axis=1).astype(np.int32)
    owners, spans = np.array(owners, np.int64), np.array(spans, np.int32).reshape(-1, 2)
    names, texts = list(map(str, range(len(questions)))), ["x" * length for length in passages]
    rows = {
        "questions": sentences(questions, first=1000),
        "passages": contexts,
        "owners": owners,
        "spans": spans,
    }
    characters = Ragged(places, contexts.ids.offsets)
    return Questions(
        **rows, characters=characters, texts=texts, answers=[[] for _ in questions], ids=names
    )


def test_windows_of_short_and_long_passages_and_questions():
    cut = cut_windows(questions_of([3], [5], [0], [(1, 2)]), max_length=8, max_question=4, stride=2)
    assert cut.examples.source.ids.to_lists() == [[1000, 1001, 1002]]
    assert cut.examples.target.ids.to_lists() == [[0, 1, 2, 3, 4]]
    assert (cut.spans.tolist(), cut.owners.tolist(), cut.firsts.tolist()) == ([[1, 2]], [0], [0])
    cut = cut_windows(
        questions_of([2], [10], [0], [(4, 5)]), max_length=6, max_question=4, stride=3
    )
    assert cut.examples.target.ids.to_lists() == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]
    assert cut.examples.source.ids.to_lists() == [[1000, 1001]] * 3
    assert cut.spans.tolist() == [[-1, -1], [1, 2], [-1, -1]]
    assert cut.lengths.tolist() == [6, 6, 6]
    for most, kept in [(3, 3), (50, 4)]:
        cut = cut_windows(
            questions_of([20], [3], [0], [(0, 0)]), max_length=8, max_question=most, stride=2
        )
        assert cut.examples.source.lengths.tolist() == [kept]
        assert cut.examples.target.lengths.tolist() == [3]
    cut = cut_windows(
        questions_of([2, 0, 2], [0, 4], [1, 1, 0], [(0, 3), (-1, -1), (-1, -1)]), 10, 4, 2
    )
    assert cut.owners.tolist() == [0, 1, 2]
    assert cut.examples.target.ids.to_lists() == [[0, 1, 2, 3], [0, 1, 2, 3], []]
    assert cut.spans.tolist() == [[0, 3], [-1, -1], [-1, -1]]


def test_takes_rows_with_all_their_columns():
    questions = questions_of([1, 2, 3], [4, 9], [1, 0, 1], [(0, 0), (1, 1), (2, 2)])
    for rows in ([2, 0], np.array([True, False, True])):
        kept = questions.take(rows)
        order = [2, 0] if isinstance(rows, list) else [0, 2]
        assert kept.questions.lengths.tolist() == [1 + row for row in order]
        assert kept.lengths.tolist() == [10 + row for row in order]
        assert kept.ids == [str(row) for row in order]
        assert kept.spans.tolist() == [[row, row] for row in order]
    cut = cut_windows(questions, 6, 3, 2)
    assert cut.take([3]).examples.target.ids.to_lists() == [cut.examples.target.ids[3].tolist()]
    assert cut.take([3]).firsts.tolist() == cut.firsts[[3]].tolist()


@pytest.fixture(scope="module", params=["byte-bpe", "bpe", "wordpiece", "unigram"])
def vocab(request):
    text = {key: [line for line in lines if line.strip()] * 3 for key, lines in LINES.items()}
    return Vocab.learn(text, 420, kind=request.param)


@pytest.mark.parametrize("language", LINES)
def test_subwords_have_the_characters_they_spell(vocab, language):
    lines = LINES[language]
    text = Text.of(lines, language)
    sentences_, places = vocab.encode_with_offsets(text)
    plain = vocab.encode_text(text)
    assert sentences_ == plain
    assert (places.lengths == plain.lengths).all()
    for line, ids, spans in zip(lines, plain.ids, places, strict=True):
        reached = 0
        for number, (start, end) in zip(ids.tolist(), spans.tolist(), strict=True):
            assert 0 <= start <= len(line)
            assert 0 <= end <= len(line)
            piece = line[start:end]
            assert piece == piece.strip()
            if len(vocab.surfaces.spelled[number]) == 0:
                assert piece == ""
            elif not vocab.surfaces.by_bytes and vocab.tokens([number]) != ["[UNK]"]:
                spelt = "".join(map(chr, vocab.surfaces.spelled[number].tolist()))
                assert spelt in (piece, chr(0x10FFFF))
            reached = max(reached, end)
        assert reached == len(line.rstrip())


def test_converts_spans_of_characters_to_spans_of_subwords():
    """Subwords "ab", " ", "cd", "e" of "ab cde"; "xy" of "xy"."""
    places = Ragged.of([[(0, 2), (3, 2), (3, 5), (5, 6)], [], [(0, 2)]], width=2)
    spans = [(0, 2), (3, 6), (4, 5), (0, 1), (1, 4), (5, 6)]
    found = subwords_in_span(places, np.zeros(6, np.int64), np.array(spans, np.int32))
    assert found.tolist() == [[0, 0], [2, 3], [2, 2], [0, 0], [0, 2], [3, 3]]
    found = subwords_in_span(
        places, np.array([1, 2, 0, 2]), np.array([(0, 1), (1, 2), (-1, -1), (2, 2)], np.int32)
    )
    assert found.tolist() == [[-1, -1], [0, 0], [-1, -1], [-1, -1]]
