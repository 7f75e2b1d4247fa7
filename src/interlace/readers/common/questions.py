"""Extractive question answering: JSON objects of SQuAD's shape, as pairs of text."""

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import BeforeValidator
from typing_extensions import TypedDict

from interlace.core.errors import DataError
from interlace.core.json_files import MAX_BYTES, checked, json_record, parse_json
from interlace.readers.common.text import one_line, plain
from interlace.text import LanguagePair, TextPairs
from interlace.text.lines import check_length, read_lines

NOT_FOUND = (-1, -1)  # the span of an answer that does not occur in the passage
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question on a passage with its answers; `span` is that of the first answer that occurs in the passage."""

    context: str
    text: str
    key: str
    span: tuple[int, int]
    answers: list[str]


def _without_surrogates(value: Any) -> Any:
    """Replace each lone surrogate of a string by U+FFFD: JSON can escape it, UTF-8 cannot encode it."""
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value


_String = Annotated[str, BeforeValidator(_without_surrogates)]


@json_record
class Answer(TypedDict):
    """An answer and its first character in the passage."""

    text: _String
    answer_start: int


@json_record
class Question(TypedDict):
    """A question in SQuAD's shape; the id is any value."""

    question: _String
    answers: NotRequired[list[Answer]]
    id: NotRequired[Any]


@json_record
class _Paragraph(TypedDict):
    context: _String
    qas: list[Question]


@json_record
class _Article(TypedDict):
    paragraphs: list[_Paragraph]


@json_record
class _Squad(TypedDict):
    data: list[_Article]


def read_squad(path: Path) -> _Squad:
    """Return a file of SQuAD's shape, plain or compressed; a DataError says where it is damaged."""
    lines = []
    size = 0
    for line in read_lines(path, MAX_BYTES):
        size += len(line)
        check_length(size, str(path), "JSON", MAX_BYTES)
        lines.append(line)
    try:
        data = parse_json("\n".join(lines), surrogates=True, unique=True)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: invalid JSON: {error.msg}") from error
    except ValueError as error:
        raise DataError(f"{path}: invalid JSON: {error}") from None
    return checked(data, _Squad, str(path))


def answered_question(
    question: Question, context: str, notes: Counter[str]
) -> AnsweredQuestion:
    """Return a question with the span of its first answer that occurs in the passage."""
    text = one_line(question["question"], notes)
    answers: list[str] = []
    first_span = NOT_FOUND
    for answer in question.get("answers", []):
        answer_text = one_line(answer["text"], notes)
        if answer_text.strip():
            answers.append(answer_text)
            span = _span(answer_text, answer["answer_start"], context, notes)
            if first_span == NOT_FOUND:
                first_span = span
    if not answers:
        notes["questions without an answer (neither scored nor trained on)"] += 1
    elif first_span == NOT_FOUND:
        notes[
            "questions whose answers do not occur in the passage (scored, not trained on)"
        ] += 1
    # ids may repeat, as TyDi QA's do
    return AnsweredQuestion(context, text, str(question.get("id", "")), first_span, answers)


def question_pairs(
    questions: list[AnsweredQuestion],
    languages: LanguagePair,
    word_tokenizer: str,
) -> TextPairs:
    """Return passages as the source and questions as the target; `languages` are in this order."""
    sides = [[item.context for item in questions], [item.text for item in questions]]
    pairs: TextPairs = plain(sides, languages, word_tokenizer)
    return replace(
        pairs,
        source=replace(pairs.source, answers=[item.span for item in questions]),
        answers=[item.answers for item in questions],
        ids=[item.key for item in questions],
    )


def _span(answer: str, start: int, context: str, notes: Counter[str]) -> tuple[int, int]:
    """Return the span of an answer: at `start`, or its only occurrence in the passage."""
    if start < 0 or not context.startswith(answer, start):
        start = context.find(answer)
        if start < 0 or context.find(answer, start + 1) >= 0:
            notes["answers not found at answer_start nor at exactly one other position"] += 1
            return NOT_FOUND
        notes["answers with a wrong answer_start, moved to their only occurrence"] += 1
    return start, start + len(answer)
