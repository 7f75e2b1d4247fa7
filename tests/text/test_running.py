"""Words put together again as their scripts write them."""

import pytest

from interlace.core.ragged import Ragged
from interlace.text.running import running_text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["the", "doctor", "."], "the doctor ."),
        (["他", "喜欢", "2", "本", "书", "。"], "他喜欢 2 本书。"),
        (["หมอ", "อ่าน", "OK"], "หมออ่าน OK"),
        (["「", "本", "」", "を"], "「本」を"),
    ],
)
def test_words_are_joined_as_their_script_writes_them(words, line):
    rows = Ragged.of([[], list(range(len(words))), [], [0], []])
    text = running_text(rows, words).text("xx")
    assert text.lines == ["", line, "", words[0], ""]
    assert [text.tokens(row) for row in range(5)] == [[], words, [], words[:1], []]
    assert running_text(rows.slice(2, 4), words).lines == ["", words[0]]
