from __future__ import annotations

import pytest

pytest.importorskip("sudachipy")
pytest.importorskip("sudachidict_core")

from interlace.text.word_tokenizers import ja


def words(line):
    (row,) = ja.Ja().split([line])
    return [line[start:end] for start, end in row]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("老医師が手紙を読む。", ["老", "医師", "が", "手紙", "を", "読む", "。"]),
        ("国際連合", ["国際", "連合"]),
        ("㍿東京 ａｂｃ", ["㍿", "東京", "ａｂｃ"]),
        ("カ\u3099ス café\u3000Привет", ["カ\u3099ス", "café", "Привет"]),
    ],
)
def test_words_stand_on_the_line_as_it_is(line, found):
    assert words(line) == found


@pytest.mark.parametrize("sentence", ["医師が手紙を読む。", "あ"])
def test_lines_longer_than_sudachi_takes_are_read_in_parts(sentence, monkeypatch):
    monkeypatch.setattr(ja, "_MAX_CHARACTERS", 20)
    line = sentence * 9
    assert "".join(words(line)) == line
    if len(sentence) > 1:
        assert words(line) == words(sentence) * 9


def test_a_line_of_a_hundred_thousand_characters():
    line = "医師が手紙を読む。" * 12_000
    assert len(words(line)) == 6 * 12_000
