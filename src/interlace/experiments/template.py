"""Templates of recipes: a complete TOML file to copy, with every key, its meaning and its default."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from interlace.aligners import ALIGNERS
from interlace.core.settings import type_name
from interlace.data.filters import FILTERS
from interlace.embeddings import EMBEDDING_METHODS
from interlace.experiments.recipe import ObjectiveEntry, Recipe, read_recipe
from interlace.experiments.sections import CorpusGroup, DerivedLanguage
from interlace.objectives import OBJECTIVES
from interlace.tasks import TASKS

_WIDTH = 100
_HEADER = """\
# A copy of the recipe {name} with every key.
# `#key = value` is a default: to change it, remove the `#`, also that of the table's header.
#   interlace pretrain FILE --dry-run      tokens, memory and time
#   interlace pretrain FILE -o RUN         train; rerun to resume
#   interlace evaluate RUN                 score
# More objectives, tasks, filters and aligners: `interlace list KIND`, and their keys: `interlace list KIND NAME`.
"""


def recipe_template(name: str, languages: Sequence[str] = ()) -> str:
    """Return a recipe as a complete TOML file: the keys that it sets, and all others as comments with their defaults.

    The text reads back as the same recipe; what the recipe extends is merged into it.

    languages: of own text in the folder `data`, in place of the recipe's text and tasks.
    """
    data = read_recipe(name).model_dump(mode="json", exclude_defaults=True)
    if languages:
        data = _for_own_text(data, languages)
        Recipe.read(data, name)
    published = data.pop("published", [])
    lines = [*_HEADER.format(name=name).splitlines(), *_table((), Recipe.model_fields, data)]
    for row in published:
        lines += [
            "",
            "[[published]]",
            *(f"{key} = {toml_value(value)}" for key, value in row.items()),
        ]
    return "\n".join(lines) + "\n"


def _for_own_text(data: Mapping[str, Any], languages: Sequence[str]) -> dict[str, Any]:
    """Return a recipe's settings for text in other languages, the first of which is the source."""
    source, *targets = languages
    dropped = {"toy", "derived", "published", "changes", "word_tokenizer"}
    own = {key: value for key, value in data.items() if key not in dropped}
    own["data_root"] = "data"
    own["evaluate"] = {"source": source, "targets": targets}
    own["corpora"] = {}
    for label, group in data.get("corpora", {}).items():
        if group.get("pairs"):
            names = {"pairs": [f"{source}-{target}" for target in targets]}
        else:
            names = {"languages": list(languages)}
        own["corpora"][label] = {**group, **names}
    return own


def _table(
    path: tuple[str, ...],
    fields: Mapping[str, FieldInfo],
    data: Mapping[str, Any],
    defaults: BaseModel | None = None,
) -> Iterator[str]:
    """Yield a table's keys first, as TOML requires, then the tables inside; `defaults` are those of an unset table."""
    if (
        "settings" not in fields
    ):  # keys of the entry that the table names, which a recipe writes beside the table's own
        data = {**data, **data.get("settings", {})}
    tables: list[Iterator[str]] = []
    for key, field in fields.items():
        where = (*path, key)
        value = data.get(key)
        if defaults:
            default = getattr(defaults, key)
        else:
            default = field.get_default(call_default_factory=True)
        section = _section_of(field)
        if where in _ENTRIES:
            tables += [_entry((*where, name), entry) for name, entry in (value or {}).items()]
        elif section is not None and (value is None or isinstance(value, dict)):
            if value is None and isinstance(default, BaseModel):
                shown = default
            else:
                shown = None
            tables.append(
                _subtable(where, field, _fields(where, section, value or {}), value, shown)
            )
        elif where != ("published",):  # a list of tables, which come last
            yield from _key(key, field, default, value)
    for table in tables:
        yield ""
        yield from table


