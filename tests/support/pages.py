"""Pages that show commands: run them in order, and see whether the page still shows what they print.

    python tests/support/pages.py docs/tutorial-alignment.md

writes what they print now into the page, and the figures that it shows beside it.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from interlace.toy.corpus import CorpusWriter
from interlace.toy.settings import ToyCorpus

if TYPE_CHECKING:
    from collections.abc import Iterator

CONSOLE = re.compile(r"(?<=^```console\n).*?(?=^```)", re.DOTALL | re.MULTILINE)
_PYTHON = re.compile(
    r"(^```python\n(.*?)^```\n\n```text\n).*?(?=^```)", re.DOTALL | re.MULTILINE
)
_FIGURE = re.compile(r"!\[[^\]]*\]\(([\w-]+\.svg)\)")


def with_real_output(page: str, folder: Path, python: str = sys.executable) -> str:
    """The page as it should be; its commands and scripts run in `folder`, from top to bottom, with this interpreter."""
    blocks = sorted(
        [*CONSOLE.finditer(page), *_PYTHON.finditer(page)], key=lambda block: block.start()
    )
    parts, end = [], 0
    for block in blocks:
        parts.append(page[end : block.start()])
        if block.re is CONSOLE:
            parts += [
                f"$ {command}\n{_run(command, folder, python)}"
                for command in commands(block[0])
            ]
        else:
            parts.append(block[1] + _shell([python, "-c", block[2]], folder, python))
        end = block.end()
    return "".join([*parts, page[end:]])


def figures(page: str) -> list[str]:
    """Names of the pictures that stand beside the page."""
    return _FIGURE.findall(page)


def commands(block: str) -> Iterator[str]:
    """What follows each prompt, to the end of the line or beyond a backslash there."""
    yield from re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE)


def _run(command: str, folder: Path, python: str) -> str:
    if command.startswith("interlace toy "):
        return _toy(command, folder)
    return _shell(["bash", "-o", "pipefail", "-c", command], folder, python)


def _toy(command: str, folder: Path) -> str:
    """Write only the translations and dictionaries of the toy corpus; its other kinds would take minutes."""
    parser = argparse.ArgumentParser()
    for option in ("-o", "--languages", "--pairs"):
        parser.add_argument(option, required=True)
    asked = parser.parse_args(shlex.split(command)[2:])
    into = folder / asked.o
    into.mkdir()
    writer = CorpusWriter(
        ToyCorpus(languages=asked.languages.split(","), **ToyCorpus.sizes(int(asked.pairs))),
        into,
    )
    for code in writer.toy.languages:
        if code != "en":
            writer.write_parallel(code)
            writer.write_dictionaries(code)
    return f"{asked.o}\n"


def _shell(command: list[str], folder: Path, python: str) -> str:
    """What a command prints, on either stream."""
    path = os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode not in {0, 141}:  # 141: `head` had enough
        message = f"{command[-1]}\nended with {done.returncode}: {done.stdout}"
        raise RuntimeError(message)
    return done.stdout


def main() -> None:
    """Bring a page up to date."""
    page = Path(sys.argv[1])
    with TemporaryDirectory() as folder:
        text = with_real_output(page.read_text(encoding="utf-8"), Path(folder))
        page.write_text(text, encoding="utf-8")
        for name in figures(text):
            shutil.copy(Path(folder, name), page.with_name(name))


if __name__ == "__main__":
    main()
