"""The command line, one command per file; the only package that prints.

Results go to standard output or to `--output`; progress and notes go to standard error. A command's module is imported
when the command runs, so that each starts as fast as its own imports allow.
"""

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.segment import Segment
from rich.text import Text
from typer.models import ArgumentInfo

from interlace.cli.common.options import OutputPath
from interlace.core.display import VisibleRecord, is_utf8, timed_lines, visible
from interlace.core.errors import DataError, SettingsError, dependency_errors
from interlace.core.outputs import (
    STANDARD_OUTPUT,
    Output,
    check_outputs,
    is_standard_output,
    target_of,
)
from interlace.core.registry import Registry
from interlace.core.settings import MAX_INTEGER

COMMANDS: Registry[Any] = Registry(__name__, "command")


class VisibleConsole(Console):
    """A console that prints control characters of text as escapes; those of rich itself, such as colors, work."""

    def render_str(self, text: str, **kwargs: Any) -> Text:
        """Return visible text, before its width is measured."""
        return super().render_str(visible(text), **kwargs)

    def render(self, *args: Any, **kwargs: Any) -> Iterator[Segment]:
        """Yield the segments of what is printed, with visible text."""
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


_MAX_NAME = 240  # bytes of the name of a file; file systems take 255, and suffixes such as `.alignments` follow
_HELP = {"help_option_names": ["-h", "--help"]}
_is_quiet = os.environ.get("RANK", "0") != "0"  # only the first of torchrun's processes prints
notes = VisibleConsole(stderr=True, quiet=_is_quiet)
output = VisibleConsole(quiet=_is_quiet)
if not output.is_terminal and "COLUMNS" not in os.environ:
    output.width = 200  # a table in a file or a pipe has no screen to fit

