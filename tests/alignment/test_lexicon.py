"""Lexicons: counted from links, read from dictionaries, cut down, and renumbered."""

import gzip

import pytest

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import reverse_links
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from little_pairs import linked_houses


def entries(lexicon):
    return {lexicon[entry][:2]: lexicon[entry][2] for entry in range(len(lexicon))}


def test_counts_links_by_hand():
    pairs, links = linked_houses()
    lexicon = Lexicon.count(pairs, links)
    assert entries(lexicon) == {("house", "Haus"): 2, ("small", "kleine"): 1, ("the", "das"): 2}
    unaligned = dict(zip(lexicon.source_types, lexicon.unaligned[0], strict=True))
    assert unaligned == {"!": 1, "house": 1, "small": 0, "the": 0}
    assert lexicon.unaligned[1].tolist() == [0, 0, 0]
    turned = Lexicon.count(pairs.reversed(), reverse_links(links))
    assert entries(lexicon.reversed()) == entries(turned)
    assert dict(zip(turned.target_types, turned.unaligned[1], strict=True)) == unaligned


def test_counts_do_not_depend_on_chunks(monkeypatch):
    pairs, links = linked_houses()
    whole = Lexicon.count(pairs, links)
    monkeypatch.setattr(WordPairs.chunks, "__defaults__", (2,))
    monkeypatch.setattr("interlace.alignment.lexicon._MAX_PENDING", 1)
    assert entries(Lexicon.count(pairs, links)) == entries(whole)
    part = Lexicon.count(pairs.slice(1, 2), links.slice(1, 2))
    assert entries(part) == {("the", "das"): 1, ("small", "kleine"): 1}


def test_rejects_links_beyond_a_sentence(monkeypatch):
    pairs, _ = linked_houses()
    with pytest.raises(DataError, match="3 source and 3 target sentences, but 1 rows of links"):
        Lexicon.count(pairs, Ragged.of([[]], width=2))
    # the number is that of the pair and not of the chunk
    monkeypatch.setattr(WordPairs.chunks, "__defaults__", (1,))
    with pytest.raises(DataError, match="pair 2: link 3-0"):
        Lexicon.count(pairs, Ragged.of([[], [(3, 0)], []], width=2))


def lexicon_of(table):
    return Lexicon.of((*words.split(), count) for words, count in table.items())


def test_filters_of_entries():
    lexicon = lexicon_of(
        {"a x": 5, "a y": 2, "b y": 2, "b z": 1, ", ,": 9, "7 sieben": 3, "c z": 1, "c 8": 1}
    )

    def words(part):
        return {f"{source} {target}" for source, target in entries(part)}

    assert words(lexicon.at_least(2)) == {"a x", "a y", "b y", ", ,", "7 sieben"}
    assert words(lexicon.words()) == {"a x", "a y", "b y", "b z", "c z"}
    assert words(lexicon.words().top(1)) == {"a x", "b y", "c z"}
    # y is best of b, and b (2) equals a (2) as best of y; z is best of c, and equals b
    assert words(lexicon.words().mutual()) == {"a x", "b y", "c z"}


def test_a_dictionary_is_read_with_tabs_or_blanks(tmp_path):
    path = tmp_path / "en-de.txt"
    path.write_bytes(
        b"dog\tHund\nthe die\nthe   der\n\nthe die\nto go\tgehen\r\nNew York\tNeu York\t4\n"
    )
    lexicon = Lexicon.read(path)
    assert entries(lexicon) == {
        ("dog", "Hund"): 1, ("the", "die"): 1, ("the", "der"): 1, ("to go", "gehen"): 1, ("New York", "Neu York"): 4,
    }  # fmt: skip
    assert lexicon.source_types[:2] == ["dog", "the"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("alone", "line 2: expected 'source<TAB>target'"),
        ("a b c", "line 2: .*; put a tab between words"),
        ("a\tb\tmany", "line 2: the third column is a count .*'many'"),
        ("a\tb\t-1", "line 2: the third column is a count"),
    ],
)
def test_rejects_invalid_dictionary_lines(tmp_path, line, message):
    path = tmp_path / "d.txt"
    path.write_text(f"good gut\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        Lexicon.read(path)


def test_written_lexicons_are_read_back(tmp_path):
    lexicon = lexicon_of({"a y": 1 / 3, "a x": 5, "b z": 1e-7, "ü 中": 2})
    path = tmp_path / "d.tsv.gz"
    lexicon.write(path)
    assert entries(Lexicon.read(path)) == entries(lexicon)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        targets = [line.split("\t")[1] for line in file]
    assert targets == ["x", "y", "z", "中"]  # the most frequent of a word first
    lexicon.write(path, counts=False)
    assert entries(Lexicon.read(path)) == dict.fromkeys(entries(lexicon), 1)


def test_a_word_that_holds_a_tab_cannot_be_written(tmp_path):
    with pytest.raises(DataError, match=r"the word 'a\\tb'"):
        Lexicon.of([("a\tb", "x", 1)]).write(tmp_path / "d")
    assert not list(tmp_path.iterdir())
