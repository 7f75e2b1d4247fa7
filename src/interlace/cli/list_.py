"""List what there is, and its settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from interlace.cli import Code, Json, load_plugins, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from interlace.core.registry import Registry
    from interlace.scores.published import PublishedRow


def list_(
    room: Annotated[str, typer.Argument(help="A room such as objectives; none: all rooms.")] = "",
    name: Annotated[str, typer.Argument(help="A member of the room: shows its settings.")] = "",
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Show rooms, their members, and a member's settings."""
    load_plugins(code)
    found = _find(room, name)
    if as_json:
        output.print_json(json.dumps(found))
        return
    keys = list(found[0]) if found else []
    table = Table(*keys, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"  # a default is there to be copied, so none is cut
    for row in found:
        table.add_row(*map(escape, map(_shown, row.values())))
    output.print(table)


def _find(room: str, name: str) -> list[dict[str, Any]]:
    from interlace.core.errors import SettingsError, did_you_mean
    from interlace.experiments.recipe import RECIPES
    from interlace.experiments.studies import STUDIES
    from interlace.scores.published import papers

    rooms = _rooms()
    if not room:
        return [
            *({"room": key, "members": members.names()} for key, members in rooms.items()),
            {"room": "recipes", "members": RECIPES.names()},
            {"room": "published", "members": papers()},
            {"room": "studies", "members": STUDIES.names()},
        ]
    if room == "recipes":
        return _recipes(name)
    if room == "published":
        return listed_rows(name) if name else listed_papers()
    if room == "studies":
        return _studies(name)
    if room not in rooms:
        raise SettingsError(
            f"there is no room {room!r}{did_you_mean(room, [*rooms, 'recipes', 'published', 'studies'])}"
        )
    if not name:
        return [{"name": member, "about": rooms[room].summary(member)} for member in rooms[room].names()]
    member = rooms[room].get(name)
    if not hasattr(member, "model_fields"):
        return [{"name": name, "about": rooms[room].summary(name)}]
    return list(_settings(member))


def _settings(model: type[BaseModel], path: str = "", outer: BaseModel | None = None) -> Iterator[dict[str, str]]:
    """A row a key, as `--set` takes it; a bundle of settings gives its keys, with the defaults it has there.

    outer: what stands at `path` where nothing is set; none at the top.
    """
    from pydantic import BaseModel

    from interlace.core.settings import fields_of

    for key, kind, default, about in fields_of(model):
        field = model.model_fields[key]
        value = getattr(outer, key) if outer else field.get_default(call_default_factory=True)
        if isinstance(value, BaseModel):
            yield from _settings(type(value), f"{path}{key}.", value)
        else:
            yield {"key": path + key, "type": kind, "default": repr(value) if outer else default, "about": about}


def _recipes(name: str) -> list[dict[str, Any]]:
    """What each shipped recipe shows, and which rows of papers it stands for; of one, all keys with its values.

    The list reads the files alone: a recipe whose words need a package that is not there is listed too.
    """
    from interlace.experiments.recipe import RECIPES, Recipe, read_recipe

    if name:
        rows = _settings(Recipe, outer=read_recipe(name))
        return [
            {"key": row["key"], "type": row["type"], "value": row["default"], "about": row["about"]} for row in rows
        ]
    texts = {shipped: RECIPES.read(shipped) for shipped in RECIPES.names()}
    return [
        {
            "name": name,
            "about": text.get("about", ""),
            "published": list(dict.fromkeys(row["where"] for row in text.get("published", []))),
        }
        for name, text in texts.items()
    ]


def _studies(name: str) -> list[dict[str, Any]]:
    """What each shipped study asks and compares; of one, all keys with its values."""
    from interlace.experiments.studies import STUDIES, Study, read_study

    if name:
        rows = _settings(Study, outer=read_study(name)[0])
        return [
            {"key": row["key"], "type": row["type"], "value": row["default"], "about": row["about"]} for row in rows
        ]
    texts = {shipped: STUDIES.read(shipped) for shipped in STUDIES.names()}
    return [
        {"name": name, "about": text.get("about", ""), "systems": list(text.get("systems", {}))}
        for name, text in texts.items()
    ]


def _shown(value: str | list[str]) -> str:
    if isinstance(value, str):
        return value
    return ("; " if any(", " in one for one in value) else ", ").join(value)


def _rooms() -> dict[str, Registry[Any]]:
    from interlace.aligners import ALIGNERS
    from interlace.data.filters import FILTERS
    from interlace.derived import TRANSFORMATIONS
    from interlace.embeddings import EMBEDDING_METHODS
    from interlace.objectives import OBJECTIVES
    from interlace.readers import READERS
    from interlace.tasks import TASKS
    from interlace.text.word_tokenizers import WORD_TOKENIZERS
    from interlace.toy import LANGUAGES

    return {
        "objectives": OBJECTIVES,
        "tasks": TASKS,
        "readers": READERS,
        "word-tokenizers": WORD_TOKENIZERS,
        "filters": FILTERS,
        "aligners": ALIGNERS,
        "vectors": EMBEDDING_METHODS,
        "languages": LANGUAGES,
        "transformations": TRANSFORMATIONS,
    }


# FROM _published:
# Published tables as rows of `interlace list published`.


def listed_papers() -> list[dict[str, Any]]:
    """What there is of each paper."""
    from interlace.scores.published import paper, papers

    found = ((name, paper(name)) for name in papers())
    return [
        {
            "name": name,
            "paper": f"{printed.cite}: {printed.title}",
            "tables": list(dict.fromkeys(table.number for table in printed.tables)),
            "not printed": [f"figure {figure.number}: {figure.about}" for figure in printed.figures],
        }
        for name, printed in found
    ]


def listed_rows(name: str) -> list[dict[str, Any]]:
    """Every row of a paper's tables; what there is to know of a whole table stands in its first row."""
    from interlace.scores.published import paper

    listed, last = [], None
    for row in paper(name).rows():
        of_table = [] if row.table is last else [row.table.note, row.table.errata]
        last = row.table
        listed.append(
            {
                "table": row.table.number,
                "task": row.table.task,
                "metric": row.table.metric,
                "split": row.table.split,
                "setting": row.setting,
                "system": row.system if row.theirs or not row.source else f"{row.system} ({row.source})",
                "scores": [f"{column} {_figure(row, column)}" for column in row.printed],
                "notes": [note for note in (row.note, *of_table) if note],
            }
        )
    return listed


def _figure(row: PublishedRow, column: str) -> str:
    """As printed, and what is right where that is wrong."""
    mended = f" (rightly {_number(row.correct[column])})" if column in row.correct else ""
    return _number(row.printed[column]) + mended


def _number(value: float) -> str:
    return f"{value:.1f}" if round(value, 1) == value else f"{value:g}"
