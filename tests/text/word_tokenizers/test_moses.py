from __future__ import annotations

import pytest

from interlace.core.errors import MissingDependencyError
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.text.word_tokenizers.moses import Moses

pytest.importorskip("sacremoses")


def words(line, language="en"):
    (row,) = Moses(language=language).split([line])
    return [line[start:end] for start, end in row]


@pytest.mark.parametrize(
    ("language", "line", "found"),
    [
        ("en", "Mr. Smith paid $3.50, didn't he?", ["Mr.", "Smith", "paid", "$", "3.50", ",", "didn", "'t", "he", "?"]),
        ("en", 'a < b & "c" | [d]', ["a", "<", "b", "&", '"', "c", '"', "|", "[", "d", "]"]),
        ("en", "wait ... what....", ["wait", "...", "what", "...."]),
        ("fr", "l'été qu'on aime", ["l'", "été", "qu'", "on", "aime"]),
        ("de", "z.B. gibt's das", ["z.B.", "gibt", "'", "s", "das"]),
        ("xx", "no rules of its own", ["no", "rules", "of", "its", "own"]),
        ("en", "“quoted” – dash", ["“", "quoted", "”", "–", "dash"]),
        ("en", "a\x01b\u3000 c\x85d", ["a\x01b", "c", "d"]),
        ("hi", "नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
    ],
)
def test_words(language, line, found):
    assert words(line, language) == found


def test_a_line_that_sacremoses_rewrites_is_split_all_the_same():
    assert words("DOTMULTI comes back as dots.") == ["DOTMULTI", "comes", "back", "as", "dots", "."]


def test_rules_are_those_of_the_corpus_language():
    assert WORD_TOKENIZERS.build("moses").of("pt-BR") == Moses(language="pt")
    assert Moses().of("fr").split(["l'été"]) == Moses(language="fr").split(["l'été"])
    assert Moses().of("fr").split(["l'été"]) != Moses().split(["l'été"])


def test_without_its_package_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("interlace.text.word_tokenizers.common.spans.find_spec", lambda _name: None)
    with pytest.raises(MissingDependencyError, match="'moses' needs the package 'sacremoses': pip install sacremoses"):
        WORD_TOKENIZERS.build("moses")
    assert WORD_TOKENIZERS.summary("moses")
