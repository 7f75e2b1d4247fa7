"""Export a finished run, or a model with fewer tokens, as a Hugging Face checkpoint."""

from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.text_files import CODE_OF_FILE, lines_by_language
from interlace.core.errors import SettingsError


def export(
    run: Annotated[
        str,
        typer.Argument(
            help="A finished run's folder; with --trim also a checkpoint, folder or hub name."
        ),
    ],
    into: Annotated[Path, options.output("Folder to write.", kind="folder")],
    files: Annotated[
        list[str],
        typer.Argument(metavar="[TEXT]...", help=f"Text files of --trim; {CODE_OF_FILE}."),
    ] = [],
    trim: Annotated[
        bool,
        typer.Option(
            "--trim",
            help="Keep only the tokens that the text files need, with their embeddings: text in all languages that "
            "the model is to read.",
        ),
    ] = False,
    keep: Annotated[
        Literal["text", "characters"],
        typer.Option(
            "--keep",
            help="text: tokens of the text; characters: also all others that consist of its characters.",
        ),
    ] = "text",
    code: Code = [],
) -> None:
    """Write a run's model, with its card, as an ordinary Hugging Face checkpoint; `hf upload` publishes it."""
    if trim != bool(files):
        raise SettingsError("give text files together with --trim: export MODEL --trim TEXT..")
    load_plugins(code)
    from interlace.experiments.export import export_model, export_trimmed

    with notes.status("exporting"):
        if trim:
            lines = chain.from_iterable(lines_by_language(files).values())
            exported = export_trimmed(run, lines, into, keep)
        else:
            exported = export_model(Path(run), into)
    print_line(exported)
