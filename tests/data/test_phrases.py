"""Phrases of a corpus's pairs, and the phrase table stored with them."""

import numpy as np
import pytest

from interlace.alignment import WordPairs
from interlace.alignment.phrase_counts import count_phrases
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.data.alignments import PhraseStore, PhraseTableColumns, WordAlignments, all_spans
from interlace.data.corpus import ParallelCorpus

EN = ["the cat", "the cat", "the dog", "a cat", "cat"]
DE = ["die Katze", "die Katze", "der Hund", "eine Katze", "Kater"]
LINKS = [[(0, 0), (1, 1)]] * 4 + [[(0, 0)]]


def _numbered(lines):
    types = list(dict.fromkeys(word for line in lines for word in line.split(" ")))
    return Ragged.of([[types.index(word) for word in line.split(" ")] for line in lines]), types


def _aligned(folder, source=EN, target=DE, links=LINKS):
    (one, one_types), (other, other_types) = _numbered(source), _numbered(target)
    words = WordPairs(one, other, one_types, other_types, ("en", "de"))
    links = Ragged.of(links, width=2)
    return WordAlignments.write(folder, [(words, links, np.ones(len(links.flat), np.float32))])


def _store(folder, aligned, **rules):
    (folder / "spool").mkdir()
    rules = TableRules(**rules)
    words, found = aligned.whole(folder / "spool")
    table = count_phrases(words, found.links, rules, confidence=found.confidence.flat)
    return PhraseStore.write(folder / "store", aligned, table, rules), table


def translations(known):
    return [known.counterparts.lines[number] for number in known.numbers]


def test_leaves_out_links_below_the_minimum_confidence(tmp_path):
    (one, one_types), (other, other_types) = _numbered(["a b"]), _numbered(["x y"])
    words = WordPairs(one, other, one_types, other_types, ("en", "de"))
    links = Ragged.of([[(0, 0), (0, 1), (1, 1)]], width=2)
    aligned = WordAlignments.write(
        tmp_path / "a", [(words, links, np.array([0.9, 0.2, 0.9], np.float32))]
    )
    for least, expected in (
        (0.0, [(0, 2, 0, 2)]),
        (0.5, [(0, 1, 0, 1), (0, 2, 0, 2), (1, 2, 1, 2)]),
    ):
        folder = tmp_path / str(least)
        folder.mkdir()
        store, table = _store(folder, aligned, min_confidence=least)
        assert store.take([0])[0] == Ragged.of([expected], width=4)
        assert len(table) == len(expected)


def test_phrases_of_a_pair_by_hand_and_the_text_of_their_counterparts(tmp_path):
    store, _ = _store(tmp_path, _aligned(tmp_path / "a"))
    spans, scores = store.take([0, 4])
    assert spans == Ragged.of([[(0, 1, 0, 1), (0, 2, 0, 2), (1, 2, 1, 2)], [(0, 1, 0, 1)]], width=4)
    # "the": die, die, der. "the cat" only ever "die Katze". "cat": Katze three times, Kater once.
    assert scores[0][:, :2] == pytest.approx(np.array([(2 / 3, 1), (1, 1), (3 / 4, 1)]))
    assert scores[1][0] == pytest.approx(
        np.array([1 / 4, 1, 1 / 4, 1])
    )  # lexical weights of one word are the same
    assert scores.values.dtype == np.float32
    found = store.known([0])[0]
    assert translations(found) == ["die", "die Katze", "Katze"]
    assert sorted(found.counterparts.words.to_lists()) == [[[0, 3]], [[0, 3], [4, 9]], [[0, 5]]]


def test_rare_phrase_pairs_are_left_out(tmp_path):
    store, _ = _store(tmp_path, _aligned(tmp_path / "a"), min_count=2)
    assert store.take([3])[0] == Ragged.of(
        [[(1, 2, 1, 2)]], width=4
    )  # cat - Katze; "a" was seen once
    assert store.counts == {"rows": 5, "links": 9, "phrases": 7, "table": 3}


