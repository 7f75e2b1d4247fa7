"""Where a tokenizer stands: a folder, a file, or a name on the Hugging Face hub."""

from __future__ import annotations

import builtins
import json
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tokenizers import Tokenizer

from interlace.core.errors import DataError, MissingDependencyError
from interlace.data import _xlm_files
from interlace.data._special import read_config
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE = "tokenizer.json"
# All that a tokenizer is made of, also those that have no `tokenizer.json`; `config.json` says of which kind it is.
_WANTED = ["*.json", "*.txt", "*.model"]
# Classes of transformers that may open a tokenizer. It takes any of its classes by name, also those of models.
_TOKENIZER_CLASS = re.compile(r"\w*(Tokenizer(Fast)?|Backend)")


def find_tokenizer(name: str) -> tuple[Tokenizer, dict[str, Any]]:
    """The tokenizer and its configuration.

    Raises:
        DataError: nothing there, damaged, or neither fast nor possible to make fast.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return _read(path), read_config(path.parent)
    if path.is_dir():
        return _opened(path)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        must_exist(path, "tokenizer")
    return _opened(fetch(name, _WANTED))


def _opened(folder: Path) -> tuple[Tokenizer, dict[str, Any]]:
    config = read_config(folder)
    if (folder / _FILE).is_file():
        return _read(folder / _FILE), config
    if _xlm_files.is_xlm(folder):
        config = {**_xlm_files.ROLES, **config}
        return _xlm_files.build(folder, config), config
    return _converted(folder), config


def _read(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust library raises plain Exception
        raise DataError(f"{path}: not a tokenizer that this version of `tokenizers` reads: {error}") from error


def fetch(name: str, wanted: list[str]) -> Path:
    """The folder of a hub repository's files: fetched, or from the downloads of before where the hub is out of reach.

    Raises:
        DataError: there is no such repository, it is closed, or neither the hub nor the downloads give it.
    """
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError as error:
        raise MissingDependencyError(f"{name!r} of the Hugging Face hub", "huggingface_hub") from error
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=wanted, ignore_patterns=["*/*"]))
    except errors.GatedRepoError as error:
        raise _refused(name, "its authors give access on its page there; then log in by `hf auth login`") from error
    except errors.RepositoryNotFoundError as error:
        raise _refused(name, "it knows no such name; a closed one needs `hf auth login`") from error
    except (errors.HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
        raise DataError(
            f"{name!r}: no folder here, not downloaded before (HF_HOME), and the hub cannot be asked: {reason}. "
            f"Fetch it where there is a network, `hf download {name} --local-dir FOLDER` (huggingface-cli in old "
            f"versions), and name FOLDER instead"
        ) from error


def _refused(name: str, reason: str) -> DataError:
    return DataError(f"{name!r}: no folder here, and the Hugging Face hub does not give it: {reason}")


def _converted(folder: Path) -> Tokenizer:
    """A tokenizer that has no `tokenizer.json`, as transformers builds it.

    Raises:
        DataError: transformers cannot, or makes one that knows no word, as it does of some kinds where nothing but
            `config.json` stands; or it can only in Python, which is far too slow to read a corpus with.
    """
    from transformers import AutoTokenizer

    if (inner := folder / "model" / _FILE).is_file():
        raise DataError(f"{folder}: holds no {_FILE}; if it is a run, name its model, {inner.parent}")
    own_code = _must_name_a_tokenizer(folder)
    try:
        with no_prompts():
            opened: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        if own_code:
            message = f"{folder}: its tokenizer is Python code of its own, which is never run"
            raise DataError(f"{message}; convert it to a {_FILE} where you trust that code") from error
        first = str(error).strip().partition("\n")[0]
        raise DataError(f"{folder}: holds no {_FILE}, and transformers opens no tokenizer there: {first}") from error
    backend = getattr(opened, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        kind = type(opened).__name__
        raise DataError(f"{folder}: {kind} has no fast form; convert it to a {_FILE} or learn a vocabulary")
    if not set(backend.get_vocab(with_added_tokens=False)) - set(opened.all_special_tokens):
        raise DataError(f"{folder}: holds no tokenizer; put the checkpoint's own {_FILE} beside its weights")
    return backend


def _must_name_a_tokenizer(folder: Path) -> bool:
    """Refuse a folder whose configuration names a class that is no tokenizer; return whether it brings Python code.

    Raises:
        DataError: the class is no tokenizer, or a configuration is damaged.
    """
    own_code = False
    for path in (folder / name for name in ("config.json", "tokenizer_config.json")):
        try:
            config = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        except ValueError as error:
            raise DataError(f"{path}: damaged JSON: {error}") from error
        config = config if isinstance(config, dict) else {}
        own_code = own_code or "auto_map" in config
        named = config.get("tokenizer_class")
        if named is not None and not (isinstance(named, str) and _TOKENIZER_CLASS.fullmatch(named)):
            raise DataError(f"{path}: tokenizer_class: expected a tokenizer of transformers (found {named!r})")
    return own_code


@contextmanager
def no_prompts() -> Iterator[None]:
    """Make a library that asks on standard input fail; transformers asks there whether to run a checkpoint's code."""
    ask = builtins.input
    builtins.input = _refuse
    try:
        yield
    finally:
        builtins.input = ask


def _refuse(prompt: object = "", /) -> NoReturn:
    raise EOFError(str(prompt))
