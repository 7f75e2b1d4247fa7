"""JSON files whose shape is checked as they are walked, so that an error names the place."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, did_you_mean
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs: JSON can escape one alone, UTF-8 cannot write it
_CALLED = {dict: "an object", list: "a list", str: "a string", int: "a whole number", bool: "a truth value"}


@dataclass(frozen=True)
class Node:
    """A value of a JSON file, and the keys that lead to it (`data[3].paragraphs[0]`)."""

    path: Path
    place: str
    value: Any

    def error(self, message: str) -> DataError:
        """An error about this place."""
        return DataError(f"{self.path}: {self.place or 'the file'}: {message}")

    def has(self, key: str) -> bool:
        """Whether the object has such a key."""
        return key in self._object()

    def each(self, key: str) -> Iterator[Node]:
        """The members of the list under a key."""
        for number, value in enumerate(self._under(key, list)):
            yield Node(self.path, f"{self._place(key)}[{number}]", value)

    def text(self, key: str) -> str:
        """The string under a key; half characters are replaced, character for character."""
        return _HALVES.sub("\ufffd", self._under(key, str))

    def number(self, key: str) -> int:
        """The whole number under a key."""
        return int(self._under(key, int))

    def _under(self, key: str, kind: type) -> Any:
        found = self._object()
        if key not in found:
            raise self.error(f"there is no {key!r}{did_you_mean(key, found)}")
        value = found[key]
        if type(value) is not kind:
            raise self.error(f"{key!r} is {_called(value)}, expected {_CALLED[kind]}")
        return value

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error(f"found {_called(self.value)}, expected an object")
        return self.value

    def _place(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def read_json(path: Path) -> Node:
    """The whole of a JSON file, plain or gzip.

    Raises:
        DataError: the file is missing, empty, damaged, not UTF-8 or no JSON; names the line.
    """
    try:
        return Node(path, "", json.loads("\n".join(read_lines(path))))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: this is no JSON: {error.msg}") from error
    except RecursionError:
        raise DataError(f"{path}: this JSON is nested too deeply") from None


def _called(value: Any) -> str:
    return _CALLED.get(type(value), f"{value!r}")
