"""Held-out text in training text, compared with a slow implementation."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.data.contamination import (
    MAX_EXCERPTS,
    HeldOutSet,
    find_contamination,
    ngram_length,
)
from interlace.data.hashing import hash_lines
from interlace.text import Text, TextPairs
from interlace.text.scripts import is_unspaced

TEN = "one two three four five six seven eight nine ten"
lines_of = st.lists(
    st.text(st.sampled_from("aB é1.,\0\tहिन中文ไทย'-\n…ß"), max_size=12), max_size=6
)


def words_of(line):
    """The words of a line, found character by character."""
    words = []
    continues = False
    for character in unicodedata.normalize("NFKC", line.casefold()):
        is_letter = character.isalnum() or unicodedata.category(character)[0] == "M"
        is_alone = is_letter and is_unspaced(character)
        if continues and is_letter and not is_alone:
            words[-1] += character
        elif is_letter:
            words.append(character)
        continues = is_letter and not is_alone
    return words


def training(*lines, language="en"):
    return [(Text.of(list(lines), language), lambda row: f"train:{row + 1}")]


def held_out(name, *lines, language="en"):
    return HeldOutSet(name, "test", language, [Text.of(list(lines), language)])


@given(lines_of, st.integers(1, 4))
@settings(deadline=None)
def test_ngrams_within_lines_have_equal_hashes_where_their_words_are_equal(lines, n):
    words = [words_of(line) for line in lines]
    hashed = hash_lines(lines)
    assert hashed.lengths.tolist() == [len(line) for line in words]
    expected = []
    expected_rows = []
    for row, line in enumerate(words):
        for start in range(len(line) - n + 1):
            expected.append(tuple(line[start : start + n]))
            expected_rows.append(row)
    hashes, rows = hashed.ngrams(n)
    both = set(zip(expected, hashes.tolist(), strict=True))
    assert len(both) == len(set(expected)) == len(set(hashes.tolist()))
    assert rows.tolist() == expected_rows


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("“Don’t!” — SHE said…", "don t she said"),
        ("他是 doctor。", "他 是 doctor"),
        ("हिन्दी में", "हिन्दी में"),
        ("\ufb01ne Straße １２", "fine strasse 12"),
    ],
)
def test_words_of_a_line(line, words):
    hashed = hash_lines([line, words])
    assert hashed.lengths.tolist() == [len(words.split())] * 2
    assert hashed.whole()[0] == hashed.whole()[1]


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
    (result,) = find_contamination(
        training(*train, language=language), [held_out("xnli", test, language=language)]
    )
    assert (result.exact.count, result.exact.count + result.ngram.count) == counts


def test_counts_each_side_and_the_whole_set():
    pairs = TextPairs.of([TEN, "a b c"], ["x y z", "x y z"], ("de", "de"))
    (result,) = find_contamination(
        training("X y z", "and one two three four five six seven eight"),
        [HeldOutSet("xnli", "test", "de", [pairs])],
    )
    assert (result.exact.count, result.ngram.count) == (2, 0)
    assert (result.dump()["examples"], result.dump()["ngram"]) == (2, 100.0)
    assert [ngram_length(language) for language in ("en", "zh", "th", "xx")] == [8, 13, 32, 8]


def test_examples_and_findings_name_the_set_and_the_lines():
    lines = [f"he works in {number}" for number in range(9)]
    (result,) = find_contamination(training(*lines), [held_out("pos", *lines)])
    assert (result.exact.count, len(result.exact.excerpts)) == (9, MAX_EXCERPTS)
    test = held_out("xnli", "He works in Berlin.", f"{TEN} eleven", "and so on")
    lines = ["nothing here", f"and {TEN}", "he works in Berlin"]
    (result,) = find_contamination([*training("a line"), *training(*lines)], [test])
    exact, ngrams = result.findings()
    assert (exact.level, exact.what, exact.count, exact.total) == (
        "warning",
        "contamination",
        1,
        3,
    )
    assert [example.where for example in exact.examples] == ["train:3"]
    assert (ngrams.level, ngrams.what, ngrams.count) == ("note", "n-gram overlap", 1)
    assert [(example.where, example.text) for example in ngrams.examples] == [
        ("train:2", f"{TEN} eleven")
    ]
