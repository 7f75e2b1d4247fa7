"""Writers of the file formats that readers read."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, SettingsError
from interlace.readers import Reader
from interlace.readers.conllu import Conllu
from interlace.text import Text, TextPairs
from interlace.text.lines import write_lines

_NLI = ("gold_label", "sentence1", "sentence2")
_COLUMNS = {"iob": {"token", "tag"}, "nli": {"premise", "hypothesis", "label"}}  # settings that name columns


def write_as(reader: Reader, path: Path, chunks: Iterable[Any]) -> None:
    """Write chunks of `Text` or `TextPairs` in the format of a reader, if it has default settings; gzip by suffix."""
    if (name := reader.name) not in WRITERS:
        raise SettingsError(f"no writer for files of the reader {name!r}; expected {', '.join(sorted(WRITERS))}")
    default, columns = type(reader)().dump(), _COLUMNS.get(name, set())
    if own := [key for key, value in reader.dump().items() if key in columns and value != default[key]]:
        raise SettingsError(
            f"the reader {name!r} is set to {own[0]} = {getattr(reader, own[0])!r}; derived files are "
            "written with the default columns, so convert the file to these"
        )
    write_lines(path, WRITERS[name](chunks, reader))


def _lines(chunks: Iterable[Text], _reader: Reader) -> Iterator[str]:
    for chunk in chunks:
        yield from chunk.lines


def _conllu(chunks: Iterable[Text], reader: Reader) -> Iterator[str]:
    """CoNLL-U with ID, FORM, the tags that were read, SpaceAfter=No, and HEAD and DEPREL if the text has trees.

    Lemmas, features, other tags, enhanced arcs, multiword tokens and comments are not read, so they are not written.
    """
    universal = not isinstance(reader, Conllu) or reader.tag == "upos"
    for chunk in chunks:
        tags = chunk.tags.get("pos")
        if tags is None:
            raise DataError("no tags of kind 'pos' to write as CoNLL-U")
        for row, line in enumerate(chunk.lines):
            spans = chunk.words[row].tolist()
            arcs = [("_", "_")] * len(spans)
            if chunk.heads is not None and "deprel" in chunk.tags:
                heads = [str(head + 1) for head in chunk.heads[row].tolist()]
                arcs = list(zip(heads, chunk.tags["deprel"][row], strict=True))
            yield f"# text = {line}"
            for number, ((start, end), tag, arc) in enumerate(zip(spans, tags[row], arcs, strict=True), 1):
                touches = number < len(spans) and spans[number][0] == end
                misc = "SpaceAfter=No" if touches else "_"
                both = (tag, "_") if universal else ("_", tag)
                yield "\t".join((str(number), line[start:end], "_", *both, "_", *arc, "_", misc))
            yield ""


def _iob(chunks: Iterable[Text], _reader: Reader) -> Iterator[str]:
    for chunk in chunks:
        tags = chunk.tags.get("names")
        if tags is None:
            raise DataError("no tags of kind 'names' to write as IOB2")
        for row in range(len(chunk)):
            yield from (f"{word}\t{tag}" for word, tag in zip(chunk.tokens(row), tags[row], strict=True))
            yield ""


def _nli(chunks: Iterable[TextPairs], _reader: Reader) -> Iterator[str]:
    yield "\t".join(_NLI)
    for chunk in chunks:
        if chunk.labels is None:
            raise DataError("no labels to write as a table of premises and hypotheses")
        for cells in zip(chunk.labels, chunk.source.lines, chunk.target.lines, strict=True):
            if any("\t" in cell for cell in cells):
                raise DataError(f"the cell {next(cell for cell in cells if chr(9) in cell)!r} contains a tab")
            yield "\t".join(cells)


def _squad(chunks: Iterable[TextPairs], _reader: Reader) -> Iterator[str]:
    """SQuAD with a paragraph per run of questions on one passage; titles are not read, so there is one article."""
    questions = (question for chunk in chunks for question in _questions(chunk))
    yield '{"version": "1.1", "data": [{"title": "", "paragraphs": ['
    for number, (context, those) in enumerate(groupby(questions, key=itemgetter(0))):
        paragraph = {"context": context, "qas": [question for _, question in those]}
        yield ("," if number else "") + json.dumps(paragraph, ensure_ascii=False)
    yield "]}]}"


def _questions(chunk: TextPairs) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield passages and questions; an answer without a known position gets that of its first occurrence."""
    places = chunk.source.answers or [(-1, -1)] * len(chunk)
    texts = chunk.answers or [[] for _ in range(len(chunk))]
    for row, (context, question) in enumerate(zip(chunk.source.lines, chunk.target.lines, strict=True)):
        start, end = places[row]
        answers = [
            {"text": text, "answer_start": start if text == context[start:end] else context.find(text)}
            for text in texts[row]
        ]
        known = chunk.ids[row] if chunk.ids is not None else str(row)
        yield context, {"id": known, "question": question, "answers": answers}


WRITERS: Mapping[str, Callable[[Iterable[Any], Reader], Iterator[str]]] = {
    "lines": _lines, "conllu": _conllu, "iob": _iob, "nli": _nli, "squad": _squad,
}  # fmt: skip
