"""Run the command line in this process, and code in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from interlace.cli import application

if TYPE_CHECKING:
    from typer.testing import Result


def command(*arguments: object, text: str | bytes = "") -> Result:
    """Run a command with text as its standard input; an error is raised."""
    words = [*map(str, arguments)]
    return CliRunner().invoke(application(), words, input=text, catch_exceptions=False)


def run_code(
    code: str, *arguments: object, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run Python code in a fresh interpreter; without `check`, it may fail."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=check)
