"""List registries, their entries, and the settings of an entry."""

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
    kind: Annotated[str, typer.Argument(help="A registry such as objectives. Default: all.")] = "",
    name: Annotated[str, typer.Argument(help="An entry: shows its settings.")] = "",
    code: Code = [],
    as_json: Json = False,
) -> None:
    """List registries, their entries, or the settings of one entry."""
    load_plugins(code)
    found = _find(kind, name)
    if as_json:
        output.print_json(json.dumps(found))
        return
    keys = list(found[0]) if found else []
    table = Table(*keys, box=None, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"  # defaults are meant to be copied
    for row in found:
        table.add_row(*map(escape, map(_shown, row.values())))
    output.print(table)


def _find(kind: str, name: str) -> list[dict[str, Any]]:
    from interlace.core.errors import SettingsError, did_you_mean
    from interlace.experiments.recipe import RECIPES
    from interlace.experiments.studies import STUDIES
    from interlace.scores.published import papers

    registries = _registries()
    if not kind:
        return [
            *({"kind": key, "entries": entries.names()} for key, entries in registries.items()),
            {"kind": "recipes", "entries": RECIPES.names()},
            {"kind": "published", "entries": papers()},
            {"kind": "studies", "entries": STUDIES.names()},
        ]
    if kind == "recipes":
        return _recipes(name)
    if kind == "published":
        return listed_rows(name) if name else listed_papers()
    if kind == "studies":
        return _studies(name)
    if kind not in registries:
        raise SettingsError(
            f"there is no kind {kind!r}{did_you_mean(kind, [*registries, 'recipes', 'published', 'studies'])}"
        )
    if not name:
        return [{"name": entry, "about": registries[kind].summary(entry)} for entry in registries[kind].names()]
    entry = registries[kind].get(name)
    if not hasattr(entry, "model_fields"):
        return [{"name": name, "about": registries[kind].summary(name)}]
    return list(_settings(entry))


def _settings(model: type[BaseModel], path: str = "", outer: BaseModel | None = None) -> Iterator[dict[str, str]]:
    """Yield one row per key as `--set` takes it; nested settings are flattened.

    outer: the settings at `path`; None at the top.
    """
    from pydantic import BaseModel

    from interlace.core.settings import fields_of

    for key, type_, default, about in fields_of(model):
        field = model.model_fields[key]
        value = getattr(outer, key) if outer else field.get_default(call_default_factory=True)
        if isinstance(value, BaseModel):
            yield from _settings(type(value), f"{path}{key}.", value)
        else:
            yield {"key": path + key, "type": type_, "default": repr(value) if outer else default, "about": about}


def _recipes(name: str) -> list[dict[str, Any]]:
    """Return purpose and published rows of each shipped recipe; for one recipe, all keys and values.

    Only reads the files, so recipes that need missing packages are listed too.
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
    """Return purpose and systems of each shipped study; for one study, all keys and values."""
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


def _registries() -> dict[str, Registry[Any]]:
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
        "embedding-methods": EMBEDDING_METHODS,
        "toy-languages": LANGUAGES,
        "transformations": TRANSFORMATIONS,
    }


def listed_papers() -> list[dict[str, Any]]:
    """Return the tables of each paper."""
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
    """Return the rows of a paper's tables; notes on a table are in its first row."""
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
    """Return the printed figure, with its correction if there is one."""
    correction = f" (correct: {_number(row.correct[column])})" if column in row.correct else ""
    return _number(row.printed[column]) + correction


def _number(value: float) -> str:
    return f"{value:.1f}" if round(value, 1) == value else f"{value:g}"
