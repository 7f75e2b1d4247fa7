"""The command line: a command a file, found by the room; the only place that prints.

What a command makes goes to standard output or under `--into`; progress and notes go to standard error.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.logging import RichHandler
from typer.core import TyperCommand

from interlace.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS: Registry[Any] = Registry(__name__, "command")

_OUTPUTS = {"--into", "--output", "-o"}
_main = os.environ.get("RANK", "0") == "0"  # of the processes that torchrun starts, one speaks
notes = Console(stderr=True, quiet=not _main)
output = Console(quiet=not _main)
if not output.is_terminal and "COLUMNS" not in os.environ:
    output.width = 200  # a table in a file or a pipe has no screen to fit

Code = Annotated[list[Path], typer.Option("--code", help="A Python file with objectives, tasks or readers of yours.")]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable output.")]


class _Command(TyperCommand):
    """A command that refuses an empty output path, which would mean the current folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option, value in zip(args, [*args[1:], "--"], strict=True):
            if (option in _OUTPUTS and not value) or option in {f"{name}=" for name in _OUTPUTS}:
                message = f"{option.rstrip('=')}: expected a path, found an empty one"
                raise typer.BadParameter(message)
        return super().parse_args(ctx, args)


def application() -> typer.Typer:
    """The Typer application with every command of the room."""
    app = typer.Typer(
        name="interlace",
        help="Pre-train, align and evaluate cross-lingual language models.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    for name in COMMANDS.names():
        command: Callable[..., Any] = COMMANDS.get(name)
        app.command(name=name.rstrip("_").replace("_", "-"), cls=_Command)(command)
    return app


def note_to_stderr() -> None:
    """Send the library's notes to standard error, and keep other libraries quiet."""
    handler: logging.Handler = RichHandler(console=notes, show_path=False, show_level=False, omit_repeated_times=False)
    form = "%(message)s"
    if not (notes.is_terminal or notes.quiet):  # in a file, rich would break paths and pad lines to 80 columns
        handler, form = logging.StreamHandler(), "%(asctime)s %(message)s"
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format=form, datefmt="%H:%M:%S", force=True)
    logging.getLogger("interlace").setLevel(logging.INFO)


def load_plugins(paths: list[Path]) -> None:
    """Let the members defined in `--code` files into their rooms."""
    if not paths:
        return
    from interlace.aligners import ALIGNERS
    from interlace.core.registry import register_plugin
    from interlace.data.filters import FILTERS
    from interlace.derived import TRANSFORMATIONS
    from interlace.embeddings import EMBEDDING_METHODS
    from interlace.objectives import OBJECTIVES
    from interlace.readers import READERS
    from interlace.tasks import TASKS
    from interlace.text.words import WORD_TOKENIZERS
    from interlace.toy import LANGUAGES

    known: tuple[Registry[Any], ...] = (
        OBJECTIVES,
        TASKS,
        READERS,
        WORD_TOKENIZERS,
        FILTERS,
        ALIGNERS,
        EMBEDDING_METHODS,
        TRANSFORMATIONS,
        LANGUAGES,
    )
    rooms = {room.name: room for room in known}
    for path in paths:
        register_plugin(path, rooms)
