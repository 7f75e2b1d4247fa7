"""Words of each word tokenizer by hand, and what is particular to one of them."""

import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import MissingDependencyError
from interlace.core.ragged import Ragged
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.text.word_tokenizers.common.spans import placed, rejoined

PACKAGES = {"zh": "jieba", "ja": "sudachipy", "th": "pythainlp", "moses": "sacremoses"}
WORDS = {
    "unicode": [
        ("the cat, sat.", ["the", "cat", ",", "sat", "."]),
        ("3.5 km/h", ["3", ".", "5", "km", "/", "h"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
        ("cafe\u0301s", ["cafe\u0301s"]),
        ("我喜欢GPT4。", ["我", "喜", "欢", "GPT4", "。"]),
        ("カ\u3099ス", ["カ\u3099", "ス"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ខ្ញុំ\u200bទៅ", ["ខ្", "ញុំ", "ទៅ"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        (" \u0301x a\u0301", ["\u0301x", "a\u0301"]),
        ("a€b", ["a", "€", "b"]),
        ("", []),
    ],
    "zh": [
        ("老医生在北京大学工作。", ["老", "医生", "在", "北京大学", "工作", "。"]),
        ("我喜欢GPT4.5", ["我", "喜欢", "GPT4.5"]),
        ("café在Москва，１２３号", ["café", "在", "Москва", "，", "１２３", "号"]),
        ("他\u3000来\x85了", ["他", "来", "了"]),
    ],
    "ja": [
        ("老医師が手紙を読む。", ["老", "医師", "が", "手紙", "を", "読む", "。"]),
        ("㍿東京 ａｂｃ", ["㍿", "東京", "ａｂｃ"]),
        ("カ\u3099ス café\u3000Привет", ["カ\u3099ス", "café", "Привет"]),
    ],
    "th": [
        ("หมออ่านจดหมายสามฉบับ", ["หมอ", "อ่าน", "จดหมาย", "สาม", "ฉบับ"]),
        ("เขากิน café ที่ Москва", ["เขา", "กิน", "café", "ที่", "Москва"]),
        ("नमस्ते\x85ไทย ", ["नमस्ते", "ไทย"]),
    ],
}
MOSES = [
    (
        "en",
        "Mr. Smith paid $3.50, didn't he?",
        ["Mr.", "Smith", "paid", "$", "3.50", ",", "didn", "'t", "he", "?"],
    ),
    ("en", 'a < b & "c" | [d]', ["a", "<", "b", "&", '"', "c", '"', "|", "[", "d", "]"]),
    ("fr", "l'été qu'on aime", ["l'", "été", "qu'", "on", "aime"]),
    ("en", "a\x01b\u3000 c\x85d", ["a\x01b", "c", "d"]),
    ("hi", "नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
]
SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())


def words(name, line, **settings):
    """The words of a line; the test is skipped where the package of the tokenizer is not installed."""
    pytest.importorskip(PACKAGES.get(name, "numpy"))
    (row,) = WORD_TOKENIZERS.build({"name": name, **settings}).split([line])
    return [line[start:end] for start, end in row]


@pytest.mark.parametrize(
    ("name", "line", "found"), [(name, *row) for name, rows in WORDS.items() for row in rows]
)
def test_words(name, line, found):
    assert words(name, line) == found


@pytest.mark.parametrize(("language", "line", "found"), MOSES)
def test_moses_has_rules_for_each_language(language, line, found):
    assert words("moses", line, language=language) == found


def test_moses_splits_lines_that_sacremoses_rewrites():
    assert words("moses", "DOTMULTI comes.") == ["DOTMULTI", "comes", "."]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("interlace.core.errors.find_spec", lambda _name: None)
    with pytest.raises(
        MissingDependencyError,
        match=r"'moses' needs the extra 'words-moses' \(package 'sacremoses'\): pip install 'interlace\[words-moses\]'",
    ):
        WORD_TOKENIZERS.build("moses")
    assert WORD_TOKENIZERS.summary("moses")


def test_jieba_leaves_no_temporary_file(tmp_path, monkeypatch):
    pytest.importorskip("jieba")
    from interlace.text.word_tokenizers import zh

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    zh._jieba.cache_clear()
    assert len(zh.Zh().split(["老医生"])[0]) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("sentence", ["医師が手紙を読む。", "あ"])
def test_lines_longer_than_the_limit_of_sudachi_are_read_in_parts(sentence, monkeypatch):
    pytest.importorskip("sudachidict_core")
    monkeypatch.setattr("interlace.text.word_tokenizers.ja._MAX_CHARACTERS", 20)
    line = sentence * 9
    assert "".join(words("ja", line)) == line
    if len(sentence) > 1:
        assert words("ja", line) == words("ja", sentence) * 9


@given(
    st.lists(
        st.text(st.sampled_from("ab中é\u0301😀\ufeff\u200b" + SPACES), max_size=20), max_size=8
    )
)
def test_whitespace_is_that_of_str_split(lines):
    spans = WORD_TOKENIZERS.build("whitespace").split(lines)
    found = [
        [line[start:end] for start, end in row] for line, row in zip(lines, spans, strict=True)
    ]
    assert found == [line.split() for line in lines]


@pytest.mark.parametrize(
    ("language", "name", "package"),
    [
        ("zh", "zh", "jieba"),
        ("zh_TW", "zh", "jieba"),
        ("th", "th", "pythainlp"),
        ("fr", "moses", "sacremoses"),
        ("km", "unicode", "numpy"),
    ],
)
def test_each_language_has_its_own(language, name, package):
    pytest.importorskip(package)
    assert WORD_TOKENIZERS.build("by_language").of(language) == WORD_TOKENIZERS.build(name).of(
        language
    )


def test_only_the_requested_languages_need_their_package(monkeypatch):
    monkeypatch.setattr(
        "interlace.core.errors.find_spec",
        lambda name: None if name == "jieba" else True,
    )
    assert WORD_TOKENIZERS.build("by_language").of("fr")
    with pytest.raises(MissingDependencyError, match="words-zh"):
        WORD_TOKENIZERS.build("by_language").of("zh")


@pytest.mark.parametrize(
    ("line", "tokens", "spans"),
    [
        ("a b", ["a", "b"], [(0, 1), (2, 3)]),
        ("aXa", ["a", "a"], [[0, 3]]),
        ("a\x01b", ["ab"], [(0, 3)]),
        ("ab", ["abc"], [[0, 2]]),
        ("", [], []),
    ],
)
def test_tokens_of_other_tools_are_found_in_order(line, tokens, spans):
    assert placed(line, tokens) == spans


def test_pieces_of_a_word_of_another_script_are_joined():
    lines = ["", "中cafe\u0301", "a b"]
    pieces = [[], [(0, 1), (1, 4), (4, 5), (5, 6)], [(0, 1), (2, 3)]]
    joined = rejoined(lines, Ragged.of(pieces, width=2))
    assert joined.to_lists() == [[], [[0, 1], [1, 6]], [[0, 1], [2, 3]]]
