"""Data sets of the Hugging Face hub: how they are named in place of a path, and opened.

`hub:OWNER/NAME/CONFIGURATION/SPLIT`, behind it `@REVISION` where another than the main one is meant. A folder may stand
for `OWNER/NAME`. The package `datasets` fetches and caches; only tables are read, so nothing of a data set ever runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, MissingDependencyError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HUB = "hub:"
SHAPE = "hub:OWNER/NAME/CONFIGURATION/SPLIT, @REVISION behind it if need be; CONFIGURATION is 'default' where none is"
PARQUET = "refs/convert/parquet"  # the branch on which the hub keeps tables of data sets that are made by a program
_TABLES = {"parquet", "json", "csv", "text", "arrow"}  # what `datasets` reads without running or unpickling anything


@dataclass(frozen=True)
class Address:
    """Where a data set stands. repository: its name on the hub, or a folder with its files."""

    repository: str
    configuration: str
    split: str
    revision: str = ""

    @classmethod
    def read(cls, text: str) -> Address:
        """From `hub:..`.

        Raises:
            ValueError: it has another shape.
        """
        place, _, revision = text.removeprefix(HUB).partition("@")
        repository, configuration, split = [*place.rsplit("/", 2), "", ""][:3]
        if not (text.startswith(HUB) and "/" in repository and configuration and split):
            message = f"{text!r} names no data set of the hub; expected {SHAPE}"
            raise ValueError(message)
        return cls(repository, configuration, split, revision)

    def __str__(self) -> str:
        behind = f"@{self.revision}" if self.revision else ""
        return f"{HUB}{self.repository}/{self.configuration}/{self.split}{behind}"

    @property
    def folder(self) -> bool:
        """Whether it is a folder's, not the hub's."""
        return Path(self.repository).is_dir()

    def under(self, root: Path) -> Address:
        """That of the repository's files under the data root, where they were fetched to."""
        folder = root / self.repository
        return Address(str(folder), self.configuration, self.split, self.revision) if folder.is_dir() else self


def is_hub(path: Path | str) -> bool:
    """Whether it names a data set of the hub in place of a file."""
    return str(path).startswith(HUB)


@dataclass(frozen=True)
class DataSet:
    """A split as `datasets` opened it, a `datasets.Dataset`."""

    opened: Any

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.opened.iter(batch_size=1000):
            for values in zip(*batch.values(), strict=True):
                yield dict(zip(batch, values, strict=True))

    @cached_property
    def names(self) -> Mapping[str, list[str]]:
        """The names of numbered labels or tags, by column."""
        found = {}
        for column, feature in self.opened.features.items():
            while hasattr(feature, "feature"):  # a list of labels
                feature = feature.feature  # noqa: PLW2901 - down to what the list holds
            if hasattr(feature, "names"):
                found[column] = list(feature.names)
        return found


def open_data_set(address: Address) -> DataSet:
    """The split, fetched where it is not in the cache of `datasets` yet.

    Raises:
        MissingDependencyError: `datasets` is not installed.
        DataError: there is no such data set, configuration or split, it is no table, or the hub is out of reach.
    """
    try:
        from datasets import load_dataset_builder
        from datasets.exceptions import DatasetNotFoundError, DatasetsError
    except ModuleNotFoundError as error:
        raise MissingDependencyError(f"{address}", "datasets", "hub") from error
    try:
        builder = load_dataset_builder(
            address.repository,
            name=address.configuration,
            revision=None if address.folder else address.revision or None,
        )
        _check(address, builder)
        builder.download_and_prepare()
        return DataSet(builder.as_dataset(split=address.split))
    except DatasetNotFoundError as error:
        raise DataError(f"{address}: {_first(error)} A closed one needs `hf auth login`") from error
    except RuntimeError as error:
        raise DataError(f"{address}: {_first(error)}; {_tables(address)}") from error
    except ConnectionError as error:
        raise DataError(
            f"{address}: not fetched before, and the hub cannot be asked: {_fetch(address, error)}"
        ) from error
    except (DatasetsError, OSError, ValueError) as error:
        raise DataError(f"{address}: {_first(error.__cause__ or error)}") from error


def _check(address: Address, builder: Any) -> None:
    """Before anything is fetched: a table, and one that has the split."""
    if builder.name not in _TABLES:
        raise DataError(f"{address}: its files are of the kind {builder.name!r}, not tables; {_tables(address)}")
    splits = [str(split) for split in builder.config.data_files or {}]
    if address.split not in splits:
        raise DataError(f"{address}: there is no split {address.split!r}{did_you_mean(address.split, splits)}")


def _tables(address: Address) -> str:
    if address.folder:
        return f"fetch the tables that the hub makes of it: hf download NAME --repo-type dataset --revision {PARQUET}"
    if address.revision == PARQUET:
        return "the hub made no tables of it"
    place = f"{HUB}{address.repository}/{address.configuration}/{address.split}@{PARQUET}"
    return f"the hub may have made tables of it: {place}"


def _fetch(address: Address, error: Exception) -> str:
    revision = f" --revision {address.revision}" if address.revision else ""
    command = f"hf download {address.repository} --repo-type dataset{revision}"
    return (
        f"{_first(error)}. Fetch it where there is a network, "
        f"`{command} --local-dir DATA_ROOT/{address.repository}`; what stands under the data root is taken from there"
    )


def _first(error: BaseException) -> str:
    """The first line of what went wrong."""
    return str(error).strip().partition("\n")[0]