def _section_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a field that is a table."""
    if get_origin(field.annotation) in {list, tuple, dict}:
        return None
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _key(key: str, field: FieldInfo, default: Any, value: Any) -> Iterator[str]:
    """Yield the meaning of a key, and its value or its default."""
    if isinstance(default, BaseModel):
        plain = default.model_dump(mode="json")
    else:
        plain = default
    if field.is_required() or default is None:
        known = ""
    else:
        known = toml_value(plain)
    kind = type_name(field.annotation).replace(" | None", "")
    yield from _comment(
        f"{field.description or ''} ({kind}{f'; default: {known}' if value is not None and known else ''})"
    )
    yield (
        f"#{_name(key)} = {known}".rstrip()
        if value is None
        else f"{_name(key)} = {toml_value(value)}"
    )


def _subtable(
    path: tuple[str, ...],
    field: FieldInfo,
    fields: Mapping[str, FieldInfo],
    value: Any,
    defaults: BaseModel | None,
) -> Iterator[str]:
    """Yield a table; all of it as comments if the recipe does not set it."""
    yield from _comment(field.description or "")
    lines = [f"[{'.'.join(map(_name, path))}]", *_table(path, fields, value or {}, defaults)]
    yield from (
        lines
        if value is not None
        else (f"#{line}" if line and line[0] != "#" else line for line in lines)
    )


def _entry(path: tuple[str, ...], value: Mapping[str, Any]) -> Iterator[str]:
    """Yield a named table, such as `[objectives.mlm]`."""
    yield f"[{'.'.join(map(_name, path))}]"
    yield from _table(path, _ENTRIES[path[:-1]](path[-1], value), value)


def _of_registry(
    registry: Any, name: str, own: Mapping[str, FieldInfo] = {}
) -> dict[str, FieldInfo]:
    """Return the fields of an entry, after those that the section has itself."""
    return {
        **{key: field for key, field in own.items() if key != "settings"},
        **registry.get(name).model_fields,
    }


_TASK = {
    "task": FieldInfo(
        annotation=str, default=None, description="The task, if the table has another name."
    )
}
_ENTRIES: dict[tuple[str, ...], Any] = {  # tables of named entries -> the fields of one
    ("corpora",): lambda _name, _entry: CorpusGroup.model_fields,
    ("derived",): lambda _name, _entry: DerivedLanguage.model_fields,
    ("filters",): lambda name, _entry: _of_registry(FILTERS, name),
    ("objectives",): lambda name, _entry: _of_registry(
        OBJECTIVES, name, ObjectiveEntry.model_fields
    ),
    ("evaluate", "tasks"): lambda name, entry: _of_registry(TASKS, entry.get("task", name), _TASK),
}


def _fields(
    path: tuple[str, ...], section: type[BaseModel], value: Mapping[str, Any]
) -> Mapping[str, FieldInfo]:
    """Return the fields of a section; `[align]` and `[embeddings]` also have those of the entry that they name."""
    registries: dict[tuple[str, ...], Any] = {
        ("align",): ALIGNERS,
        ("embeddings",): EMBEDDING_METHODS,
    }
    registry = registries.get(path)
    if registry is None:
        return section.model_fields
    return _of_registry(
        registry, value.get("name", section.model_fields["name"].default), section.model_fields
    )


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text.strip(), _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )


def _name(key: str) -> str:
    if key.replace("-", "_").isidentifier() and key.isascii():
        return key
    return json.dumps(key, ensure_ascii=False)


def toml_value(value: Any) -> str:
    """Return a value as TOML: a string, number, boolean, list or inline table."""
    if isinstance(value, dict):
        inside = ", ".join(
            f"{_name(key)} = {toml_value(one)}" for key, one in value.items() if one is not None
        )
        return f"{{ {inside} }}"
    if isinstance(value, (list, tuple)):
        line = f"[{', '.join(map(toml_value, value))}]"
        if len(line) <= _WIDTH:
            return line
        return "[\n" + "".join(f"  {toml_value(one)},\n" for one in value) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
