"""Artifacts: prepared data that is built once from what it depends on, and kept in the cache.

One class describes each kind of artifact: its `key`, what it `needs`, how it is built and how it is opened.
"""

from __future__ import annotations

import logging
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from interlace.core.json_files import JsonObject
from interlace.data.cache import cached, changes_since, folder_of

T = TypeVar("T")

log = logging.getLogger(__name__)


class Artifact(ABC, Generic[T]):
    """Prepared data in a folder of the cache, which is named by the hash of everything that the data depend on.

    An artifact itself is cheap to make: files are hashed when its `key` is asked for, and nothing is built before
    `get`. Its class says what it depends on, and `str` of it what it is.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def key(self) -> JsonObject:
        """Everything that the data depend on, as JSON data: files by `content_key`, other artifacts by their `id`."""

    def needs(self) -> Sequence[Artifact[Any]]:
        """Return the artifacts that must be built before this one."""
        return ()

    @abstractmethod
    def build(self, folder: Path) -> None:
        """Write the data into an empty folder; the result depends on nothing but the key."""

    @abstractmethod
    def open(self, folder: Path) -> T:
        """Return the data of a folder that `build` has written."""

    @cached_property
    def id(self) -> str:
        """The hash of the key, for the keys of artifacts that depend on this one."""
        return self._folder.name

    @property
    def is_built(self) -> bool:
        """Whether the data are in the cache."""
        return self._folder.is_dir()

    def get(self) -> T:
        """Return the data, which are built first if they are not in the cache.

        Raises:
            DataError: a file is missing or malformed, or was changed while it was read.
        """
        return self.open(self.ensure_built())

    def ensure_built(self) -> Path:
        """Return the folder of the data, which are built first if they are not in the cache."""
        return cached(self.kind, self.key, self._build_and_log)

    def remove(self) -> None:
        """Remove the data from the cache, if they are there."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def _folder(self) -> Path:
        return folder_of(self.kind, self.key)

    def _build_and_log(self, folder: Path) -> None:
        changed_entries = changes_since(self.kind, str(self), self.key)
        if changed_entries:
            log.info("building %s (changed: %s)", self, ", ".join(changed_entries))
        else:
            log.info("building %s", self)
        self.build(folder)


def in_order(artifacts: Iterable[Artifact[Any]]) -> list[Artifact[Any]]:
    """Return artifacts and all that they need, each once and after everything that it needs."""
    ordered: dict[tuple[str, str], Artifact[Any]] = {}

    def add(artifact: Artifact[Any]) -> None:
        for needed in artifact.needs():
            add(needed)
        ordered.setdefault((artifact.kind, artifact.id), artifact)

    for artifact in artifacts:
        add(artifact)
    return list(ordered.values())
