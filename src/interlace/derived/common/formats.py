"""File formats of derived languages: the reader that fits a file, and a writer for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_exist
from interlace.core.json_files import JsonObject
from interlace.derived.common.trees import heads_of
from interlace.readers import READERS, Reader
from interlace.text import Text, TextPairs
from interlace.text.lines import plain_name, read_lines, write_lines

_NLI_COLUMNS = ("gold_label", "sentence1", "sentence2")
_READERS = {".conllu": "conllu", ".json": "squad", ".iob": "iob", ".bio": "iob"}


def fitting_reader(path: Path, name: str = "") -> Reader:
    """Return the reader of a file, by default by its suffix; a treebank is read with its trees."""
    must_exist(path)
    settings: JsonObject = {"name": name or reader_name(path)}
    if settings["name"] == "conllu":
        settings["trees"] = _has_trees(path)
    return READERS.build(settings, f"--reader {settings['name']}")


def _has_trees(path: Path) -> bool:
    """Whether the first word of a CoNLL-U file has a head; ranges (`1-2`) and empty nodes (`0.1`) have none."""
    for line in read_lines(path):
        cells = line.split("\t")
        if cells[0].isdigit():
            return len(cells) > 6 and cells[6].isdigit()
    return False


def reader_name(path: Path) -> str:
    """Return the name of a file's reader by its suffix; for `.tsv` also by its first line."""
    suffix = plain_name(path).suffix
    if suffix != ".tsv":
        return _READERS.get(suffix, "lines")
    first_line = next(filter(str.strip, read_lines(path)), "")
    if re.fullmatch(r".*\S[\t ](O|[BI]-\S+)", first_line):
        return "iob"
    if {"sentence1", "premise", "sentence_A"} & set(first_line.split("\t")):
        return "nli"
    raise DataError(
        f"{path}: neither words with IOB2 tags nor a header of labelled pairs in its first line {first_line[:60]!r}; "
        "set --reader, or 'reader' in a recipe"
    )


def write_as(reader: Reader, path: Path, chunks: Iterable[Any]) -> None:
    """Write chunks of `Text` or `TextPairs` in the format of a reader; gzip by suffix."""
    name = reader.name
    if name not in WRITERS:
        names = ", ".join(sorted(WRITERS))
        raise SettingsError(f"no writer for files of the reader {name!r}; expected {names}")
    write_lines(path, WRITERS[name](chunks))


def _lines(chunks: Iterable[Text]) -> Iterator[str]:
    for chunk in chunks:
        yield from chunk.lines


def _conllu(chunks: Iterable[Text]) -> Iterator[str]:
    """CoNLL-U with ID, FORM, UPOS, SpaceAfter=No, and HEAD and DEPREL if the text has trees.

    Lemmas, features, other tags, enhanced arcs, multiword tokens and comments are not read, so they are not written.
    """
    for chunk in chunks:
        if "pos" not in chunk.tags:
            raise DataError("no tags of kind 'pos' to write as CoNLL-U")
        for row in range(len(chunk)):
            yield f"# text = {chunk.lines[row]}"
            yield from _conllu_words(chunk, row)
            yield ""


def _conllu_words(chunk: Text, row: int) -> Iterator[str]:
    spans = chunk.words[row].tolist()
    starts = {start for start, _ in spans}
    heads = heads_of(chunk, row)
    for word, form in enumerate(chunk.tokens(row)):
        tag = chunk.tags["pos"][row][word]
        tree = "_\t_"
        if heads:
            relation = chunk.tags["deprel"][row][word]
            tree = f"{heads[word] + 1}\t{relation}"
        _, end = spans[word]
        misc = "SpaceAfter=No" if end in starts else "_"
        yield f"{word + 1}\t{form}\t_\t{tag}\t_\t_\t{tree}\t_\t{misc}"


def _iob(chunks: Iterable[Text]) -> Iterator[str]:
    for chunk in chunks:
        if "names" not in chunk.tags:
            raise DataError("no tags of kind 'names' to write as IOB2")
        for row, tags in enumerate(chunk.tags["names"]):
            for word, tag in zip(chunk.tokens(row), tags, strict=True):
                yield f"{word}\t{tag}"
            yield ""


def _nli(chunks: Iterable[TextPairs]) -> Iterator[str]:
    yield "\t".join(_NLI_COLUMNS)
    for chunk in chunks:
        if chunk.labels is None:
            raise DataError("no labels to write as a table of premises and hypotheses")
        for cells in zip(chunk.labels, chunk.source.lines, chunk.target.lines, strict=True):
            for cell in cells:
                if "\t" in cell:
                    raise DataError(f"the cell {cell!r} contains a tab")
            yield "\t".join(cells)


WRITERS: Mapping[str, Callable[[Iterable[Any]], Iterator[str]]] = {
    "lines": _lines,
    "conllu": _conllu,
    "iob": _iob,
    "nli": _nli,
}
