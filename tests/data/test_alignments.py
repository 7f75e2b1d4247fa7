"""Word alignments stored next to a corpus."""

import numpy as np
import pytest

from interlace.alignment import WordPairs
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.alignments import StoredText, WordAlignments
from interlace.data.corpus import ParallelCorpus
from interlace.text import TextPairs

SOURCE = [[0, 1], [2], [1, 0, 2]]
TARGET = [[0], [1, 2], [0]]
LINKS = [[(0, 0), (1, 0)], [], [(2, 0)]]
CONFIDENCE = np.array([1.0, 0.5, 0.001], np.float32)
TYPES = (["the", "cat", "sat"], ["die", "Katze", "saß"])


def words_of(source=SOURCE, target=TARGET, word_tokenizer="whitespace"):
    return WordPairs(Ragged.of(source), Ragged.of(target), *TYPES, ("en", "de"), word_tokenizer)


def write(folder, words=None, links=LINKS, confidence=CONFIDENCE, rows=2):
    words, links = words or words_of(), Ragged.of(links, width=2)

    def chunks():
        for start in range(0, len(words), rows):
            stop = min(start + rows, len(words))
            some = slice(links.offsets[start], links.offsets[stop])
            yield words.slice(start, stop), links.slice(start, stop), confidence[some]

    return WordAlignments.write(folder, chunks(), about={"aligner": "mine"})


def corpus_of(folder, vocab):
    sides = [
        Sentences(Ragged.of(rows), Ragged.of([list(range(len(row))) for row in rows]), language)
        for rows, language in ((SOURCE, "en"), (TARGET, "de"))
    ]
    options = {"languages": ("en", "de"), "vocab": vocab, "word_tokenizer": "whitespace"}
    return ParallelCorpus.write(folder, [Pairs(*sides)], **options)


def test_reads_back_words_links_and_confidence(tmp_path):
    aligned = write(tmp_path / "a")
    assert (len(aligned), aligned.languages, aligned.word_tokenizer) == (
        3,
        ("en", "de"),
        "whitespace",
    )
    assert (aligned.counts, aligned.meta["aligner"]) == ({"rows": 3, "links": 3}, "mine")
    found = aligned.take([2, 0, 1])
    assert found.links == Ragged.of([LINKS[2], LINKS[0], LINKS[1]], width=2)
    assert found.confidence[1].tolist() == pytest.approx([1, 0.5], abs=0.51 / 255)
    assert found.confidence[0][0] > 0  # never stored as 0
    assert found.confidence.values.dtype == np.float32
    assert aligned.words([2, 1]) == (
        Ragged.of([SOURCE[2], SOURCE[1]]),
        Ragged.of([TARGET[2], TARGET[1]]),
    )
    assert aligned.types == TYPES
    chunks = list(aligned.chunks(2))
    assert [(words.first, len(words)) for words, _ in chunks] == [(0, 2), (2, 1)]
    assert Ragged.concatenate([words.source for words, _ in chunks]) == Ragged.of(SOURCE)
    assert Ragged.concatenate([found.links for _, found in chunks]) == Ragged.of(LINKS, width=2)
    (aligned.folder / "source.words").write_text("the\n")
    with pytest.raises(DataError, match="1 words, 3 were written; align the corpus again"):
        WordAlignments.open(aligned.folder).types  # noqa: B018 - reading it is the test


