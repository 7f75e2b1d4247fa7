"""Alignment files: each format by hand, detection of the index of the first word, malformed files."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment import formats
from interlace.alignment.agreement import agreement
from interlace.alignment.formats import read_alignments
from interlace.alignment.gold_text import read_gold_text
from interlace.alignment.links import sorted_links
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


def test_pharaoh_with_possible_links_sorts_and_drops_duplicates(put):
    gold = read_alignments(put("0-0 2p1 1-2", "", "10?3\t0-11", "   ", "3-1 0-2 0-0 3-1 0p2"))
    assert list(pharaoh_lines(gold.sure)) == ["0-0 1-2", "", "0-11", "", "0-0 0-2 3-1"]
    assert list(pharaoh_lines(gold.possible)) == [
        "0-0 1-2 2-1",
        "",
        "0-11 10-3",
        "",
        "0-0 0-2 3-1",
    ]
    assert (gold.format, gold.base, gold.notes) == ("pharaoh", 0, {"duplicate links": 2})
    assert gold.numbers.tolist() == [0, 1, 2, 3, 4]
    assert gold.sure.values.dtype == gold.possible.values.dtype == np.int32


@pytest.mark.parametrize(
    ("line", "column", "token"),
    [
        ("0-0 1-", 5, "1-"),
        ("0-0 1--1", 5, "1--1"),
        ("0-0 1-1:0.9", 5, "1-1:0.9"),
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


@given(st.lists(st.sets(st.tuples(words, words), max_size=6), max_size=6))
def test_pharaoh_lines_are_read_back(pairs):
    pairs = [sorted(pair) for pair in pairs]
    links = Ragged.of(pairs, width=2)
    lines = list(pharaoh_lines(links))
    assert lines == [" ".join(f"{i}-{j}" for i, j in pair) for pair in pairs]
    parsed = parse_pharaoh(lines, "here")
    assert not parsed.is_possible.any()
    assert sorted_links(parsed.rows, parsed.links, len(lines)) == links


def test_result_does_not_depend_on_chunks(put, monkeypatch):
    lines = ["0-0 1p2", "", "10-3 0-11", "3p1", "2-0 2p1"] * 9
    whole = read_alignments(put(*lines), kind="pharaoh")
    monkeypatch.setattr(formats, "_CHUNK", 7)
    parts = read_alignments(put(*lines), kind="pharaoh")
    assert (parts.sure, parts.possible) == (whole.sure, whole.possible)
    with pytest.raises(DataError, match="line 46, column 3"):
        read_alignments(put(*lines, "  x"), kind="pharaoh")


NO_EVIDENCE = "aligned pairs without evidence whether words count from 0 or 1: 0 assumed"
FROM_ONE = "aligned pairs, none with a word 0: words assumed to count from 1"
BEYOND = "links beyond the end of a sentence dropped, first in pair "
ONE_BEYOND = BEYOND.replace("links", "link")
NULL = "links to a word 0 dropped, first in "
NULL_WORD = ["1 1 0", "1 0 2 P", "1 3 3", "2 1 1", "2 3 2", "3 2 2 P"]
STRAY = ["1 0 0", "1 3 3", "1 3 1", "2 1 1", "3 1 1"]
THREE = lengths((3, 3), (3, 2), (2, 2))


@pytest.mark.parametrize(
    ("lines", "text", "base", "links", "notes"),
    [
        # although 2-2 would be the last words, counted from 1
        (["0-0 2-2", "2-2"], lengths((3, 3), (2, 2)), 0, "0-0 2-2,", {ONE_BEYOND + "2": 1}),
        (["1-1 3-2", "1-2"], lengths((5, 9), (3, 2)), 1, "0-0 2-1,0-1", {}),
        (["1-1 2-2", ""], lengths((5, 9), (3, 2)), 0, "1-1 2-2,", {NO_EVIDENCE: 1}),
        (["1-1 2-2", ""], None, 0, "1-1 2-2,", {NO_EVIDENCE: 1}),
        (["", ""], None, 0, ",", {}),
        (["1-1 2-3"] * 20, None, 1, ",".join(["0-0 1-2"] * 20), {FROM_ONE: 20}),
        (["1-1"] * 19, None, 0, ",".join(["1-1"] * 19), {NO_EVIDENCE: 19}),
        (["2-2"] * 30, None, 0, ",".join(["2-2"] * 30), {NO_EVIDENCE: 30}),
        # in WPT, a word 0 beside links to last words is the null word
        (NULL_WORD, THREE, 1, "2-2,0-0 2-1,1-1", {NULL + "sentence 1": 2}),
        (STRAY, THREE, 0, "0-0,1-1,1-1", {BEYOND.replace("pair", "sentence") + "1": 2}),
    ],
)
def test_whether_words_count_from_zero_or_one_is_inferred_and_noted(
    put, lines, text, base, links, notes
):
    gold = read_alignments(put(*lines), text)
    assert (gold.base, gold.notes) == (base, notes)
    assert ",".join(pharaoh_lines(gold.possible)) == links


def test_talp_lines(put):
    gold = read_alignments(put("0\t0-0 1p2 ", "1\t", "2\t3-1"))
    assert (gold.format, gold.base, gold.numbers.tolist()) == ("talp", 0, [0, 1, 2])
    assert list(pharaoh_lines(gold.sure)) == ["0-0", "", "3-1"]
    assert list(pharaoh_lines(gold.possible)) == ["0-0 1-2", "", "3-1"]
    moved = read_alignments(put("7\t1-1", "", "3\t0-0"), numbers=[3, 5, 7])
    assert list(pharaoh_lines(moved.sure)) == ["0-0", "", "1-1"]


def test_wpt_lines(put):
    file = put("26 2 1 S", "26 3 3 P", "28 1 1 S 0.5", "26 2 2", "", "26 2 1 P")
    gold = read_alignments(file)
    assert (gold.format, gold.base, gold.numbers.tolist()) == ("wpt", 1, [26, 28])
    assert list(pharaoh_lines(gold.sure)) == ["1-0 1-1", "0-0"]
    assert list(pharaoh_lines(gold.possible)) == ["1-0 1-1 2-2", "0-0"]
    assert gold.notes == {"duplicate links": 1}
    spread = read_alignments(file, lengths((3, 3), (4, 4), (1, 1)), numbers=[26, 27, 28])
    assert list(pharaoh_lines(spread.sure)) == ["1-0 1-1", "", "0-0"]


@pytest.mark.parametrize("lines", [("0 0 0", "2 1 1"), ("1 0 0", "3 1 1")])
def test_sentences_count_from_zero_or_one(put, lines):
    gold = read_alignments(put(*lines), lengths((4, 4), (4, 4), (4, 4)))
    assert list(pharaoh_lines(gold.sure)) == ["0-0", "", "1-1"]


PAIR = {"src_words": ["a", "b"], "tgt_words": ["x"], "alignment": [[1, 0], [0, 0], [1, 0]]}


def test_json_lines(put):
    gold = read_alignments(put(json.dumps(PAIR)))
    assert (gold.format, gold.base, gold.sure.to_lists()) == ("jsonl", 0, [[[0, 0], [1, 0]]])
    from_one = put(json.dumps({**PAIR, "alignment": [[2, 1]]}), "")
    assert read_alignments(from_one).sure.to_lists() == [[[1, 0]]]
    beyond = read_alignments(put(json.dumps({**PAIR, "alignment": [[0, 0], [2, 0]]})))
    assert beyond.notes == {ONE_BEYOND + "1": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "invalid JSON"),
        ("[" * 100_000, "invalid JSON"),
        ("[]", "input should be a valid dictionary"),
        ('{"src_words": [], "tgt_word": []}', "key 'tgt_words': field required"),
        (
            '{"src_words": [], "tgt_words": 3, "alignment": []}',
            "key 'tgt_words': .* list, found 3",
        ),
        (r'{"src_words": ["a\ud800"], "tgt_words": [], "alignment": []}', r"holds '\\ud800'"),
        ('{"src_words": [], "tgt_words": [], "alignment": [[0, true]]}', "integer, found True"),
        (
            '{"src_words": [], "tgt_words": [], "alignment": [[0, 1e30]]}',
            r"integer, found 1e\+30",
        ),
        (
            '{"src_words": [], "tgt_words": [], "alignment": [[0, 9999999999]]}',
            "less than 1000000",
        ),
        ('{"src_words": [], "tgt_words": [], "alignment": ["0-0"]}', "list, found '0-0'"),
    ],
)
def test_rejects_damaged_json(put, line, message):
    with pytest.raises(DataError, match=f"links, line 2: .*{message}"):
        read_alignments(put('{"src_words": [], "tgt_words": [], "alignment": []}', line))


@pytest.mark.parametrize(
    ("lines", "options", "error", "message"),
    [
        (["", "hello"], {}, DataError, "line 2: 'hello' .* there are: pharaoh, talp, wpt"),
        (
            ["0-0"],
            {"kind": "pharao"},
            SettingsError,
            "no alignment format 'pharao'; did you mean",
        ),
        ([], {}, DataError, "the file is empty"),
        (["0-0"], {"lengths": THREE}, DataError, "alignments of 1 pairs, but the text has 3"),
        (["4\t0-0", "4\t0-1"], {}, DataError, "several pairs have the number 4"),
        (["0\t0-0", "x"], {}, DataError, "line 2: 'x'; expected the number of a pair"),
        (["5 0 0", "7 1 1"], {"lengths": THREE}, DataError, "but the text has 3 pairs; give"),
        (["1 2 3", "1 2 x"], {}, DataError, "line 2: '1 2 x'; expected a sentence number"),
        (
            ["5 0 0", "7 1 1"],
            {"lengths": THREE, "numbers": [4, 5, 6]},
            DataError,
            "alignment of sentence 7, but the text has 3 sentences, numbered 4 to 6",
        ),
        (
            [json.dumps(PAIR)],
            {"lengths": lengths((2, 2))},
            DataError,
            "pair 1: 2 and 1 words, but the text has 2 and 2",
        ),
    ],
)
def test_rejects_what_is_no_alignment_of_the_text(put, lines, options, error, message):
    with pytest.raises(error, match=message):
        read_alignments(put(*lines), **options)


def test_text_of_two_files(put):
    source = put("<s snum=4> a  b </s>", '<s snum="6">c</s>', name="source")
    text = read_gold_text(source, put("4\tx", "6\ty z", name="target"), languages=("en", "hi"))
    assert (text.pairs.source.lines, text.pairs.target.lines) == (["a b", "c"], ["x", "y z"])
    assert (text.numbers.tolist(), text.pairs.target.language) == ([4, 6], "hi")
    assert [side.tolist() for side in text.lengths] == [[2, 1], [1, 2]]


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (["4\tx", "6\ty"], ["4\tx", "5\ty"], "has sentence 6 where .* has 5; the sides must"),
        (["<s snum=4>a</s>", "c"], ["4\tx"], "source, line 2: no sentence number: 'c'"),
        (["a ||| b", "a ||| b ||| c"], None, "line 2: 2 separators"),
    ],
)
def test_rejects_texts_of_different_sentences(put, sources, targets, message):
    files = [put(*sources, name="source")]
    if targets is not None:
        files.append(put(*targets, name="target"))
    with pytest.raises(DataError, match=message):
        read_gold_text(*files)


def test_plain_text_joined_text_and_json(put):
    plain = read_gold_text(put("a  b", "", name="source"), put("x", "y", name="target"))
    joined = read_gold_text(put("a b ||| x", "||| y"))
    assert plain.pairs.source.lines == joined.pairs.source.lines == ["a b", ""]
    assert plain.pairs.target.words == joined.pairs.target.words
    rows = put(json.dumps({**PAIR, "src_words": ["a b", "", "c"]}))
    text = read_gold_text(rows).pairs.source
    assert text.lines == ["a_b _ c"]
    with pytest.raises(DataError, match="one file or two, found 0"):
        read_gold_text()


SETS = {  # links, text; pairs, format, base, sure and other possible links, left out
    "enfr": (["enfr.gold", "enfr.src-tgt"], (447, "pharaoh", 1, 4038, 13400, 0)),
    "en-hi": (
        ["wpt05-en-hi/" + n for n in ("test.eng.hin.wa", "test.eng", "test.hin")],
        (90, "wpt", 1, 1408, 0, 1),
    ),
    "en-es": (["multi-jsonl/en-es/es_golden.train.jsonl"] * 2, (90, "jsonl", 0, 757, 0, 0)),
}


@pytest.mark.parametrize("name", SETS)
def test_real_gold_is_counted_as_known(real_data, name):
    (links_file, *texts), expected = SETS[name]
    folder = real_data / "alignment"
    text = read_gold_text(*(folder / name for name in texts))
    gold = read_alignments(folder / links_file, text.lengths, text.numbers)
    sure = len(gold.sure.flat)
    counts = (sure, len(gold.possible.flat) - sure, sum(gold.notes.values()))
    assert len(text) == len(gold)
    assert (len(gold), gold.format, gold.base, *counts) == expected
    assert agreement(gold.sure, gold.sure, gold.possible).aer == 0
