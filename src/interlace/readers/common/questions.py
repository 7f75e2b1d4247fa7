"""Extractive question answering: JSON objects of SQuAD's shape, checked as they are read, as pairs of text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, did_you_mean
from interlace.core.json_files import MAX_BYTES, parse_json
from interlace.readers.common.text import one_line, plain
from interlace.text import TextPairs
from interlace.text.lines import check_length, read_lines

NOT_FOUND = (-1, -1)  # the span of an answer that does not occur in the passage
_SURROGATES = re.compile(
    "[\ud800-\udfff]"
)  # JSON can escape half of a surrogate pair, UTF-8 cannot encode it
_TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "an integer",
    bool: "a boolean",
}


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question on a passage with its answers; `span` is that of the first answer that occurs in the passage."""

    context: str
    text: str
    key: str
    span: tuple[int, int]
    answers: list[str]


@dataclass(frozen=True)
class JsonNode:
    """A value of a JSON file and its path in the file, such as `data[3].paragraphs[0]`."""

    path: Path
    place: str
    value: Any

    def error(self, message: str) -> DataError:
        """Return an error about this value."""
        return DataError(f"{self.path}: {self.place or 'the file'}: {message}")

    def has(self, key: str) -> bool:
        """Whether the object has a key."""
        return key in self._object()

    def each(self, key: str) -> Iterator[JsonNode]:
        """Yield the elements of the list under a key."""
        place = f"{self.place}.{key}" if self.place else key
        for number, value in enumerate(self._under(key, list)):
            yield JsonNode(self.path, f"{place}[{number}]", value)

    def text(self, key: str) -> str:
        """Return the string under a key; each lone surrogate is replaced by U+FFFD."""
        return _SURROGATES.sub("\ufffd", self._under(key, str))

    def number(self, key: str) -> int:
        """Return the integer under a key."""
        return int(self._under(key, int))

    def get(self, key: str) -> Any:
        """Return the value under a key."""
        values = self._object()
        if key not in values:
            raise self.error(f"there is no {key!r}{did_you_mean(key, values)}")
        return values[key]

    def _under(self, key: str, kind: type) -> Any:
        value = self.get(key)
        if type(value) is not kind:
            raise self.error(
                f"{key!r} is {_TYPE_NAMES.get(type(value), repr(value))}, expected {_TYPE_NAMES[kind]}"
            )
        return value

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error(
                f"found {_TYPE_NAMES.get(type(self.value), repr(self.value))}, expected an object"
            )
        return self.value


def read_json(path: Path) -> JsonNode:
    """Return a JSON file, plain or gzip; raise a DataError with the line if it is missing or damaged."""
    lines = []
    size = 0
    for line in read_lines(path, MAX_BYTES):
        size += len(line)
        check_length(size, str(path), "JSON", MAX_BYTES)
        lines.append(line)
    try:
        return JsonNode(path, "", parse_json("\n".join(lines), surrogates=True, unique=True))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: invalid JSON: {error.msg}") from error
    except ValueError as error:
        raise DataError(f"{path}: invalid JSON: {error}") from None


def read_question(node: JsonNode, context: str, notes: Counter[str]) -> AnsweredQuestion:
    """Return the question in an object of SQuAD's shape: `question`, optional `answers` and `id`."""
    text = one_line(node.text("question"), notes)
    answers: list[str] = []
    first_span = NOT_FOUND
    if node.has("answers"):
        for answer_node in node.each("answers"):
            answer = one_line(answer_node.text("text"), notes)
            if answer.strip():
                answers.append(answer)
                span = _span(answer, answer_node.number("answer_start"), context, notes)
                if first_span == NOT_FOUND:
                    first_span = span
    if not answers:
        notes["questions without an answer (neither scored nor trained on)"] += 1
    elif first_span == NOT_FOUND:
        notes["questions whose answers do not occur in the passage (scored, not trained on)"] += 1
    if not text.strip():
        notes["questions without text"] += 1
    if not context.strip():
        notes["questions whose passage has no text"] += 1
    # ids may repeat, as TyDi QA's do
    return AnsweredQuestion(context, text, str(node.value.get("id", "")), first_span, answers)


def question_pairs(
    questions: list[AnsweredQuestion],
    languages: tuple[str, str],
    word_tokenizer: str,
    notes: Counter[str],
) -> TextPairs:
    """Return passages as the source and questions as the target; `languages` are in this order."""
    sides = [[item.context for item in questions], [item.text for item in questions]]
    pairs: TextPairs = plain(sides, languages, word_tokenizer, notes=notes)
    return replace(
        pairs,
        source=replace(pairs.source, answers=[item.span for item in questions]),
        answers=[item.answers for item in questions],
        ids=[item.key for item in questions],
    )


def _span(answer: str, start: int, context: str, notes: Counter[str]) -> tuple[int, int]:
    """Return the span of an answer: at `start`, or its only occurrence in the passage."""
    if start >= 0 and context.startswith(answer, start):
        return start, start + len(answer)
    occurrence = context.find(answer)
    if occurrence < 0 or context.find(answer, occurrence + 1) >= 0:
        notes["answers not found at answer_start nor at exactly one other position"] += 1
        return NOT_FOUND
    notes["answers with a wrong answer_start, moved to their only occurrence"] += 1
    return occurrence, occurrence + len(answer)
