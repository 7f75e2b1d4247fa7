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
from interlace.core.json_files import parse_json, parse_toml, read_limited


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

    folders: ends of keys with a path, such as `data_root`. A relative path counts from the folder of the file that
    names it, in shipped files from the current folder. checkpoints: the same for keys that may also hold a name of the
    hub, which is what a path without a folder is taken for.
    """

    kind: str
    folder: Path
    whole: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Names of the shipped configurations, such as `tiny/mlm` or `xlm/unmt:en-fr-mlm-mlm`."""
        names = []
        for path in self.folder.rglob("[!_]*.toml"):
            name = path.relative_to(self.folder).with_suffix("").as_posix()
            variants = _public(self._load(path).get("variants", {}))
            names += [f"{name}:{variant}" for variant in variants] or [name]
        return sorted(names)

    def find(self, name: str, folder: Path | None = None, *, shared: bool = False) -> ConfigFile:
        """Return the file of this path (under `folder`, if given) or shipped name; a DataError suggests the nearest.

        shared: whether a file with variants may be named without one, for what its variants share.
        """
        path_name, _, last_part = name.rpartition(":")
        for base, variant in ((name, ""), (path_name, last_part)):
            if not base:
                continue
            candidates = [Path(base), self.folder / f"{base.removesuffix('.toml')}.toml"]
            if folder:
                candidates.insert(0, folder / base)
            for path in candidates:
                if path.is_file():
                    return self._checked(ConfigFile(path, variant), shared=shared)
        path = (folder or Path()) / name
        must_not_be_special(path, self.kind)
        near_files = [str(Path(name).with_name(file.name)) for file in path.parent.glob("*.toml")]
        hint = did_you_mean(name, [*self.names(), *near_files])
        raise DataError(f"no {self.kind} {name!r}: neither a file nor a shipped {self.kind}{hint}")

    def read(self, name: str, folder: Path | None = None) -> dict[str, Any]:
        """Return the settings of the file or shipped name (see `find`), merged with everything that it extends.

        `extends = "tiny/mlm"` names a shipped configuration, a file in the same folder, or a variant of the same file
        by `":NAME"`. Its sections are merged key by key, except those in `whole`, which are replaced.
        Raise a SettingsError if it is no valid TOML or extends itself.
        """
        return copy.deepcopy(self._read(self.find(name, folder), ()))

    def _read(self, file: ConfigFile, chain: tuple[str, ...]) -> dict[str, Any]:
        label = str(ConfigFile(file.path.resolve(), file.variant))
        if label in chain:
            circle = " > ".join(re.sub(r".*/", "", entry) for entry in (*chain, label))
            raise SettingsError(f"{file}: 'extends' is circular: {circle}")
        data = self._load(file.path)
        variants = data.get("variants", {})
        if file.variant:
            settings = {"name": self._variant_name(file), **variants[file.variant]}
            extended = settings.pop("extends", ":")
        else:
            settings = {key: value for key, value in data.items() if key != "variants"}
            extended = settings.pop("extends", None)
            if extended is None:
                return settings
        if not isinstance(extended, str) or (file.variant and not extended.startswith(":")):
            expected = (
                "a variant of this file (':NAME')" if file.variant else f"the name of a {self.kind}"
            )
            raise SettingsError(f"{file}: extends: expected {expected}, found {extended!r}")
        if not file.variant and "name" not in data and not variants:
            raise SettingsError(f"{file}: a {self.kind} that extends another needs its own name")
        if file.variant:
            base_file = self._checked(ConfigFile(file.path, extended[1:]), shared=True)
        else:
            base_file = self.find(extended, file.path.parent, shared=True)
        base = self._read(base_file, (*chain, label))
        for key in self.whole:
            if key in settings:
                base.pop(key, None)
        return merged(base, settings)

    def _variant_name(self, file: ConfigFile) -> str:
        """Return the default of a variant's name, such as `xlm-unmt-en-fr`."""
        path = Path(file.path.name)
        if file.path.is_relative_to(self.folder):
            path = file.path.relative_to(self.folder)
        return "-".join([*path.with_suffix("").parts, file.variant])

    def _checked(self, file: ConfigFile, *, shared: bool = False) -> ConfigFile:
        """The file, if it has the variant; a file with variants cannot be read without one unless `shared`."""
        variants = self._load(file.path).get("variants", {})
        if not isinstance(variants, dict) or not all(
            isinstance(v, dict) for v in variants.values()
        ):
            raise SettingsError(f"{file.path}: variants: expected tables [variants.NAME]")
        hint = did_you_mean(file.variant, _public(variants))
        if file.variant and file.variant not in variants:
            raise DataError(f"{file.path}: no variant {file.variant!r}{hint}")
        if variants and not file.variant and not shared:
            raise DataError(f"{file.path}: name one of its variants{hint}")
        return file

    def _load(self, path: Path) -> dict[str, Any]:
        """Return the settings of a file, which callers must not change: parsed files are shared."""
        parse = parse_json if path.suffix == ".json" else _parse_toml
        data = read_limited(path, parse, SettingsError, f"not a valid {self.kind}")
        if not isinstance(data, dict):
            raise SettingsError(f"{path}: not a valid {self.kind}: expected a table of settings")
        if path.is_relative_to(self.folder):
            return data
        return self.located(data, path.parent)

    def located(self, data: dict[str, Any], folder: Path, table: str = "") -> dict[str, Any]:
        """Return settings with relative paths made absolute, which count from `folder`; table: the key of `data`."""
        settings: dict[str, Any] = {}
        for name, value in data.items():
            key = f"{table}.{name}"
            if isinstance(value, dict):
                settings[name] = self.located(value, folder, key)
            elif isinstance(value, list):
                settings[name] = [self._located(key, item, folder) for item in value]
            else:
                settings[name] = self._located(key, value, folder)
        return settings

    def _located(self, key: str, value: Any, folder: Path) -> Any:
        if not isinstance(value, str) or not value or value.startswith(("/", "~", "$")):
            return value
        path = os.path.normpath(folder.absolute() / value)
        is_folder = any(key.endswith(f".{end}") for end in self.folders)
        is_checkpoint = any(key.endswith(f".{end}") for end in self.checkpoints)
        if is_folder or (is_checkpoint and Path(path).exists()):
            return path
        return value


