"""Settings files of one kind: the shipped ones, what others extend, and changes to what they say."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, SettingsError, did_you_mean


@dataclass(frozen=True)
class ConfigStore:
    """Files of one kind, such as recipes.

    kind: what errors call one of them. folder: where the shipped ones stand; those named `_x.toml` are only there to
    be extended. whole: keys of which a file that extends another says all or nothing.
    """

    kind: str
    folder: Path
    whole: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Names of the shipped files, such as `tiny/mlm`."""
        found = (path for path in self.folder.rglob("*.toml") if not _is_base(path))
        return sorted(path.relative_to(self.folder).with_suffix("").as_posix() for path in found)

    def find(self, name: str) -> Path:
        """The file of that path or shipped name.

        Raises:
            DataError: there is none; names the nearest.
        """
        path = Path(name)
        if path.is_file():
            return path
        shipped = self.folder / f"{name.removesuffix('.toml')}.toml"
        if shipped.is_file():
            return shipped
        hint = did_you_mean(name, self.names())
        raise DataError(f"no {self.kind} {name!r}: neither a file nor a shipped one{hint}")

    def beside(self, name: str, folder: Path) -> Path:
        """A file of that path under `folder`, else as `find` has it."""
        near = folder / name
        return near if near.is_file() else self.find(name)

    def read(self, path: Path, below: tuple[Path, ...] = ()) -> dict[str, Any]:
        """What a file says, together with what it extends.

        `extends = "tiny/mlm"` names a shipped file or one beside this. Its sections hold until this file says
        otherwise, key by key; only those in `whole` are said anew.

        Raises:
            DataError: a file is missing; SettingsError: it cannot be read, extends itself, or has no name of its own.
        """
        data = self._table(path)
        if "extends" not in data:
            return data
        extended = data.pop("extends")
        if not isinstance(extended, str):
            raise SettingsError(f"{path}: extends: expected the name of a {self.kind}, found {extended!r}")
        other = self.beside(extended, path.parent).resolve()
        if other in (chain := (*below, path.resolve())):
            raise SettingsError(
                f"{path}: extends: {' > '.join(file.stem for file in (*chain, other))} goes in a circle"
            )
        if "name" not in data and not _is_base(path):
            raise SettingsError(f"{path}: a {self.kind} that extends another needs a name of its own")
        base = self.read(other, chain)
        for key in self.whole:
            if key in data:
                base.pop(key, None)
        return merged(base, data)

    def _table(self, path: Path) -> dict[str, Any]:
        try:
            text = path.read_text(encoding="utf-8")
            data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (json.JSONDecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path}: cannot be read as a {self.kind}: {error}") from error
        if not isinstance(data, dict):
            raise SettingsError(f"{path}: cannot be read as a {self.kind}: expected a table of settings")
        return data


def _is_base(path: Path) -> bool:
    return path.name.startswith("_")


_KEY = re.compile(r'"([^"]*)"|([^."]+)')  # the parts of `a.b."c.d"`


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
    put(data, key, parsed)


def put(data: dict[str, Any], key: str, value: Any) -> None:
    """Set `a.b.c` to a value, making the tables on the way; a key that holds a dot is found, or made in quotes.

    Raises:
        SettingsError: what stands on the way is no table.
    """
    parts = [quoted or plain for quoted, plain in _KEY.findall(key)]
    for place, section in enumerate(parts[:-1]):
        if (dotted := ".".join(parts[place:])) in data:  # `files."train.en"` without the quotes
            data[dotted] = value
            return
        data = data.setdefault(section, {})
        if not isinstance(data, dict):
            hint = f"; a key with a dot in it goes in quotes, '\"{dotted}\"'"
            raise SettingsError(f"--set {key}: {section!r} is no section{hint}")
    data[parts[-1]] = value
