from __future__ import annotations

import tempfile

import pytest

from interlace.text.word_tokenizers import zh

pytest.importorskip("jieba")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("老医生在北京大学工作。", ["老", "医生", "在", "北京大学", "工作", "。"]),
        ("我喜欢GPT4.5", ["我", "喜欢", "GPT4.5"]),
        ("café在Москва，１２３号", ["café", "在", "Москва", "，", "１２３", "号"]),
        ("नमस्ते 世界", ["नमस्ते", "世界"]),
        ("한국어 中文", ["한국어", "中文"]),
        ("他\u3000来\x85了", ["他", "来", "了"]),
    ],
)
def test_words(line, found):
    (row,) = zh.Zh().split([line])
    assert [line[start:end] for start, end in row] == found


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    zh._jieba.cache_clear()
    assert len(zh.Zh().split(["老医生"])[0]) == 2
    assert not list(tmp_path.iterdir())
