from __future__ import annotations

import pytest

from interlace.core.errors import DataError
from interlace.readers.tsv import Tsv
from interlace.text.lines import write_lines


@pytest.fixture
def table(tmp_path):
    """Three languages and a label; quotes are literal, a cell may be empty."""
    rows = ["id\ten\tde\tsw\tclass", '1\tsay "yes"\tsag ja\t\tgood', "2\tno\tnein\thapana\tbad", ""]
    write_lines(tmp_path / "table.tsv", rows)
    return tmp_path / "table.tsv"


def test_languages_name_the_columns(table):
    (pairs,) = Tsv().read_chunks([table], ["sw", "en"])
    assert (pairs.source.lines, pairs.target.lines) == (["", "hapana"], ['say "yes"', "no"])
    assert (pairs.source.language, pairs.target.language) == ("sw", "en")


def test_columns_by_name_and_number_and_labels(table):
    (text,) = Tsv(columns=("de",), label="class").read_chunks([table], ["xx"])
    assert (text.language, text.lines, text.labels) == ("xx", ["sag ja", "nein"], ["good", "bad"])
    (pairs,) = Tsv(columns=(2, "sw"), label=4).read_chunks([table], ["de", "sw"])
    assert (pairs.target.lines, pairs.labels) == (["", "hapana"], ["good", "bad"])


def test_tables_without_a_header(tmp_path):
    write_lines(tmp_path / "a.tsv", ["one\ttwo\t1", "three\tfour\t0"])
    (pairs,) = Tsv(header=False, label=2).read_chunks([tmp_path / "a.tsv"], ["en", "de"])
    assert (pairs.source.lines, pairs.target.lines, pairs.labels) == (["one", "three"], ["two", "four"], ["1", "0"])


def test_a_missing_column_names_the_nearest(table):
    with pytest.raises(DataError, match=r"table\.tsv: the header has no column 'fr'; there are: class, de, en, id, sw"):
        list(Tsv().read_chunks([table], ["fr"]))
    with pytest.raises(DataError, match="no column 'clas'; did you mean 'class'"):
        list(Tsv(label="clas").read_chunks([table], ["en"]))
    with pytest.raises(DataError, match="there is no column 9; the header names 5"):
        list(Tsv(columns=(9,)).read_chunks([table], ["en"]))
    with pytest.raises(DataError, match=r"'en'.*header = false"):
        list(Tsv(columns=("en",), header=False).read_chunks([table], ["en"]))


def test_a_short_line_is_named(tmp_path):
    write_lines(tmp_path / "a.tsv", ["en\tde", "one\teins", "two"])
    with pytest.raises(DataError, match=r"a\.tsv, line 3: 1 tab-separated columns, the header names 2"):
        list(Tsv().read_chunks([tmp_path / "a.tsv"], ["en"]))
    with pytest.raises(DataError, match=r"line 3: 1 tab-separated columns, column 1 \(counted from 0\) is needed"):
        list(Tsv(header=False).read_chunks([tmp_path / "a.tsv"], ["en", "de"]))


def test_real_tables(real_data):
    chunks = list(Tsv().read_chunks([real_data / "parallel/bible-nt/nt.8langs.tsv.gz"], ["eu", "wo"]))
    assert sum(map(len, chunks)) == 7008
    chunks = list(Tsv().read_chunks([real_data / "parallel/xnli-multiway/xnli.11way.dev.tsv.gz"], ["hi", "zh"]))
    assert sum(map(len, chunks)) == 3320
