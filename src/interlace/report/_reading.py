"""Files of a run folder, read and checked: a part that is not there yet is empty, a damaged one is an error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from interlace.core.errors import DataError
from interlace.report._parts import Diagnosis, Evaluation, Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

T = TypeVar("T")


def text_of(path: Path) -> str | None:
    if not path.is_file():
        return None
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(f"{path}, line {line}: not valid UTF-8") from None


def read_whole(path: Path, kind: type[T]) -> T | None:
    """The file as one JSON value of that kind; None where there is no file."""
    text = text_of(path)
    if text is None:
        return None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: damaged JSON: {error.msg}") from None
    return _checked(TypeAdapter(kind), data, str(path))


def read_metrics(path: Path) -> Iterator[Step | Evaluation | Diagnosis]:
    """The lines of `metrics.jsonl`; kinds we do not know are passed over."""
    parts = {"step": Step, "evaluation": Evaluation, "diagnosis": Diagnosis}
    kinds: dict[str, TypeAdapter[Any]] = {kind: TypeAdapter(part) for kind, part in parts.items()}
    for row, line in enumerate((text_of(path) or "").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {row}: damaged JSON: {error.msg}") from None
        if not isinstance(data, dict):
            raise DataError(f"{path}, line {row}: expected an object, found {line[:40]!r}")
        if data.get("kind") in kinds:
            yield _checked(kinds[data["kind"]], data, f"{path}, line {row}")


def _checked(adapter: TypeAdapter[T], data: object, where: str) -> T:
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f", entry {part + 1}" if isinstance(part, int) else f", key {part!r}" for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise DataError(f"{where}{place}: {message[:1].lower()}{message[1:]}") from None
