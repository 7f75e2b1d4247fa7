"""File formats of derived languages: the reader that fits a file, and a writer for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, SettingsError
from interlace.readers import Reader
from interlace.text import Text, TextPairs
from interlace.text.lines import plain_name, read_lines, write_lines

_NLI_COLUMNS = ("gold_label", "sentence1", "sentence2")
_COLUMN_SETTINGS = {"iob": {"token", "tag"}, "nli": {"premise", "hypothesis", "label"}}
_READERS = {".conllu": "conllu", ".json": "squad", ".iob": "iob", ".bio": "iob"}


def reader_name(path: Path) -> str:
    """Return the reader of a file by its suffix; for `.tsv` also by its first line."""
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
    """Write chunks of `Text` or `TextPairs` in the format of a reader, if it has default settings; gzip by suffix."""
    name = reader.name
    if name not in WRITERS:
        raise SettingsError(
            f"no writer for files of the reader {name!r}; expected {', '.join(sorted(WRITERS))}"
        )
    default = type(reader)().dump()
    for setting, value in reader.dump().items():
        if setting in _COLUMN_SETTINGS.get(name, ()) and value != default[setting]:
            raise SettingsError(
                f"the reader {name!r} is set to {setting} = {value!r}; derived files are written with the default "
                "columns, so convert the file to these"
            )
    write_lines(path, WRITERS[name](chunks, reader))


def _lines(chunks: Iterable[Text], _reader: Reader) -> Iterator[str]:
    for chunk in chunks:
        yield from chunk.lines


def _conllu(chunks: Iterable[Text], _reader: Reader) -> Iterator[str]:
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
    line = chunk.lines[row]
    spans = chunk.words[row].tolist()
    heads = ["_"] * len(spans)
    relations = heads
    if chunk.heads is not None and "deprel" in chunk.tags:
        heads = [str(head + 1) for head in chunk.heads[row].tolist()]
        relations = chunk.tags["deprel"][row]
    for word, (start, end) in enumerate(spans):
        tag = chunk.tags["pos"][row][word]
        touches_next = word + 1 < len(spans) and spans[word + 1][0] == end
        misc = "SpaceAfter=No" if touches_next else "_"
        cells = [
            str(word + 1),
            line[start:end],
            "_",
            tag,
            "_",
            "_",
            heads[word],
            relations[word],
            "_",
            misc,
        ]
        yield "\t".join(cells)


def _iob(chunks: Iterable[Text], _reader: Reader) -> Iterator[str]:
    for chunk in chunks:
        if "names" not in chunk.tags:
            raise DataError("no tags of kind 'names' to write as IOB2")
        for row, tags in enumerate(chunk.tags["names"]):
            for word, tag in zip(chunk.tokens(row), tags, strict=True):
                yield f"{word}\t{tag}"
            yield ""


def _nli(chunks: Iterable[TextPairs], _reader: Reader) -> Iterator[str]:
    yield "\t".join(_NLI_COLUMNS)
    for chunk in chunks:
        if chunk.labels is None:
            raise DataError("no labels to write as a table of premises and hypotheses")
        for cells in zip(chunk.labels, chunk.source.lines, chunk.target.lines, strict=True):
            for cell in cells:
                if "\t" in cell:
                    raise DataError(f"the cell {cell!r} contains a tab")
            yield "\t".join(cells)


WRITERS: Mapping[str, Callable[[Iterable[Any], Reader], Iterator[str]]] = {
    "lines": _lines,
    "conllu": _conllu,
    "iob": _iob,
    "nli": _nli,
}
