"""The bytes of a file: encoding, line ends, and whether it can be read at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.data.inspection import Example, Examples, Finding, Report, Watch, no_progress
from interlace.text.lines import read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass
class _Bytes:
    """What is counted on the way through a file."""

    lines: int = 0
    size: int = 0
    returns: int = 0  # carriage returns before a line feed
    strays: int = 0  # others
    bad: Examples = field(default_factory=Examples)
    start: bytes = b""


def look_at_file(path: Path | str, watch: Watch = no_progress) -> Report:
    """Facts `lines` and `bytes` (unpacked), and what is wrong with the encoding. Raises nothing."""
    path = Path(path)
    seen = _Bytes()
    report = Report(str(path))
    try:
        for lines in _whole_lines(path):
            _count(seen, lines, path.name)
            watch(f"bytes of {path.name}", seen.size, 0)
    except DataError as error:
        report.findings.append(Finding("error", "unreadable", 1, 1, str(error)))
    report.facts = {"lines": seen.lines, "bytes": seen.size}
    report.findings += _findings(seen, path, unreadable=bool(report.findings))
    return report


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The file in pieces that end where a line ends, the last one perhaps without its line feed."""
    parts: list[bytes] = []
    for block in read_blocks(path):
        head, feed, tail = block.rpartition(b"\n")
        if feed:
            yield b"".join([*parts, head, feed])
            parts = []
        parts.append(tail)
    if rest := b"".join(parts):
        yield rest


def _count(seen: _Bytes, data: bytes, name: str) -> None:
    if not seen.size:
        seen.start = data[:4]
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        _count_bad(seen, data, name)
    returns = data.count(b"\r\n")
    seen.returns += returns
    seen.strays += data.count(b"\r") - returns
    seen.size += len(data)
    seen.lines += data.count(b"\n") + (not data.endswith(b"\n"))


def _count_bad(seen: _Bytes, data: bytes, name: str) -> None:
    for number, line in enumerate(data.split(b"\n"), seen.lines + 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            shown = line.decode("latin-1")
            seen.bad.add(1, [partial(Example.of, f"{name}:{number}", shown)])


def _findings(seen: _Bytes, path: Path, *, unreadable: bool) -> Iterator[Finding]:
    if not seen.size:
        if not unreadable:
            yield Finding("error", "empty file", 1, 1, f"{path} holds nothing")
        return
    if seen.start.startswith(_UTF16):
        yield Finding("error", "UTF-16", 1, 1, f"convert it: iconv -f UTF-16 -t UTF-8 {path.name}")
    elif seen.bad.count:
        about = "not UTF-8, shown as if Latin-1; if that reads well: iconv -f LATIN1 -t UTF-8"
        yield Finding("error", "bad UTF-8", seen.bad.count, seen.lines, about, tuple(seen.bad.kept))
    if seen.start.startswith(_BOM):
        yield Finding("note", "byte order mark", 1, seen.lines, f"{path.name} begins with one; it is left out")
    if seen.returns:
        yield Finding(
            "note", "CRLF line ends", seen.returns, seen.lines, f"in {path.name}; carriage returns are left out"
        )
    if seen.strays:
        about = f"carriage returns inside lines of {path.name}; where they should end lines: tr '\\r' '\\n'"
        yield Finding("warning", "stray carriage returns", seen.strays, seen.lines, about)
