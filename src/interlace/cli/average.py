"""The mean of a run's last checkpoints, as a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, Json, load_plugins, notes, output


def average(
    run: Annotated[Path, typer.Argument(help="A finished run's folder.")],
    into: Annotated[Path, typer.Option("--into", help="Folder for the averaged run.")],
    last: Annotated[int, typer.Option("--last", min=1, help="How many of the last checkpoints.")] = 5,
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Average the weights of a run's last checkpoints into a finished run, with its model in model/."""
    load_plugins(code)
    from interlace.experiments.average import AVERAGED
    from interlace.experiments.average import average as mean

    mean(run, into, last)
    made = json.loads((into / AVERAGED).read_text(encoding="utf-8"))
    if as_json:
        output.print_json(json.dumps({"model": str(into / "model"), **made}))
        return
    steps = ", ".join(f"{step:,}" for step in made["steps"])
    one = len(made["steps"]) == 1
    notes.print(f"the checkpoint of step {steps}" if one else f"the mean of the checkpoints of steps {steps}")
    output.print(str(into), soft_wrap=True, highlight=False)
