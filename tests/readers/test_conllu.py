"""Treebanks in CoNLL-U."""

from collections import Counter

import pytest

from interlace.core.errors import DataError
from interlace.readers.conllu import Conllu


def _row(number, form, tag="X", misc="_"):
    return f"{number}\t{form}\t_\t{tag}\t_\t_\t_\t_\t_\t{misc}\n"


def _read(path, text, **settings):
    (path / "a.conllu").write_text(text, encoding="utf-8")
    (chunk,) = Conllu(**settings).read_chunks([path / "a.conllu"], ["xx"])
    return chunk


@pytest.mark.parametrize(
    ("text", "line", "tokens", "tags", "notes"),
    [
        (
            "# sent_id = 1\n# text = He reads, too.\n"
            + _row(1, "He", "PRON")
            + _row(2, "reads", "VERB", "Gloss=x|SpaceAfter=No")
            + _row("2.1", "empty", "VERB")
            + _row(3, ",", "PUNCT")
            + _row(4, "too", "ADV", "SpaceAfter=No")
            + _row(5, ".", "PUNCT"),
            "He reads, too.",
            "He reads , too .",
            "PRON VERB PUNCT ADV PUNCT",
            {},
        ),
        # a token is split where its words spell it
        (
            "# text = I Can't.\n"
            + _row(1, "I")
            + _row("2-3", "Can't", "_", "SpaceAfter=No")
            + _row(2, "can", "AUX")
            + _row(3, "'t", "PART")
            + _row(4, ".", "PUNCT"),
            "I Can't.",
            "I Can 't .",
            "X AUX PART PUNCT",
            {},
        ),
        # and goes to its first word where they do not
        (
            "# text = am Montag\n"
            + _row("1-2", "am")
            + _row(1, "an", "ADP")
            + _row(2, "dem", "DET")
            + _row(3, "Montag", "NOUN"),
            "am Montag",
            "am Montag",
            "ADP NOUN",
            {"words of multiword tokens left out": 1},
        ),
        (
            "# text = He  reads\n" + _row(1, "He") + _row(2, "reads"),
            "He reads",
            "He reads",
            "X X",
            {"lines that differ from # text": 1},
        ),
    ],
)
def test_the_line_is_rebuilt_and_words_are_tagged(tmp_path, text, line, tokens, tags, notes):
    found = _read(tmp_path, text)
    assert (found.lines, found.word_tokenizer) == ([line], "conllu")
    assert found.tokens(0) == tokens.split()
    assert found.tags == {"pos": [tags.split()]}
    assert found.notes == notes


def _dependent(number, form, head, relation="dep"):
    return f"{number}\t{form}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_\n"


def test_a_merged_word_has_the_head_of_the_uppermost(tmp_path):
    """Arabic `wktAb` is "and" + "book": the book depends on the verb, "and" on the book."""
    text = _dependent(1, "sees", 0, "root") + _row("2-3", "wktAb") + _dependent(2, "w", 3, "cc")
    text += _dependent(3, "kitAb", 1, "obj") + _dependent(4, "old", 3, "amod")
    found = _read(tmp_path, text, trees=True)
    assert found.tokens(0) == ["sees", "wktAb", "old"]
    assert found.heads.to_lists() == [[-1, 0, 1]]
    assert found.tags["deprel"] == [["root", "obj", "amod"]]
    assert _read(tmp_path, text).heads is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_row(1, "He"), r"a\.conllu, line 1: head '_'"),
        (_dependent(1, "He", 0) + _dependent(2, "is", 3), r"line 2: head '3'"),
        (_dependent(1, "a", 2) + _dependent(2, "b", 1), r"line 1: the word is in a cycle"),
        (_dependent(1, "a", 1), r"line 1: the word is in a cycle"),
    ],
)
def test_rejects_heads_that_are_no_tree(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        _read(tmp_path, text, trees=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tHe\t_\n", r"a\.conllu, line 1: 3 tab-separated columns, CoNLL-U has 10"),
        ("# x\n" + _row("one", "He"), r"line 2: 'one'"),
        ("# only a comment\n", "no sentence"),
    ],
)
def test_names_wrong_lines(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        _read(tmp_path, text)


@pytest.mark.parametrize(
    ("file", "sentences", "words", "unlike"),
    [
        ("UD_English-EWT/en_ewt-ud-test.conllu", 2077, 25094, 1),
        ("UD_German-PUD/de_pud-ud-test.conllu", 1000, None, 0),
    ],
)
def test_real_treebanks(real_data, file, sentences, words, unlike):
    chunks = list(Conllu().read_chunks([real_data / "pos" / file], ["xx"]))
    notes = sum((Counter(chunk.notes) for chunk in chunks), Counter())
    assert sum(map(len, chunks)) == sentences
    assert notes["lines that differ from # text"] == unlike
    for chunk in Conllu(trees=True).read_chunks([real_data / "pos" / file], ["xx"]):
        assert [heads.tolist().count(-1) for heads in chunk.heads] == [1] * len(chunk)
    found = sum(len(chunk.words.values) for chunk in chunks)
    assert words is None or found + notes["words of multiword tokens left out"] == words
