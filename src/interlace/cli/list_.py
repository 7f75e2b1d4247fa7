"""List what there is, and its settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from interlace.cli import Code, Json, output, take_guests

if TYPE_CHECKING:
    from interlace.registry import Room


def list_(
    room: Annotated[str, typer.Argument(help="A room such as objectives; none: all rooms.")] = "",
    name: Annotated[str, typer.Argument(help="A member of the room: shows its settings.")] = "",
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Show rooms, their members, and a member's settings."""
    take_guests(code)
    found = _find(room, name)
    if as_json:
        output.print_json(json.dumps(found))
        return
    keys = list(found[0]) if found else []
    table = Table(*keys, box=None, pad_edge=False)
    for row in found:
        table.add_row(*(str(row[key]) for key in keys))
    output.print(table)


def _find(room: str, name: str) -> list[dict[str, Any]]:
    from interlace.errors import SettingsError, did_you_mean
    from interlace.settings import fields_of

    rooms = _rooms()
    if not room:
        return [{"room": key, "members": ", ".join(members.names())} for key, members in rooms.items()] + _recipes()
    if room == "recipes":
        return _recipes()
    if room not in rooms:
        raise SettingsError(f"there is no room {room!r}{did_you_mean(room, [*rooms, 'recipes'])}")
    if not name:
        return [{"name": member, "about": rooms[room].summary(member)} for member in rooms[room].names()]
    member = rooms[room].get(name)
    if not hasattr(member, "model_fields"):
        return [{"name": name, "about": rooms[room].summary(name)}]
    return [dict(zip(("key", "type", "default", "about"), row, strict=True)) for row in fields_of(member)]


def _recipes() -> list[dict[str, Any]]:
    from interlace.recipes import shipped_recipes

    return [{"room": "recipes", "members": ", ".join(shipped_recipes())}]


def _rooms() -> dict[str, Room[Any]]:
    from interlace.objectives import OBJECTIVES
    from interlace.readers import READERS
    from interlace.tasks import TASKS
    from interlace.text.words import SPLITTERS
    from interlace.world import LANGUAGES

    return {
        "objectives": OBJECTIVES,
        "tasks": TASKS,
        "readers": READERS,
        "splitters": SPLITTERS,
        "languages": LANGUAGES,
    }
