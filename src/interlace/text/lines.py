"""Read and write lines: UTF-8, split at line feeds only, plain or compressed by suffix, written atomically.

Sentences may contain U+0085, U+2028 or control characters, so `str.splitlines` and universal newlines would be wrong:
only a line feed ends a line, and one carriage return before it is dropped.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from interlace.core.errors import DataError
from interlace.core.files import atomic, must_exist

_BLOCK = 1 << 20  # bytes read at a time
_COMPRESSED_BLOCK = 1 << 16  # the same of gzip, bzip2 and xz: a file may have many small streams
MAX_LINE = (
    8 << 20
)  # bytes of a line, a row of a table, an XML element; their subwords take some 300 times as many
_BOM = b"\xef\xbb\xbf"
_ZEROS = bytes(64)  # what a crash of the machine leaves in a file
COMPRESSED = {
    ".gz": "gzip",
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zst": "zstd",
}  # suffixes that are read and written
_MARKS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF-": "a PDF document",
    b"PK\3\4": "a zip archive or an office document",
    b"PAR1": "Parquet (reader 'dataset')",
    b"\xff\xff\xff\xff": "Arrow: write it as Parquet, by `Dataset.to_parquet`",
    b"\x1f\x8b": "gzip: its name must end in .gz",
    b"BZh91AY&SY": "bzip2: its name must end in .bz2",
    b"\xfd7zXZ\0": "xz: its name must end in .xz",
    b"\x28\xb5\x2f\xfd": "zstd: its name must end in .zst",
    b"\xff\xfe\0\0": "UTF-32: iconv -f utf-32 -t utf-8",  # before UTF-16
    b"\0\0\xfe\xff": "UTF-32: iconv -f utf-32 -t utf-8",
    b"\xff\xfe": "UTF-16: iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "UTF-16: iconv -f utf-16 -t utf-8",
}


def plain_name(path: Path | str) -> Path:
    """Return a path without the suffix of its compression: `train.en` of `train.en.zst`."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in COMPRESSED else path


def read_lines(path: Path | str, max_line: int = MAX_LINE) -> Iterator[str]:
    """Iterate over the lines of a UTF-8 file, without byte order mark; a DataError names a bad file.

    max_line: bytes of a line; more are an error.
    """
    path = Path(path)
    line_number = 1  # of the next line
    unfinished: list[bytes] = []  # parts of a line
    is_empty = True
    for block in read_blocks(path):
        data = block
        if is_empty:
            is_empty = False
            kind = binary_format(block[:1024])
            if kind:
                raise DataError(f"{path}: expected UTF-8 text, but it seems to be {kind}")
            data = block.removeprefix(_BOM)
        whole_lines, feed, rest = data.rpartition(b"\n")
        if not feed:
            unfinished.append(data)
            _check_zeros(data, path, line_number)
            check_length(
                sum(map(len, unfinished)), f"{path}, line {line_number}", max_bytes=max_line
            )
            continue
        lines = _decoded(b"".join([*unfinished, whole_lines]), path, line_number)
        yield from lines
        line_number += len(lines)
        unfinished = [rest] if rest else []
    if is_empty:
        raise DataError(f"{path}: the file is empty")
    if unfinished:
        yield from _decoded(b"".join(unfinished), path, line_number)


def lines_of(file: BinaryIO, name: str) -> Iterator[str]:
    """Iterate over the lines of an open UTF-8 file as they arrive; errors name the file `name`."""
    # `iter` calls `readline` without a step of Python for each line
    for number, data in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
        check_length(len(data), f"{name}, line {number}")
        raw = data.removeprefix(_BOM) if number == 1 else data
        yield from _decoded(raw.removesuffix(b"\n"), name, number)


def check_length(size: int, place: str, what: str = "a line", max_bytes: int = MAX_LINE) -> None:
    """Raise a DataError that names the place if there are more bytes than the limit: a small archive may hold them."""
    if size > max_bytes:
        raise DataError(
            f"{place}: {what} of more than {max_bytes >> 20} MB; expected sentences or documents"
        )


def read_blocks(path: Path | str) -> Iterator[bytes]:
    """Iterate over blocks of a file's bytes, decompressed by suffix (`COMPRESSED`)."""
    path = must_exist(path)
    try:
        with path.open("rb") as file:
            if path.suffix in _DECOMPRESSORS:
                yield from _decompressed_streams(file, path)
                return
            if path.suffix == ".zst":
                yield from _decompressed_zstd(file, path)
                return
            while block := file.read(_BLOCK):
                yield block
    except PermissionError as error:
        raise DataError(f"{path}: cannot be read: permission denied") from error


class _GzipDecompressor:
    """Decompresses a member of a gzip file, with the methods of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(
            zlib.MAX_WBITS | 16
        )  # 16: with the header and checksum of gzip
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        block = self._stream.decompress(self._stream.unconsumed_tail + data, max_length)
        self.needs_input = not (
            self.eof or self._stream.unconsumed_tail or len(block) == max_length
        )
        return block


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    ".gz": _GzipDecompressor,
    ".bz2": bz2.BZ2Decompressor,
    ".xz": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ),
}


def _decompressed_zstd(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield blocks of all frames of a zstd file; raise a DataError with the place of a damaged one."""
    import pyarrow as pa

    stream = pa.input_stream(file, "zstd")
    try:
        while block := stream.read(_BLOCK):
            yield block
    except OSError as error:
        raise _damaged(path, f"before byte {file.tell():,}: {error}") from error