def test_maps_all_rows_from_files(tmp_path):
    (tmp_path / "spool").mkdir()
    aligned = write(tmp_path / "a")
    for _ in range(2):  # the second call overwrites the files
        words, found = aligned.whole(tmp_path / "spool")
        assert (words.source, words.target) == (Ragged.of(SOURCE), Ragged.of(TARGET))
        assert (found.links, found.confidence) == (
            Ragged.of(LINKS, width=2),
            aligned.take(range(3)).confidence,
        )
    assert isinstance(words.source.values.base, np.memmap)
    bare = write(tmp_path / "b", links=[[], [], []], confidence=np.zeros(0, np.float32))
    (tmp_path / "other").mkdir()
    assert bare.whole(tmp_path / "other")[1].links == Ragged.of([[], [], []], width=2)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([[(0, 0)], [(1, 0)], []], r"pair 2 has a link to source word 1.*only 1 words"),
        ([[(0, 0)], [], [(0, 1)]], r"pair 3 has a link to target word 1.*only 1 words"),
        ([[(0, -1)], [], []], r"pair 1 has a link to target word -1"),
    ],
)
def test_rejects_links_beyond_the_words(tmp_path, links, message):
    with pytest.raises(DataError, match=message):
        write(tmp_path / "a", links=links)
    assert not list(tmp_path.iterdir())


def test_a_corpus_returns_its_alignments(tmp_path, vocab):
    corpus = corpus_of(tmp_path / "c", vocab)
    pairs = corpus.with_alignments(write(tmp_path / "a")).take([2, 0])
    assert pairs.links == Ragged.of([LINKS[2], LINKS[0]], width=2)
    assert pairs.confidence.lengths.tolist() == [1, 2]
    assert pairs.take([1]).confidence.lengths.tolist() == [2]
    assert corpus.take([0]).links is None  # `with_alignments` returns a new corpus


LINES = ["the cat", "  sat", "cat \u2028the\U0001f431 sat"], ["die", "Katze saß", "他喜欢"]


def text_of(folder, source=LINES[0], target=LINES[1], word_tokenizer="whitespace"):
    text = TextPairs.of(source, target, ("en", "de"), word_tokenizer)
    chunks = [text.where(np.arange(len(text)) == row) for row in range(len(text))]
    return StoredText.write(folder, chunks, languages=("en", "de"), word_tokenizer=word_tokenizer)


def test_a_corpus_returns_its_text(tmp_path, vocab):
    text = text_of(tmp_path / "t")
    corpus = corpus_of(tmp_path / "c", vocab).with_alignments(write(tmp_path / "a"), text=text)
    source, target = corpus.take([2, 0, 1]).take([0, 2]).text
    assert source.lines == [LINES[0][2], LINES[0][1]]
    assert source.text().tokens(0) == ["cat", "the\U0001f431", "sat"]
    assert source.words.to_lists()[1] == [[2, 5]]
    assert target.lines == ["他喜欢", "Katze saß"]
    assert text.take([])[0].lines == []
    assert (text.folder / "source_lines.bytes.npy").stat().st_size < 200
    assert corpus.with_alignments(write(tmp_path / "b")).take([0]).text is None
    with pytest.raises(DataError, match=r"pairs 2, but .*c has 3; store the text"):
        corpus.with_alignments(
            write(tmp_path / "d"), text=text_of(tmp_path / "u", LINES[0][:2], LINES[1][:2])
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (words_of(SOURCE[:2], TARGET[:2]), "pairs 2, but .*c has 3"),
        (words_of(word_tokenizer="unicode"), "word tokenizer 'unicode', but .*c has 'whitespace'"),
    ],
)
def test_rejects_alignments_of_other_text(tmp_path, vocab, words, message):
    links = LINKS[: len(words)]
    aligned = write(tmp_path / "a", words, links, CONFIDENCE[: sum(map(len, links))])
    with pytest.raises(DataError, match=message):
        corpus_of(tmp_path / "c", vocab).with_alignments(aligned)


@pytest.mark.parametrize("size", [255, 256, 257, 65_536, 65_537])
def test_numbers_of_every_size_survive_narrow_storage(tmp_path, size):
    side = Ragged.of([range(size), [0]])
    rows = [[(0, size - 1), (size - 1, 0)], []]
    aligned = write(
        tmp_path / "a",
        WordPairs(side, side, ["w"] * size, ["w"] * size),
        rows,
        np.ones(2, np.float32),
    )
    assert aligned.take([1, 0]).links == Ragged.of(rows[::-1], width=2)
    assert aligned.words([0])[1] == side.take([0])
