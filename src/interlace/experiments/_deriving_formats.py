"""Text in the formats that readers read: what files of derived languages are written as. Pure functions over chunks."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, SettingsError
from interlace.readers.conllu import Conllu
from interlace.text.lines import write_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from interlace.readers import Reader
    from interlace.text import Text, TextPairs

_NLI = ("gold_label", "sentence1", "sentence2")
_PLACES = {"iob": {"token", "tag"}, "nli": {"premise", "hypothesis", "label"}}  # settings that name columns


def write_as(reader: Reader, path: Path, chunks: Iterable[Any]) -> None:
    """Write chunks of `Text` or `TextPairs` so that the reader reads them again; gzip by suffix.

    Raises:
        SettingsError: nothing is written in its format, or its settings name columns.
        DataError: a cell holds a tab, which parts cells.
    """
    name = type(reader).__module__.rpartition(".")[2]
    if name not in WRITERS:
        message = f"files that the reader {name!r} reads cannot be made for a derived language"
        raise SettingsError(f"{message}; expected one of {', '.join(sorted(WRITERS))}")
    usual, places = type(reader)().dump(), _PLACES.get(name, set())
    if own := [key for key, value in reader.dump().items() if key in places and value != usual[key]]:
        raise SettingsError(
            f"the reader {name!r} is set to {own[0]} = {getattr(reader, own[0])!r}; files of derived languages have "
            "the usual columns, so give it files of that form"
        )
    write_lines(path, WRITERS[name](chunks, reader))


def _lines(chunks: Iterable[Text], _reader: Reader) -> Iterator[str]:
    for chunk in chunks:
        yield from chunk.lines


def _conllu(chunks: Iterable[Text], reader: Reader) -> Iterator[str]:
    """ID, FORM, the tags that were read, SpaceAfter=No, and HEAD and DEPREL where the text has its trees.

    Lemmas, features, the other tags, enhanced arcs, multiword tokens and comments are not read, and so not written.
    """
    universal = not isinstance(reader, Conllu) or reader.tag == "upos"
    for chunk in chunks:
        tags = chunk.tags.get("pos")
        if tags is None:
            raise DataError("no tags of kind 'pos' to be written as CoNLL-U")
        for row, line in enumerate(chunk.lines):
            spans = chunk.words[row].tolist()
            trees = _arcs(chunk, row)
            yield f"# text = {line}"
            for number, ((start, end), tag) in enumerate(zip(spans, tags[row], strict=True), 1):
                touches = number < len(spans) and spans[number][0] == end
                misc = "SpaceAfter=No" if touches else "_"
                arc = trees[number - 1] if trees else ("_", "_")
                both = (tag, "_") if universal else ("_", tag)
                yield "\t".join((str(number), line[start:end], "_", *both, "_", *arc, "_", misc))
            yield ""


def _arcs(chunk: Text, row: int) -> list[tuple[str, str]]:
    """HEAD and DEPREL of each word of a line; none where there are no trees."""
    if chunk.heads is None or "deprel" not in chunk.tags:
        return []
    return [
        (str(head + 1), how) for head, how in zip(chunk.heads[row].tolist(), chunk.tags["deprel"][row], strict=True)
    ]


def _iob(chunks: Iterable[Text], _reader: Reader) -> Iterator[str]:
    for chunk in chunks:
        tags = chunk.tags.get("names")
        if tags is None:
            raise DataError("no tags of kind 'names' to be written as IOB2")
        for row in range(len(chunk)):
            yield from (f"{word}\t{tag}" for word, tag in zip(chunk.tokens(row), tags[row], strict=True))
            yield ""


def _nli(chunks: Iterable[TextPairs], _reader: Reader) -> Iterator[str]:
    yield "\t".join(_NLI)
    for chunk in chunks:
        if chunk.labels is None:
            raise DataError("no labels to be written as a table of premises and hypotheses")
        for cells in zip(chunk.labels, chunk.source.lines, chunk.target.lines, strict=True):
            if any("\t" in cell for cell in cells):
                raise DataError(
                    f"a tab stands in {next(cell for cell in cells if chr(9) in cell)!r}, and parts columns"
                )
            yield "\t".join(cells)


def _squad(chunks: Iterable[TextPairs], _reader: Reader) -> Iterator[str]:
    """A paragraph for questions in a row that share a passage; titles are not read, so all stand in one article."""
    questions = (question for chunk in chunks for question in _questions(chunk))
    yield '{"version": "1.1", "data": [{"title": "", "paragraphs": ['
    for number, (context, those) in enumerate(groupby(questions, key=itemgetter(0))):
        paragraph = {"context": context, "qas": [question for _, question in those]}
        yield ("," if number else "") + json.dumps(paragraph, ensure_ascii=False)
    yield "]}]}"


def _questions(chunk: TextPairs) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Passages and questions. The answer whose place is known stands there; others where they are first found."""
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
    "lines": _lines,
    "conllu": _conllu,
    "iob": _iob,
    "nli": _nli,
    "squad": _squad,
}
