"""Options of the commands that translate."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Batch = Annotated[
    int | None, typer.Option("--batch", min=1, help="Most sentences of a batch; none: as many as --tokens allows.")
]
Tokens = Annotated[
    int | None,
    typer.Option(
        "--tokens",
        min=1,
        help="Most subwords of a batch's sources, with padding, times the beam; none: 16384, and on a GPU as many more "
        "as half of its free memory holds.",
    ),
]
Precision = Annotated[
    Literal["no", "bf16", "auto"],
    typer.Option("--precision", help="Of the arithmetic: float32, less, or less where the hardware is quick in it."),
]
Anyway = Annotated[bool, typer.Option("--anyway", help="Also in a direction that the run was not trained in.")]
Piece = Annotated[
    str,
    typer.Option(
        "--part",
        metavar="I/N",
        help="The I-th of N parts of the text, a device each; results joined in order are the whole's.",
    ),
]
