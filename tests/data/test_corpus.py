"""Monolingual and parallel corpora on disk."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.packing import Streams


def _sentences(rows):
    return Sentences(Ragged.of(rows), Ragged.of([[place // 2 for place in range(len(row))] for row in rows]), "en")


ROWS = [[7, 8, 9], [10], [11, 12, 13, 14], [15, 16], [17]]


@pytest.fixture
def corpus(tmp_path, vocab):
    """Five rows in three shards."""
    chunks = [_sentences(ROWS[:2]), _sentences(ROWS[2:4]), _sentences(ROWS[4:])]
    return Corpus.write(
        tmp_path / "corpus",
        chunks,
        languages=["en"],
        vocab=vocab,
        word_tokenizer="whitespace",
        shard_bytes=1,
        about={"skipped": 3},
    )


def test_what_was_written_is_there(corpus, vocab):
    assert len(corpus) == 5
    assert (corpus.language, corpus.languages, corpus.word_tokenizer) == ("en", ("en",), "whitespace")
    assert corpus.lengths.tolist() == [3, 1, 4, 2, 1]
    assert corpus.counts == {"rows": 5, "subwords": {"en": 11}, "words": {"en": 2 + 1 + 2 + 1 + 1}}
    assert corpus.meta["skipped"] == 3
    assert corpus.meta["vocabulary"] == {"name": vocab.name, "fingerprint": vocab.fingerprint, "size": vocab.size}
    assert [shard["rows"] for shard in corpus.meta["shards"]] == [2, 2, 1]


def test_rows_are_taken_from_any_shard_in_the_order_asked_for(corpus):
    rows = [4, 0, 2, 0, 3]
    found = corpus.take(np.array(rows))
    assert found.ids.to_lists() == [ROWS[row] for row in rows]
    assert found.words.to_lists() == [[place // 2 for place in range(len(ROWS[row]))] for row in rows]
    assert found.language == "en"
    assert len(corpus.take([])) == 0


def test_the_shards_are_plain_arrow_files(corpus):
    with pa.OSFile(str(corpus.folder / "00000.arrow")) as file:
        table = pa.ipc.open_file(file).read_all()
    assert table.to_pydict() == {"ids": ROWS[:2], "words": [[0, 0, 1], [0]]}


@settings(max_examples=25)
@given(rows=st.lists(st.lists(st.integers(5, 99), max_size=5), min_size=1, max_size=30), data=st.data())
def test_disk_and_memory_agree(tmp_path_factory, vocab, rows, data):
    folder = tmp_path_factory.mktemp("corpus")
    memory = _sentences(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    chunks = [_sentences(rows[a:b]) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    disk = Corpus.write(folder, chunks, languages=["en"], vocab=vocab, word_tokenizer="whitespace", shard_bytes=60)
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=40))
    assert disk.take(wanted).ids == memory.take(wanted).ids
    assert disk.take(wanted).words == memory.take(wanted).words
    assert disk.lengths.tolist() == memory.lengths.tolist()


def test_another_vocabulary_is_refused_and_both_are_named(corpus, other_vocab, vocab):
    with pytest.raises(DataError) as error:
        Corpus.open(corpus.folder, other_vocab)
    for part in (vocab.name, vocab.fingerprint[:8], other_vocab.name, other_vocab.fingerprint[:8]):
        assert part in str(error.value)


def test_a_truncated_shard_is_refused(corpus):
    path = corpus.folder / "00001.arrow"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size - 10)
    with pytest.raises(DataError, match=rf"00001\.arrow: truncated or changed: {size - 10} bytes, {size} were written"):
        Corpus.open(corpus.folder)


def test_a_damaged_shard_is_refused(corpus):
    path = corpus.folder / "00002.arrow"
    path.write_bytes(b"\0" * path.stat().st_size)
    with pytest.raises(DataError, match=r"00002\.arrow: damaged"):
        Corpus.open(corpus.folder)


def test_a_missing_shard_is_named(corpus):
    (corpus.folder / "00001.arrow").unlink()
    with pytest.raises(DataError, match=r"00001\.arrow: no such shard"):
        Corpus.open(corpus.folder)


def test_a_missing_or_damaged_description_is_named(corpus, tmp_path):
    with pytest.raises(DataError, match="corpuss does not exist; did you mean 'corpus'"):
        Corpus.open(tmp_path / "corpuss")
    meta = corpus.folder / "meta.json"
    meta.write_text('{"format": 1')
    with pytest.raises(DataError, match=r"meta\.json: damaged"):
        Corpus.open(corpus.folder)
    meta.write_text("[]")
    with pytest.raises(DataError, match=r"meta\.json: damaged"):
        Corpus.open(corpus.folder)


def test_other_kinds_and_formats_are_refused(corpus):
    from interlace.data.corpus import ParallelCorpus

    with pytest.raises(DataError, match="holds a monolingual corpus, a parallel corpus is expected"):
        ParallelCorpus.open(corpus.folder)
    meta = corpus.folder / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "format": 99}))
    with pytest.raises(DataError, match="format 99, this version reads format 1"):
        Corpus.open(corpus.folder)


def test_a_failed_build_leaves_the_old_corpus(corpus, vocab):
    def chunks():
        yield _sentences(ROWS)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Corpus.write(corpus.folder, chunks(), languages=["en"], vocab=vocab, word_tokenizer="whitespace")
    assert len(Corpus.open(corpus.folder, vocab)) == 5
    assert [path.name for path in corpus.folder.parent.iterdir()] == ["corpus"]


def test_nothing_to_write_is_an_error(tmp_path, vocab):
    with pytest.raises(DataError, match="there are no lines"):
        Corpus.write(tmp_path / "c", [], languages=["en"], vocab=vocab, word_tokenizer="whitespace")
    assert list(tmp_path.iterdir()) == []


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
    assert source.take([2]) == english.take([2])
    assert target.frequencies(24).tolist() == alone.frequencies(24).tolist()
    for shift in range(4):  # the pairs stand in two shards, the sentences in one
        one, other = (Streams(corpus, 4, 3).take([1, 0], shift) for corpus in (target, alone))
        assert one == other


def test_links_and_phrases_come_back(tmp_path, vocab):
    corpus = _write(tmp_path / "c", vocab, links=True)
    pairs = corpus.take([2, 1, 0, 2])
    assert pairs.links == Ragged.of([LINKS[2], LINKS[1], LINKS[0], LINKS[2]], width=2)
    assert pairs.phrases == Ragged.of([PHRASES[2], PHRASES[1], PHRASES[0], PHRASES[2]], width=4)
