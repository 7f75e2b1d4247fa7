"""Corpora built from files, with and without filters."""

from __future__ import annotations

from collections import Counter

import pytest

from interlace.core.errors import DataError
from interlace.data.build import build_corpus, filtered_pairs
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.filters import build_filters
from interlace.readers import READERS
from interlace.text.lines import write_lines
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WORD_TOKENIZERS

BLANKS = WORD_TOKENIZERS.build("whitespace")


def _build(folder, vocab, files, languages, reader="lines", word_tokenizer=BLANKS, normalization=None):
    paths = []
    for name, lines in files.items():
        write_lines(folder / name, lines)
        paths.append(folder / name)
    built = READERS.build(reader)
    return build_corpus(
        built, paths, languages, vocab, word_tokenizer, normalization or Normalization(), folder / "corpus"
    )


def test_a_corpus_holds_the_lines_and_leaves_out_empty_ones(tmp_path, vocab):
    lines = ["the old doctor", "", "he  works", " \u3000"]
    corpus = _build(tmp_path, vocab, {"a.txt": lines}, ["en"])
    assert isinstance(corpus, Corpus)
    expected = vocab.encode(["the old doctor", "he  works"], BLANKS, "en")
    found = corpus.take([0, 1])
    assert (found.ids, found.words, found.language) == (expected.ids, expected.words, "en")
    assert (len(corpus), corpus.meta["skipped"]) == (2, 2)
    assert corpus.meta["sources"] == [str(tmp_path / "a.txt")]


def test_pairs_go_together_when_a_side_is_empty(tmp_path, vocab):
    files = {"a.en": ["one", "", "three"], "a.de": ["eins", "zwei", "drei"]}
    corpus = _build(tmp_path, vocab, files, ["en", "de"])
    assert isinstance(corpus, ParallelCorpus)
    assert [len(corpus), corpus.meta["skipped"]] == [2, 1]
    pairs = corpus.take([0, 1])
    assert pairs.source.ids == vocab.encode(["one", "three"]).ids
    assert pairs.target.ids == vocab.encode(["eins", "drei"]).ids


def test_chunks_make_no_difference(tmp_path, vocab, monkeypatch, lines):
    rows = [line for some in lines.values() for line in some]
    whole = _build(tmp_path, vocab, {"a.txt": rows}, ["en"]).take(range(len(rows)))
    monkeypatch.setattr("interlace.readers.CHUNK", 3)
    parts = _build(tmp_path, vocab, {"a.txt": rows}, ["en"]).take(range(len(rows)))
    assert whole.ids == parts.ids
    assert whole.words == parts.words


def test_what_is_wrong_leaves_nothing_behind(tmp_path, vocab):
    with pytest.raises(DataError, match=r"has 2 lines and .* has 1"):
        _build(tmp_path, vocab, {"a": ["1", "2"], "b": ["1"]}, ["en", "de"])
    with pytest.raises(DataError, match="all 2 lines were empty"):
        _build(tmp_path, vocab, {"a": ["", ""]}, ["en"])
    with pytest.raises(DataError, match="a corpus has one language or two, found 3"):
        _build(tmp_path, vocab, {"a": ["x"]}, ["en", "de", "fr"], "tsv")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_a_reader_of_pairs_makes_no_corpus_of_one_language(tmp_path, vocab):
    rows = ["gold_label\tsentence1\tsentence2", "neutral\ta\tb"]
    with pytest.raises(DataError, match="the reader yields pairs"):
        _build(tmp_path, vocab, {"a": rows}, ["en"], "nli")


def test_real_pairs(real_data, tmp_path, vocab):
    folder = real_data / "parallel" / "multi30k"
    paths = [folder / "val.en.gz", folder / "val.de.gz"]
    corpus = build_corpus(READERS.build("lines"), paths, ["en", "de"], vocab, BLANKS, Normalization(), tmp_path / "c")
    assert len(corpus) == 1014
    assert corpus.counts["words"]["en"] == 12167  # wc -w


RULES = {"length": {"max_words": 3}, "duplicates": {}}
SIDES = {
    "en": ["the doctor", "", "he reads", "the doctor", "one two three four"],
    "de": ["der Arzt", "leer", "er liest", "der Arzt", "eins"],
}


def build(folder, vocab, languages, rules, normalization=None, name="corpus"):
    for language in languages:
        write_lines(folder / language, SIDES[language])
    return build_corpus(
        READERS.build("lines"),
        [folder / language for language in languages],
        languages,
        vocab,
        WORD_TOKENIZERS.build("whitespace"),
        normalization or Normalization(),
        folder / name,
        build_filters(rules),
    )


@pytest.mark.parametrize("chunk", [2, 100])
@pytest.mark.parametrize("languages", [["en"], ["en", "de"]])
def test_what_filters_drop_is_left_out_and_counted(tmp_path, vocab, languages, chunk, monkeypatch):
    monkeypatch.setattr("interlace.readers.CHUNK", chunk)
    corpus = build(tmp_path, vocab, languages, RULES)
    assert len(corpus) == 2
    assert corpus.meta["skipped"] == 1
    assert corpus.meta["notes"] == {"dropped by length": 1, "dropped by duplicates": 1}
    assert corpus.meta["filters"][0][0] == "length"
    assert corpus.meta["filters"][0][1]["max_words"] == 3
    rows = corpus.take([0, 1])
    rows = rows if len(languages) == 1 else rows.source
    assert rows.ids == vocab.encode(["the doctor", "he reads"]).ids


def test_rules_see_normalised_lines(tmp_path, vocab):
    SIDES["ab"] = ["A b", "a B"]
    assert len(build(tmp_path, vocab, ["ab"], {"duplicates": {}})) == 2
    assert len(build(tmp_path, vocab, ["ab"], {"duplicates": {}}, Normalization(lower_case=True), "other")) == 1


def test_text_beside_a_corpus_keeps_its_rows_and_loses_the_same_words(tmp_path, vocab):
    corpus = build(tmp_path, vocab, ["en", "de"], RULES)
    chunks = READERS.build("lines").read_chunks([tmp_path / "en", tmp_path / "de"], ["en", "de"])
    counts = Counter()
    (text,) = filtered_pairs(chunks, WORD_TOKENIZERS.build("whitespace"), Normalization(), counts, build_filters(RULES))
    assert text.source.words.lengths.tolist() == [2, 0, 2, 0, 0]
    assert text.target.words.lengths.tolist() == [2, 0, 2, 0, 0]
    assert counts == {"empty": 1, "dropped by length": 1, "dropped by duplicates": 1}
    assert len(corpus) == 2


def test_filters_that_leave_nothing_say_what_dropped_it(tmp_path, vocab):
    with pytest.raises(DataError, match="nothing to write: 1 empty, 4 dropped by length"):
        build(tmp_path, vocab, ["en"], {"length": {"min_words": 9}})
