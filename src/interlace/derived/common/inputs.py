"""Language and reader of files to transform, by name and content, and checks of the folder to write."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_be_replaceable, must_exist
from interlace.derived.common.folder import META, DerivedFile, OriginalFiles
from interlace.readers import READERS
from interlace.text.lines import read_lines
from interlace.text.scripts import scripts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from interlace.derived.common.folder import FolderFile

_BY_SUFFIX = {".conllu": "conllu", ".json": "squad", ".iob": "iob", ".bio": "iob"}
_TAG = re.compile(r".*\S[\t ](O|[BI]-\S+)")
_PAIRS = {"nli", "squad"}
_HEAD = 6  # column of CoNLL-U


def language_in(path: Path) -> str:
    """Return `"hi"` for `dev.hi.txt` or `dev.hi.conllu.gz`; empty if no part of the name is a known language."""
    suffixes = [suffix[1:] for suffix in reversed(path.suffixes)]
    return next((suffix for suffix in suffixes if scripts_of(suffix)), "")


def language_of(files: Sequence[Path], default: str) -> tuple[str, str]:
    """Return the language in the files' names, else the default, and the reason as a message.

    Raises:
        DataError: the names have several languages.
    """
    found = {language: path for path in files if (language := language_in(path))}
    if len(found) > 1:
        (one, first), (other, second), *_ = found.items()
        raise DataError(
            f"{first} is in {one!r} and {second} in {other!r}, by their names; derive the files of each language "
            "separately, or set --language"
        )
    if not found:
        return default, "the default"
    ((language, path),) = found.items()
    return language, f"from the name of {path}"


def reader_name(path: Path) -> str:
    """Return the reader of a file by its suffix; for `.tsv` also by its first line.

    Raises:
        DataError: a table that has neither tagged words nor labelled pairs, or the file cannot be read.
    """
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix != ".tsv":
        return _BY_SUFFIX.get(suffix, "lines")
    first = next(line for line in (*read_lines(path), "") if line.strip() or not line)
    if _TAG.fullmatch(first):
        return "iob"
    if {"sentence1", "premise", "sentence_A"} & {*first.split("\t")}:
        return "nli"
    raise DataError(
        f"{path}: neither words with IOB2 tags nor a header of labelled pairs in its first line {first[:60]!r}; "
        "set --reader"
    )


def derived_file(path: Path, reader: str = "", *, align: bool = True) -> DerivedFile:
    """Return a file to write under its own name, with its alignments.

    reader: empty for the one that fits the file.

    Raises:
        DataError: the file does not exist, or no reader fits. SettingsError: there is no such reader.
    """
    name = reader or reader_name(must_exist(path))
    settings = {"trees": _has_trees(must_exist(path))} if "trees" in READERS.get(name).model_fields else {}
    source = OriginalFiles(READERS.build({"name": name, **settings}, f"--reader {name}"), (path,))
    sides = (".source", ".target") if name in _PAIRS else ("",)
    stem = path.name.removesuffix(".gz")
    return DerivedFile(path.name, source, tuple(f"{stem}{side}.alignments" for side in sides) if align else ())


def check_outputs(files: Iterable[FolderFile]) -> None:
    """Reject files that would be written under one name.

    Raises:
        DataError: names both.
    """
    names = {META: "the record of the transformations"}
    for file in files:
        for output in file.outputs:
            kind = "the dictionary" if not isinstance(file, DerivedFile) else str(file.source.paths[0])
            what = kind if output == file.path else f"the alignments of {kind}"
            if output in names:
                raise DataError(f"{what} and {names[output]} would both be written as {output}; derive them separately")
            names[output] = what


def check_folder(into: Path, outputs: Collection[str], read: Iterable[Path]) -> None:
    """Reject a folder to write that has other files than an earlier run on the same input wrote.

    Raises:
        SettingsError: it has the input files. DataError: it has other files.
    """
    if into.resolve() in {path.resolve().parent for path in read}:
        raise SettingsError(f"--output {into}: contains the input files; give another folder")
    must_be_replaceable(into, META, "folder of a derived language")
    there = {path.name for path in into.iterdir()} if into.is_dir() else set()
    if META in there and not _is_record(into / META):
        raise DataError(f"{into}: its {META} is of something else; give a new folder")
    if lost := sorted(there - {*outputs, META}):
        raise DataError(f"{into}: contains {lost[0]}, which would be deleted; give a new folder, or all files at once")


def _is_record(path: Path) -> bool:
    try:
        record = json.loads(path.read_bytes())
    except ValueError:
        return False
    return isinstance(record, dict) and {"language", "files"} <= set(record)


def _has_trees(path: Path) -> bool:
    """Whether the first word of a CoNLL-U file has a head; ranges (`1-2`) and empty nodes (`0.1`) have none."""
    rows = (line.split("\t") for line in read_lines(path) if line[:1].isdigit())
    cells = next((cells for cells in rows if cells[0].isdigit()), [])
    return len(cells) > _HEAD and cells[_HEAD].isdigit()
