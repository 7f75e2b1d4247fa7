"""Held-out text in training text, compared with a slow implementation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.data.contamination import MAX_EXCERPTS, HeldOutSet, find_contamination, ngram_length
from interlace.data.hashing import hash_tokens, tokens_of
from interlace.text import Text

TEN = "one two three four five six seven eight nine ten"
lines_of = st.lists(
    st.text(st.sampled_from("aB é1.,\0\tहिन中文ไทย'-\n…ß"), max_size=12), max_size=6
)


def training(*lines, language="en"):
    return [(Text.of(list(lines), language), lambda row: f"train:{row + 1}")]


@given(lines_of, st.integers(1, 4))
@settings(deadline=None)
def test_ngrams_within_lines_have_equal_hashes_where_their_words_are_equal(lines, n):
    words = [tokens_of(line) for line in lines]
    tokens = hash_tokens(lines)
    assert tokens.lengths.tolist() == [len(line) for line in words]
    expected = [tuple(line[at : at + n]) for line in words for at in range(len(line) - n + 1)]
    hashes, starts = tokens.ngrams(n)
    both = set(zip(expected, hashes.tolist(), strict=True))
    assert len(both) == len(set(expected)) == len(set(hashes.tolist()))
    texts = [tokens.ngram_text(n, number) for number in range(len(expected))]
    assert texts == [" ".join(gram) for gram in expected]
    assert np.all(np.diff(starts) > 0)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("“Don’t!” — SHE said…", ["don", "t", "she", "said"]),
        ("他是 doctor。", ["他", "是", "doctor"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("\ufb01ne Straße １２", ["fine", "strasse", "12"]),
    ],
)
def test_words_of_a_line(line, words):
    assert tokens_of(line) == words
    assert hash_tokens([line]).lengths.tolist() == [len(words)]


CHINESE = "我们昨天在城里的书店买了三本新书给朋友"


@pytest.mark.parametrize(
    ("train", "test", "language", "counts"),
    [
        (["A line.", "“He works — in Berlin!”"], "he works in Berlin.", "en", (1, 1)),
        ([f"zero {TEN}"], "X two three four five six seven eight nine Y", "en", (0, 1)),
        ([f"zero {TEN}"], "X two three four five six seven eight Y", "en", (0, 0)),
        (["one two three four", "five six seven eight nine ten"], TEN, "en", (0, 0)),
        ([CHINESE], CHINESE[2:15] + "吧", "zh", (0, 1)),  # thirteen characters
        ([CHINESE], CHINESE[2:14] + "吧", "zh", (0, 0)),
    ],
)
def test_counts_whole_texts_and_ngrams(train, test, language, counts):
    held_out = [HeldOutSet("xnli", language, {"text": [test]})]
    (found,) = find_contamination(training(*train, language=language), held_out)
    assert (found.exact, found.ngram) == counts


def test_counts_each_part_and_the_whole_set():
    test = HeldOutSet("xnli", "de", {"premise": [TEN, "a b c"], "hypothesis": ["x y z", "x y z"]})
    (result,) = find_contamination(
        training("X y z", "and one two three four five six seven eight"), [test]
    )
    assert (result.total, result.exact, result.ngram) == (2, 2, 2)
    assert result.dump()["ngram"] == 100.0
    assert [ngram_length(language) for language in ("en", "zh", "th", "xx")] == [8, 13, 32, 8]


def test_examples_and_findings_name_the_set_and_the_places():
    lines = [f"he works in {number}" for number in range(9)]
    (result,) = find_contamination(training(*lines), [HeldOutSet("pos", "en", {"text": lines})])
    assert (result.exact, len(result.examples)) == (9, MAX_EXCERPTS)
    test = HeldOutSet("xnli", "en", {"text": ["He works in Berlin.", f"{TEN} eleven", "and so on"]})
    lines = ["nothing here", f"and {TEN}", "he works in Berlin"]
    (result,) = find_contamination(training(*lines), [test])
    exact, ngrams = result.findings(ngrams=True)
    assert (exact.level, exact.what, exact.count, exact.total) == ("warning", "contamination", 1, 3)
    assert [example.where for example in exact.examples] == ["train:3"]
    assert (ngrams.level, ngrams.what, ngrams.count) == ("note", "n-gram overlap", 1)
    assert result.examples[1].text == ".. one two three four five six seven eight .."
