"""Settings: frozen pydantic models whose fields are recipe keys, help text and schema at once.

Construction only validates; data and models come later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from interlace.core.display import listed
from interlace.core.errors import SettingsError, nearest
from interlace.core.json_files import JsonMapping, JsonObject

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelKind
else:
    _ModelKind = type(BaseModel)  # pydantic does not export its metaclass's name

MAX_INTEGER = (1 << 31) - 1

# Names of plain types in the path of a pydantic error; a union tries them one after the other.
_PLAIN = re.compile(r"(constrained-)?(str|int|float|bool)|[\w-]*\[.*\]")

# Keys of other toolkits by ours.
_SYNONYMS = {
    "lr": "learning_rate",
    "peak_lr": "learning_rate",
    "batch_size": "tokens_per_update",
    "batch_tokens": "tokens_per_update",
    "max_tokens": "tokens_per_update",
    "per_device_train_batch_size": "tokens_per_update",
    "max_steps": "steps",
    "max_update": "steps",
    "num_steps": "steps",
    "fp16": "precision",
    "bf16": "precision",
    "mixed_precision": "precision",
    "warmup_steps": "warmup",
    "warmup_updates": "warmup",
    "max_grad_norm": "clip",
    "clip_norm": "clip",
    "report_to": "trackers",
    "log_with": "trackers",
    "hidden_size": "width",
    "emb_dim": "width",
    "num_hidden_layers": "layers",
    "n_layers": "layers",
    "torch_compile": "compile",
    "lr_scheduler_type": "schedule",
    "adam_betas": "betas",
    "model_name_or_path": "start",
    "save_steps": "checkpoint_every",
    "eval_steps": "evaluate_every",
}


class _Kind(_ModelKind):
    """Metaclass that converts pydantic's ValidationError to SettingsError; nested errors keep their key path."""

    def __call__(cls, *args: Any, **data: Any) -> Any:  # noqa: N805 - instances of a metaclass are classes
        try:
            return super().__call__(*args, **data)
        except ValidationError as error:
            raise SettingsError(_explain(error, cls, "")) from None


