"""Registries: the directory of a package lists its entries, without importing them.

An entry is a module; its file name is its public name. It defines one public subclass of the registry's contract, or a
function named like the file. The subpackage `common` holds code that several entries share. Plugins come from the entry
point group `interlace.<registry>` of an installed package, or from `--code file.py`.
"""

import ast
import importlib
import importlib.util
import inspect
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
from interlace.core.json_files import JsonMapping

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
        return sorted({*self.own_names(), *self._installed(), *self._plugins()})

    def own_names(self) -> set[str]:
        """Return the names of the entries in the package itself."""
        return set(_module_names(self.package))

    def get(self, name: str) -> Any:
        """Return the class (or function) of an entry; raise a SettingsError if there is no such entry."""
        names = self.names()
        if name not in names:
            meant = self.synonyms.get(name.lower(), name)
            raise SettingsError(f"there is no {self.kind} {name!r}{did_you_mean(meant, names)}")
        module = self._plugins().get(name)
        if module is None:
            module = importlib.import_module(self._path(name))
        if self.contract is None:
            return getattr(module, name)
        classes = _contract_classes(module, self.contract)
        if len(classes) != 1:
            expected = f"should define one public {self.contract.__name__}"
            raise SettingsError(f"{module.__name__} {expected}, found {len(classes)}")
        return classes[0]

    def build(self, data: JsonMapping | str, where: str = "") -> T:
        """Build an entry from its name, or from a mapping with the key `name` and settings."""
        if isinstance(data, str):
            data = {"name": data}
        fields = dict(data)
        name = fields.pop("name", None)
        if not isinstance(name, str):
            hint = did_you_mean("", self.names())
            raise SettingsError(f"{where or self.name}: the key 'name' is required{hint}")
        return self.get(name).read(fields, where or f"{self.kind} {name!r}")

    def summary(self, name: str) -> str:
        """Return the first line of the entry's module docstring, without importing the module."""
        plugin = self._plugins().get(name)
        if plugin is not None:
            docstring = plugin.__doc__
        else:
            spec: Any = importlib.util.find_spec(self._path(name))
            source = Path(spec.origin).read_text(encoding="utf-8")
            docstring = ast.get_docstring(ast.parse(source))
        return (docstring or "").partition("\n")[0]

    def _path(self, name: str) -> str:
        """Return the dotted name of an entry's module; entries of the package itself cannot be replaced."""
        if name in self.own_names():
            return f"{self.package}.{name}"
        return self._installed()[name]

    def _installed(self) -> dict[str, str]:
        return _installed_plugins(f"interlace.{self.name}")

    def _plugins(self) -> dict[str, ModuleType]:
        return _PLUGINS.get(self.name, {})


@cache
def _module_names(package: str) -> list[str]:
    """Return the names of a package's entries; cached, because each name in a recipe is looked up there."""
    folders = importlib.import_module(package).__path__
    names = [module.name for module in pkgutil.iter_modules(folders)]
    return [name for name in names if name != SHARED and not name.startswith("_")]


@cache
def _installed_plugins(group: str) -> dict[str, str]:
    """Return name -> module; cached, because searching all installed packages takes 10 ms."""
    return {point.name: point.module for point in entry_points(group=group)}


def _contract_classes(module: ModuleType, contract: Any) -> list[type]:
    """Return the public classes of a contract that a module defines."""
    classes = []
    for name, value in inspect.getmembers(module, inspect.isclass):
        is_own = value.__module__ == module.__name__ and not name.startswith("_")
        if is_own and issubclass(value, contract):
            classes.append(value)
    return classes


def register_plugin(path: Path, registries: Mapping[str, Registry[Any]]) -> None:
    """Register the classes that the file at `path` defines, under the name of the file, or raise a DataError."""
    if path.suffix != ".py" or not path.is_file():
        raise DataError(f"--code {path}: no such Python file")
    module = _imported(path)
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


def _imported(path: Path) -> ModuleType:
    """Return the module of a plugin's file; raise a DataError with the line of an error in it."""
    name = f"interlace_plugin_{path.stem}"
    spec: Any = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pydantic resolves field types there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # of the plugin's own code; also sys.exit
        del sys.modules[name]
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path.absolute())]
        if isinstance(error, SyntaxError):
            lines.append(error.lineno)
        line = f":{lines[-1]}" if lines else ""
        raise DataError(f"--code {path}{line}: {type(error).__name__}: {error}") from error
    return module


def plugin_files() -> dict[str, Path]:
    """Return the files of registered plugins by file name."""
    files = {}
    for plugins in _PLUGINS.values():
        for module in plugins.values():
            path = Path(inspect.getfile(module))
            files[path.name] = path
    return files
