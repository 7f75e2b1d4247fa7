"""Phrase tables: scores worked by hand, files, and looking phrases up."""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.alignment import WordPairs, phrase_counts
from interlace.alignment.moses import escape, line_order
from interlace.alignment.phrase_counts import count_phrases
from interlace.alignment.phrase_rules import TableRules
from interlace.alignment.phrase_table import PhraseTable
from interlace.alignment.phrases import phrase_pairs
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from little_pairs import linked_houses, word_pairs


def random_corpus(seed, rows=60, words=5):
    """Short sentences of few words, so that phrases come again and with other links."""
    rng = np.random.default_rng(seed)
    sides = [
        Ragged.from_lengths(rng.integers(0, words, lengths.sum(), dtype=np.int32), lengths)
        for lengths in rng.integers(0, 6, (2, rows))
    ]
    links = [
        np.argwhere(rng.random((n, m)) < 0.3).tolist()
        for n, m in zip(sides[0].lengths, sides[1].lengths, strict=True)
    ]
    types = [[f"{side}{number}" for number in range(words)] for side in "st"]
    return WordPairs(*sides, *types), Ragged.of(links, width=2)


def rows(table):
    """What a table holds, by its words."""
    found = [table[row] for row in range(len(table))]
    return {
        (row.source, row.target): (*row.scores.values(), tuple(row.links), *row.counts.values())
        for row in found
    }


def same(found, expected):
    """Whether two rows agree, up to the 32 bits of scores."""
    return found[4:] == expected[4:] and found[:4] == pytest.approx(expected[:4], rel=1e-6)


def test_scores_by_hand():
    table = rows(count_phrases(*linked_houses()))
    assert len(table) == 8
    assert table[("the",), ("das",)] == (1, 1, 1, 1, ((0, 0),), 2, 2, 2)
    # Haus was "house" twice and "house !" once; of three words "house" one had no link
    assert same(table[("house",), ("Haus",)], (2 / 3, 1, 1, 2 / 3, ((0, 0),), 3, 2, 2))
    # "!" and one "house" stood alone, so w(!|NULL) is a half
    assert same(table[("house", "!"), ("Haus",)], (1 / 3, 1 / 2, 1, 2 / 3, ((0, 0),), 3, 1, 1))
    # kleine was "small" and "small house"
    assert same(
        table[("small", "house"), ("kleine",)], (1 / 2, 1 / 2, 1, 1, ((0, 0),), 2, 1, 1)
    )
    assert rows(count_phrases(*linked_houses(), TableRules(min_count=2))) == {
        phrases: row for phrases, row in table.items() if row[-1] >= 2
    }
    assert {source for source, _ in rows(count_phrases(*linked_houses(), TableRules(max_phrase_length=1)))} == {
        ("the",), ("house",), ("small",),
    }  # fmt: skip


def test_the_most_frequent_links_count_and_a_word_with_two_links_takes_their_mean():
    pairs = word_pairs(["a b", "a b", "a b", "a"], ["x", "x", "x", "x"])
    both, first = [(0, 0), (1, 0)], [(0, 0)]
    table = rows(count_phrases(pairs, Ragged.of([first, both, both, first], width=2)))
    # x had 4 links to a and 2 to b; b stood alone once of three times
    expected = (3 / 5, (4 / 6) * (2 / 6), 1, (1 + 2 / 3) / 2, ((0, 0), (1, 0)), 5, 3, 3)
    assert same(table[("a", "b"), ("x",)], expected)


def test_a_corpus_without_links_has_an_empty_table(tmp_path):
    pairs = word_pairs(["a b", ""], ["x", ""])
    table = count_phrases(pairs, Ragged.of([[], []], width=2))
    assert (len(table), len(table.best)) == (0, 0)
    table.write(tmp_path / "table")
    assert (tmp_path / "table").read_bytes() == b""
    assert table.rows_of([0], [0]).tolist() == [-1]


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 999),
    st.integers(5, 60),
    st.integers(2, 40),
    st.booleans(),
    st.sampled_from([(1, 0), (2, 0), (1, 2)]),
)
def test_a_table_in_ranges_of_phrases_is_the_same_and_leaves_no_files(
    seed, chunk, words, borders, least
):
    pairs, links = random_corpus(seed, rows=80, words=words)
    rules = TableRules(unaligned_borders=borders, min_count=least[0], top=least[1])
    whole = count_phrases(pairs, links, rules)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(WordPairs.chunks, "__defaults__", (chunk,))
        patch.setattr(tempfile, "tempdir", folder)
        patch.setattr(phrase_counts, "_RANGE", 10)
        spilled = count_phrases(pairs, links, rules)
        assert list(Path(folder).iterdir()) == []
    for name in ("source", "target", "entries", "scores", "links", "counts"):
        found, expected = getattr(spilled, name), getattr(whole, name)
        assert (
            found == expected if isinstance(found, Ragged) else np.array_equal(found, expected)
        )
        assert isinstance(found, Ragged) or found.dtype == expected.dtype


