"""Tables of some kB that stand for many rows or values: an error, in little memory and time."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from interlace.core.errors import DataError
from interlace.readers import READERS

MANY = 1 << 26
LARGE = 2**31 - 1


def one_list(values, count):
    """A row with a list of `count` values."""
    offsets = pa.py_buffer(np.array([0, count], np.int32))
    return pa.Array.from_buffers(pa.list_(values.type), 1, [None, offsets], children=[values])


def nulls(count):
    """Values without any buffer."""
    return pa.Array.from_buffers(pa.null(), count, [None])


BOMBS = {
    "a list of nulls": lambda: one_list(pa.nulls(MANY), MANY),
    "a list of equal texts": lambda: one_list(
        pa.RunEndEncodedArray.from_arrays([MANY], ["word"]), MANY
    ),
    "a list of a fixed size": lambda: pa.Array.from_buffers(
        pa.list_(pa.null(), MANY), 1, [None], children=[nulls(MANY)]
    ),
    "a map of nulls": lambda: one_list(
        pa.StructArray.from_arrays([nulls(MANY), nulls(MANY)], ["a", "b"]), MANY
    ),
    "rows without bytes": lambda: nulls(LARGE),
    "rows of one text": lambda: pa.RunEndEncodedArray.from_arrays([MANY], ["word"]),
    "a long text of zeros": lambda: pa.array(["a" * (1 << 30)]),
}
RUN = """
import resource, sys
from pathlib import Path
from interlace.core.errors import DataError
from interlace.readers import READERS
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, resource.RLIM_INFINITY))
import pyarrow
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for chunk in READERS.build("dataset").read_chunks([Path(sys.argv[1])], ["en"]):
        pass
except DataError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.parametrize("name", BOMBS)
def test_a_table_that_expands_is_an_error_in_little_memory(tmp_path, name):
    path = tmp_path / "a.arrow"
    column = BOMBS[name]()
    table = pa.record_batch({"text": column})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(path, table.schema, options=options) as writer:
        writer.write_batch(table)
    del table, column
    assert path.stat().st_size < 1 << 20
    command = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    message, *rest = done.stdout.splitlines()
    assert str(path) in message
    assert int(rest[0]) < 2500, done.stdout  # MB


def test_long_values_of_parquet_are_decoded_a_few_at_a_time(tmp_path):
    table = pa.table({"text": ["a" * 7_000_000] * 60})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    del table
    before = pa.total_allocated_bytes()
    next(READERS.build("dataset").read_chunks([tmp_path / "a.parquet"], ["en"]))
    assert pa.total_allocated_bytes() - before < 300_000_000  # 1,600 MB if all are decoded together


def test_a_column_that_expands_beyond_all_expectation_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("interlace.readers.common.tables.MAX_EXPANDED", 1 << 20)
    table = pa.table({"text": ["a" * 1_000_000] * 3})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(
        DataError, match=r"a\.parquet: column 'text' has [\d,]+ bytes that expand to 3,"
    ):
        next(READERS.build("dataset").read_chunks([tmp_path / "a.parquet"], ["en"]))
