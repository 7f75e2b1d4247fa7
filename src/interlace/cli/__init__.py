"""The command line, one command per file; the only package that prints.

Results go to standard output or to `--output`; progress and notes go to standard error. A command's module is imported
when the command runs, so that each starts as fast as its own imports allow.
"""

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from rich.console import Console
from rich.logging import RichHandler
from typer.core import TyperGroup
from typer.models import ArgumentInfo

from interlace.cli.common.options import JsonSummary, OutputPath
from interlace.cli.common.visible import VisibleConsole, VisibleRecord, visible_usage_errors
from interlace.core.display import is_utf8
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.outputs import STANDARD_OUTPUT, Output, check_outputs, is_standard_output, target_of
from interlace.core.registry import Registry
from interlace.core.settings import MAX_INTEGER

COMMANDS: Registry[Any] = Registry(__name__, "command")

_MAX_NAME = 240  # bytes of the name of a file; file systems take 255, and suffixes such as `.alignments` follow
_HELP = {"help_option_names": ["-h", "--help"]}
_main = os.environ.get("RANK", "0") == "0"  # only the first of torchrun's processes prints
notes = VisibleConsole(stderr=True, quiet=not _main)
output = VisibleConsole(quiet=not _main)
if not output.is_terminal and "COLUMNS" not in os.environ:
    output.width = 200  # a table in a file or a pipe has no screen to fit

Code = Annotated[
    list[Path], typer.Option("--code", help="A Python file with your own objectives, tasks and other entries.")
]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable output.")]


def checked(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with checks that hold for all commands: of numbers, and of files to write."""

    @wraps(command)
    def run(**params: Any) -> Any:
        for name, value in params.items():
            if isinstance(value, int) and abs(value) > MAX_INTEGER:
                option = f"--{name.replace('_', '-')}"
                raise SettingsError(f"{option}: expected at most {MAX_INTEGER}, found {len(str(value))} digits")
        _check_names(params)
        _check_outputs(command, params)
        return command(**params)

    return run


def _check_names(params: dict[str, Any]) -> None:
    """Reject names that are not UTF-8, in which records are written, and those without room for suffixes."""
    for value in params.values():
        for entry in value if isinstance(value, list | tuple) else [value]:
            text = str(entry.absolute() if isinstance(entry, Path) else entry)
            if not is_utf8(text):
                raise DataError(f"{text}: not UTF-8, as the names in records of files must be; rename it")
            if isinstance(entry, Path) and (length := len(entry.name.encode())) > _MAX_NAME:
                message = f"a name of {length} bytes; expected at most {_MAX_NAME}, since others are made of it"
                raise DataError(f"{entry}: {message}")


def _check_outputs(command: Callable[..., Any], params: dict[str, Any]) -> None:
    """Check what is written against what is read; an output that is standard output, or a link to a folder, is set."""
    outputs: list[Output] = []
    inputs: list[Path] = []
    for name, hint in get_type_hints(command, include_extras=True).items():
        (info,) = get_args(hint)[1:] or [None]
        value = params.get(name)
        reader = getattr(info, "parser", None)
        if hint == JsonSummary and value:
            outputs.append(Output("--json", STANDARD_OUTPUT))
        elif not isinstance(reader, OutputPath):
            inputs += _input_paths(value, is_argument=isinstance(info, ArgumentInfo))
        elif reader.default_is_standard and (value is None or is_standard_output(value)):
            params[name] = None
            outputs.append(Output(reader.option, STANDARD_OUTPUT))
        elif value is not None:
            outputs += reader.outputs(value)
            if reader.kind != "file" and value.is_symlink():
                params[name] = target_of(value)
    if outputs:
        check_outputs(outputs, inputs)


def _input_paths(value: Any, *, is_argument: bool) -> Iterator[Path]:
    """Yield the paths that a parameter names; text of an argument is a path, a part of it behind a colon may be one."""
    for entry in value if isinstance(value, list | tuple) else [value]:
        if isinstance(entry, Path):
            yield entry
        elif is_argument and isinstance(entry, str):
            yield Path(entry)
            yield Path(entry.partition(":")[2])


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Exit with the codes of shells after an interrupt, or if the reader of an output ended; Typer has other ones."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        raise SystemExit(141) from None


class _Commands(TyperGroup):
    """All commands; the module of one is imported when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(name.rstrip("_").replace("_", "-") for name in COMMANDS.names())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as above
        module = cmd_name.replace("-", "_")
        for name in COMMANDS.names():
            if name.rstrip("_") == module:
                return typer.main.get_command(_single(cmd_name, COMMANDS.get(name)))
        return None

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with visible_usage_errors(), _exit_codes():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with visible_usage_errors(), _exit_codes():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        commands = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in commands:
            ctx.fail(f"no command {args[0]!r}{did_you_mean(args[0], commands)}")
        return super().resolve_command(ctx, args)


def _single(name: str, command: Callable[..., Any]) -> typer.Typer:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name=name, context_settings=_HELP)(checked(command))
    return app


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
    """Log to standard error, with what Python warns of; only warnings of other libraries."""
    logging.setLogRecordFactory(VisibleRecord)
    logging.captureWarnings(True)
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
