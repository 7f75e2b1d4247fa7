"""Alignment files: each format by hand, detection of the index of the first word, malformed files."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.agreement import agreement
from interlace.alignment.formats import read_alignments
from interlace.alignment.gold_text import read_gold_text
from interlace.alignment.pharaoh import parse_pharaoh, pharaoh_lines
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged


@pytest.fixture
def put(tmp_path):
    """Writes a file of these lines and gives its path."""

    def write(*lines, name="links"):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    return write


def lengths(*pairs):
    return tuple(np.array([pair[side] for pair in pairs]) for side in (0, 1))


def links(*rows):
    return Ragged.of([sorted(row) for row in rows], width=2)


def test_pharaoh_with_possible_links_sorts_and_drops_duplicates(put):
    gold = read_alignments(put("0-0 2p1 1-2", "", "10?3\t0-11", "   "))
    assert gold.sure.to_lists() == [[[0, 0], [1, 2]], [], [[0, 11]], []]
    assert gold.possible.to_lists() == [[[0, 0], [1, 2], [2, 1]], [], [[0, 11], [10, 3]], []]
    assert (gold.format, gold.base, gold.notes, gold.numbers.tolist()) == (
        "pharaoh",
        0,
        {},
        [0, 1, 2, 3],
    )
    assert gold.sure.values.dtype == gold.possible.values.dtype == np.int32
    gold = read_alignments(put("3-1 0-2 0-0 3-1 0p2"))
    assert gold.possible.to_lists() == gold.sure.to_lists() == [[[0, 0], [0, 2], [3, 1]]]
    assert gold.notes == {"duplicate links": 2}


@pytest.mark.parametrize(
    ("line", "column", "token"),
    [
        ("0-0 1-", 5, "1-"),
        ("0-0 -1", 5, "-1"),
        ("0-0 1--1", 5, "1--1"),
        ("0-0  1-1-1", 6, "1-1-1"),
        ("0-0 1_1", 5, "1_1"),
        ("0-0 1-1:0.9", 5, "1-1:0.9"),
        ("0-0 ||| -3.2", 5, "|||"),
        ("0 - 0", 1, "0"),
        ("5", 1, "5"),
        ("0-1234567", 1, "0-1234567"),
        ("0-٣", 1, "0-٣"),
        ("0-0\u00a01-1", 1, "0-0\u00a01-1"),
    ],
)
def test_rejects_invalid_links(put, line, column, token):
    with pytest.raises(DataError) as error:
        read_alignments(put("0-0", "", line, "0-0"), kind="pharaoh")
    assert f"links, line 3, column {column}: {token!r} is not a link" in str(error.value)


words = st.integers(0, 1200)
rows = st.lists(st.sets(st.tuples(words, words), max_size=6), max_size=6)


@given(rows)
def test_pharaoh_lines_are_read_back(pairs):
    pairs = [sorted(pair) for pair in pairs]
    lines = list(pharaoh_lines(links(*pairs)))
    assert lines == [" ".join(f"{i}-{j}" for i, j in pair) for pair in pairs]
    columns, duplicates = parse_pharaoh(lines, "here", 1)
    assert (columns.links, columns.sure, duplicates) == (links(*pairs), links(*pairs), 0)


def test_result_does_not_depend_on_chunks(put, monkeypatch):
    random.seed(0)
    lines = [
        " ".join(f"{i}{random.choice('-p')}{random.randrange(9)}" for i in range(n % 7))
        for n in range(90)
    ]
    whole = read_alignments(put(*lines))
    monkeypatch.setattr("interlace.alignment.formats._CHUNK", 11)
    parts = read_alignments(put(*lines))
    assert (parts.sure, parts.possible) == (whole.sure, whole.possible)
    with pytest.raises(DataError, match="line 91, column 3"):
        read_alignments(put(*lines, "  x"))


def test_whether_words_count_from_zero_or_one_is_inferred_and_noted(put):
    # Although (2-2) would be the last words, counted from 1.
    gold = read_alignments(put("0-0 2-2", "2-2"), lengths((3, 3), (2, 2)))
    assert (gold.base, gold.sure.to_lists()) == (0, [[[0, 0], [2, 2]], []])
    assert gold.notes == {"links beyond the end of a sentence dropped, first in line 2": 1}
    gold = read_alignments(put("1-1 3-2", "1-2"), lengths((5, 9), (3, 2)))
    assert (gold.base, gold.sure.to_lists(), gold.notes) == (1, [[[0, 0], [2, 1]], [[0, 1]]], {})
    note = {"aligned pairs without evidence whether words count from 0 or 1: 0 assumed": 1}
    gold = read_alignments(put("1-1 2-2", ""), lengths((5, 9), (3, 2)))
    assert (gold.base, gold.sure.to_lists(), gold.notes) == (0, [[[1, 1], [2, 2]], []], note)
    assert read_alignments(put("1-1 2-2", "")).notes == note
    assert read_alignments(put("1-1 2-2"), base=1).sure.to_lists() == [[[0, 0], [1, 1]]]
    assert read_alignments(put("", "")).base == 0
    note = {"aligned pairs, none with a word 0: words assumed to count from 1": 20}
    gold = read_alignments(put(*["1-1 2-3"] * 20, ""))
    assert (gold.base, gold.notes) == (1, note)
    assert read_alignments(put(*["1-1 2-3"] * 19)).base == 0
    assert read_alignments(put(*["1-1 2-3"] * 19, "0-2")).base == 0
    assert read_alignments(put(*["2-2 2-3"] * 30)).base == 0
    gold = read_alignments(put("1-1 0-2 1p0", "0-1"), base=1)
    assert gold.possible.to_lists() == [[[0, 0]], []]
    assert gold.notes == {"links to a word 0 dropped, first in line 1": 3}


def test_in_wpt_a_word_zero_beside_links_to_last_words_is_the_null_word(put):
    three = lengths((3, 3), (3, 2), (2, 2))
    gold = read_alignments(put("1 1 0", "1 0 2 P", "1 3 3", "2 1 1", "2 3 2", "3 2 2 P"), three)
    assert (gold.base, gold.beyond) == (1, 0)
    assert gold.possible.to_lists() == [[[2, 2]], [[0, 0], [2, 1]], [[1, 1]]]
    assert gold.notes == {"links to a word 0 dropped, first in sentence 1": 2}
    stray = read_alignments(put("1 0 0", "1 3 3", "1 3 1", "2 1 1", "3 1 1"), three)
    assert (stray.base, stray.beyond) == (0, 2)
    assert stray.possible.to_lists() == [[[0, 0]], [[1, 1]], [[1, 1]]]


def test_talp_lines(put):
    gold = read_alignments(put("0\t0-0 1p2 ", "1\t", "2\t3-1"))
    assert (gold.format, gold.base, gold.numbers.tolist()) == ("talp", 0, [0, 1, 2])
    assert gold.sure.to_lists() == [[[0, 0]], [], [[3, 1]]]
    assert gold.possible.to_lists() == [[[0, 0], [1, 2]], [], [[3, 1]]]
    moved = read_alignments(put("7\t1-1", "3\t0-0"), numbers=[3, 5, 7])
    assert (moved.sure.to_lists(), moved.numbers.tolist()) == ([[[0, 0]], [], [[1, 1]]], [3, 5, 7])
    with pytest.raises(DataError, match=r"line 2, column 7: '1x1' is not a link"):
        read_alignments(put("0\t0-0", "1\t0-0 1x1"))
    with pytest.raises(DataError, match="several pairs have the number 4"):
        read_alignments(put("4\t0-0", "4\t0-1"))
    with pytest.raises(DataError, match="line 2: 'x'; expected the number of a pair"):
        read_alignments(put("0\t0-0", "x"))


def test_wpt_lines(put):
    file = put("26 2 1 S", "26 3 3 P", "28 1 1 S 0.5", "26 2 2", "", "26 2 1 P")
    gold = read_alignments(file)
    assert (gold.format, gold.base, gold.numbers.tolist()) == ("wpt", 1, [26, 28])
    assert gold.sure.to_lists() == [[[1, 0], [1, 1]], [[0, 0]]]
    assert gold.possible.to_lists() == [[[1, 0], [1, 1], [2, 2]], [[0, 0]]]
    assert gold.notes == {"duplicate links": 1}
    spread = read_alignments(file, lengths((3, 3), (4, 4), (1, 1)), numbers=[26, 27, 28])
    assert spread.sure.to_lists() == [[[1, 0], [1, 1]], [], [[0, 0]]]
    with pytest.raises(DataError, match="line 2: '1 2 x'; expected a sentence number"):
        read_alignments(put("1 2 3", "1 2 x"))


def test_sentences_of_wpt_count_from_zero_or_one(put):
    three = lengths((4, 4), (4, 4), (4, 4))
    assert read_alignments(put("0 0 0", "2 1 1"), three).sure.to_lists() == [[[0, 0]], [], [[1, 1]]]
    assert read_alignments(put("1 0 0", "3 1 1"), three).sure.to_lists() == [[[0, 0]], [], [[1, 1]]]
    assert read_alignments(put("5 0 0", "7 1 1", "9 2 2"), three).numbers.tolist() == [5, 7, 9]
    with pytest.raises(
        DataError, match="2 sentences, numbered 5 to 7, but the text has 3 pairs; give the numbers"
    ):
        read_alignments(put("5 0 0", "7 1 1"), three)
    with pytest.raises(
        DataError, match="alignment of sentence 7, but the text has 3 sentences, numbered 4 to 6"
    ):
        read_alignments(put("5 0 0", "7 1 1"), three, numbers=[4, 5, 6])


def test_json_lines(put):
    row = {"src_words": ["a", "b"], "tgt_words": ["x"], "alignment": [[1, 0], [0, 0], [1, 0]]}
    gold = read_alignments(put(json.dumps(row)))
    assert (gold.format, gold.base, gold.sure.to_lists()) == ("jsonl", 0, [[[0, 0], [1, 0]]])
    assert read_alignments(put(json.dumps({**row, "alignment": [[2, 1]]}))).sure.to_lists() == [
        [[1, 0]]
    ]
    beyond = read_alignments(put(json.dumps({**row, "alignment": [[0, 0], [2, 0]]})))
    assert beyond.notes == {"links beyond the end of a sentence dropped, first in pair 1": 1}
    with pytest.raises(DataError, match="pair 1: 2 and 1 words, but the text has 2 and 2"):
        read_alignments(put(json.dumps(row)), lengths((2, 2)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: invalid JSON"),
        ("[" * 100_000, "line 2: invalid JSON"),
        ("[]", "line 2: no key 'src_words'"),
        (
            '{"src_words": [], "tgt_word": []}',
            "line 2: no key 'tgt_words'; did you mean 'tgt_word'",
        ),
        (
            '{"src_words": [], "tgt_words": 3, "alignment": []}',
            "line 2: 'tgt_words' must be a list, found 3",
        ),
        (
            r'{"src_words": ["a\ud800"], "tgt_words": [], "alignment": []}',
            r"line 2: invalid JSON: holds '\\ud800'",
        ),
        (
            '{"src_words": [1], "tgt_words": [], "alignment": []}',
            "line 2: .* must be lists of words",
        ),
        (
            '{"src_words": [], "tgt_words": [], "alignment": [[0, true]]}',
            r"'alignment' holds \[0, True\]",
        ),
        (
            '{"src_words": [], "tgt_words": [], "alignment": [[0, 1e30]]}',
            r"'alignment' holds \[0, 1e\+30\]",
        ),
        (
            '{"src_words": [], "tgt_words": [], "alignment": [[0, 9999999999]]}',
            "expected two word indices",
        ),
        ('{"src_words": [], "tgt_words": [], "alignment": ["0-0"]}', "expected two word indices"),
    ],
)
def test_rejects_damaged_json(put, line, message):
    with pytest.raises(DataError, match=message):
        read_alignments(put('{"src_words": [], "tgt_words": [], "alignment": []}', line))


GIZA = (
    "# Sentence pair (2) source length 2 target length 3 alignment score : 0.01",
    "x ({ z",
    "NULL ({ 2 }) a ({ 1 3 }) ({ ({ })",
    "# Sentence pair (1) source length 1 target length 1 alignment score : 1",
    "y",
    "NULL ({ }) b ({ 1 })",
)


def test_giza_files(put):
    gold = read_alignments(put(*GIZA))
    assert (gold.format, gold.base, gold.numbers.tolist()) == ("giza", 1, [1, 2])
    assert gold.sure.to_lists() == [[[0, 0]], [[0, 0], [0, 2]]]
    text = read_gold_text(put(*GIZA))
    assert (text.pairs.source.lines, text.pairs.target.lines) == (["b", "a ({"], ["y", "x ({ z"])
    # The text says that it is the other side: the links are turned round.
    turned = read_alignments(put(*GIZA), text.lengths[::-1])
    assert turned.sure.to_lists() == [[[0, 0]], [[0, 0], [2, 0]]]
    assert turned.notes == {"rows with source and target exchanged": 2}
    with pytest.raises(DataError, match="sentence 2: 2 and 3 words, but the text has 2 and 4"):
        read_alignments(put(*GIZA), lengths((1, 1), (2, 4)))


@pytest.mark.parametrize(("cut", "line"), [((0, 1), 3), ((0, 1, 3), 3), ((0, 1, 2, 2), 4)])
def test_rejects_damaged_giza_files(put, cut, line):
    with pytest.raises(DataError, match=f"line {line}: .*of GIZA"):
        read_alignments(put(*(GIZA[place] for place in cut)))
    with pytest.raises(DataError, match=r"line 3: expected 'NULL"):
        read_alignments(put(*GIZA[:2], "NULL ({ 9 }) a ({ 1 })"))


def test_rejects_unknown_formats(put):
    with pytest.raises(DataError, match=r"line 2: 'hello' .* there are: pharaoh, talp, wpt"):
        read_alignments(put("", "hello"))
    with pytest.raises(SettingsError, match="no alignment format 'pharao'; did you mean 'pharaoh'"):
        read_alignments(put("0-0"), kind="pharao")
    with pytest.raises(SettingsError, match="not from 2"):
        read_alignments(put("0-0"), base=2)
    with pytest.raises(DataError, match="the file is empty"):
        read_alignments(put())


def test_text_of_two_files(put):
    one, two = (
        put("<s snum=4> a  b </s>", '<s snum="6">c</s>', name="one"),
        put("4\tx", "6\ty z", name="two"),
    )
    text = read_gold_text(one, two, languages=("en", "hi"))
    assert (text.pairs.source.lines, text.pairs.target.lines) == (["a b", "c"], ["x", "y z"])
    assert (text.numbers.tolist(), text.pairs.target.language) == ([4, 6], "hi")
    assert [side.tolist() for side in text.lengths] == [[2, 1], [1, 2]]
    assert text.pairs.source.tokens(0) == ["a", "b"]
    with pytest.raises(
        DataError, match=r"one has sentence 6 where .*two has 5; the sides must correspond"
    ):
        read_gold_text(one, put("4\tx", "5\ty", name="two"))
    with pytest.raises(DataError, match=r"one has 2 lines and .*two has 1"):
        read_gold_text(one, put("4\tx", name="two"))
    with pytest.raises(DataError, match="one, line 2: no sentence number: 'c'"):
        read_gold_text(put("<s snum=4>a</s>", "c", name="one"), two)
    with pytest.raises(DataError, match="one: several sentences have the number 6"):
        read_gold_text(put("6\ta", "4\tb", "6\tc", name="one"), two)


def test_plain_text_and_joined_text(put):
    plain = read_gold_text(put("a  b", "", name="one"), put("x", "y", name="two"))
    joined = read_gold_text(put("a b ||| x", "||| y"))
    assert plain.pairs.source.lines == joined.pairs.source.lines == ["a b", ""]
    assert plain.pairs.target.words == joined.pairs.target.words
    with pytest.raises(DataError, match="line 2: 2 separators"):
        read_gold_text(put("a ||| b", "a ||| b ||| c"))
    with pytest.raises(DataError, match="one file or two, found 0"):
        read_gold_text()


SETS = {  # links, text; pairs, format, base, sure and other possible links, left out
    "enfr": (["enfr.gold", "enfr.src-tgt"], (447, "pharaoh", 1, 4038, 13400, 0)),
    "zhen": (["zhen.gold", "zhen.src-tgt"], (450, "pharaoh", 1, 11238, 178, 0)),
    "de-en": (
        ["bicici-de-en/" + n for n in ("de-en.wa", "test.de", "test.en")],
        (100, "pharaoh", 0, 1232, 0, 1),
    ),
    "en-hi": (
        ["wpt05-en-hi/" + n for n in ("test.eng.hin.wa", "test.eng", "test.hin")],
        (90, "wpt", 1, 1408, 0, 1),
    ),
    "en-es": (["multi-jsonl/en-es/es_golden.train.jsonl"] * 2, (90, "jsonl", 0, 757, 0, 0)),
    "en-sv": (["multi-jsonl/en-sv/swedish.train.jsonl"] * 2, (1048, "jsonl", 0, 21368, 0, 0)),
}


def load(folder, links_file, *texts):
    text = read_gold_text(*(folder / name for name in texts))
    return text, read_alignments(folder / links_file, text.lengths, text.numbers)


@pytest.mark.parametrize("name", SETS)
def test_real_gold_is_counted_as_known(real_data, name):
    files, expected = SETS[name]
    text, gold = load(real_data / "alignment", *files)
    others = len(gold.possible.flat) - len(gold.sure.flat)
    assert len(text) == len(gold)
    assert (
        len(gold),
        gold.format,
        gold.base,
        len(gold.sure.flat),
        others,
        sum(gold.notes.values()),
    ) == expected
    assert agreement(gold.sure, gold.sure, gold.possible).aer == 0