class Settings(BaseModel, metaclass=_Kind):
    """Frozen settings. Unknown keys and invalid values raise `SettingsError` with the path of the key."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _check_limit(cls, value: Any) -> Any:
        """Reject integers that arrays and compiled libraries cannot hold."""
        for number in value if isinstance(value, list | tuple) else (value,):
            if isinstance(number, int) and abs(number) > MAX_INTEGER:
                raise ValueError(f"expected an integer of at most {MAX_INTEGER}")
        return value

    @classmethod
    def read(cls, data: JsonMapping, where: str = "") -> Self:
        """Build from a mapping; errors name `where` (a file or section)."""
        try:
            return cls.model_validate(dict(data))
        except ValidationError as error:
            raise SettingsError(_explain(error, cls, where)) from None

    def dump(self) -> JsonObject:
        """Return plain data from which `read` builds an equal object."""
        return self.model_dump(mode="json")


def fields_of(model: type[BaseModel]) -> list[tuple[str, str, str, str]]:
    """Return (key, type, default, help) of each field."""
    rows = []
    for key, field in model.model_fields.items():
        if field.is_required():
            default = "required"
        else:
            default = repr(field.get_default(call_default_factory=True))
        rows.append((key, type_name(field.annotation), default, field.description or ""))
    return rows


def type_name(annotation: Any) -> str:
    """Return a type as recipe documentation shows it.

    >>> type_name(float | list[float] | None)
    'float | list[float] | None'
    """
    origin = get_origin(annotation)
    inner = get_args(annotation)
    if origin is Annotated:
        return type_name(inner[0])
    if origin in {Union, UnionType}:
        return " | ".join(dict.fromkeys(map(type_name, inner)))
    if origin is Literal:
        return " | ".join(map(repr, inner))
    if origin is not None:
        return f"{origin.__name__}[{', '.join('...' if part is Ellipsis else type_name(part) for part in inner)}]"
    if annotation is None or annotation is NoneType:
        return "None"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "section"
    return getattr(annotation, "__name__", str(annotation))


def _explain(error: ValidationError, model: Any, where: str) -> str:
    """Return a line for each wrong key; a union of plain types reports several errors for one."""
    items_by_key: dict[tuple[int | str, ...], list[Any]] = {}
    for item in error.errors():
        key = tuple(part for part in item["loc"] if not _PLAIN.fullmatch(str(part)))
        items_by_key.setdefault(key, []).append(item)
    lines = []
    for key, items in items_by_key.items():
        inner_keys = [inner for inner in items_by_key if inner[: len(key)] == key]
        if len(inner_keys) > 1:  # not only itself
            continue
        line = _explain_key(key, items, model)
        if where:
            line = f"{where}: {line}"
        lines.append(line)
    return "\n".join(lines)


def _explain_key(key: tuple[int | str, ...], items: list[Any], model: type[BaseModel]) -> str:
    path = ".".join(map(str, key))
    item = items[0]
    if item["type"] == "missing":
        return f"key {path!r} is required"
    if item["type"] == "extra_forbidden":
        return f"unknown key {path!r}{_key_suggestion(key, model)}"
    messages = [_message(item) for item in items]
    message = ", or ".join(dict.fromkeys(messages))
    message = message.replace(", or Input should be ", ", or ")
    value = item["input"]
    if not isinstance(value, dict) and f"found {value!r}" not in message:
        message += f" (found {value!r})"
    if item["type"] == "literal_error":
        choices = re.findall(r"'([^']*)'", item["ctx"]["expected"])
        message += nearest(str(value), choices)
    if not path:
        return message
    return f"{path}: {message[:1].lower()}{message[1:]}"


def _message(item: Any) -> str:
    """Return the message of an error of pydantic, which shows no list where it expects one."""
    if item["type"] in {"list_type", "tuple_type"}:
        return "expected a list, such as ['a', 'b']"
    message: str = item["msg"]
    return message.removeprefix("Value error, ")


def _key_suggestion(key: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Return a suggestion in place of an unknown key: one of its section, or else of any."""
    *section, name = key
    section_keys = _keys_at(model, section)
    paths = {}  # by the last part; the shortest path of several
    for path in sorted(_paths(model), key=len, reverse=True):
        paths[path.rpartition(".")[2]] = path
    for section_key in section_keys:
        paths[section_key] = ".".join(map(str, [*section, section_key]))
    close = get_close_matches(_SYNONYMS.get(str(name), str(name)), paths, n=1)
    if close:
        return f"; did you mean {paths[close[0]]!r}?"
    return f"; there are: {listed(sorted(section_keys))}"


def _keys_at(model: type[BaseModel], section: list[int | str]) -> list[str]:
    """Return the field names of the models that the path of a section may lead to.

    A part of the path is a field, the name of a union member, or an index into a list or mapping.
    """
    models = [model]
    for part in section:
        inner_models = []
        for candidate in models:
            if part in candidate.model_fields:
                inner_models += _models_in(candidate.model_fields[str(part)].annotation)
            elif candidate.__name__ == part:
                inner_models.append(candidate)
        models = inner_models or models
    return [key for candidate in models for key in candidate.model_fields]


def _paths(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the dotted paths of all keys, except inside mappings, whose keys are the user's names, and unions."""
    for key, field in model.model_fields.items():
        yield f"{prefix}{key}"
        models = _models_in(field.annotation)
        if len(models) == 1 and get_origin(field.annotation) is not dict:
            yield from _paths(models[0], f"{prefix}{key}.")


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models in the type of a field, through unions, lists and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    models = []
    for argument in get_args(annotation):
        models += _models_in(argument)
    return models


class RegistryEntry(Settings):
    """The settings of an entry of a registry, which is named after its module."""

    @property
    def name(self) -> str:
        """The public name: that of the module."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_plugin_")
