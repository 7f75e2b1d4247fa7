"""The files that `interlace derive` writes into one folder, checked before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from interlace.core.errors import DataError
from interlace.core.files import must_be_replaceable, must_exist
from interlace.core.json_files import json_record, read_json
from interlace.derived.common.folder import META, DerivedFile, FolderFile, OriginalFiles
from interlace.derived.common.formats import reader_name
from interlace.readers import READERS
from interlace.text.lines import plain_name, read_lines


def derived_file(path: Path, reader: str = "") -> DerivedFile:
    """Return a file to write under its own name, with its alignments. reader: empty for the one that fits the file."""
    must_exist(path)
    name = reader or reader_name(path)
    settings: dict[str, Any] = {"name": name}
    if "trees" in READERS.get(name).model_fields:
        settings["trees"] = _has_trees(path)
    source = OriginalFiles(READERS.build(settings, f"--reader {name}"), (path,))
    sides = (".source", ".target") if name == "nli" else ("",)
    stem = plain_name(path).name
    return DerivedFile(path.name, source, tuple(f"{stem}{side}.alignments" for side in sides))


def _has_trees(path: Path) -> bool:
    """Whether the first word of a CoNLL-U file has a head; ranges (`1-2`) and empty nodes (`0.1`) have none."""
    for line in read_lines(path):
        cells = line.split("\t")
        if cells[0].isdigit():
            return len(cells) > 6 and cells[6].isdigit()
    return False


def check_outputs(files: Iterable[FolderFile]) -> None:
    """Raise a DataError about two files that would be written under one name; it names both."""
    names = {META: "the record of the transformations"}
    for file in files:
        origin = str(file.source.paths[0]) if isinstance(file, DerivedFile) else "the dictionary"
        for output in file.outputs:
            what = origin if output == file.path else f"the alignments of {origin}"
            if output in names:
                raise DataError(
                    f"{what} and {names[output]} would both be written as {output}; derive them separately"
                )
            names[output] = what


@json_record
class _FolderRecord(TypedDict):
    language: str
    files: list[Any]


def check_folder(into: Path, outputs: Collection[str]) -> None:
    """Reject an output that has other files than an earlier run on the same input wrote."""
    must_be_replaceable(
        into, META, "folder of a derived language", ["*"]
    )  # its files are checked here
    if not into.is_dir():
        return
    names = {path.name for path in into.iterdir()}
    if META in names:
        read_json(
            into / META, _FolderRecord, remedy=f"its {META} is of something else; give a new folder"
        )
    foreign = sorted(names - {*outputs, META})
    if foreign:
        raise DataError(
            f"{into}: contains {foreign[0]}, which would be deleted; give a new folder, or all files at once"
        )
