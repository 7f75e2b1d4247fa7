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
from pathlib import Path
from typing import Any, BinaryIO

from interlace.core.errors import DataError
from interlace.core.files import MAX_LINE, atomic, must_exist

_BLOCK = 1 << 20  # bytes read at a time
_BOM = b"\xef\xbb\xbf"
_ZEROS = bytes(64)  # what a crash of the machine leaves in a file
# suffixes that are read and written, and the names of their compression
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
_MARKS = {
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


def check_length(
    size: int, place: str, what: str = "a line", max_bytes: int = MAX_LINE
) -> None:
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
            if path.suffix in COMPRESSED:
                yield from _decompressed(file, path)
                return
            while block := file.read(_BLOCK):
                yield block
    except PermissionError as error:
        raise DataError(f"{path}: cannot be read: permission denied") from error


def _decompressed(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield blocks of all streams of a compressed file; raise a DataError with the place of damage."""
    codec = COMPRESSED[path.suffix]
    try:
        if codec == "bz2":
            yield from _decompressed_streams(file, bz2.BZ2Decompressor)
            return
        if codec == "xz":
            yield from _decompressed_streams(file, lzma.LZMADecompressor)
            return
        stream: Any = gzip.GzipFile(fileobj=file)
        if codec == "zstd":
            import pyarrow as pa

            stream = pa.input_stream(file, codec)
        while block := stream.read(_BLOCK):
            yield block
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise DataError(
            f"{path}: damaged {codec} file: before byte {file.tell():,}: {error}"
        ) from error


def _decompressed_streams(file: BinaryIO, decompressor: Callable[[], Any]) -> Iterator[bytes]:
    """Yield blocks of all streams, with zeros between them or not; bz2 and lzma would end at what is no stream."""
    data = file.read(_BLOCK)
    while data:
        stream = decompressor()
        while not stream.eof:
            block = stream.decompress(data, _BLOCK)
            if block:
                yield block
            data = b""
            if stream.needs_input:
                data = file.read(_BLOCK)
                if not data:
                    raise EOFError("the last stream has no end")
        data = stream.unused_data.lstrip(b"\0")
        while not data and (block := file.read(_BLOCK)):
            data = block.lstrip(b"\0")


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
