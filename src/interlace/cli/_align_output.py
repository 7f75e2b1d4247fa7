"""Where results go: a file that appears whole at the end, or standard output."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from interlace.cli import output
from interlace.core.errors import SettingsError
from interlace.text.lines import atomic, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO


def must_leave_room(into: Path | None, as_json: bool) -> None:
    """Standard output holds a result or a summary, never both."""
    if as_json and into is None:
        raise SettingsError("--json takes standard output; name a file for the result: --into FILE")


def say(into: Path | None, as_json: bool, summary: dict[str, Any]) -> None:
    """The summary, or the path of what was written; nothing where standard output holds the result."""
    if as_json:
        output.print_json(json.dumps(summary))
    elif into is not None:
        output.print(str(into), soft_wrap=True, highlight=False)


@contextmanager
def lines_to(path: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """What is yielded writes lines, part by part."""
    if path is not None:
        with writing(path) as write:
            yield write
        return
    with _standard_output() as file:
        yield lambda lines: file.writelines(line.encode("utf-8") + b"\n" for line in lines)


@contextmanager
def file_to(path: Path | None, spool: Path) -> Iterator[Path]:
    """A path to write a file at; without a file's name its content goes to standard output, through the spool."""
    if path is not None:
        with atomic(path) as partial:
            yield partial
        return
    result = spool / "result"
    yield result
    with _standard_output() as file, result.open("rb") as written:
        shutil.copyfileobj(written, file)


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    """As bytes. A reader that leaves early, such as `head`, ends the command with 141, as shells say."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        _drop_output()
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(141) from None
        raise


def _drop_output() -> None:
    """Send what is still held to nowhere, or Python fails to write it once more as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
