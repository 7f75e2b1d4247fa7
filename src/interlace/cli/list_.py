"""List registries, their entries, and the settings of an entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, Json, kinds, load_plugins, print_json
from interlace.cli.common.output import print_rows
from interlace.core.json_files import JsonObject

if TYPE_CHECKING:
    from pydantic import BaseModel


def list_(
    kind: Annotated[
        str,
        typer.Argument(
            help="A kind such as objectives. Default: all.",
            autocompletion=lambda incomplete: [
                kind for kind in kinds() if kind.startswith(incomplete)
            ],
        ),
    ] = "",
    name: Annotated[
        str, typer.Argument(help="An entry: shows its settings; of a paper its figures.")
    ] = "",
    code: Code = [],
    as_json: Json = False,
) -> None:
    """List kinds such as objectives, their entries, or the settings of one entry."""
    load_plugins(code)
    rows = _rows(kind, name)
    if as_json:
        print_json(rows)
    else:
        print_rows(rows)


def _rows(kind: str, name: str) -> list[JsonObject]:
    """Return the rows of the table."""
    from interlace.core.errors import SettingsError, did_you_mean
    from interlace.scores.published import papers

    by_kind = kinds()
    if not kind:
        names = {entry: source.names() for entry, source in by_kind.items()}
        names["published"] = papers()
        return [
            {"kind": entry, "entries": len(entries), "such as": entries[:4]}
            for entry, entries in names.items()
        ]
    if kind == "published":
        return _published_rows(name) if name else _published_papers()
    if kind not in by_kind:
        hint = did_you_mean(kind, [*by_kind, "published"])
        raise SettingsError(f"there is no kind {kind!r}{hint}")
    if kind in {"recipes", "studies"}:
        store = by_kind[kind]
        # only read, so that those that need missing packages are listed too
        return [
            {"name": file, "about": store.read(file).get("about", "")} for file in store.names()
        ]
    registry = by_kind[kind]
    if not name:
        return [{"name": entry, "about": registry.summary(entry)} for entry in registry.names()]
    entry_class = registry.get(name)
    if hasattr(entry_class, "model_fields"):
        return list(settings_rows(entry_class))
    return [{"name": name, "about": registry.summary(name)}]


def settings_rows(
    model: type[BaseModel], path: str = "", values: BaseModel | None = None
) -> Iterator[dict[str, str]]:
    """Yield a row per key as `--set` takes it; nested settings are flattened. values: default: those of the model."""
    from pydantic import BaseModel

    from interlace.core.settings import fields_of

    for key, type_, default_text, about in fields_of(model):
        value = model.model_fields[key].get_default(call_default_factory=True)
        default = default_text
        if values is not None:
            value = getattr(values, key)
            default = repr(value)
        if isinstance(value, BaseModel):
            yield from settings_rows(type(value), f"{path}{key}.", value)
        else:
            yield {"key": path + key, "type": type_, "default": default, "about": about}


def _published_papers() -> list[JsonObject]:
    from interlace.scores.published import paper, papers

    rows = []
    for name in papers():
        published = paper(name)
        tables = dict.fromkeys(table.number for table in published.tables)
        cite = f"{published.cite}: {published.title}"
        rows.append({"name": name, "paper": cite, "tables": list(tables)})
    return rows


def _published_rows(name: str) -> list[JsonObject]:
    """Return the rows of a paper's tables, with corrections and notes."""
    from interlace.scores.published import paper

    rows: list[JsonObject] = []
    for published in paper(name).rows():
        table = published.table
        figures = []
        for column, value in published.printed.items():
            correct = published.correct.get(column)
            correction = "" if correct is None else f" (correct: {correct:g})"
            figures.append(f"{column} {value:g}{correction}")
        row = {
            "table": table.number,
            "task": table.task,
            "metric": table.metric,
            "setting": published.setting or published.condition,
            "system": published.system,
            "scores": figures,
            "notes": list(filter(None, [published.note, table.note, table.errata])),
        }
        rows.append(row)
    return rows
