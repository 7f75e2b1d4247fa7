"""Recipe files: where they are, what they extend, and changes to what they say."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from interlace.errors import DataError, SettingsError, did_you_mean

SHIPPED = Path(__file__).parent
_WHOLE = ("objectives", "published", "changes")  # of these the recipe that extends says all or nothing


def shipped_recipes() -> list[str]:
    """Names of the recipes that come with the package; files named `_x.toml` are only there to be extended."""
    found = (path for path in SHIPPED.rglob("*.toml") if not _is_base(path))
    return sorted(path.relative_to(SHIPPED).with_suffix("").as_posix() for path in found)


def find_recipe(name: str) -> Path:
    """The file of a recipe."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = SHIPPED / f"{name.removesuffix('.toml')}.toml"
    if shipped.is_file():
        return shipped
    raise DataError(f"no recipe {name!r}: neither a file nor a shipped one{did_you_mean(name, shipped_recipes())}")


def read(path: Path, below: tuple[Path, ...] = ()) -> dict[str, Any]:
    """What a recipe's file says, together with what it extends.

    `extends = "tiny/mlm"` names a shipped recipe or a file beside this one. Its sections hold until this file says
    otherwise, key by key; only the objectives of a mixture are said anew as a whole.

    Raises:
        DataError: a file is missing; SettingsError: it cannot be read, extends itself, or has no name of its own.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as a recipe: {error}") from error
    if not isinstance(data, dict):
        raise SettingsError(f"{path}: cannot be read as a recipe: expected a table of settings")
    if "extends" not in data:
        return data
    extended = data.pop("extends")
    if not isinstance(extended, str):
        raise SettingsError(f"{path}: extends: expected the name of a recipe, found {extended!r}")
    beside = path.parent / extended
    other = (beside if beside.is_file() else find_recipe(extended)).resolve()
    if other in (chain := (*below, path.resolve())):
        raise SettingsError(f"{path}: extends: {' > '.join(file.stem for file in (*chain, other))} goes in a circle")
    if "name" not in data and not _is_base(path):
        raise SettingsError(f"{path}: a recipe that extends another needs a name of its own")
    base = read(other, chain)
    for key in _WHOLE:
        if key in data:
            base.pop(key, None)
    return merged(base, data)


def _is_base(path: Path) -> bool:
    return path.name.startswith("_")


def merged(base: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Two tables in one; where both say something, the second does, but tables in them are merged in turn."""
    both = {key: merged(base[key], data[key]) for key in base.keys() & data.keys() if _tables(base[key], data[key])}
    return {**base, **data, **both}


def _tables(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)


def change(data: dict[str, Any], key: str, value: str) -> None:
    """Set `a.b.c` to a TOML value; what is no TOML value is taken as a string."""
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    *sections, last = key.split(".")
    for section in sections:
        data = data.setdefault(section, {})
        if not isinstance(data, dict):
            raise SettingsError(f"--set {key}: {section!r} is no section")
    data[last] = parsed
