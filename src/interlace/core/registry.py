"""Registries: the directory of a package lists its entries, without importing them.

An entry is a module; its file name is its public name. It defines one public subclass of the registry's contract, or a
function named like the file. The subpackage `common` holds code that several entries share. Plugins come from the entry
point group `interlace.<registry>`, by the name of their module, or from `--code file.py`.
"""

import ast
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from interlace.core.errors import DataError, SettingsError, did_you_mean

T = TypeVar("T")

SHARED = "common"  # the subpackage of a registry with code that several entries share
_PLUGINS: dict[str, dict[str, ModuleType]] = {}  # registry -> name -> module


class Registry(Generic[T]):
    """The entries of one package, which share a contract."""

    def __init__(
        self,
        package: str,
        kind: str,
        contract: type[T] | None = None,
        synonyms: Mapping[str, str] | None = None,
    ) -> None:
        self.package = package
        self.name = package.rsplit(".", 1)[-1]
        self.kind = kind  # how errors name an entry: "objective", "word tokenizer"
        self.contract = contract
        self.synonyms = synonyms or {}  # names of other tools, and the entry nearest to each

    def names(self) -> list[str]:
        """Return the names of all entries and plugins, sorted, without importing them."""
        return sorted({*self.own_names(), *self._entry_points(), *self._plugins()})

    def own_names(self) -> set[str]:
        """Return the names of the entries in the package itself."""
        spec = importlib.util.find_spec(self.package)
        folders = tuple(spec.submodule_search_locations or []) if spec else ()
        names = _module_names(folders)
        return {name for name in names if name != SHARED and not name.startswith("_")}

    def get(self, name: str) -> Any:
        """Return the class (or function) of an entry; raise a SettingsError if there is no such entry."""
        module = self._plugins().get(name) or importlib.import_module(self._path(name))
        if self.contract is None:
            return getattr(module, name)
        classes = _contract_classes(module, self.contract)
        if len(classes) != 1:
            expected = f"should define one public {self.contract.__name__}"
            raise SettingsError(f"{module.__name__} {expected}, found {len(classes)}")
        return classes[0]

    def build(self, data: Mapping[str, Any] | str, where: str = "") -> T:
        """Build an entry from its name, or from a mapping with the key `name` and settings."""
        fields = {"name": data} if isinstance(data, str) else dict(data)
        name = fields.pop("name", None)
        if not isinstance(name, str):
            raise SettingsError(
                f"{where or self.name}: the key 'name' is required{did_you_mean('', self.names())}"
            )
        entry: T = self.get(name).read(fields, where or f"{self.kind} {name!r}")
        return entry

    def summary(self, name: str) -> str:
        """Return the first line of the entry's module docstring, without importing the module."""
        plugin = self._plugins().get(name)
        if plugin:
            docstring = plugin.__doc__
        else:
            spec = importlib.util.find_spec(self._path(name))
            path = Path(spec.origin if spec and spec.origin else os.devnull)
            docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        return (docstring or "").partition("\n")[0]

    def _path(self, name: str) -> str:
        if name not in self.names():
            near = did_you_mean(self.synonyms.get(name.lower(), name), self.names())
            raise SettingsError(f"there is no {self.kind} {name!r}{near}")
        path = self._entry_points().get(name, f"{self.package}.{name}")
        is_own = name in self.own_names()
        if path.rpartition(".")[2] != name or (is_own and name in self._entry_points()):
            raise SettingsError(
                f"the entry point {name!r} of {path!r} in the group interlace.{self.name}: expected the name of its "
                f"module, and none of {self.package}"
            )
        return path

    def _plugins(self) -> dict[str, ModuleType]:
        return _PLUGINS.get(self.name, {})

    def _entry_points(self) -> dict[str, str]:
        return _installed_plugins(f"interlace.{self.name}")


@cache
def _module_names(folders: tuple[str, ...]) -> list[str]:
    """Return the names of the modules in these folders; cached, because each name in a recipe is looked up there."""
    return [module.name for module in pkgutil.iter_modules(folders)]


@cache
def _installed_plugins(group: str) -> dict[str, str]:
    """Return name -> module; cached, because searching all installed packages takes 10 ms."""
    return {point.name: point.module for point in entry_points(group=group)}


def _contract_classes(module: ModuleType, contract: Any) -> list[type]:
    classes = []
    for value in vars(module).values():
        is_own = getattr(value, "__module__", None) == module.__name__
        if is_own and inspect.isclass(value) and issubclass(value, contract):
            classes.append(value)
    return [value for value in classes if value is not contract and value.__name__[0] != "_"]


def register_plugin(path: Path, registries: Mapping[str, Registry[Any]]) -> None:
    """Register the classes that the file at `path` defines, under the name of the file, or raise a DataError."""
    if not path.is_file():
        raise DataError(f"--code {path}: no such file")
    spec = importlib.util.spec_from_file_location(f"interlace_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DataError(f"--code {path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic resolves field types there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # of the plugin's own code; also sys.exit
        del sys.modules[spec.name]
        raise DataError(
            f"--code {path}{_line(error, path)}: {type(error).__name__}: {error}"
        ) from error
    extended = []
    contract_names = []
    for registry in registries.values():
        if registry.contract:
            contract_names.append(registry.contract.__name__)
            if _contract_classes(module, registry.contract):
                extended.append(registry)
    if not extended:
        raise DataError(
            f"--code {path}: defines no subclass of {', '.join(sorted(contract_names))}"
        )
    for registry in extended:
        if path.stem in registry.own_names():
            raise DataError(
                f"--code {path}: {registry.kind} {path.stem!r} is built in; rename the file"
            )
        _PLUGINS.setdefault(registry.name, {})[path.stem] = module


def plugin_files() -> dict[str, Path]:
    """Return the files of registered plugins by file name."""
    files = {}
    for plugins in _PLUGINS.values():
        for module in plugins.values():
            path = Path(inspect.getfile(module))
            files[path.name] = path
    return files


def _line(error: BaseException, path: Path) -> str:
    """Return `":12"`, the line of the plugin file where the error occurred, or `""` if it has none."""
    file = str(path.absolute())  # as the import system names it
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    if isinstance(error, SyntaxError):
        lines.append(error.lineno)
    return f":{lines[-1]}" if lines and lines[-1] else ""