Code = Annotated[
    list[Path],
    typer.Option(
        "--code", help="A Python file with your own objectives, tasks and other entries."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable output.")]


def checked(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with checks that hold for all commands, and with the exit codes of shells.

    Numbers, names and files to write are checked. An interrupted command exits with code 130, one whose output has
    lost its reader with 141; Typer has other codes. A parameter whose type is a dataclass stands for options: its
    fields.
    """
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    declared = signature(command).parameters
    for name, hint in get_type_hints(command, include_extras=True).items():
        if isinstance(hint, type) and is_dataclass(hint):
            groups[name] = hint
            parameters += signature(hint).parameters.values()
        elif name != "return":
            parameter = declared[name].replace(kind=Parameter.KEYWORD_ONLY, annotation=hint)
            parameters.append(parameter)
    annotations = {parameter.name: parameter.annotation for parameter in parameters}

    @wraps(command)
    def run(**params: Any) -> None:
        for name, value in params.items():
            _check_number(name, value)
            for path_or_text in _listed(value):
                _check_name(path_or_text)
        _check_outputs(annotations, params)
        for name, group in groups.items():
            options = {field.name: params.pop(field.name) for field in fields(group)}
            params[name] = group(**options)
        try:
            with dependency_errors():
                command(**params)
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        except BrokenPipeError:
            raise SystemExit(141) from None

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # which Typer reads
    run.__annotations__ = annotations
    return run


def _check_number(parameter: str, value: Any) -> None:
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        option = f"--{parameter.replace('_', '-')}"
        raise SettingsError(
            f"{option}: expected at most {MAX_INTEGER}, found {len(str(value))} digits"
        )


def _listed(value: Any) -> Sequence[Any]:
    """Return the values of a repeated parameter, or the one of another parameter."""
    if isinstance(value, list | tuple):
        return value
    return [value]


def _check_name(value: Any) -> None:
    """Reject names that are not UTF-8, in which records are written, and those without room for suffixes."""
    is_path = isinstance(value, Path)
    text = str(value.absolute()) if is_path else str(value)
    if not is_utf8(text):
        raise DataError(
            f"{text}: not UTF-8, as the names in records of files must be; rename it"
        )
    length = len(value.name.encode()) if is_path else 0
    if length > _MAX_NAME:
        message = f"a name of {length} bytes; expected at most {_MAX_NAME}, since others are made of it"
        raise DataError(f"{value}: {message}")


def _check_outputs(annotations: Mapping[str, Any], params: dict[str, Any]) -> None:
    """Check what is written against what is read; an output that is standard output, or a link to a folder, is set."""
    outputs: list[Output] = []
    inputs: list[Path] = []
    for name, hint in annotations.items():
        declaration = next(iter(get_args(hint)[1:]), None)
        value = params.get(name)
        reader = getattr(declaration, "parser", None)
        if not isinstance(reader, OutputPath):
            inputs += _input_paths(value, is_argument=isinstance(declaration, ArgumentInfo))
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
    for entry in _listed(value):
        if isinstance(entry, Path):
            yield entry
        elif is_argument and isinstance(entry, str):
            yield Path(entry)
            tail = entry.partition(":")[2]
            if tail:
                yield Path(tail)


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the Typer application with every command; with that of the arguments alone if they name one."""
    app = typer.Typer(
        name="interlace",
        help="Pre-train, align and evaluate cross-lingual language models.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=_HELP,
    )
    app.callback()(_root)
    modules = {command_name(module): module for module in COMMANDS.names()}
    if arguments and arguments[0] in modules:
        names = [arguments[0]]
    else:
        names = sorted(modules)
    for name in names:
        command = COMMANDS.get(modules[name])
        app.command(name=name, context_settings=_HELP)(checked(command))
    return app


def command_name(module: str) -> str:
    """Return the name of the command in a module, such as `list` of `list_`."""
    return module.rstrip("_").replace("_", "-")


def run_command(arguments: list[str]) -> int | None:
    """Run the command that the arguments name; return its exit code. Errors of Typer in options are raised."""
    return application(arguments)(arguments, standalone_mode=False)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from interlace.cli.common.version import installation

        for name, value in installation().items():
            print_line(f"{name:<12} {value}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print versions, device and cache folder, and exit.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    pass


def log_to_stderr() -> None:
    """Log to standard error, with what Python warns of; only warnings of other libraries."""
    logging.setLogRecordFactory(VisibleRecord)
    logging.captureWarnings(True)
    handler: logging.Handler
    if notes.is_terminal or notes.quiet:
        handler = RichHandler(
            console=notes, show_path=False, show_level=False, omit_repeated_times=False
        )
        handler.setFormatter(logging.Formatter(datefmt="%H:%M:%S"))
    else:  # rich would wrap paths and pad lines to 80 columns
        handler = timed_lines()
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
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
    from interlace.toy.languages import LANGUAGES

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
    if not paths:
        return
    from interlace.core.registry import register_plugin

    by_name = {registry.name: registry for registry in registries().values()}
    for path in paths:
        register_plugin(path, by_name)


def print_line(text: object, to: Console = output) -> None:
    """Print a line as it is: not wrapped, no markup."""
    to.print(str(text), soft_wrap=True, highlight=False, markup=False, emoji=False)


def print_json(data: Any) -> None:
    """Print data as JSON on standard output."""
    output.print_json(json.dumps(data))


def kinds() -> dict[str, Any]:
    """Return what has names to list, but for papers: registries, and the stores of recipes and studies."""
    from interlace.experiments.recipe import RECIPES
    from interlace.experiments.studies import STUDIES

    return {**registries(), "recipes": RECIPES, "studies": STUDIES}


def completion(kind: str) -> Callable[[str], list[str]]:
    """Return what completes a value in a shell: the names of a kind of `interlace list` that begin as it does."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in kinds()[kind].names() if name.startswith(incomplete)]

    return complete


RecipeName = Annotated[
    str,
    typer.Argument(
        help="A TOML file, or a shipped recipe such as tiny/mlm.",
        autocompletion=completion("recipes"),
    ),
]
