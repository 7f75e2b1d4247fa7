"""Export a finished run as a Hugging Face checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from interlace.cli import Code, Json, load_plugins, print_json, print_line


def export(
    run: Annotated[Path, typer.Argument(help="A finished run's folder.")],
    into: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    average: Annotated[
        int | None, typer.Option("--average", min=1, help="Write the mean of this many last checkpoints, as a run.")
    ] = None,
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Write a run's model as an ordinary Hugging Face checkpoint, or the mean of its last checkpoints as a run."""
    load_plugins(code)
    from interlace.experiments.export import AVERAGED, average_checkpoints, export_model

    found: dict[str, Any] = {"model": str(into)}
    if average is None:
        export_model(run, into)
    else:
        average_checkpoints(run, into, average)
        found = {"model": str(into / "model"), **json.loads((into / AVERAGED).read_text(encoding="utf-8"))}
    if as_json:
        print_json(found)
    else:
        print_line(into)
