from __future__ import annotations

import pytest

from interlace.text.word_tokenizers.unicode import Unicode


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("the cat, sat.", ["the", "cat", ",", "sat", "."]),
        ("3.5 km/h", ["3", ".", "5", "km", "/", "h"]),
        ("don't ...", ["don", "'", "t", ".", ".", "."]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
        ("cafe\u0301s", ["cafe\u0301s"]),
        ("我喜欢GPT4。", ["我", "喜", "欢", "GPT4", "。"]),
        ("カ\u3099ス", ["カ\u3099", "ス"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ខ្ញុំ\u200bទៅ", ["ខ្", "ញុំ", "ទៅ"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("한국어 말", ["한국어", "말"]),
        (" \u0301x a\u0301", ["\u0301x", "a\u0301"]),
        ("a€b", ["a", "€", "b"]),
        ("", []),
        (" \t\u200b", []),
    ],
)
def test_words(line, words):
    (row,) = Unicode().split([line])
    assert [line[start:end] for start, end in row] == words


def test_lines_are_apart():
    assert Unicode().split(["ab", "\u0301c", "", "d"]).to_lists() == [[[0, 2]], [[0, 2]], [], [[0, 1]]]
