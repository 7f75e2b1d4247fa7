"""Data sets of the Hugging Face hub: their names, and opening them with the package `datasets`.

A data set is named `hub:OWNER/NAME/CONFIGURATION/SPLIT`, followed by `@REVISION` for a revision other than `main`.
`OWNER/NAME` may be a folder. Only tables are read, so no code of a data set is ever run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interlace.core.data_root import Root
from interlace.core.errors import DataError, dependency_errors, did_you_mean
from interlace.core.files import must_hold_files
from interlace.core.hub import failure, hub_or_cache
from interlace.core.progress import current_progress
from interlace.readers import HUB, is_hub

SYNTAX = "hub:OWNER/NAME/CONFIGURATION/SPLIT[@REVISION]; CONFIGURATION is 'default' for a data set without any"
# Formats that `datasets` reads without running or unpickling; it does not check Arrow files (`ColumnTable` does).
_TABLES = {"parquet", "json", "csv", "text"}
_REMEDY = (
    "the hub may have tables of it: --revision refs/convert/parquet, or @refs/convert/parquet in the name; a gated "
    "data set needs `hf auth login`"
)


@dataclass(frozen=True)
class HubAddress:
    """The name of a data set; `repository` is its name on the hub or a folder with its files."""

    repository: str
    configuration: str
    split: str
    revision: str = ""

    @classmethod
    def parse(cls, text: str) -> HubAddress:
        """Return the address in `hub:...`; raise a ValueError if the text does not have that form."""
        path, _, revision = text.removeprefix(HUB).replace(os.sep, "/").partition("@")
        repository, *names = path.rsplit("/", 2)
        if not (text.startswith(HUB) and "/" in repository and all(names)):
            raise ValueError(f"{text!r} does not name a data set of the hub; expected {SYNTAX}")
        configuration, split = names
        return cls(repository, configuration, split, revision)

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{HUB}{self.repository}/{self.configuration}/{self.split}{revision}"

    @property
    def is_folder(self) -> bool:
        """Whether the repository is a local folder."""
        return Path(self.repository).is_dir()

    def under(self, root: Root) -> HubAddress:
        """Return the address of the repository's files under the data root if they were downloaded there."""
        folder = root / self.repository
        return replace(self, repository=str(folder)) if folder.is_dir() else self


def stored_files(path: Path) -> list[Path]:
    """Return the files that hold a data set: the path itself, or the Arrow files in the cache of `datasets`."""
    if not is_hub(path):
        return [path]
    return [Path(file["filename"]) for file in open_dataset(path).cache_files]


def open_dataset(name: Path | str) -> Any:
    """Return the split that `hub:..` names as a `datasets.Dataset`, downloaded unless it is in the cache."""
    with dependency_errors(str(name)):
        from datasets import load_dataset_builder
        from datasets.exceptions import DatasetsError
    try:
        address = HubAddress.parse(str(name))
    except ValueError as error:
        raise DataError(str(error)) from None
    try:
        return _load(address, load_dataset_builder)
    except ConnectionError as error:
        raise DataError(
            f"{address}: not in the cache, and {failure(error)}. Where there is a network, run `hf download "
            f"{address.repository} --repo-type dataset --revision {address.revision or 'main'} --local-dir "
            f"DATA_ROOT/{address.repository}`; files under the data root are used first"
        ) from error
    except (DatasetsError, OSError, ValueError, RuntimeError) as error:
        fault = first_line(error.__cause__ or error)
        raise DataError(f"{address}: {fault}; {_REMEDY}") from error


def _load(address: HubAddress, load_dataset_builder: Callable[..., Any]) -> Any:
    revision: str | None = address.revision or None
    access: AbstractContextManager[None] = hub_or_cache()
    if address.is_folder:
        must_hold_files(Path(address.repository), "**/*")
        revision = None
        access = nullcontext()
    with access:
        builder = load_dataset_builder(
            address.repository, name=address.configuration, revision=revision
        )
        if builder.name not in _TABLES:
            raise DataError(
                f"{address}: its files are of kind {builder.name!r}, not tables; {_REMEDY}"
            )
        splits = [str(split) for split in builder.config.data_files or {}]
        if address.split.partition("[")[0] not in splits:
            raise DataError(
                f"{address}: there is no split {address.split!r}{did_you_mean(address.split, splits)}"
            )
        current_progress()(f"preparing {address}", 0, 0)
        with _without_bars():
            builder.download_and_prepare()
        return builder.as_dataset(split=address.split)


@contextmanager
def _without_bars() -> Iterator[None]:
    """Hide the progress bars of `datasets` and of `huggingface_hub` within the context."""
    import datasets.utils
    import huggingface_hub.utils

    hidden: list[Any] = []
    for library in (datasets.utils, huggingface_hub.utils):
        if not library.are_progress_bars_disabled():
            library.disable_progress_bars()
            hidden.append(library)
    try:
        yield
    finally:
        for library in hidden:
            library.enable_progress_bars()


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return str(error).strip().partition("\n")[0]
