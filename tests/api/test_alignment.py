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
    with pytest.raises(SettingsError, match=r"unknown key 'sed'; did you mean 'seed'"):
        il.align(new, sed=2)


def test_lexicon_phrases_and_projection(aligned):
    found = il.lexicon(aligned, mutual=True, words_only=True)
    assert found.translations("house") == {"Haus": 16.0}
    assert ("house" in found, "Haus" in found, found.translations("Haus")) == (True, False, {})
    table = il.phrases(aligned, max_length=2)
    assert {len(table[row].source) for row in range(len(table))} == {1, 2}
    tags = il.project(
        [["DET", "NOUN", "VERB", "ADJ"], ["DET", "NOUN", "VERB", "ADJ"], ["D", "N", "P", "D", "N"]]
        * 8,
        aligned,
    )
    assert tags[0] == ["DET", "NOUN", "VERB", "ADJ"]
    with pytest.raises(
        DataError, match=r"line 1: 1 labels, .* 4 words; `pairs\.words\(NUMBER\)` .* 'whitespace'"
    ):
        il.project([["DET"]] * 24, aligned)
    assert (repr(found), repr(table)) == (
        f"<lexicon of {len(found)} entries>",
        f"<table of {len(table)} phrase pairs>",
    )
    assert (
        repr(aligned)
        == f"<{sum(map(len, aligned))} links of <24 pairs, en-de, words by whitespace>>"
    )


def test_pairs_of_files_find_languages_and_word_tokenizer(tmp_path):
    for language, lines in (
        ("en", ["The house, he says, is old."] * 30),
        ("de", ["Das Haus, sagt er, ist alt."] * 30),
    ):
        (tmp_path / f"train.{language}").write_text("\n".join(lines) + "\n")
    found = il.Pairs.from_files(tmp_path / "train.en", tmp_path / "train.de")
    assert (found.languages, found.word_tokenizer, len(found)) == (("en", "de"), "unicode", 30)
    assert found.words(0)[0] == ["The", "house", ",", "he", "says", ",", "is", "old", "."]
    assert (
        il.Pairs.from_files(
            tmp_path / "train.en", tmp_path / "train.de", word_tokenizer="whitespace"
        ).words(0)[0][1]
        == "house,"
    )
    (tmp_path / "both").write_text("the house ||| das Haus\n")
    one = il.Pairs.from_files(tmp_path / "both", languages=("en", "de"))
    assert (one.words(0), one.word_tokenizer) == ((["the", "house"], ["das", "Haus"]), "whitespace")
    with pytest.raises(DataError, match="nothing"):
        il.Pairs.from_files(tmp_path / "nothing", tmp_path / "train.de")
    with pytest.raises(DataError, match="no sentence pairs"):
        il.Pairs.from_lists([], [])


def test_pairs_of_a_dataset():
    datasets = pytest.importorskip("datasets")
    rows = [{"en": source, "de": target} for source, target in zip(SOURCE, TARGET, strict=True)]
    hub = datasets.Dataset.from_dict({"translation": rows})
    flat = datasets.Dataset.from_list(rows)
    for dataset in (hub, flat):
        assert il.Pairs.from_dataset(dataset, "en", "de").lines() == (SOURCE, TARGET)
    with pytest.raises(DataError, match="columns en, de; expected 'translation', or 'en' and 'fr'"):
        il.Pairs.from_dataset(flat, "en", "fr")
    with pytest.raises(DataError, match="'translation' of the dataset: no 'd'; did you mean 'de'"):
        il.Pairs.from_dataset(hub, "en", "d")
    with pytest.raises(DataError, match="does not name a data set of the hub"):
        il.Pairs.from_dataset("opus", "en", "de")


def test_names_are_imported_when_they_are_used():
    assert set(il.__all__) < set(dir(il))
    with pytest.raises(AttributeError, match="'interlace' has no attribute 'alien'"):
        _ = il.alien


def test_pairs_of_several_compressed_files_and_of_a_translation_memory(tmp_path):
    for name, lines in (
        ("a.en.xz", ["one"]),
        ("b.en.xz", ["two"]),
        ("a.de.xz", ["eins"]),
        ("b.de.xz", ["zwei"]),
    ):
        write_lines(tmp_path / name, lines)
    pairs = il.Pairs.from_files(tmp_path / "*.en.xz", tmp_path / "*.de.xz")
    assert (pairs.languages, pairs.lines()) == (("en", "de"), (["one", "two"], ["eins", "zwei"]))
    unit = '<tu><tuv xml:lang="en-US"><seg>He, a.</seg></tuv><tuv xml:lang="de"><seg>Er, b.</seg></tuv></tu>'
    write_lines(tmp_path / "memory.tmx.gz", [f"<tmx><body>{unit * 30}</body></tmx>"])
    pairs = il.Pairs.from_files(tmp_path / "memory.tmx.gz", languages=("de", "en"), reader="tmx")
    assert (len(pairs), pairs.words(0)) == (30, (["Er", ",", "b", "."], ["He", ",", "a", "."]))
    with pytest.raises(
        DataError, match=r"no translation unit <tu> in de and fr; other languages: de, en-us"
    ):
        il.Pairs.from_files(tmp_path / "memory.tmx.gz", languages=("de", "fr"), reader="tmx")


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        (("ab", "cd"), "found a string"),
        ((["a"], [None]), "sentence 0: expected a string, found None"),
        (([], []), "no"),
    ],
)
def test_rejects_what_is_not_a_list_of_sentences(sides, message):
    with pytest.raises((DataError, SettingsError), match=message):
        il.Pairs.from_lists(*sides)
