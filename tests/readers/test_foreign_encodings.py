"""Encodings and types that cannot be read: an error names the file and the remedy."""

import datetime as dt

import pyarrow as pa
import pytest
from pyarrow import parquet

from interlace.core.errors import DataError, InterlaceError
from interlace.core.files import cache_folder, user_path
from interlace.experiments.data_root import data_root
from interlace.experiments.recipe import Recipe
from interlace.readers import READERS

UNIT = '<tmx><body><tu><tuv xml:lang="en"><seg>caf\u00e9</seg></tuv></tu></body></tmx>'
DECLARED = '<?xml version="1.0" encoding="{}"?>' + UNIT


def lines_of(reader, path):
    return [
        line
        for chunk in READERS.build(reader).read_chunks([path], ["en"])
        for line in chunk.lines
    ]


@pytest.mark.parametrize(
    "name",
    ["shift_jis", "gb18030", "utf-7", "utf-32", "x-unknown", "base64", "idna", "punycode"],
)
def test_an_encoding_that_cannot_be_read_is_named_with_its_conversion(tmp_path, name):
    (tmp_path / "a.xml").write_bytes(DECLARED.format(name).encode("ascii", "ignore"))
    with pytest.raises(DataError, match=r"a\.xml: the encoding .* cannot be read .* by iconv"):
        lines_of("tmx", tmp_path / "a.xml")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read_or_named(tmp_path, encoding):
    path = tmp_path / "a.tmx"
    path.write_bytes(UNIT.encode(encoding))
    assert lines_of("tmx", path) == ["caf\u00e9"]
    path.write_bytes(DECLARED.format("utf-8").encode(encoding))
    with pytest.raises(DataError, match=r"a\.tmx, line 1: .*by iconv"):
        lines_of("tmx", path)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "iso-8859-15", "windows-1252", "utf-16"])
def test_encodings_with_a_byte_a_character_are_read(tmp_path, encoding):
    (tmp_path / "a.tmx").write_bytes(DECLARED.format(encoding).encode(encoding))
    assert lines_of("tmx", tmp_path / "a.tmx") == ["caf\u00e9"]


FAR = 2**62
VALUES = {
    "a time after the year 9999": pa.array([FAR], pa.timestamp("us")),
    "a time": pa.array([dt.datetime(2020, 1, 1)]),  # noqa: DTZ001 - as tables have it
    "bytes": pa.array([b"a"]),
    "bytes that are not UTF-8": pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    ),
}


@pytest.mark.parametrize("column", ["text", "language"])
@pytest.mark.parametrize("kind", VALUES)
def test_a_value_that_is_no_text_is_named(tmp_path, kind, column):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": ["a"], column: VALUES[kind]}), path)
    with pytest.raises(DataError, match=rf"a\.parquet.*({column}|damaged.*column)"):
        lines_of("dataset", path)


@pytest.mark.parametrize(
    "use",
    [
        lambda name: user_path(f"{name}/x"),
        lambda _: cache_folder(),
        lambda name: data_root(Recipe(name="x", data_root="$INTERLACE_DATA")),
    ],
)
def test_the_home_folder_of_nobody_is_an_error(monkeypatch, use):
    monkeypatch.setenv("INTERLACE_CACHE", "~nobody-of-this-name")
    monkeypatch.setenv("INTERLACE_DATA", "~nobody-of-this-name")
    with pytest.raises(InterlaceError, match="~nobody-of-this-name"):
        use("~nobody-of-this-name")
