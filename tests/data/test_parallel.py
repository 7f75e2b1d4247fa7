from __future__ import annotations

import pytest

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.packing import Streams

SOURCE = [[7, 8], [9], [10, 11, 12]]
TARGET = [[20], [21, 22], [23]]
LINKS = [[(0, 0), (1, 0)], [], [(2, 0)]]
PHRASES = [[(0, 2, 0, 1)], [], [(0, 1, 0, 1), (1, 3, 0, 1)]]


def _side(rows, language):
    return Sentences(Ragged.of(rows), Ragged.of([list(range(len(row))) for row in rows]), language)


def _pairs(start, stop, *, links):
    rows = slice(start, stop)
    return Pairs(
        _side(SOURCE[rows], "en"),
        _side(TARGET[rows], "de"),
        Ragged.of(LINKS[rows], width=2) if links else None,
        Ragged.of(PHRASES[rows], width=4) if links else None,
    )


def _write(folder, vocab, *, links):
    chunks = [_pairs(0, 2, links=links), _pairs(2, 3, links=links)]
    return ParallelCorpus.write(
        folder, chunks, languages=("en", "de"), vocab=vocab, word_tokenizer="whitespace", shard_bytes=1
    )


def test_both_sides_come_back(tmp_path, vocab):
    corpus = _write(tmp_path / "c", vocab, links=False)
    assert (corpus.languages, corpus.language, len(corpus)) == (("en", "de"), "en-de", 3)
    assert corpus.lengths.tolist() == [3, 3, 4]
    assert corpus.counts == {"rows": 3, "subwords": {"en": 6, "de": 4}, "words": {"en": 6, "de": 4}}
    pairs = corpus.take([2, 0, 1])
    assert pairs.source.ids.to_lists() == [SOURCE[2], SOURCE[0], SOURCE[1]]
    assert pairs.target.ids.to_lists() == [TARGET[2], TARGET[0], TARGET[1]]
    assert (pairs.source.language, pairs.target.language) == ("en", "de")
    assert pairs.links is pairs.phrases is None
    assert corpus.frequencies(24).sum() == 10


@pytest.mark.parametrize("links", [False, True])
def test_a_side_is_a_corpus_of_its_language(tmp_path, vocab, links):
    source, target = _write(tmp_path / "c", vocab, links=links).sides
    english, alone = (
        Corpus.write(tmp_path / name, [_side(rows, name)], languages=[name], vocab=vocab, word_tokenizer="whitespace")
        for name, rows in (("en", SOURCE), ("de", TARGET))
    )
    assert (source.language, target.languages, target.word_tokenizer) == ("en", ("de",), "whitespace")
    assert len(target) == len(alone) == 3
    assert target.counts == alone.counts
    assert target.lengths.tolist() == alone.lengths.tolist() == [1, 2, 1]
    assert target.take([2, 0]) == alone.take([2, 0])
    assert source[2] == english[2]
    assert target.frequencies(24).tolist() == alone.frequencies(24).tolist()
    for shift in range(4):  # the pairs stand in two shards, the sentences in one
        one, other = (Streams(corpus, 4, 3).take([1, 0], shift) for corpus in (target, alone))
        assert one == other


def test_links_and_phrases_come_back(tmp_path, vocab):
    corpus = _write(tmp_path / "c", vocab, links=True)
    pairs = corpus.take([2, 1, 0, 2])
    assert pairs.links == Ragged.of([LINKS[2], LINKS[1], LINKS[0], LINKS[2]], width=2)
    assert pairs.phrases == Ragged.of([PHRASES[2], PHRASES[1], PHRASES[0], PHRASES[2]], width=4)


def test_a_pair_is_readable(tmp_path, vocab):
    pair = _write(tmp_path / "c", vocab, links=True)[0]
    assert (pair.source.language, pair.source.tokens) == ("en", vocab.tokens(SOURCE[0]))
    assert pair.links == [(0, 0), (1, 0)]
    assert str(pair).endswith("0-0 1-0")
    with pytest.raises(IndexError):
        _write(tmp_path / "c", vocab, links=True)[3]


def test_another_vocabulary_is_refused(tmp_path, vocab, other_vocab):
    _write(tmp_path / "c", vocab, links=False)
    with pytest.raises(DataError, match="build the corpus again"):
        ParallelCorpus.open(tmp_path / "c", other_vocab)