@pytest.mark.parametrize("seed", range(4))
def test_the_most_probable_translations_are_those_ranked_first(seed):
    pairs, links = random_corpus(seed)
    table = count_phrases(pairs, links)
    only_best = count_phrases(pairs, links, TableRules(top=1))
    assert rows(only_best).items() <= rows(table).items()
    assert [only_best[row] for row in range(len(only_best))] == [
        table[row] for row in table.best
    ]


def test_rejects_invalid_links():
    pairs, _ = linked_houses()
    with pytest.raises(DataError, match="pair 1: link 0-7"):
        count_phrases(pairs, Ragged.of([[(0, 7)], [], []], width=2))


def test_the_best_has_the_greatest_share_then_count_then_lexical_weight_then_order():
    columns = [  # source, target, phi(t|s), lex(t|s), count(s,t)
        *((0, 0, 0.2, 1, 9), (0, 1, 0.4, 1, 1), (1, 0, 0.4, 0.9, 1), (1, 1, 0.4, 0.1, 2)),
        *((2, 0, 0.4, 0.1, 2), (2, 1, 0.4, 0.3, 2), (3, 0, 0.4, 0.3, 2), (3, 1, 0.4, 0.3, 2)),
    ]
    source, target, phi, lex, count = np.array(columns).T
    zero = np.zeros(8)
    table = PhraseTable(
        Ragged.of([[0], [1], [2], [3]]), Ragged.of([[0], [1]]), list("abcd"), list("uv"),
        entries=np.stack([source, target], axis=1).astype(np.int32),
        scores=np.stack([zero, zero, phi, lex], axis=1).astype(np.float32),
        links=Ragged.of([[(0, 0)]] * 8, width=2), counts=np.stack([zero, zero, count], axis=1),
    )  # fmt: skip
    assert [table[row].target[0] for row in table.best] == ["v", "v", "v", "u"]


def test_all_phrases_of_the_corpus_are_found_at_their_row():
    pairs, links = random_corpus(4, rows=100)
    table = count_phrases(pairs, links)
    spans = phrase_pairs(pairs.source.lengths, pairs.target.lengths, links)
    kept, table_rows = table.select(pairs.source, pairs.target, spans)
    assert kept == spans
    for row, (a, b, c, d), entry in zip(spans.rows(), spans.values, table_rows, strict=True):
        source, target = table.entries[entry]
        assert table.source[source].tolist() == pairs.source[row][a:b].tolist()
        assert table.target[target].tolist() == pairs.target[row][c:d].tolist()
    assert np.array_equal(np.bincount(table_rows, minlength=len(table)), table.counts[:, 2])


def test_a_line_has_the_fields_of_moses(tmp_path):
    count_phrases(*linked_houses()).write(tmp_path / "table")
    assert (tmp_path / "table").read_text().split("\n")[0] == (
        "house ! ||| Haus ||| 0.33333334 0.5 1 0.6666667 ||| 0-0 ||| 3 1 1"
    )


SPELLINGS = st.text(
    st.sampled_from("a&#124;mp|ß\U0001f600 \t\x01~9032"), min_size=1, max_size=8
)


@given(SPELLINGS, SPELLINGS)
def test_no_two_words_are_written_alike(one, other):
    assert (escape(one) == escape(other)) == (one == other)
    assert not set(escape(one)) & set("| \t")


@given(st.sets(st.lists(SPELLINGS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=12))
def test_phrases_are_ordered_as_their_lines(phrases):
    phrases = list(phrases)
    types = list(dict.fromkeys(word for phrase in phrases for word in phrase))
    order = line_order(
        Ragged.of([[types.index(word) for word in phrase] for phrase in phrases]), types
    )
    lines = [(" ".join(map(escape, phrases[number])) + " ||| x").encode() for number in order]
    assert all(first < second for first, second in pairwise(lines))
