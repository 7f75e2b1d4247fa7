"""Download public corpora and test sets."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Json, print_json, print_line
from interlace.cli.common import options


def download(
    names: Annotated[
        list[str], typer.Argument(help="NAME, NAME:LANGUAGE,.. or NAME:PAIR,..; NAME@VERSION for another version.")
    ] = [],
    into: Annotated[Path | None, options.output("Folder to write; recipes' data root.")] = None,
    mirror: Annotated[
        str,
        typer.Option(
            "--mirror", envvar="INTERLACE_MIRROR", help="Address in place of https://, with a folder for each host."
        ),
    ] = "",
    show: Annotated[bool, typer.Option("--list", help="List what can be downloaded, with licences and sizes.")] = False,
    as_json: Json = False,
) -> None:
    """Download corpora and test sets in the layout that recipes expect; run again to resume."""
    from interlace.cli.common.progress import watching
    from interlace.cli.list_ import list_
    from interlace.experiments.download import download as fetch

    if show:
        list_("downloads", as_json=as_json)
        return
    if into is None or not names:
        message = "Missing names or --output, as in: interlace download xnli panx:de,sw -o data; --list shows names"
        raise typer.BadParameter(message)
    with watching() as watch:
        found = fetch(names, into, mirror, watch)
    if as_json:
        print_json([str(path) for path in found])
    else:
        for path in found:
            print_line(path)
