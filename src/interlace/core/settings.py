"""Settings are fields: a thing is a frozen pydantic model whose fields are its recipe keys, help text and schema.

Construction checks and does nothing else; data and models arrive later.
"""

from __future__ import annotations

import re
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from interlace.core.errors import SettingsError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic._internal._model_construction import ModelMetaclass as _ModelKind
else:
    _ModelKind = type(BaseModel)  # pydantic does not export its metaclass's name


# How pydantic names plain types, which a union tries one after the other, in the path of an error.
_PLAIN = re.compile(r"(constrained-)?(str|int|float|bool)|[\w-]*\[.*\]")


class _Kind(_ModelKind):
    """Turns pydantic's error into ours where a person constructs; nested construction keeps its key path."""

    def __call__(cls, *args: Any, **data: Any) -> Any:  # noqa: N805 - what a metaclass makes is a class
        try:
            return super().__call__(*args, **data)
        except ValidationError as error:
            raise SettingsError(_explain(error, cls, "")) from None


class Settings(BaseModel, metaclass=_Kind):
    """A frozen bundle of settings. Unknown keys and values out of range raise `SettingsError` with the key's path."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, data: Mapping[str, Any], where: str = "") -> Self:
        """Build from a plain mapping; `where` (a file, a section) is named in errors."""
        try:
            return cls.model_validate(dict(data))
        except ValidationError as error:
            raise SettingsError(_explain(error, cls, where)) from None

    def dump(self) -> dict[str, Any]:
        """Plain data that `read` turns back into an equal object."""
        return self.model_dump(mode="json")


def fields_of(model: type[BaseModel]) -> list[tuple[str, str, str, str]]:
    """(key, type, default, help) of each field, for `interlace list`."""
    rows = []
    for key, field in model.model_fields.items():
        default = "required" if field.is_required() else repr(field.get_default(call_default_factory=True))
        rows.append((key, _kind(field.annotation), default, field.description or ""))
    return rows


def _kind(annotation: Any) -> str:
    """A type as people write it in a recipe's terms.

    >>> _kind(float | list[float] | None)
    'float | list[float] | None'
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in {Union, UnionType}:
        return " | ".join(dict.fromkeys(map(_kind, inner)))
    if origin is Literal:
        return " | ".join(map(repr, inner))
    if origin is not None:
        return f"{origin.__name__}[{', '.join('...' if part is Ellipsis else _kind(part) for part in inner)}]"
    if annotation is None or annotation is NoneType:
        return "None"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "section"
    return getattr(annotation, "__name__", str(annotation))


def _explain(error: ValidationError, model: type, where: str) -> str:
    prefix = f"{where}: " if where else ""
    found: dict[Any, list[Any]] = {}  # what is wrong at one key, where its value may be of several plain types
    for place, item in enumerate(error.errors()):
        own = tuple(part for part in item["loc"] if not _PLAIN.fullmatch(str(part)))
        found.setdefault(own if own != item["loc"] else place, []).append({**item, "loc": own})
    deepest = [key for key in found if not any(_leads_to(key, other) for other in found)]
    return "\n".join(prefix + _joined(found[key], model) for key in deepest)


def _leads_to(key: Any, other: Any) -> bool:
    """Whether a value was wrong as it stands, but right as far as to something deeper inside it."""
    return isinstance(key, tuple) and isinstance(other, tuple) and key != other and other[: len(key)] == key


def _joined(items: list[Any], model: type) -> str:
    """One message for the members of a union of plain types: 'input should be a valid string, or a valid list'."""
    told = [item["msg"].removeprefix("Value error, ") for item in items]
    others = [f"{text[:1].lower()}{text[1:]}".removeprefix("input should be ") for text in told[1:]]
    return _one({**items[0], "msg": ", or ".join(dict.fromkeys([told[0], *others]))}, model)


def _one(item: Any, model: type) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        siblings = _keys_at(model, item["loc"][:-1])
        return f"unknown key {path!r}{did_you_mean(str(item['loc'][-1]), siblings)}"
    if item["type"] == "missing":
        return f"key {path!r} is required"
    message = item["msg"].removeprefix("Value error, ")
    told = isinstance(item["input"], dict) or f"found {item['input']!r}" in message
    found = "" if told else f" (found {item['input']!r})"
    if item["type"] == "literal_error" and "did you mean" in (near := did_you_mean(str(item["input"]), _choices(item))):
        found += near
    if item["type"] == "list_type" and isinstance(item["input"], str):
        found += f'; write ["{item["input"]}"]'
    return f"{path}: {message[:1].lower()}{message[1:]}{found}" if path else message


def _choices(item: Any) -> list[str]:
    """What a literal may be, as pydantic names it: 'a', 'b' or 'c'."""
    return re.findall(r"'([^']*)'", str(item.get("ctx", {}).get("expected", "")))


def _keys_at(model: Any, path: tuple[int | str, ...]) -> list[str]:
    """Names of the fields of the models that `path` may have reached.

    A part of the path is a field, the name of the member of a union that was tried, or a place in a list or mapping.
    """
    models = [model]
    for part in path:
        fields = [candidate.model_fields[part] for candidate in models if part in candidate.model_fields]
        named = [candidate for candidate in models if candidate.__name__ == part]
        models = [found for field in fields for found in _models_in(field.annotation)] if fields else named or models
    return [key for candidate in models for key in candidate.model_fields]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models that a field's type names, through unions, lists and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in getattr(annotation, "__args__", ()) for found in _models_in(argument)]
