"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from interlace.errors import SettingsError

Changes = Annotated[
    list[str], typer.Option("--set", help="Change a key of the recipe: --set train.steps=100 (repeatable).")
]


def parse_changes(changes: list[str]) -> dict[str, str]:
    """`key=value` strings as a mapping."""
    parsed = {}
    for change in changes:
        key, separator, value = change.partition("=")
        if not separator or not key:
            raise SettingsError(f"--set {change!r}: expected section.key=value, such as train.steps=100")
        parsed[key.strip()] = value.strip()
    return parsed
