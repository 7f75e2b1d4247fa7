"""Where a tokenizer stands: a folder, a file, or a name on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from interlace.data._special import CONFIG_FILES
from interlace.errors import DataError, MissingDependencyError
from interlace.text.lines import must_exist

_FILE = "tokenizer.json"


def find_tokenizer(name: str) -> tuple[Tokenizer, Path | None]:
    """The tokenizer and the folder of its configuration.

    Raises:
        DataError: nothing there, damaged, or neither fast nor possible to make fast.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return _read(path), path.parent
    if path.is_dir():
        return (_read(path / _FILE) if (path / _FILE).is_file() else _converted(str(path))), path
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        must_exist(path, "tokenizer")
    folder = _downloaded(name)
    return (_read(folder / _FILE) if folder is not None else _converted(name)), folder


def _read(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust library raises plain Exception
        raise DataError(f"{path}: not a tokenizer that this version of `tokenizers` reads: {error}") from error


def _downloaded(name: str) -> Path | None:
    """The folder of the hub's files, or None where the repository has no fast tokenizer.

    Raises:
        DataError: there is no such repository, or the hub cannot be reached.
    """
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise MissingDependencyError(f"the tokenizer {name!r} of the hub", "huggingface_hub") from error

    def fetch(file: str) -> str | None:
        try:
            return hf_hub_download(name, file)
        except LocalEntryNotFoundError:  # a subclass of the next, but it means: not here, and the hub out of reach
            raise
        except EntryNotFoundError:
            return None

    try:
        for file in CONFIG_FILES:
            fetch(file)
        found = fetch(_FILE)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise DataError(f"no folder {name!r} here, and no such tokenizer could be had from the hub: {first}") from error
    return Path(found).parent if found is not None else None


def _converted(name: str) -> Tokenizer:
    """A tokenizer that has no `tokenizer.json`, as transformers builds it.

    Raises:
        DataError: transformers cannot, or can only in Python, which is far too slow to read a corpus with.
    """
    from transformers import AutoTokenizer

    try:
        opened: Any = AutoTokenizer.from_pretrained(name)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise DataError(f"{name}: holds no {_FILE}, and transformers opens no tokenizer there: {first}") from error
    backend = getattr(opened, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        kind = type(opened).__name__
        raise DataError(f"{name}: {kind} has no fast form; convert it to a {_FILE} or learn a vocabulary")
    return backend