def test_ties_are_broken_by_count_then_lexical_weight_then_order():
    entries = np.array(
        [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)], np.int32
    )  # u, v with a, b, c
    lexical = [0.9, 0.1, 0.3, 0.1, 0.3, 0.3]
    scores = np.array([(0.4, weight, 1, 1) for weight in lexical], np.float32)
    counts = np.array([(9, 1, 1), *[(9, 1, 2)] * 5], np.float64)
    words = Ragged.of([[0], [1]]), Ragged.of([[0], [1], [2]])
    links = Ragged.of([[(0, 0)]] * 6, width=2)
    table = PhraseTable(*words, ["u", "v"], ["a", "b", "c"], entries, scores, links, counts)
    assert entries[PhraseTableColumns.of(table).best[1]].tolist() == [[1, 0], [1, 1], [0, 2]]


def test_known_phrases_need_no_link_in_the_pair(tmp_path):
    links = [*LINKS[:3], [], LINKS[4]]  # "a cat" was not linked here, but "cat" was elsewhere
    store, _ = _store(tmp_path, _aligned(tmp_path / "a", links=links))
    assert store.take([3])[0].flat.size == 0
    source, target = store.known([3, 0])
    assert source.spans == Ragged.of([[(1, 2)], [(0, 1), (0, 2), (1, 2)]], width=2)
    assert source.scores == pytest.approx(np.array([2 / 3, 2 / 3, 1, 2 / 3]))
    assert translations(source) == ["Katze", "die", "die Katze", "Katze"]
    assert len(source.counterparts) == 3
    assert target.spans[0].tolist() == [[1, 2]]  # "Katze"; "eine" was never linked
    assert translations(target) == ["cat", "the", "the cat", "cat"]


def test_a_word_of_an_unspaced_script_has_no_blank_before_it(vocab):
    word = "医生来了"
    begun = vocab.encode([word]).ids[0].tolist()  # this tokenizer puts a blank before every line
    assert (vocab.tokens(begun)[0], vocab.encode_words([word])[0].tolist()) == ("▁", begun[1:])
    assert vocab.encode_words(["", "a"]).to_lists() == [[], vocab.encode(["a"]).ids[0].tolist()]


def test_all_spans_by_hand():
    rows = Ragged.of([[5, 6, 7], [], [8]])
    assert all_spans(rows, 2) == Ragged.of(
        [[(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], [], [(0, 1)]], width=2
    )


def test_a_corpus_returns_phrases_and_known_phrases(tmp_path, vocab):
    aligned = _aligned(tmp_path / "a")
    store, _ = _store(tmp_path, aligned)
    sides = [vocab.encode(lines, language=language) for lines, language in ((EN, "en"), (DE, "de"))]
    options = {"languages": ("en", "de"), "vocab": vocab, "word_tokenizer": "whitespace"}
    corpus = ParallelCorpus.write(tmp_path / "c", [Pairs(*sides)], **options)
    plain = corpus.with_alignments(aligned, store).take([1, 4])
    assert (plain.phrases, plain.scores) == store.take([1, 4])
    assert plain.known is None
    pairs = corpus.with_alignments(aligned, store, known=True).take([4, 1, 0]).take([1])
    assert pairs.phrases == plain.phrases.take([0])
    for found, wanted in zip(pairs.known, store.known([1]), strict=True):
        assert (found.spans, translations(found)) == (wanted.spans, translations(wanted))
        assert found.scores.tolist() == wanted.scores.tolist()


def test_rejects_a_store_of_other_words_and_a_damaged_table(tmp_path):
    aligned, other = _aligned(tmp_path / "a"), _aligned(tmp_path / "b", EN[:4], DE[:4], LINKS[:4])
    store, table = _store(tmp_path, aligned)
    with pytest.raises(DataError, match=r"pairs 5, but .*b has 4; extract phrases again"):
        PhraseStore.open(store.folder, other)
    with pytest.raises(DataError, match="counted from other words"):
        PhraseStore.write(tmp_path / "new", other, table, TableRules())
    (store.folder / "table" / "scores.npy").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"scores\.npy: damaged"):
        PhraseStore.open(store.folder, aligned).take([0])
    (store.folder / "table" / "scores.npy").unlink()
    with pytest.raises(DataError, match=r"scores\.npy: no such column"):
        PhraseStore.open(store.folder, aligned).take([0])
