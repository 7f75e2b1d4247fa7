"""JSON and TOML files, read within limits of size, depth and numbers as they may be hostile, and a schema for each.

A schema is any type that pydantic knows: a settings class, a dataclass, or a `TypedDict` with the decorator
`json_record`, which describes a file that stays plain data.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from interlace.core.errors import DataError, InterlaceError
from interlace.core.files import atomic, must_exist, must_hold_files

MAX_BYTES = 256 << 20  # of a file that is read as a whole; tokenizers have up to 35 MB
MAX_DEPTH = 100  # lists and tables inside of each other
_MAX_DIGITS = 40  # of an integer; `model_max_length` of tokenizers has 31
_REQUIRED: Any = object()

JsonObject = dict[str, Any]  # also a table of TOML
JsonMapping = Mapping[str, Any]  # one that is only read

# keys that a TypedDict lacks are kept, unchecked
json_record = with_config(ConfigDict(extra="allow", strict=True))


def read_json(
    path: Path | str,
    schema: Any = Any,
    default: Any = _REQUIRED,
    *,
    remedy: str = "",
    error: type[InterlaceError] = DataError,
) -> Any:
    """Return the data of a JSON file as its schema; errors name the key, what was found and what is expected.

    default: returned if there is no file. remedy: what to do about a damaged one. error: class of errors of content.
    """
    if default is not _REQUIRED and not Path(path).exists():
        return default
    return checked(
        read_limited(path, parse_json, error, "damaged", remedy),
        schema,
        str(path),
        remedy,
        error,
    )


def read_limited(
    path: Path | str,
    parse: Callable[[bytes], Any],
    error: type[InterlaceError],
    fault: str,
    remedy: str = "",
) -> Any:
    """Return what `parse` makes of a file's content; its ValueErrors become `error` that names the path and `fault`."""
    path = must_exist(path)
    check_size(path, error)
    try:
        return parse(path.read_bytes())
    except ValueError as invalid:
        if isinstance(invalid, UnicodeDecodeError):
            what = f"not UTF-8 at byte {invalid.start}"
        else:
            what = str(invalid)
        raise error(f"{path}: {fault}: {what}{_suffix(remedy)}") from invalid


def check_size(path: Path, error: type[InterlaceError] = DataError) -> None:
    """Raise `error` if a file is too long to be read as a whole."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise error(f"{path}: {size:,} bytes; expected at most {MAX_BYTES:,}")


def check_folder(folder: Path, patterns: Iterable[str] = ("*.json",)) -> Path:
    """Return the folder of a model or a tokenizer, whose files of these patterns other libraries read as a whole."""
    must_hold_files(folder)
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            if path.is_file():
                check_size(path)
    return folder


def write_json(path: Path, data: Any) -> None:
    """Write data as JSON, atomically."""
    with atomic(path) as partial:
        partial.write_text(
            json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def parse_json(text: str | bytes, *, surrogates: bool = False, unique: bool = False) -> Any:
    """Parse JSON, skipping a byte order mark; raise a ValueError if it is invalid or exceeds a limit.

    surrogates: allow lone surrogates, which JSON can escape and UTF-8 cannot encode.
    unique: reject an object with several values of a key, of which the last one is read otherwise.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    decoder = _UNIQUE_DECODER if unique else _DECODER
    data = _parsed(text, decoder.decode)
    if not surrogates and "\\u" in text:
        try:
            json.dumps(data, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"holds {error.object[error.start]!r}, which is not a character"
            ) from None
    return data


def parse_toml(text: str | bytes) -> JsonObject:
    """Parse TOML, skipping a byte order mark; raise a ValueError if it is invalid or exceeds a limit."""
    return _parsed(text, tomllib.loads)


def checked(
    data: Any,
    schema: Any,
    where: str,
    remedy: str = "",
    error: type[InterlaceError] = DataError,
) -> Any:
    """Return data as a schema; raise `error` that names the key, what was found and what is expected."""
    try:
        return _adapter(schema).validate_python(data)
    except ValidationError as invalid:
        item = invalid.errors(include_url=False)[0]
        parts = []
        for part in item["loc"]:
            parts.append(f"entry {part + 1}" if isinstance(part, int) else f"key {part!r}")
        message = item["msg"].removeprefix("Value error, ")
        message = message[:1].lower() + message[1:]
        if item["type"] not in {"missing", "value_error"}:
            value = repr(item["input"])
            message += f", found {value[:80]}"
        if parts:
            message = f"{', '.join(parts)}: {message}"
        raise error(f"{where}: damaged: {message}{_suffix(remedy)}") from None


def _suffix(remedy: str) -> str:
    return f"; {remedy}" if remedy else ""


@cache
def _adapter(schema: Any) -> TypeAdapter[Any]:
    return TypeAdapter(schema)


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits; at most {_MAX_DIGITS} are read")
    return int(digits)


def _unique_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    """Return an object of JSON; raise a ValueError if a key occurs twice."""
    values: JsonObject = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"several values of {key!r:.200}")
        values[key] = value
    return values


_DECODER = json.JSONDecoder(parse_int=_integer)
_UNIQUE_DECODER = json.JSONDecoder(parse_int=_integer, object_pairs_hook=_unique_object)


def _parsed(text: str | bytes, parse: Callable[[str], Any]) -> Any:
    """Parse; check the depth where the text is long enough to exceed the limit."""
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    try:
        data = parse(text)
        levels = text.count("[") + text.count("{") + text.count(".")
        deep = levels >= MAX_DEPTH and _is_deep(data)
    except RecursionError:
        deep = True
    if deep:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return data


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
        if not inner:
            return False
        level = inner
    return True
