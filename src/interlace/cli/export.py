"""Export a finished run as a Hugging Face checkpoint."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options


def export(
    run: Annotated[Path, typer.Argument(help="A finished run's folder.")],
    into: Annotated[Path, options.output("Folder to write.", kind="folder")],
    code: Code = [],
) -> None:
    """Write a run's model, with its card, as an ordinary Hugging Face checkpoint; `hf upload` publishes it."""
    load_plugins(code)
    from interlace.experiments.export import export_model

    print_line(export_model(run, into))