def _decompressed_streams(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield blocks of all streams of a gzip, bzip2 or xz file; raise a DataError with the place of a damaged one.

    `bz2.open` and `lzma.open` end without an error at whatever follows the first stream and is not a stream itself.
    """
    blocks: list[bytes] = []
    size = 0  # of the blocks
    start = 0  # of the stream
    data = file.read(_COMPRESSED_BLOCK)
    while data:
        stream = _DECOMPRESSORS[path.suffix]()
        while not stream.eof:
            try:
                block = stream.decompress(data, _BLOCK)
            except (OSError, lzma.LZMAError, zlib.error) as error:
                place = f"the stream at byte {start:,}, before byte {file.tell():,}"
                raise _damaged(path, f"{place}: {error}") from error
            blocks.append(block)
            size += len(block)
            if size >= _BLOCK:
                yield b"".join(blocks)
                blocks = []
                size = 0
            data = file.read(_COMPRESSED_BLOCK) if stream.needs_input else b""
            if stream.needs_input and not data:
                raise _damaged(path, f"the stream at byte {start:,} has no end")
        data = _after_padding(stream.unused_data, file)
        start = file.tell() - len(data)
    if size:
        yield b"".join(blocks)


def _after_padding(data: bytes, file: BinaryIO) -> bytes:
    """Return what follows the zeros after a stream, from `data` and then from the file; empty at its end."""
    data = data.lstrip(b"\0")
    while not data:
        block = file.read(_COMPRESSED_BLOCK)
        if not block:
            break
        data = block.lstrip(b"\0")
    return data


def _damaged(path: Path, fault: object) -> DataError:
    return DataError(f"{path}: damaged {COMPRESSED[path.suffix]} file: {fault}")


def _opened_for_writing(path: Path) -> Any:
    """Return an open file that takes uncompressed bytes."""
    if path.suffix == ".gz":
        raw = path.open("wb")
        file = gzip.GzipFile("", "wb", 6, raw, mtime=0)  # no name, so that bytes are the same
        file.myfileobj = raw  # type: ignore[assignment]  # closed with the file
        return file
    if path.suffix == ".zst":
        import pyarrow as pa

        return pa.output_stream(path, "zstd")
    openers: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".xz": lzma.open}
    return openers.get(path.suffix, open)(path, "wb")


def count_lines(path: Path | str) -> int:
    """Count the lines of a file without decoding it; errors as `read_blocks`."""
    count = 0
    last_byte = b"\n"
    for block in read_blocks(path):
        count += block.count(b"\n")
        last_byte = block[-1:]
    return count if last_byte == b"\n" else count + 1


def write_lines(path: Path | str, lines: Iterable[str]) -> None:
    """Write lines atomically, compressed by suffix; raise a DataError for a line feed in a line, or a full disk."""
    with writing(path) as write:
        write(lines)


@contextmanager
def writing(
    path: Path | str, temporary: Callable[[Path], AbstractContextManager[Path]] = atomic
) -> Iterator[Callable[[Iterable[str]], None]]:
    """Yield a function that writes a batch of lines; otherwise as `write_lines`, also its errors.

    temporary: yields the path to write, whose file becomes `path` on success.
    """
    count = 0
    with temporary(Path(path)) as partial, _opened_for_writing(partial) as file:

        def write(lines: Iterable[str]) -> None:
            nonlocal count
            for line in lines:
                count += 1
                if "\n" in line:
                    raise DataError(f"{path}: line {count} contains a line feed: {line[:60]!r}")
                if count == 1 and line.startswith("\ufeff"):
                    file.write(_BOM)  # `read_lines` drops the first one
                file.write(line.encode("utf-8") + b"\n")

        yield write


def binary_format(begin: bytes) -> str:
    """Return what a file seems to be that does not begin as UTF-8 text, and the remedy; empty for text."""
    for mark, about in _MARKS.items():
        if begin.startswith(mark):
            return about
    if begin.count(0) * 8 > len(begin):  # text has hardly any
        return "binary, UTF-16 or UTF-32: convert text by iconv"
    return ""


def _decoded(data: bytes, path: Path | str, first: int) -> list[str]:
    """Decode the lines of `data`; `first` is the number of the first line."""
    _check_zeros(data, path, first)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise DataError(
            f"{path}, line {line}: not valid UTF-8 at byte {column} (0x{data[error.start]:02x}); convert the file to "
            "UTF-8"
        ) from None
    lines = text.split("\n")
    if "\r" in text:
        return [line.removesuffix("\r") for line in lines]
    return lines


def _check_zeros(data: bytes, path: Path | str, first: int) -> None:
    """Raise a DataError that names the line if there are many NUL bytes in a row."""
    if _ZEROS in data:
        line = first + data.count(b"\n", 0, data.index(_ZEROS))
        raise DataError(
            f"{path}, line {line}: {len(_ZEROS)} or more NUL bytes in a row; expected text"
        )
