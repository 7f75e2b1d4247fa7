"""Config store: named TOML files such as recipes and studies, with variants, inheritance and changes by key.

A file that describes several rows of a table holds what they share, and one table `[variants.NAME]` a row:

    [train]
    steps = 1000

    [variants.short]
    train.steps = 100

`FILE:short` then names the first row. Sections of a variant merge into the file key by key.
"""

import copy
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.files import must_not_be_special
from interlace.core.json_files import JsonObject, parse_json, parse_toml, read_limited


@dataclass(frozen=True)
class ConfigFile:
    """A file of the store, and the variant of it that a name selects (empty: the file itself)."""

    path: Path
    variant: str = ""

    def __str__(self) -> str:
        """The path, and the variant after a colon."""
        if self.variant:
            return f"{self.path}:{self.variant}"
        return str(self.path)


@dataclass(frozen=True)
class ConfigStore:
    """Configuration files of one kind, such as recipes.

    kind: how errors name a file ("recipe"). folder: the shipped files. whole: keys that a file replaces as a whole
    where it extends another. Files and variants whose names begin with `_` can only be extended.

    paths: last parts of keys with a path, such as `.data_root`. A relative one that exists counts from the folder of
    the file that names it, in shipped files from the current folder; others may be names of the hub.
    """

    kind: str
    folder: Path
    whole: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Names of the shipped configurations, such as `tiny/mlm` or `xlm/unmt:en-fr-mlm-mlm`."""
        names: list[str] = []
        for path in self.folder.rglob("[!_]*.toml"):
            name = path.relative_to(self.folder).with_suffix("").as_posix()
            variants = _public(self._load(path).get("variants", {}))
            if variants:
                names += [f"{name}:{variant}" for variant in variants]
            else:
                names.append(name)
        return sorted(names)

    def find(
        self, name: str, folder: Path | None = None, *, shared: bool = False
    ) -> ConfigFile:
        """Return the file of this path (under `folder`, if given) or shipped name; a DataError suggests the nearest.

        shared: whether a file with variants may be named without one, for what its variants share.
        """
        folders = [folder or Path(), Path()]
        before_colon, _, variant = name.rpartition(":")
        for file_name, variant_name in ((name, ""), (before_colon, variant)):
            candidates = [parent / file_name for parent in folders]
            candidates.append(self.folder / f"{file_name.removesuffix('.toml')}.toml")
            for path in candidates:
                if path.is_file():
                    return self._checked(ConfigFile(path, variant_name), shared=shared)
        path = folders[0] / name
        must_not_be_special(path, self.kind)
        options = self.names()
        for neighbor in path.parent.glob("*.toml"):
            options.append(str(Path(name).with_name(neighbor.name)))
        hint = did_you_mean(name, options)
        raise DataError(
            f"no {self.kind} {name!r}: neither a file nor a shipped {self.kind}{hint}"
        )

    def read(self, name: str, folder: Path | None = None) -> JsonObject:
        """Return the settings of the file or shipped name (see `find`), merged with everything that it extends.

        `extends = "tiny/mlm"` names a shipped configuration, a file in the same folder, or a variant of the same file
        by `":NAME"`. Its sections are merged key by key, except those in `whole`, which are replaced.
        Raise a SettingsError if it is no valid TOML or extends itself.
        """
        return copy.deepcopy(self._read(self.find(name, folder), set()))

    def _read(self, file: ConfigFile, extending: set[ConfigFile]) -> JsonObject:
        """Return the settings of a file; extending: the files that extend it."""
        resolved = ConfigFile(file.path.resolve(), file.variant)
        if resolved in extending:
            raise SettingsError(f"{file}: 'extends' is circular")
        settings = dict(self._load(file.path))
        variants = settings.pop("variants", {})
        if file.variant:
            settings = {"extends": ":", **variants[file.variant]}
        if "extends" not in settings:
            return settings
        settings.setdefault("name", self._default_name(file))
        extended = settings.pop("extends")
        if isinstance(extended, str) and extended.startswith(":"):
            base_file = self._checked(ConfigFile(file.path, extended[1:]), shared=True)
        elif isinstance(extended, str) and not file.variant:
            base_file = self.find(extended, file.path.parent, shared=True)
        else:
            raise SettingsError(
                f"{file}: extends: expected the name of a {self.kind}, or ':NAME' of a variant of this file, found "
                f"{extended!r}"
            )
        base = self._read(base_file, {*extending, resolved})
        for key in self.whole:
            if key in settings:
                base.pop(key, None)
        return merged(base, settings)

    def _default_name(self, file: ConfigFile) -> str:
        """Return the name of a file that extends another, such as `xlm-unmt-en-fr` of a variant."""
        path = Path(file.path.name)
        if file.path.is_relative_to(self.folder):
            path = file.path.relative_to(self.folder)
        name = "-".join(path.with_suffix("").parts)
        if file.variant:
            return f"{name}-{file.variant}"
        return name

    def _checked(self, file: ConfigFile, *, shared: bool = False) -> ConfigFile:
        """The file, if it has the variant; a file with variants cannot be read without one unless `shared`."""
        variants = self._load(file.path).get("variants", {})
        tables = variants.values() if isinstance(variants, dict) else [variants]
        if not all(isinstance(table, dict) for table in tables):
            raise SettingsError(f"{file.path}: variants: expected tables [variants.NAME]")
        is_complete = file.variant in variants
        if not file.variant:
            is_complete = shared or not variants
        if not is_complete:
            hint = did_you_mean(file.variant, _public(variants))
            raise DataError(f"{file}: expected the name of a variant of this file{hint}")
        return file

    def _load(self, path: Path) -> JsonObject:
        """Return the settings of a file, which callers must not change: parsed files are shared."""
        parse = parse_json if path.suffix == ".json" else _parse_toml
        data = read_limited(path, parse, SettingsError, f"not a valid {self.kind}")
        if not isinstance(data, dict):
            raise SettingsError(
                f"{path}: not a valid {self.kind}: expected a table of settings"
            )
        if path.is_relative_to(self.folder):
            return data
        return self.located(data, path.parent)

    def located(self, data: JsonObject, folder: Path, table: str = "") -> JsonObject:
        """Return settings with relative paths made absolute, which count from `folder`; table: the key of `data`."""
        settings = dict(data)
        for name, value in data.items():
            key = f"{table}.{name}"
            if isinstance(value, dict):
                settings[name] = self.located(value, folder, key)
            elif isinstance(value, str) and value and key.endswith(self.paths):
                path = folder.absolute() / value
                if os.path.exists(path):  # noqa: PTH110 - False for a name that is too long
                    settings[name] = os.path.normpath(path)
        return settings


def _public(variants: Mapping[str, Any]) -> list[str]:
    return [name for name in variants if not name.startswith("_")]


@lru_cache(maxsize=256)
def _parse_toml(content: bytes) -> JsonObject:
    """Return the parsed TOML; cached, because the shipped files are read again for each recipe that extends them."""
    return parse_toml(content)


_KEY = re.compile(r'"([^"]*)"|([^."]+)')  # the parts of `a.b."c.d"`


def merged(base: JsonObject, data: JsonObject) -> JsonObject:
    """Merge two tables recursively; values of `data` override those of `base`."""
    both = dict(base)
    for key, value in data.items():
        base_value = base.get(key)
        if isinstance(base_value, dict) and isinstance(value, dict):
            both[key] = merged(base_value, value)
        else:
            both[key] = value
    return both


def change(data: JsonObject, key: str, value: str) -> None:
    """Set `a.b.c` to a TOML value; anything that is not valid TOML is taken as a string."""
    try:
        parsed = parse_toml(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    except ValueError as error:
        raise SettingsError(f"--set {key}: {error}") from None
    put(data, key, parsed)


def put(data: JsonObject, key: str, value: Any) -> None:
    """Set `a.b.c` to a value and create missing tables; a part of the key that contains a dot is quoted."""
    *sections, last = [quoted or plain for quoted, plain in _KEY.findall(key)] or [""]
    if not last:
        raise SettingsError(f"--set {key}: expected a key such as train.steps")
    for section in sections:
        data = data.setdefault(section, {})
        if not isinstance(data, dict):
            raise SettingsError(
                f"--set {key}: {section!r} is not a section; quote a part of the key that contains a dot"
            )
    data[last] = value


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield `a.b` and value of each entry of nested tables; an empty table is a value."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
