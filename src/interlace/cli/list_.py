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
    rows = _rows(kind, name)
    if as_json:
        print_json(rows)
        return
    print_rows(rows if kind else [_shortened(row) for row in rows])


def _shortened(row: dict[str, Any]) -> dict[str, Any]:
    """Return the number of a kind's entries, and the first few."""
    entries = row["entries"]
    if len(entries) > _SHOWN:
        examples = [*entries[:_SHOWN], ".."]
    else:
        examples = entries
    return {"kind": row["kind"], "entries": len(entries), "such as": ", ".join(examples)}


def _study_file(name: str) -> str:
    """Return a study's TOML, to copy and change; a wrong study is an error."""
    from interlace.experiments.studies import STUDIES, read_study

    read_study(name)
    return STUDIES.find(name).path.read_text(encoding="utf-8")


def _rows(kind: str, name: str) -> list[dict[str, Any]]:
    """Return the rows of the table."""
    from interlace.experiments.recipe import Recipe, read_recipe
    from interlace.experiments.studies import Study, read_study

    match kind, name:
        case "", _:
            return _kinds()
        case "recipes", "":
            return _recipes()
        case "recipes", _:
            return list(settings_rows(Recipe, "value", outer=read_recipe(name)))
        case "studies", "":
            return _studies()
        case "studies", _:
            study, _ = read_study(name)
            return list(settings_rows(Study, "value", outer=study))
        case "published", "":
            return _published_tables()
        case "published", _:
            return _published_rows(name)
    return _entries(kind, name)


def _kinds() -> list[dict[str, Any]]:
    from interlace.experiments.recipe import RECIPES
    from interlace.experiments.studies import STUDIES
    from interlace.scores.published import papers

    names = {kind: registry.names() for kind, registry in registries().items()}
    names |= {"recipes": RECIPES.names(), "published": papers(), "studies": STUDIES.names()}
    return [{"kind": kind, "entries": entries} for kind, entries in names.items()]


def _recipes() -> list[dict[str, Any]]:
    """Return a row for each recipe; recipes are only read, so those that need missing packages are listed too."""
    from interlace.experiments.recipe import RECIPES

    rows = []
    for name in RECIPES.names():
        recipe = RECIPES.read(name)
        published = [row["where"] for row in recipe.get("published", [])]
        rows.append(
            {
                "name": name,
                "about": recipe.get("about", ""),
                "published": list(dict.fromkeys(published)),
            }
        )
    return rows


def _studies() -> list[dict[str, Any]]:
    from interlace.experiments.studies import STUDIES

    rows = []
    for name in STUDIES.names():
        study = STUDIES.read(name)
        rows.append(
            {"name": name, "about": study.get("about", ""), "systems": list(study["systems"])}
        )
    return rows


def _entries(kind: str, name: str) -> list[dict[str, Any]]:
    """Return a row for each entry of a registry, or the settings of one."""
    from interlace.core.errors import SettingsError, did_you_mean

    by_kind = registries()
    if kind not in by_kind:
        hint = did_you_mean(kind, [*by_kind, "recipes", "published", "studies"])
        raise SettingsError(f"there is no kind {kind!r}{hint}")
    registry = by_kind[kind]
    if not name:
        return [{"name": entry, "about": registry.summary(entry)} for entry in registry.names()]
    entry_class = registry.get(name)
    if hasattr(entry_class, "model_fields"):
        return list(settings_rows(entry_class))
    return [{"name": name, "about": registry.summary(name)}]


def settings_rows(
    model: type[BaseModel], column: str = "default", path: str = "", outer: BaseModel | None = None
) -> Iterator[dict[str, str]]:
    """Yield a row per key as `--set` takes it; nested settings, `outer` at `path`, are flattened."""
    from pydantic import BaseModel

    from interlace.core.settings import fields_of

    for key, type_, default, about in fields_of(model):
        if outer:
            value = getattr(outer, key)
        else:
            value = model.model_fields[key].get_default(call_default_factory=True)
        if isinstance(value, BaseModel):
            yield from settings_rows(type(value), column, f"{path}{key}.", value)
        else:
            yield {
                "key": path + key,
                "type": type_,
                column: repr(value) if outer else default,
                "about": about,
            }


def _published_tables() -> list[dict[str, Any]]:
    from interlace.scores.published import paper, papers

    rows = []
    for name in papers():
        published = paper(name)
        numbers = [table.number for table in published.tables]
        row = {
            "name": name,
            "paper": f"{published.cite}: {published.title}",
            "tables": list(dict.fromkeys(numbers)),
            "not printed": [
                f"figure {figure.number}: {figure.about}" for figure in published.figures
            ],
        }
        rows.append(row)
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
        system = published.system
        if published.source and not published.theirs:
            system = f"{system} ({published.source})"
        row = {
            "table": table.number,
            "task": table.task,
            "metric": table.metric,
            "split": table.split,
            "setting": published.setting or published.condition,
            "system": system,
            "scores": [f"{column} {_figure(published, column)}" for column in published.printed],
            "notes": [note for note in notes if note],
        }
        rows.append(row)
    return rows


def _figure(row: PublishedRow, column: str) -> str:
    """Return the printed figure, with its correction if there is one."""
    printed = _number(row.printed[column])
    if column not in row.correct:
        return printed
    return f"{printed} (correct: {_number(row.correct[column])})"


def _number(value: float) -> str:
    if round(value, 1) == value:
        return f"{value:.1f}"
    return f"{value:g}"
