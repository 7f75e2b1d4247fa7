import bz2
import errno
import gzip
import lzma
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save_file

from interlace.core import files
from interlace.core.errors import DataError
from interlace.core.files import MAX_LINE, atomic, atomic_folder
from interlace.text.lines import count_lines, read_lines, write_lines
from little_files import named_pipe


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "one\u2028one\r\ntwo\x85\x0c two\n\nfour\rfour\n",
            ["one\u2028one", "two\x85\x0c two", "", "four\rfour"],
        ),
        ("\ufeffone\n\ufefftwo\n", ["one", "\ufefftwo"]),
    ],
)
def test_only_line_feeds_end_lines_and_only_the_first_byte_order_mark_is_dropped(
    tmp_path, text, lines
):
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert list(read_lines(tmp_path / "a.txt")) == lines


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_what_is_written_is_read(tmp_path, name):
    lines = ["\ufeff" + "ä" * 10, "", "ж\u2029", "x"] * 40
    write_lines(tmp_path / name, lines)
    assert list(read_lines(tmp_path / name)) == lines
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_lines_longer_than_a_block_are_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("interlace.text.lines._BLOCK", 3)
    path = tmp_path / "a.txt"
    path.write_text("ärger\nб\n\nlonger line\nthe end")
    assert list(read_lines(path)) == ["ärger", "б", "", "longer line", "the end"]


def test_rejects_missing_files_folders_and_empty_files(tmp_path):
    (tmp_path / "train.en.txt").touch()
    (tmp_path / "empty").mkdir()
    for suffix, compress in COMPRESS.items():
        (tmp_path / f"empty.{suffix}").write_bytes(compress(b""))
    for name, message in (
        ("train.en.text", r"train\.en\.text: no such file; did you mean 'train\.en\.txt'"),
        (".", "a folder where a file is expected; there are: empty"),
        ("empty", "a folder where a file is expected; it has no files"),
        ("empty.gz/b", r"empty\.gz/b: no such file; .*empty\.gz is not a folder$"),
        ("train.en.txt", "the file is empty"),
        *((f"empty.{suffix}", "the file is empty") for suffix in COMPRESS),
    ):
        with pytest.raises(DataError, match=message):
            list(read_lines(tmp_path / name))


@pytest.mark.parametrize("block", [4, 1 << 20])
def test_invalid_utf8_names_line_and_byte(tmp_path, monkeypatch, block):
    monkeypatch.setattr("interlace.text.lines._BLOCK", block)
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\nth\xffree\nfour\n")
    with pytest.raises(DataError, match=r"a\.txt, line 3: not valid UTF-8 at byte 3 \(0xff\)"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"hello", mtime=0), "gzip: its name must end in .gz"),
        ("hello\n".encode("utf-16"), "UTF-16: iconv -f utf-16 -t"),
        ("hello\n".encode("utf-16-le"), "binary, UTF-16 or UTF-32: convert"),
        ("\ufeffhello\n".encode("utf-32-be"), "UTF-32: iconv -f utf-32 -t"),
        (b"%PDF-1.7\n\xe2\xe3", "a PDF document$"),
    ],
)
def test_says_what_a_file_is_that_is_no_text(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(
        DataError, match=rf"a\.txt: expected UTF-8 text, but it seems to be {message}"
    ):
        list(read_lines(tmp_path / "a.txt"))


def test_rejects_damaged_gzip_files(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"some text\n" * 1000)[:-9])
    with pytest.raises(DataError, match="damaged gzip"):
        list(read_lines(tmp_path / "a.txt.gz"))
    (tmp_path / "a.txt").write_bytes(b"text that a crash filled up\n" * 100 + bytes(3000))
    with pytest.raises(DataError, match=r"a\.txt, line 101: 64 or more NUL bytes in a row"):
        list(read_lines(tmp_path / "a.txt"))
    (tmp_path / "a.txt").write_bytes(b"one \0 NUL in a long enough line is kept\n")
    assert list(read_lines(tmp_path / "a.txt")) == ["one \0 NUL in a long enough line is kept"]


@pytest.mark.parametrize("block", [64, 100, 126])
@pytest.mark.parametrize("end", [b"", b"\nthree\n", b"three"])
def test_nul_bytes_that_lie_across_blocks_are_found(tmp_path, monkeypatch, block, end):
    monkeypatch.setattr("interlace.text.lines._BLOCK", block)
    (tmp_path / "a.txt").write_bytes(b"one\n" * 300 + bytes(64) + end)
    with pytest.raises(DataError, match=r"a\.txt, line 301: 64 or more NUL bytes in a row"):
        list(read_lines(tmp_path / "a.txt"))


COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": partial(pa.compress, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("block", [64, 1 << 16])
def test_all_streams_of_a_compressed_file_are_read(tmp_path, monkeypatch, suffix, block):
    """As pbzip2 and `cat` write them."""
    monkeypatch.setattr("interlace.text.lines._BLOCK", block)
    lines = [f"line {number}" for number in range(50)]
    padding = bytes(8) if suffix == "xz" else b""
    streams = [COMPRESS[suffix](f"{line}\n".encode()) + padding for line in lines]
    (tmp_path / f"a.{suffix}").write_bytes(b"".join(streams))
    assert list(read_lines(tmp_path / f"a.{suffix}")) == lines


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda first, second: first + b"garbage",
        lambda first, second: first + b"XX" + second[2:] + first,
        lambda first, second: first + second[: len(second) // 2],
    ],
)
def test_what_follows_a_whole_stream_is_never_dropped(tmp_path, suffix, spoil):
    first, second = (
        COMPRESS[suffix](text.encode() * 100) for text in ("one\n", "two and some more\n")
    )
    (tmp_path / f"a.{suffix}").write_bytes(spoil(first, second))
    with pytest.raises(DataError, match=rf"a\.{suffix}: damaged \w+ file: before byte \d+"):
        list(read_lines(tmp_path / f"a.{suffix}"))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("end", ["", "\nthe end\n"])
def test_a_line_of_a_small_archive_that_would_fill_the_memory_is_named(tmp_path, suffix, end):
    path = tmp_path / f"a{suffix}"
    write_lines(
        path, ["one", "a" * (MAX_LINE - 10), "a" * (4 * MAX_LINE) + end.replace("\n", " ")]
    )
    with pytest.raises(DataError, match=rf"a{suffix}, line 3: a line of more than 8 MB"):
        list(read_lines(path))


def test_a_line_feed_inside_a_line_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(DataError, match="line 2 contains a line feed"):
        write_lines(tmp_path / "a.txt", ["fine", "not\nfine"])
    assert list(tmp_path.iterdir()) == []


def _fail(writing, error):
    """Write half of it, then fail."""
    with writing as partial:
        (partial / "x" if partial.is_dir() else partial).write_text("half")
        raise error


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError):
        _fail(atomic(path), ZeroDivisionError())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (RuntimeError("I/O: No space left (os error 28)"), "No space left on device"),
        (OSError(errno.EFBIG, "File too large"), "File too large"),
        (RuntimeError("I/O: (os error 27)"), "File too large"),
    ],
)
def test_a_full_disk_is_a_data_error_and_leaves_nothing(tmp_path, error, fault):
    for writing in (atomic, atomic_folder):
        with pytest.raises(DataError, match=f"a: cannot be written: {fault}"):
            _fail(writing(tmp_path / "a"), error)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_not_replaced(tmp_path):
    pipe, folder, own = tmp_path / "pipe", tmp_path / "folder", tmp_path / "own"
    named_pipe(pipe)
    folder.mkdir()
    own.touch()
    for path, kind in ((pipe, "a pipe or a device"), (folder, "a folder")):
        with pytest.raises(
            DataError, match=f"{path.name}: {kind} where a file is to be written"
        ):
            write_lines(path, ["line"])
    for writing in (atomic, atomic_folder):
        with pytest.raises(DataError, match=r"own/b/c: cannot be written: .*Not a directory"):
            _fail(writing(own / "b/c"), ValueError())
    assert pipe.is_fifo()
    assert sorted(tmp_path.rglob("*")) == [folder, own, pipe]


def test_a_folder_takes_the_place_of_the_old_one(tmp_path):
    for content in ("old", "new"):
        with atomic_folder(tmp_path / "corpus") as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / content).write_text(content)
    found = [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))]
    assert found == ["corpus", "corpus/deep", "corpus/deep/new"]


def write_folder(path):
    with atomic_folder(path) as partial:
        (partial / "new").touch()


@pytest.mark.parametrize("write", [lambda path: write_lines(path, ["new"]), write_folder])
def test_leftovers_of_killed_writers_are_removed_by_the_next(tmp_path, monkeypatch, write):
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    mine = files._beside(tmp_path / "a.txt", ".txt").name
    left = mine.replace(str(os.getpid()), dead.stdout.decode().strip())
    (tmp_path / left).touch()
    (tmp_path / f".{left}").mkdir()  # of a writer inside a temporary folder
    elsewhere = left.replace(files._HOST, "0" * 8)
    for name in (mine, elsewhere):  # of writers that live, one of them in another container
        (tmp_path / name).touch()
    files._cleaned.clear()
    write(tmp_path / "a.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", mine, elsewhere}
    monkeypatch.setattr(
        Path, "iterdir", lambda path: pytest.fail(f"{path} is listed by each writer")
    )
    write(tmp_path / "b.txt")


def test_files_have_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic(tmp_path / "a.safetensors") as path:
            save_file({"a": np.zeros(1)}, path)
        with atomic_folder(tmp_path / "b") as folder:
            save_file({"a": np.zeros(1)}, folder / "a.safetensors")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("a.*")} == {0o640}


@pytest.mark.parametrize("data", [b"\n", b"a", b"a\n\nb", b"a\r\nb\n\n"])
def test_lines_are_counted_as_they_are_read(data, tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(data))
    assert count_lines(tmp_path / "a.gz") == len(list(read_lines(tmp_path / "a.gz")))
