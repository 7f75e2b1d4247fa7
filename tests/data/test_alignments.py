"""Word alignments and text stored next to a corpus."""

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


def write(folder, words=None, links=LINKS, confidence=CONFIDENCE):
    """Write in two chunks."""
    words = words or words_of()
    links = Ragged.of(links, width=2)
    chunks = []
    for start, stop in ((0, 2), (2, len(words))):
        inside = slice(links.offsets[start], links.offsets[stop])
        chunks.append((words.slice(start, stop), links.slice(start, stop), confidence[inside]))
    return WordAlignments.write(folder, chunks)


@pytest.fixture
def corpus(tmp_path):
    sides = []
    for rows, language in ((SOURCE, "en"), (TARGET, "de")):
        words = Ragged.of([list(range(len(row))) for row in rows])
        sides.append(Sentences(Ragged.of(rows), words, language))
    options = {"languages": ("en", "de"), "word_tokenizer": "whitespace"}
    return ParallelCorpus.write(tmp_path / "c", [Pairs(*sides)], **options)


def test_reads_back_words_links_and_confidence(tmp_path):
    aligned = write(tmp_path / "a")
    assert (aligned.languages, aligned.word_tokenizer) == (("en", "de"), "whitespace")
    assert aligned.counts == {"rows": 3, "links": 3}
    taken = aligned.take([2, 0, 1])
    assert taken.links == Ragged.of([LINKS[2], LINKS[0], LINKS[1]], width=2)
    assert taken.confidence[1].tolist() == pytest.approx([1, 0.5], abs=0.51 / 255)
    assert taken.confidence[0][0] > 0  # never stored as 0
    assert aligned.types == TYPES
    (first, _), (second, links) = aligned.chunks(2)
    assert (first.source, second.source) == (Ragged.of(SOURCE[:2]), Ragged.of(SOURCE[2:]))
    assert (second.first, links.links) == (2, Ragged.of(LINKS[2:], width=2))
    words, links = aligned.whole(tmp_path)
    assert (words.source, words.target) == (Ragged.of(SOURCE), Ragged.of(TARGET))
    assert links.confidence == aligned.take(range(3)).confidence


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([[(0, 0)], [(1, 0)], []], r"pair 2: link 1-0, but the sentences have 1 and 2 words"),
        ([[(0, -1)], [], []], r"pair 1: link 0--1"),
    ],
)
def test_rejects_links_beyond_the_words(tmp_path, links, message):
    with pytest.raises(DataError, match=message):
        write(tmp_path / "a", links=links, confidence=np.ones(sum(map(len, links)), np.float32))
    assert not list(tmp_path.iterdir())


LINES = ["the cat", "  sat", "cat \u2028the\U0001f431 sat"], ["die", "Katze saß", "他喜欢"]


def text_of(folder, count=3):
    text = TextPairs.of(LINES[0][:count], LINES[1][:count], ("en", "de"), "whitespace")
    chunks = [text.where(np.arange(count) == row) for row in range(count)]
    return StoredText.write(folder, chunks, languages=("en", "de"), word_tokenizer="whitespace")


def test_a_corpus_returns_its_alignments_and_text(tmp_path, corpus):
    text = text_of(tmp_path / "t")
    pairs = corpus.annotated(write(tmp_path / "a"), text=text).take([2, 0, 1])
    assert pairs.links == Ragged.of([LINKS[2], LINKS[0], LINKS[1]], width=2)
    assert pairs.confidence.lengths.tolist() == [1, 2, 0]
    assert corpus.take([0]).links is None  # `annotated` returns a new corpus
    source, target = pairs.take([0, 2]).text
    assert source.lines == [LINES[0][2], LINES[0][1]]
    assert source.text().tokens(0) == ["cat", "the\U0001f431", "sat"]
    assert source.words.to_lists()[1] == [[2, 5]]
    assert target.lines == ["他喜欢", "Katze saß"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (words_of(SOURCE[:2], TARGET[:2]), "pairs 2, but .*c has 3"),
        (
            words_of(word_tokenizer="unicode"),
            "word tokenizer 'unicode', but .*c has 'whitespace'",
        ),
    ],
)
def test_rejects_alignments_and_text_of_other_pairs(tmp_path, corpus, words, message):
    links = LINKS[: len(words)]
    aligned = write(tmp_path / "a", words, links, CONFIDENCE[: sum(map(len, links))])
    with pytest.raises(DataError, match=message):
        corpus.annotated(aligned)
    with pytest.raises(DataError, match=r"pairs 2, but .*c has 3; store the text"):
        corpus.annotated(write(tmp_path / "b"), text=text_of(tmp_path / "t", 2))
