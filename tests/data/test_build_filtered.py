"""Corpora built through filters."""

from __future__ import annotations

from collections import Counter

import pytest

from interlace.core.errors import DataError
from interlace.data.build import build_corpus, filtered_pairs
from interlace.data.filters import build_filters
from interlace.readers import READERS
from interlace.text.lines import write_lines
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WORD_TOKENIZERS

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


def test_the_packages_that_found_the_words_are_noted(tmp_path, vocab):
    assert build(tmp_path, vocab, ["en"], {}).meta["made_with"] == {"en": ""}
