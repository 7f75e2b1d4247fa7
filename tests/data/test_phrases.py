"""Phrases of a corpus's pairs, and the phrase table stored with them."""

import numpy as np
import pytest

from interlace.alignment import WordPairs
from interlace.alignment.phrase_counts import count_phrases
from interlace.alignment.phrase_rules import TableRules
from interlace.alignment.phrase_table import PhraseTable
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.data.alignments import PhraseStore, PhraseTableColumns, WordAlignments
from interlace.data.corpus import ParallelCorpus

EN = ["the cat", "the cat", "the dog", "a cat", "cat"]
DE = ["die Katze", "die Katze", "der Hund", "eine Katze", "Kater"]
LINKS = [[(0, 0), (1, 1)]] * 4 + [[(0, 0)]]


def numbered(lines):
    types = list(dict.fromkeys(" ".join(lines).split()))
    return Ragged.of([[types.index(word) for word in line.split()] for line in lines]), types


def aligned(folder, source=EN, target=DE, links=LINKS):
    source_words, source_types = numbered(source)
    target_words, target_types = numbered(target)
    words = WordPairs(source_words, target_words, source_types, target_types, ("en", "de"))
    links = Ragged.of(links, width=2)
    return WordAlignments.write(folder, [(words, links, np.ones(len(links.flat), np.float32))])


def store_of(folder, alignments, **rules):
    folder.mkdir(exist_ok=True)
    rules = TableRules(**rules)
    words, links = alignments.whole(folder)
    table = count_phrases(words, links.links, rules, confidence=links.confidence.flat)
    return PhraseStore.write(folder / "store", alignments, table, rules)


def translations(known):
    return [known.counterparts.lines[number] for number in known.numbers]


def test_phrases_of_a_pair_by_hand_and_the_text_of_their_counterparts(tmp_path):
    store = store_of(tmp_path, aligned(tmp_path / "a"))
    spans, scores = store.take([0, 4])
    assert spans == Ragged.of(
        [[(0, 1, 0, 1), (0, 2, 0, 2), (1, 2, 1, 2)], [(0, 1, 0, 1)]], width=4
    )
    # "the": die, die, der. "the cat" only ever "die Katze". "cat": Katze three times, Kater once.
    assert scores[0][:, :2] == pytest.approx(np.array([(2 / 3, 1), (1, 1), (3 / 4, 1)]))
    # lexical weights of one word are the same
    assert scores[1][0] == pytest.approx(np.array([1 / 4, 1, 1 / 4, 1]))
    source, _ = store.known([0])
    assert translations(source) == ["die", "die Katze", "Katze"]
    assert sorted(source.counterparts.words.to_lists()) == [
        [[0, 3]],
        [[0, 3], [4, 9]],
        [[0, 5]],
    ]
    store = store_of(tmp_path / "2", store.alignments, min_count=2)
    assert store.take([3])[0] == Ragged.of([[(1, 2, 1, 2)]], width=4)  # "a" was seen once


def test_ties_are_broken_by_count_then_lexical_weight_then_order():
    entries = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]  # u, v with a, b, c
    lexical = [0.9, 0.1, 0.3, 0.1, 0.3, 0.3]
    table = PhraseTable(
        Ragged.of([[0], [1]]),
        Ragged.of([[0], [1], [2]]),
        ["u", "v"],
        ["a", "b", "c"],
        np.array(entries, np.int32),
        np.array([(0.4, weight, 1, 1) for weight in lexical], np.float32),
        Ragged.of([[(0, 0)]] * 6, width=2),
        np.array([(9, 1, 1), *[(9, 1, 2)] * 5], np.float64),
    )
    best = PhraseTableColumns.of(table).best[1]
    assert [entries[row] for row in best] == [(1, 0), (1, 1), (0, 2)]


def test_known_phrases_need_no_link_in_the_pair(tmp_path):
    links = [*LINKS[:3], [], LINKS[4]]  # "a cat" was not linked here, but "cat" was elsewhere
    store = store_of(tmp_path, aligned(tmp_path / "a", links=links))
    assert store.take([3])[0].flat.size == 0
    source, target = store.known([3, 0])
    assert source.spans == Ragged.of([[(1, 2)], [(0, 1), (0, 2), (1, 2)]], width=2)
    assert translations(source) == ["Katze", "die", "die Katze", "Katze"]
    assert target.spans[0].tolist() == [[1, 2]]  # "Katze"; "eine" was never linked
    assert translations(target) == ["cat", "the", "the cat", "cat"]


def test_a_corpus_returns_phrases_and_known_phrases(tmp_path, vocab):
    alignments = aligned(tmp_path / "a")
    store = store_of(tmp_path, alignments)
    pairs = Pairs(vocab.encode(EN, language="en"), vocab.encode(DE, language="de"))
    options = {"languages": ("en", "de"), "word_tokenizer": "whitespace"}
    corpus = ParallelCorpus.write(tmp_path / "c", [pairs], **options)
    plain = corpus.annotated(alignments, store).take([1, 4])
    assert plain.phrases == store.take([1, 4])[0]
    assert plain.known is None
    source, _ = corpus.annotated(alignments, store, known=True).take([4, 1]).known
    assert translations(source.take([1])) == ["die", "die Katze", "Katze"]


def test_rejects_other_alignments_and_damaged_tables(tmp_path):
    store = store_of(tmp_path, aligned(tmp_path / "a"))
    other = aligned(tmp_path / "b", EN[:2], DE[:2], LINKS[:2])
    with pytest.raises(DataError, match="extract phrases again"):
        PhraseStore.open(store.folder, other)
    (store.folder / "table.scores.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"table\.scores\.npy: truncated"):
        PhraseStore.open(store.folder, store.alignments)
