"""Export a finished run as a Hugging Face checkpoint."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options


def export(
    run: Annotated[Path, typer.Argument(help="A finished run's folder.")],
    into: Annotated[
        Path | None, options.output("Folder to write; optional with --push-to-hub.", kind="folder")
    ] = None,
    push: Annotated[
        str,
        typer.Option(
            "--push-to-hub", metavar="OWNER/NAME", help="Publish the model and its card on the hub."
        ),
    ] = "",
    private: Annotated[
        bool, typer.Option("--private", help="Make a new repository of the hub private.")
    ] = False,
    license_id: Annotated[
        str,
        typer.Option(
            "--license", metavar="ID", help="License on the published card, such as apache-2.0."
        ),
    ] = "",
    code: Code = [],
) -> None:
    """Write a run's model as an ordinary Hugging Face checkpoint, or publish it on the hub."""
    load_plugins(code)
    from interlace.core.errors import SettingsError
    from interlace.experiments.export import export_model, push_to_hub

    if into is None and not push:
        raise SettingsError("--output: name the folder to write")
    if (private or license_id) and not push:
        raise SettingsError("--private and --license belong to --push-to-hub")
    if into is not None:
        print_line(export_model(run, into))
    if push:
        print_line(push_to_hub(run, push, private=private, license_id=license_id))
