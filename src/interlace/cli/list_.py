"""List registries, their entries, and the settings of an entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.cli import Code, Json, load_plugins, output, print_json, registries
from interlace.cli.common.output import print_rows

if TYPE_CHECKING:
    from pydantic import BaseModel

    from interlace.scores.published import PublishedRow


_SHOWN = 4  # entries of each kind in the list of kinds


def list_(
    kind: Annotated[str, typer.Argument(help="A kind such as objectives. Default: all.")] = "",
    name: Annotated[str, typer.Argument(help="An entry: shows its settings.")] = "",
    code: Code = [],
    as_json: Json = False,
) -> None:
    """List kinds such as objectives, their entries, or the settings of one entry; of a study, its TOML file."""
    load_plugins(code)
    if kind == "studies" and name and not as_json:
        output.print(_study_file(name), markup=False, highlight=False, soft_wrap=True, end="")
        return
    found = _find(kind, name)
    if as_json:
        print_json(found)
        return
    print_rows(found if kind else [_shortened(row) for row in found])


def _shortened(row: dict[str, Any]) -> dict[str, Any]:
    """Return the number of a kind's entries, and the first few."""
    entries = row["entries"]
    shown = ", ".join(entries[:_SHOWN])
    return {"kind": row["kind"], "entries": len(entries), "such as": f"{shown}, .." if len(entries) > _SHOWN else shown}


def _find(kind: str, name: str) -> list[dict[str, Any]]:
    """Return the rows of the table; recipes are only read, so those that need missing packages are listed too."""
    from interlace.core.errors import SettingsError, did_you_mean
    from interlace.experiments.recipe import RECIPES, Recipe, read_recipe
    from interlace.experiments.studies import STUDIES, Study, read_study
    from interlace.scores.published import papers

    known = registries()
    match kind, name:
        case "", _:
            files = {"recipes": RECIPES.names(), "published": papers(), "studies": STUDIES.names()}
            entries = {key: registry.names() for key, registry in known.items()} | files
            return [{"kind": key, "entries": names} for key, names in entries.items()]
        case "recipes", "":
            return [
                {
                    "name": one,
                    "about": (text := RECIPES.read(one)).get("about", ""),
                    "published": list(dict.fromkeys(row["where"] for row in text.get("published", []))),
                }
                for one in RECIPES.names()
            ]
        case "studies", "":
            return [
                {"name": one, "about": (text := STUDIES.read(one)).get("about", ""), "systems": [*text["systems"]]}
                for one in STUDIES.names()
            ]
        case "recipes" | "studies", _:
            model, outer = (Recipe, read_recipe(name)) if kind == "recipes" else (Study, read_study(name)[0])
            return list(settings_rows(model, "value", outer=outer))
        case "published", _:
            return list(_published_rows(name)) if name else list(_published_tables())
    if kind not in known:
        hint = did_you_mean(kind, [*known, "recipes", "published", "studies"])
        raise SettingsError(f"there is no kind {kind!r}{hint}")
    if name and hasattr(entry := known[kind].get(name), "model_fields"):
        return list(settings_rows(entry))
    return [{"name": one, "about": known[kind].summary(one)} for one in ([name] if name else known[kind].names())]


def _study_file(name: str) -> str:
    """Return a study's TOML, to copy and change; a wrong study is an error."""
    from interlace.experiments.studies import STUDIES, read_study

    read_study(name)
    return STUDIES.find(name).path.read_text(encoding="utf-8")


def settings_rows(
    model: type[BaseModel], column: str = "default", path: str = "", outer: BaseModel | None = None
) -> Iterator[dict[str, str]]:
    """Yield a row per key as `--set` takes it; nested settings, `outer` at `path`, are flattened."""
    from pydantic import BaseModel

    from interlace.core.settings import fields_of

    for key, type_, default, about in fields_of(model):
        field = model.model_fields[key]
        value = getattr(outer, key) if outer else field.get_default(call_default_factory=True)
        if isinstance(value, BaseModel):
            yield from settings_rows(type(value), column, f"{path}{key}.", value)
        else:
            yield {"key": path + key, "type": type_, column: repr(value) if outer else default, "about": about}


def _published_tables() -> Iterator[dict[str, Any]]:
    from interlace.scores.published import paper, papers

    for name in papers():
        printed = paper(name)
        yield {
            "name": name,
            "paper": f"{printed.cite}: {printed.title}",
            "tables": list(dict.fromkeys(table.number for table in printed.tables)),
            "not printed": [f"figure {figure.number}: {figure.about}" for figure in printed.figures],
        }


def _published_rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a paper's tables; notes on a table are in its first row."""
    from interlace.scores.published import paper

    last = None
    for row in paper(name).rows():
        of_table = [] if row.table is last else [row.table.note, row.table.errata]
        last = row.table
        yield {
            "table": row.table.number,
            "task": row.table.task,
            "metric": row.table.metric,
            "split": row.table.split,
            "setting": row.setting or row.condition,
            "system": row.system if row.theirs or not row.source else f"{row.system} ({row.source})",
            "scores": [f"{column} {_figure(row, column)}" for column in row.printed],
            "notes": [note for note in (row.note, *of_table) if note],
        }


def _figure(row: PublishedRow, column: str) -> str:
    """Return the printed figure, with its correction if there is one."""
    figures = [row.printed[column], *([row.correct[column]] if column in row.correct else [])]
    texts = [f"{value:.1f}" if round(value, 1) == value else f"{value:g}" for value in figures]
    return texts[0] if len(texts) == 1 else f"{texts[0]} (correct: {texts[1]})"
