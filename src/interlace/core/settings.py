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

from interlace.core.errors import SettingsError, did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic._internal._model_construction import ModelMetaclass as _ModelKind
else:
    _ModelKind = type(BaseModel)  # pydantic does not export its metaclass's name

MAX_INTEGER = (1 << 31) - 1

# Names of plain types in the path of a pydantic error; a union tries them one after the other.
_PLAIN = re.compile(r"(constrained-)?(str|int|float|bool)|[\w-]*\[.*\]")

# Keys of other toolkits by ours.
_SYNONYMS = {
    **dict.fromkeys(("lr", "peak_lr"), "learning_rate"),
    **dict.fromkeys(
        ("batch_size", "batch_tokens", "max_tokens", "per_device_train_batch_size"),
        "tokens_per_update",
    ),
    **dict.fromkeys(("max_steps", "max_update", "num_steps"), "steps"),
    **dict.fromkeys(("fp16", "bf16", "mixed_precision"), "precision"),
    **dict.fromkeys(("warmup_steps", "warmup_updates"), "warmup"),
    **dict.fromkeys(("max_grad_norm", "clip_norm"), "clip"),
    **dict.fromkeys(("report_to", "log_with"), "trackers"),
    **dict.fromkeys(("hidden_size", "emb_dim"), "width"),
    **dict.fromkeys(("num_hidden_layers", "n_layers"), "layers"),
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
    def read(cls, data: Mapping[str, Any], where: str = "") -> Self:
        """Build from a mapping; errors name `where` (a file or section)."""
        try:
            return cls.model_validate(dict(data))
        except ValidationError as error:
            raise SettingsError(_explain(error, cls, where)) from None

    def dump(self) -> dict[str, Any]:
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


def _explain(error: ValidationError, model: type, where: str) -> str:
    prefix = f"{where}: " if where else ""
    found: dict[
        Any, list[Any]
    ] = {}  # errors by key; a union of plain types reports several for one
    for place, item in enumerate(error.errors()):
        own = tuple(part for part in item["loc"] if not _PLAIN.fullmatch(str(part)))
        found.setdefault(own if own != item["loc"] else place, []).append({**item, "loc": own})
    keys = [key for key in found if isinstance(key, tuple)]
    outer = {
        key for key in keys if any(key != other and other[: len(key)] == key for other in keys)
    }
    deepest = [key for key in found if key not in outer]
    return "\n".join(prefix + _joined(found[key], model) for key in deepest)


def _joined(items: list[Any], model: type) -> str:
    """Join the messages of a union of plain types: 'input should be a valid string, or a valid list'."""
    texts = [item["msg"].removeprefix("Value error, ") for item in items]
    others = [
        f"{text[:1].lower()}{text[1:]}".removeprefix("input should be ") for text in texts[1:]
    ]
    return _one({**items[0], "msg": ", or ".join(dict.fromkeys([texts[0], *others]))}, model)


def _one(item: Any, model: type) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        parent = "".join(f"{part}." for part in item["loc"][:-1])
        name = str(item["loc"][-1])
        known_keys = _keys_at(model, item["loc"][:-1])
        if name.partition(".")[0] in known_keys and "." in name:
            return f"unknown key '{parent}\"{name}\"': quotes make it one name; write {path} without quotes"
        near = did_you_mean(name, known_keys)
        if ("did you mean" not in near or name in _SYNONYMS) and (
            elsewhere := _key_elsewhere(path, model)
        ):
            near = f"; did you mean {elsewhere!r}?"
            parent = ""
        return f"unknown key {path!r}" + near.replace("did you mean '", f"did you mean '{parent}")
    if item["type"] == "missing":
        return f"key {path!r} is required"
    message: str = item["msg"].removeprefix("Value error, ")
    shown = isinstance(item["input"], dict) or f"found {item['input']!r}" in message
    found = "" if shown else f" (found {item['input']!r})"
    choices = re.findall(r"'([^']*)'", str(item.get("ctx", {}).get("expected", "")))  # of a literal
    if item["type"] == "literal_error":
        found += nearest(str(item["input"]), choices)
    if item["type"] == "list_type" and isinstance(item["input"], str):
        found += f'; write ["{item["input"]}"]'
    if path:
        return f"{path}: {message[:1].lower()}{message[1:]}{found}"
    return message


def _keys_at(model: Any, path: tuple[int | str, ...]) -> list[str]:
    """Return the field names of the models that `path` may lead to.

    A part of the path is a field, the name of a union member, or an index into a list or mapping.
    """
    models = [model]
    for part in path:
        fields = [
            candidate.model_fields[part] for candidate in models if part in candidate.model_fields
        ]
        named = [candidate for candidate in models if candidate.__name__ == part]
        if fields:
            models = [found for field in fields for found in _models_in(field.annotation)]
        else:
            models = named or models
    return [key for candidate in models for key in candidate.model_fields]


def _key_elsewhere(path: str, model: type[BaseModel]) -> str:
    """Return the path of a key of another section with nearly this name, or that other toolkits call so; else ''."""
    name = path.rpartition(".")[2]
    found = [
        known
        for known in _paths(model)
        if get_close_matches(
            known.rpartition(".")[2],
            [_SYNONYMS.get(name, name)],
            1,
            1 if name in _SYNONYMS else 0.75,
        )
    ]
    section = path.partition(".")[0]
    return min(
        found, key=lambda known: (known.partition(".")[0] != section, known.count(".")), default=""
    )


def _paths(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the dotted paths of all keys, except inside mappings, whose keys are the user's names, and unions."""
    for key, field in model.model_fields.items():
        yield f"{prefix}{key}"
        if get_origin(field.annotation) is dict:
            inner = []
        else:
            inner = _models_in(field.annotation)
        if len(inner) == 1:
            yield from _paths(inner[0], f"{prefix}{key}.")


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models in the type of a field, through unions, lists and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [
        found for argument in getattr(annotation, "__args__", ()) for found in _models_in(argument)
    ]


class RegistryEntry(Settings):
    """The settings of an entry of a registry, which is named after its module."""

    @property
    def name(self) -> str:
        """The public name: that of the module."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_plugin_")
