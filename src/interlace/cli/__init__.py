"""The command line, one command per file; the only package that prints.

Results go to standard output or to `--output`; progress and notes go to standard error. A command's module is imported
when the command runs, so that each starts as fast as its own imports allow.
"""

import json
import logging
import os
import re
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.logging import RichHandler
from typer.core import TyperCommand, TyperGroup

from interlace.core.errors import DataError, did_you_mean
from interlace.core.registry import Registry
from interlace.core.settings import MAX_INTEGER

COMMANDS: Registry[Any] = Registry(__name__, "command")

_OUTPUTS = {"--output", "-o"}
_HELP = {"help_option_names": ["-h", "--help"]}
_main = os.environ.get("RANK", "0") == "0"  # only the first of torchrun's processes prints
notes = Console(stderr=True, quiet=not _main)
output = Console(quiet=not _main)
if not output.is_terminal and "COLUMNS" not in os.environ:
    output.width = 200  # a table in a file or a pipe has no screen to fit

Code = Annotated[
    list[Path], typer.Option("--code", help="A Python file with your own objectives, tasks and other entries.")
]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable output.")]


def _type_of(shown: Any, ctx: Any) -> str:
    """Return the type of an option as help shows it: TEXT, PATH, INTEGER, choices as they are; empty for a flag."""
    name = re.sub(r"^<(?:list\[)?(.*?)\]?>", r"\1", shown(ctx))
    return {"bool": "", "str": "TEXT", "path": "PATH", "Path": "PATH", "int": "INTEGER", "float": "NUMBER"}.get(
        name.removesuffix(" range"), name
    )


def _with_types(params: list[Any]) -> list[Any]:
    for param in params:
        if not isinstance(getattr(param, "display_type", None), partial | None):  # typer shows `<str>`, `<bool>`
            param.display_type = partial(_type_of, param.display_type)
    return params


def _check_outputs(params: dict[str, Any]) -> None:
    """Reject a file to write (a parameter `into` or `.._into`) that is also read."""
    outputs = {name for name in params if name.endswith("into") and params[name] is not None}
    given = [value for name, value in params.items() if name not in outputs]
    inputs = [one for value in given for one in (value if isinstance(value, list | tuple) else [value])]
    for path in (params[name] for name in outputs):
        if path.is_file() and any(isinstance(one, Path) and one.exists() and one.samefile(path) for one in inputs):
            raise DataError(f"{path}: is also the input; write to another file")


class _Command(TyperCommand):
    """A command with conventional types in its help; rejects outputs that are inputs, or empty: this folder."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option, value in pairwise([*args, "--"]):
            if (option in _OUTPUTS and not value) or option in {f"{name}=" for name in _OUTPUTS}:
                raise typer.BadParameter(f"{option.rstrip('=')}: expected a path, found an empty one")
        rest = super().parse_args(ctx, args)
        for name, value in ctx.params.items():
            if isinstance(value, int) and abs(value) > MAX_INTEGER:
                message = f"--{name.replace('_', '-')}: expected at most {MAX_INTEGER}, found {len(str(value))} digits"
                raise typer.BadParameter(message)
        _check_outputs(ctx.params)
        return rest


class _Commands(TyperGroup):
    """All commands; the module of one is imported when it is used."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_types(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(name.rstrip("_").replace("_", "-") for name in COMMANDS.names())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as above
        module = cmd_name.replace("-", "_")
        found = [name for name in COMMANDS.names() if name.rstrip("_") == module]
        if not found:
            return None
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(name=cmd_name, cls=_Command, context_settings=_HELP)(COMMANDS.get(found[0]))
        return typer.main.get_command(app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in (known := self.list_commands(ctx)):
            ctx.fail(f"no command {args[0]!r}{did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)


def application() -> typer.Typer:
    """Return the Typer application with every command of the registry."""
    app = typer.Typer(
        name="interlace",
        cls=_Commands,
        help="Pre-train, align and evaluate cross-lingual language models.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=_HELP,
    )
    app.callback()(_root)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from interlace import __version__

        output.print(__version__, highlight=False)
        raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


def note_to_stderr() -> None:
    """Log to standard error; only warnings of other libraries."""
    handler: logging.Handler = RichHandler(console=notes, show_path=False, show_level=False, omit_repeated_times=False)
    form = "%(message)s"
    if not (notes.is_terminal or notes.quiet):  # rich would wrap paths and pad lines to 80 columns
        handler, form = logging.StreamHandler(), "%(asctime)s %(message)s"
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format=form, datefmt="%H:%M:%S", force=True)
    logging.getLogger("interlace").setLevel(logging.INFO)


def registries() -> dict[str, Registry[Any]]:
    """Return the registries that plugins extend, by the name that `interlace list` takes."""
    from interlace.aligners import ALIGNERS
    from interlace.data.filters import FILTERS
    from interlace.derived import TRANSFORMATIONS
    from interlace.embeddings import EMBEDDING_METHODS
    from interlace.objectives import OBJECTIVES
    from interlace.readers import READERS
    from interlace.tasks import TASKS
    from interlace.text.word_tokenizers import WORD_TOKENIZERS
    from interlace.toy import LANGUAGES

    return {
        "objectives": OBJECTIVES,
        "tasks": TASKS,
        "readers": READERS,
        "word-tokenizers": WORD_TOKENIZERS,
        "filters": FILTERS,
        "aligners": ALIGNERS,
        "embedding-methods": EMBEDDING_METHODS,
        "toy-languages": LANGUAGES,
        "transformations": TRANSFORMATIONS,
    }


def load_plugins(paths: list[Path]) -> None:
    """Register the plugins of `--code` files."""
    if paths:
        from interlace.core.registry import register_plugin

        known = {registry.name: registry for registry in registries().values()}
        for path in paths:
            register_plugin(path, known)


def print_line(text: object, to: Console = output) -> None:
    """Print a line as it is: not wrapped, no markup."""
    to.print(str(text), soft_wrap=True, highlight=False, markup=False, emoji=False)


def print_json(data: Any) -> None:
    """Print data as JSON on standard output."""
    output.print_json(json.dumps(data))
