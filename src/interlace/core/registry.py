"""The directory is the registry: a room lists the modules of its package without importing them.

A member is a module; its file name is its public name. It holds either one public subclass of the room's contract
or a function named like the file. Guests come by the entry point group `interlace.<room>` or from `--code file.py`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from interlace.core.errors import DataError, SettingsError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

T = TypeVar("T")

SHARED = "common"  # the subpackage of a registry with code that several entries share
_GUESTS: dict[str, dict[str, ModuleType]] = {}  # room -> name -> module, filled by `register_plugin`


class Registry(Generic[T]):
    """One package of interchangeable things that share a contract."""

    def __init__(self, package: str, kind: str, contract: type[T] | None = None) -> None:
        self.package = package
        self.name = package.rsplit(".", 1)[-1]
        self.kind = kind  # what errors call a member: "objective", "word tokenizer"
        self.contract = contract

    def names(self) -> list[str]:
        """Public names of all members, sorted; nothing is imported."""
        return sorted(self.own_names() | set(self._entry_points()) | set(_GUESTS.get(self.name, {})))

    def own_names(self) -> set[str]:
        """Names of the members in the package itself."""
        folder = importlib.util.find_spec(self.package)
        paths = list(folder.submodule_search_locations or []) if folder else []
        modules = (module.name for module in pkgutil.iter_modules(paths))
        return {name for name in modules if name != SHARED and not name.startswith("_")}

    def get(self, name: str) -> Any:
        """The class (or function) called `name`.

        Raises:
            SettingsError: no such member; the message names the nearest.
        """
        return self._member(self._module(name), name)

    def build(self, data: Mapping[str, Any] | str, where: str = "") -> T:
        """A member from its name, or from a mapping with the key `name` and its settings."""
        fields = {"name": data} if isinstance(data, str) else dict(data)
        name = fields.pop("name", None)
        if not isinstance(name, str):
            raise SettingsError(f"{where or self.name}: the key 'name' is required{did_you_mean('', self.names())}")
        member = self.get(name)
        built: T = member.read(fields, where or f"{self.kind} {name!r}")
        return built

    def summary(self, name: str) -> str:
        """First line of the member's module docstring, read without importing the module."""
        if name in _GUESTS.get(self.name, {}):
            docstring = inspect.getdoc(_GUESTS[self.name][name])
        else:
            spec = importlib.util.find_spec(self._path(name))
            source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
            docstring = ast.get_docstring(ast.parse(source))
        return (docstring or "").partition("\n")[0]

    def _module(self, name: str) -> ModuleType:
        if name in _GUESTS.get(self.name, {}):
            return _GUESTS[self.name][name]
        return importlib.import_module(self._path(name))

    def _path(self, name: str) -> str:
        """The dotted name of the module that holds a member."""
        if name not in self.names():
            raise SettingsError(f"there is no {self.kind} {name!r}{did_you_mean(name, self.names())}")
        return self._entry_points().get(name, f"{self.package}.{name}")

    def _entry_points(self) -> dict[str, str]:
        return _installed_guests(f"interlace.{self.name}")

    def _member(self, module: ModuleType, name: str) -> Any:
        if self.contract is None:
            return getattr(module, name)
        members = _members(module, self.contract)
        if len(members) != 1:
            raise SettingsError(
                f"{module.__name__} should hold one public {self.contract.__name__}, found {len(members)}"
            )
        return members[0]


@cache
def _installed_guests(group: str) -> dict[str, str]:
    """Name -> module; kept, because looking through all installed packages takes 10 ms."""
    return {point.name: point.module for point in entry_points(group=group)}


def _members(module: ModuleType, contract: type) -> list[type]:
    return [
        thing
        for thing in vars(module).values()
        if inspect.isclass(thing)
        and issubclass(thing, contract)
        and thing is not contract
        and thing.__module__ == module.__name__
        and not thing.__name__.startswith("_")
    ]


def register_plugin(path: Path, rooms: Mapping[str, Registry[Any]]) -> None:
    """Take the members that the file at `path` defines into their rooms, under the file's name.

    Raises:
        DataError: the file is missing, cannot be run, holds no member of any room, or is called like one of ours.
    """
    if not path.is_file():
        raise DataError(f"--code {path}: no such file")
    spec = importlib.util.spec_from_file_location(f"interlace_guest_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DataError(f"--code {path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic looks up there what the types of fields mean
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the guest's own code raises
        del sys.modules[spec.name]
        raise DataError(f"--code {path}{_line(error, path)}: {type(error).__name__}: {error}") from error
    found = [room for room in rooms.values() if room.contract and _members(module, room.contract)]
    if not found:
        raise DataError(f"--code {path}: defines no subclass of {', '.join(sorted(_contracts(rooms)))}")
    for room in found:
        if path.stem in room.own_names():
            raise DataError(f"--code {path}: {room.kind} {path.stem!r} is one of ours; give the file another name")
        _GUESTS.setdefault(room.name, {})[path.stem] = module


def _line(error: Exception, path: Path) -> str:
    """`":12"`, the line of the guest's file where the error came up, or `""` for one that has no line."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError):
        lines.append(error.lineno)
    return f":{lines[-1]}" if lines and lines[-1] else ""


def _contracts(rooms: Mapping[str, Registry[Any]]) -> list[str]:
    return [room.contract.__name__ for room in rooms.values() if room.contract]
