"""Tables of some kB that stand for many rows or values: an error, in little memory and time."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from interlace.core.errors import DataError
from interlace.core.files import MAX_LINE
from interlace.readers import READERS
from interlace.readers.common.arrow import small_parts


def test_a_list_of_many_values_is_an_error_in_little_time(tmp_path):
    table = pa.table({"tokens": [["a"]], "tags": [[0] * (MAX_LINE + 1)]})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 1 << 16
    with pytest.raises(DataError, match=r"a\.parquet: a row of more than 8 MB"):
        next(READERS.build("dataset").read_chunks([tmp_path / "a.parquet"], ["en"]))


def test_types_that_store_a_value_once_for_many_are_an_error():
    column = pa.RunEndEncodedArray.from_arrays([1 << 40], ["word"])
    batch = pa.record_batch({"text": column.slice(0, 1)})
    with pytest.raises(DataError, match="a: column 'text': values of type run_end_encoded"):
        next(small_parts(batch, "a"))


def test_long_values_of_parquet_are_decoded_a_few_at_a_time(tmp_path):
    table = pa.table({"text": ["a" * 7_000_000] * 60})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    del table
    before = pa.total_allocated_bytes()
    next(READERS.build("dataset").read_chunks([tmp_path / "a.parquet"], ["en"]))
    # 1,600 MB if all are decoded together
    assert pa.total_allocated_bytes() - before < 300_000_000


def test_a_column_that_expands_beyond_all_expectation_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("interlace.readers.common.tables._MAX_EXPANDED", 1 << 20)
    table = pa.table({"text": ["a" * 1_000_000] * 3})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(
        DataError, match=r"a\.parquet: column 'text' has [\d,]+ bytes that expand to 3,"
    ):
        next(READERS.build("dataset").read_chunks([tmp_path / "a.parquet"], ["en"]))