def _public(variants: Mapping[str, Any]) -> list[str]:
    return [name for name in variants if not name.startswith("_")]


@lru_cache(maxsize=256)
def _parse_toml(content: bytes) -> dict[str, Any]:
    """Return the parsed TOML; cached, because the shipped files are read again for each recipe that extends them."""
    return parse_toml(content)


_KEY = re.compile(r'"([^"]*)"|([^."]+)')  # the parts of `a.b."c.d"`


def merged(base: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Merge two tables recursively; values of `data` override those of `base`."""
    both = {**base, **data}
    for key in base.keys() & data.keys():
        if isinstance(base[key], dict) and isinstance(data[key], dict):
            both[key] = merged(base[key], data[key])
    return both


def change(data: dict[str, Any], key: str, value: str) -> None:
    """Set `a.b.c` to a TOML value; anything that is not valid TOML is taken as a string."""
    try:
        parsed = parse_toml(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    except ValueError as error:
        raise SettingsError(f"--set {key}: {error}") from None
    put(data, key, parsed)


def put(data: dict[str, Any], key: str, value: Any) -> None:
    """Set `a.b.c` to a value and create missing tables; a key that contains a dot is matched as it is, or quoted."""
    parts = [quoted or plain for quoted, plain in _KEY.findall(key)]
    if not parts:
        raise SettingsError(f"--set {key}: expected a key such as train.steps")
    for number, section in enumerate(parts[:-1]):
        dotted = ".".join(parts[number:])
        if dotted in data:  # `files."train.en"` without the quotes
            data[dotted] = value
            return
        data = data.setdefault(section, {})
        if not isinstance(data, dict):
            raise SettingsError(
                f"--set {key}: {section!r} is not a section; quote a key that contains a dot: '\"{dotted}\"'"
            )
    data[parts[-1]] = value


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield `a.b` and value of each entry of nested tables; an empty table is a value."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
