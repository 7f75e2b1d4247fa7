"""Tokens with IOB2 tags."""

import pytest

from interlace.core.errors import DataError
from interlace.readers.iob import Iob


def _read(path, text):
    (path / "ner.tsv").write_text(text, encoding="utf-8")
    return list(Iob().read_chunks([path / "ner.tsv"], ["xx"]))


def test_tokens_are_words_and_tags_are_names_which_are_repaired(tmp_path):
    (text,) = _read(tmp_path, "Anna\tB-PER\nMaria\tI-PER\nreads\tO\n\nIn\tO\nAnkara\tB-LOC\n")
    assert text.lines == ["Anna Maria reads", "In Ankara"]
    assert text.tokens(0) == ["Anna", "Maria", "reads"]
    assert text.tags == {"names": [["B-PER", "I-PER", "O"], ["O", "B-LOC"]]}
    assert (text.word_tokenizer, text.notes) == ("iob", {})
    (text,) = _read(tmp_path, "-DOCSTART- -X- O\n\nAnna NNP B-PER\nreads VB O\n")
    assert (text.lines, text.tags["names"]) == (["Anna reads"], [["B-PER", "O"]])
    (text,) = _read(
        tmp_path, "a\tI-PER\nb\tI-PER\nc\tI-LOC\nd\tO\ne\tI-LOC\nf\tB-LOC\ng\tI-LOC\n"
    )
    assert text.tags["names"] == [["B-PER", "I-PER", "B-LOC", "O", "B-LOC", "B-LOC", "I-LOC"]]
    assert text.notes == {"I- without B- changed to B-": 3}


def test_unspaced_scripts_are_joined_without_spaces(tmp_path):
    (text,) = _read(tmp_path, "我\tO\n们\tO\nGPT\tO\n4\tO\n。\tO\n")
    assert text.lines == ["我们GPT 4。"]
    assert text.tokens(0) == ["我", "们", "GPT", "4", "。"]


def test_tokens_of_white_space_are_left_out_and_counted(tmp_path):
    (text,) = _read(tmp_path, "a\tO\n\u3000\tO\n\u00a0b\tB-PER\n")
    assert (text.tokens(0), text.tags["names"]) == (["a", "b"], [["O", "B-PER"]])
    assert text.notes == {"tokens of white space left out": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tO\nb\n", "line 2: 'b'; expected a token and a tag"),
        ("a\tPER\n", "line 1: .* expected a token and a tag O, B-TYPE or I-TYPE"),
        ("a\tB-\n", "line 1: .* expected"),
        ("\n\n", "no sentence"),
    ],
)
def test_names_wrong_lines(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        _read(tmp_path, text)
