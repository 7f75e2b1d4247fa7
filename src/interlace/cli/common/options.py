"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from interlace.core.errors import SettingsError

Changes = Annotated[
    list[str], typer.Option("--set", help="Change a key of the recipe: --set train.steps=100 (repeatable).")
]


def parse_changes(changes: list[str], expected: str = "section.key=value, such as train.steps=100") -> dict[str, str]:
    """`key=value` strings as a mapping; `expected` says what they look like."""
    parsed = {}
    for change in changes:
        key, separator, value = change.partition("=")
        if not separator or not key:
            raise SettingsError(f"--set {change!r}: expected {expected}")
        parsed[key.strip()] = value.strip()
    return parsed


def language_of(path: Path) -> str:
    """`"en"` of `train.en.gz`; empty where the name ends in no language that is known."""
    from interlace.text.scripts import scripts_of

    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    return suffix[1:] if scripts_of(suffix[1:]) else ""


# FROM _translation_options:
# Options of the commands that translate.


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
Anyway = Annotated[bool, typer.Option("--force", help="Also in a direction that the run was not trained in.")]
Piece = Annotated[
    str,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="The I-th of N parts of the text, a device each; results joined in order are the whole's.",
    ),
]
