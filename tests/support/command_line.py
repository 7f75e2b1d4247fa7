"""Run the command line in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.testing import CliRunner

from interlace.cli import application

if TYPE_CHECKING:
    from typer.testing import Result


def command(*arguments: object, text: str | bytes = "") -> Result:
    """Run a command with text as its standard input; an error is raised."""
    words = [*map(str, arguments)]
    return CliRunner().invoke(application(), words, input=text, catch_exceptions=False)
