"""Write results to a file or to standard output, and summaries as JSON."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import typer

from interlace.cli import print_json, print_line
from interlace.core.errors import SettingsError
from interlace.core.files import atomic
from interlace.text.lines import writing


def check_json_output(into: Path | None, as_json: bool) -> None:
    """Reject a summary and a result that would both go to standard output."""
    if as_json and into is None:
        raise SettingsError("--json uses standard output; name a file for the result: --output FILE")


def print_summary(into: Path | None, as_json: bool, summary: dict[str, Any]) -> None:
    """Print the summary as JSON, or the path of the output file."""
    if as_json:
        print_json(summary)
    elif into is not None:
        print_line(into)


@contextmanager
def lines_to(path: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """Yield a function that writes lines to a file or standard output."""
    if path is not None:
        with writing(path) as write:
            yield write
        return
    with _standard_output() as file:
        yield lambda lines: file.writelines(line.encode("utf-8") + b"\n" for line in lines)


@contextmanager
def file_to(path: Path | None, spool: Path) -> Iterator[Path]:
    """Yield a path to write to; without `path`, the content is copied to standard output."""
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
    """Yield binary standard output; a closed pipe ends the command with exit code 141."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)  # discards buffered output, which Python would write at exit
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(141) from None
        raise
