"""Monolingual and parallel corpora on disk."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.packing import Streams
from interlace.data.store import mapped

ROWS = [[7, 8, 9], [10], [11, 12, 13, 14], [15, 16], [17]]
SOURCE = [[7, 8], [9], [10, 11, 12]]
TARGET = [[20], [21, 22], [23]]


def sentences(rows, language="en"):
    """Rows of words of two subwords each."""
    words = [[place // 2 for place in range(len(row))] for row in rows]
    return Sentences(Ragged.of(rows), Ragged.of(words), language)


def write(folder, chunks, language="en", **options):
    return Corpus.write(
        folder, chunks, languages=[language], word_tokenizer="whitespace", **options
    )


@pytest.fixture
def corpus(tmp_path):
    """Five rows, written in three chunks."""
    chunks = [sentences(ROWS[:2]), sentences(ROWS[2:4]), sentences(ROWS[4:])]
    return write(tmp_path / "corpus", chunks, notes={"empty": 3})


def test_describes_what_was_written(corpus):
    assert corpus.languages == ("en",)
    assert corpus.counts == {"rows": 5, "subwords": {"en": 11}}
    assert corpus.meta["notes"] == {"empty": 3}
    assert np.load(corpus.folder / "text.ids.npy").dtype == np.uint8


ANY_ID = st.sampled_from([5, 99, 255, 256, 65_535, 65_536])


@settings(max_examples=25)
@given(st.lists(st.lists(ANY_ID, max_size=5), min_size=1, max_size=30), st.data())
def test_takes_the_same_rows_from_disk_and_memory(tmp_path_factory, rows, data):
    memory = sentences(rows)
    cut = data.draw(st.integers(0, len(rows)))
    chunks = [sentences(rows[:cut]), sentences(rows[cut:])]
    disk = write(tmp_path_factory.mktemp("corpus"), chunks)
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=40))
    assert disk.take(wanted) == memory.take(wanted)
    assert disk.lengths.tolist() == memory.lengths.tolist()
    counts = np.bincount(memory.ids.flat, minlength=70_000)
    assert disk.frequencies(70_000).tolist() == counts.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-10], r"text\.ids\.npy: truncated or changed: \d+ bytes"),
        (lambda data: b"\0" * len(data), r"text\.ids\.npy: damaged"),
        (None, r"text\.ids\.npy: no such column"),
    ],
)
def test_rejects_damaged_columns(corpus, change, message):
    path = corpus.folder / "text.ids.npy"
    data = path.read_bytes()
    path.unlink()
    if change is not None:
        path.write_bytes(change(data))
    with pytest.raises(DataError, match=message):
        Corpus.open(corpus.folder)


def test_rejects_other_descriptions(corpus):
    with pytest.raises(DataError, match="holds a monolingual corpus, a parallel"):
        ParallelCorpus.open(corpus.folder)
    meta = corpus.folder / "meta.json"
    newer = json.dumps({**json.loads(meta.read_text()), "format": 99})
    for text, message in (
        ('{"format": 1', "damaged"),
        ("[]", "damaged"),
        (newer, "format 99, this version reads format"),
    ):
        meta.write_text(text)
        with pytest.raises(DataError, match=rf"meta\.json: .*{message}"):
            Corpus.open(corpus.folder)


def test_a_failed_write_leaves_the_old_corpus(corpus, tmp_path):
    def chunks():
        yield sentences(ROWS)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write(corpus.folder, chunks())
    assert len(Corpus.open(corpus.folder)) == 5
    with pytest.raises(DataError, match="no lines"):
        write(tmp_path / "c", [])
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


@pytest.fixture
def parallel(tmp_path):
    """Three pairs written in two chunks."""
    whole = Pairs(sentences(SOURCE), sentences(TARGET, "de"))
    options = {"languages": ("en", "de"), "word_tokenizer": "whitespace"}
    chunks = [whole.take([0, 1]), whole.take([2])]
    return ParallelCorpus.write(tmp_path / "pairs", chunks, **options)


def test_pairs_and_their_sides(parallel, tmp_path):
    assert (parallel.languages, parallel.language, len(parallel)) == (("en", "de"), "en-de", 3)
    assert parallel.lengths.tolist() == [3, 3, 4]
    assert parallel.counts == {"rows": 3, "subwords": {"en": 6, "de": 4}}
    pairs = parallel.take([2, 0, 1])
    assert pairs.source == sentences([SOURCE[2], SOURCE[0], SOURCE[1]])
    assert pairs.target == sentences([TARGET[2], TARGET[0], TARGET[1]], "de")
    assert parallel.frequencies(24).sum() == 10
    source, target = parallel.sides
    assert source.take([2]) == sentences(SOURCE[2:])
    alone = write(tmp_path / "de", [sentences(TARGET, "de")], "de")
    assert (target.languages, target.counts) == (alone.languages, alone.counts)
    assert target.take([2, 0]) == alone.take([2, 0])
    assert target.frequencies(24).tolist() == alone.frequencies(24).tolist()
    assert Streams(target, 4, 3).take([1, 0], 2) == Streams(alone, 4, 3).take([1, 0], 2)


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")
def test_a_file_is_mapped_once(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(9))
    before = descriptors()
    arrays = [mapped(tmp_path / "a.npy") for _ in range(20)]
    assert descriptors() == before + 1
    np.save(tmp_path / "b.npy", np.arange(4))
    (tmp_path / "b.npy").replace(tmp_path / "a.npy")  # built again
    assert mapped(tmp_path / "a.npy").tolist() == [0, 1, 2, 3]
    assert arrays[-1].tolist() == list(range(9))
    del arrays
    assert descriptors() == before


MANY_FILES = """
import resource, sys
from pathlib import Path
from interlace.data.store import mapped

resource.setrlimit(resource.RLIMIT_NOFILE, (40, 4000))
maps = [mapped(path) for path in Path(sys.argv[1]).iterdir()]
print("mapped", len(maps))
"""


def test_the_limit_of_open_files_is_raised(tmp_path):
    """In a process of its own, whose soft limit is that of macOS, in small."""
    for number in range(100):
        np.save(tmp_path / f"{number}.npy", np.arange(number + 1))
    command = [sys.executable, "-c", MANY_FILES, str(tmp_path)]
    assert subprocess.check_output(command, text=True) == "mapped 100\n"
