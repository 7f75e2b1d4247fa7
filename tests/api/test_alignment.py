"""The Python API of word alignment, on small text."""

import pytest

import interlace as il
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import write_lines

SOURCE = ["the house is old", "the garden is big", "a house in the garden"] * 8
TARGET = ["das Haus ist alt", "der Garten ist groß", "ein Haus in dem Garten"] * 8


@pytest.fixture(scope="module")
def pairs():
    return il.Pairs.from_lists(SOURCE, TARGET, languages=("en", "de"))


@pytest.fixture(scope="module")
def aligned(pairs):
    return il.align(pairs, seed=1)


def test_alignments_are_a_sequence(aligned):
    assert aligned[0] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert aligned[-1] == aligned[len(aligned) - 1]
    assert aligned[:2] == [aligned[0], aligned[1]]
    assert aligned.to_pharaoh()[0] == "0-0 1-1 2-2 3-3"
    with pytest.raises(IndexError):
        aligned[24]


def test_alignments_are_drawn(aligned):
    assert "<svg" in aligned.plot(2).__html__()
    assert "Garten" in aligned.plot(2).__html__()
    assert aligned.plot(-1) == aligned.plot(23)
    with pytest.raises(IndexError):
        aligned.plot(24)


def test_trained_aligners_are_saved_and_used_again(aligned, tmp_path):
    aligned.aligner.save(tmp_path / "aligner")
    new = il.Pairs.from_lists(["the garden"], ["der Garten"], languages=("en", "de"))
    assert il.align(new, il.load_aligner(tmp_path / "aligner"))[0] == [(0, 0), (1, 1)]
    with pytest.raises(SettingsError, match="leave out seed"):
        il.align(new, aligned.aligner, seed=2)


def test_lexicon_phrases_and_projection(aligned):
    found = il.lexicon(aligned, mutual=True, words_only=True)
    assert found.translations("house") == {"Haus": 16.0}
    table = il.phrases(aligned, max_length=2)
    assert {len(table[row].source) for row in range(len(table))} == {1, 2}
    tags = [line.split() for line in ["DET NOUN VERB ADJ"] * 2 + ["D N P D N"]]
    assert il.project(tags * 8, aligned)[0] == tags[0]
    with pytest.raises(
        DataError,
        match=r"line 1: 1 labels, .* 4 words; `pairs\.words\(NUMBER\)` .* 'whitespace'",
    ):
        il.project([["DET"]] * 24, aligned)
    with pytest.raises(SettingsError, match="found the string 'DET NOUN'"):
        il.project(["DET NOUN"] * 24, aligned)
    links = sum(map(len, aligned))
    assert repr(aligned) == f"<{links} links of <24 pairs, en-de, words by whitespace>>"


def test_pairs_of_files_find_languages_and_word_tokenizer(tmp_path):
    write_lines(tmp_path / "train.en", ["The house, he says, is old."] * 30)
    write_lines(tmp_path / "train.de", ["Das Haus, sagt er, ist alt."] * 30)
    found = il.Pairs.from_files(tmp_path / "train.en", tmp_path / "train.de")
    assert (found.languages, found.word_tokenizer, len(found)) == (("en", "de"), "unicode", 30)
    assert found.words(0)[0] == ["The", "house", ",", "he", "says", ",", "is", "old", "."]
    (tmp_path / "both").write_text("the house ||| das Haus\n")
    one = il.Pairs.from_files(tmp_path / "both", languages=("en", "de"))
    assert (one.words(0), one.word_tokenizer) == (
        (["the", "house"], ["das", "Haus"]),
        "whitespace",
    )
    with pytest.raises(DataError, match="nothing"):
        il.Pairs.from_files(tmp_path / "nothing", tmp_path / "train.de")
    with pytest.raises(DataError, match="no sentence pairs"):
        il.Pairs.from_lists([], [])


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        (("ab", "cd"), "found a string"),
        ((["a"], [None]), "sentence 0: expected a string, found None"),
    ],
)
def test_rejects_what_is_not_a_list_of_sentences(sides, message):
    with pytest.raises((DataError, SettingsError), match=message):
        il.Pairs.from_lists(*sides)
