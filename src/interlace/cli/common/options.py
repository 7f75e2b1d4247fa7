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
    """Parse `key=value` strings; `expected` describes them in errors."""
    parsed = {}
    for change in changes:
        key, separator, value = change.partition("=")
        if not separator or not key:
            raise SettingsError(f"--set {change!r}: expected {expected}")
        parsed[key.strip()] = value.strip()
    return parsed


def language_of(path: Path) -> str:
    """Return the language suffix of a file name, `"en"` of `train.en.gz`; empty if unknown."""
    from interlace.text.scripts import scripts_of

    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    return suffix[1:] if scripts_of(suffix[1:]) else ""


Batch = Annotated[
    int | None, typer.Option("--batch", min=1, help="Maximum sentences per batch. Default: limited by --tokens.")
]
Tokens = Annotated[
    int | None,
    typer.Option(
        "--tokens",
        min=1,
        help="Maximum source tokens per batch, padded, times the beam. Default: 16384; on a GPU, what half of its free "
        "memory holds.",
    ),
]
Precision = Annotated[
    Literal["no", "bf16", "auto"],
    typer.Option("--precision", help="Arithmetic: float32 (no), bfloat16, or bfloat16 where the hardware is fast."),
]
Anyway = Annotated[bool, typer.Option("--force", help="Translate in a direction that the run was not trained in.")]
Piece = Annotated[
    str,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="The I-th of N shards of the text; concatenated in order, the outputs are complete.",
    ),
]
