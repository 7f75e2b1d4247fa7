"""List registries, their entries, and the settings of an entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.cli import Code, Json, load_plugins, output, print_json, registries
from interlace.cli.common.output import print_rows

if TYPE_CHECKING:
    from pydantic import BaseModel

    from interlace.core.store import ConfigStore


def list_(
    kind: Annotated[str, typer.Argument(help="A kind such as objectives. Default: all.")] = "",
    name: Annotated[str, typer.Argument(help="An entry: shows its settings.")] = "",
    code: Code = [],
    as_json: Json = False,
) -> None:
    """List kinds such as objectives, their entries, or the settings of one entry; of a study, its TOML file."""
    load_plugins(code)
    if kind == "studies" and name:
        output.print(_study_file(name), markup=False, highlight=False, soft_wrap=True, end="")
        return
    rows = _rows(kind, name)
    if as_json:
        print_json(rows)
    else:
        print_rows(rows)


def _study_file(name: str) -> str:
    """Return a study's TOML, to copy and change; a wrong study is an error."""
    from interlace.experiments.studies import STUDIES, read_study

    read_study(name)
    return STUDIES.find(name).path.read_text(encoding="utf-8")


def _rows(kind: str, name: str) -> list[dict[str, Any]]:
    """Return the rows of the table."""
    from interlace.core.errors import SettingsError, did_you_mean
    from interlace.experiments.recipe import RECIPES, Recipe, read_recipe
    from interlace.experiments.studies import STUDIES
    from interlace.scores.published import papers

    by_kind = registries()
    stores = {"recipes": RECIPES, "studies": STUDIES}
    if not kind:
        names = {entry: registry.names() for entry, registry in by_kind.items()}
        names |= {entry: store.names() for entry, store in stores.items()}
        names["published"] = papers()
        return [
            {"kind": entry, "entries": len(entries), "such as": entries[:4]}
            for entry, entries in names.items()
        ]
    if kind == "published":
        return _published_rows(name) if name else _published_papers()
    if kind == "recipes" and name:
        return list(settings_rows(Recipe, "value", values=read_recipe(name)))
    if kind in stores:
        return _stored_rows(stores[kind])
    if kind not in by_kind:
        hint = did_you_mean(kind, [*by_kind, *stores, "published"])
        raise SettingsError(f"there is no kind {kind!r}{hint}")
    registry = by_kind[kind]
    if not name:
        return [{"name": entry, "about": registry.summary(entry)} for entry in registry.names()]
    entry_class = registry.get(name)
    if hasattr(entry_class, "model_fields"):
        return list(settings_rows(entry_class))
    return [{"name": name, "about": registry.summary(name)}]


def _stored_rows(store: ConfigStore) -> list[dict[str, Any]]:
    """Return a row for each file; they are only read, so those that need missing packages are listed too."""
    return [{"name": name, "about": store.read(name).get("about", "")} for name in store.names()]


def settings_rows(
    model: type[BaseModel], column: str = "default", path: str = "", values: BaseModel | None = None
) -> Iterator[dict[str, str]]:
    """Yield a row per key as `--set` takes it; nested settings are flattened. values: default: those of the model."""
    from pydantic import BaseModel

    from interlace.core.settings import fields_of

    for key, type_, default, about in fields_of(model):
        if values is None:
            value = model.model_fields[key].get_default(call_default_factory=True)
            text = default
        else:
            value = getattr(values, key)
            text = repr(value)
        if isinstance(value, BaseModel):
            yield from settings_rows(type(value), column, f"{path}{key}.", value)
        else:
            yield {"key": path + key, "type": type_, column: text, "about": about}


def _published_papers() -> list[dict[str, Any]]:
    from interlace.scores.published import paper, papers

    rows = []
    for name in papers():
        published = paper(name)
        tables = dict.fromkeys(table.number for table in published.tables)
        cite = f"{published.cite}: {published.title}"
        rows.append({"name": name, "paper": cite, "tables": list(tables)})
    return rows


def _published_rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a paper's tables; notes on a table are in its first row."""
    from interlace.scores.published import paper

    rows: list[dict[str, Any]] = []
    previous = None
    for published in paper(name).rows():
        table = published.table
        notes = [published.note]
        if table is not previous:
            notes += [table.note, table.errata]
        previous = table
        row = {
            "table": table.number,
            "task": table.task,
            "metric": table.metric,
            "split": table.split,
            "setting": published.setting or published.condition,
            "system": published.system,
            "source": published.source,
            "scores": _figures(published.printed, published.correct),
            "notes": [note for note in notes if note],
        }
        rows.append(row)
    return rows


def _figures(printed: Mapping[str, float], correct: Mapping[str, float]) -> list[str]:
    """Return the printed figures by column, with their corrections."""
    figures = []
    for column, value in printed.items():
        correction = f" (correct: {correct[column]:g})" if column in correct else ""
        figures.append(f"{column} {value:g}{correction}")
    return figures
