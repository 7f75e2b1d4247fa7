"""Rows with named columns: JSON Lines and Parquet files, and data sets of the Hugging Face hub.

A data set of the hub is named `hub:OWNER/NAME/CONFIGURATION/SPLIT`, followed by `@REVISION` for a revision other than
`main`. `OWNER/NAME` may be a folder. The package `datasets` downloads and caches. Only tables are read, so no code of a
data set is ever run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError, did_you_mean
from interlace.core.json_files import checked
from interlace.readers import TokenizingReader
from interlace.readers.common import text as common
from interlace.readers.common.questions import (
    Answer,
    AnsweredQuestion,
    Question,
    answered_question,
    question_pairs,
)
from interlace.readers.common.tables import ColumnTable, Row
from interlace.text import LanguagePair, Text, TextPairs

_TRANSLATION = "translation"  # a column of texts by language
_ID = "id"  # of questions
_USUAL = {
    "context": ("context",),
    "question": ("question",),
    "answers": ("answers",),
    "tokens": ("tokens", "words"),
    "tags": ("ner_tags", "upos", "pos_tags", "tags"),
    "first": ("premise", "sentence1", "source_sentence"),
    "second": ("hypothesis", "sentence2", "target_sentence"),
    "label": ("label", "gold_label"),
    "text": ("text", "sentence"),
}


def _column_field(setting: str, what: str) -> Any:
    return Field(
        None,
        description=f"Column of {what}; default: the first present of {', '.join(_USUAL[setting])}.",
    )


class DatasetReader(TokenizingReader):
    """Questions, tagged words, pairs, translations or plain text: the first of these whose columns are present.

    Files are Parquet (`.parquet`) or else JSON Lines, which may be compressed. The usual column names
    include those of XNLI, PAWS-X, WikiANN, XTREME, SQuAD, XQuAD and MLQA; settings name others. Tags are entities in
    IOB2 if their column's name contains `ner`, else parts of speech. Line feeds become spaces. Pairs without a label
    have an empty one.
    """

    first: str | None = _column_field("first", "a pair's first text")
    second: str | None = _column_field("second", "a pair's second text")
    text: str | None = _column_field("text", "plain text")
    language_column: str = Field(
        "language", description="Column of the language; rows of other languages are skipped."
    )
    language_names: dict[str, str] = Field(
        {},
        description="Language -> its name in that column, or the part before the first '-', as in TyDi QA's ids.",
    )

    def read_chunks(
        self, paths: list[Path], languages: list[str]
    ) -> Iterator[Text | TextPairs]:
        """Read one data set after another; the first of two languages is that of passages, or of a pair's source."""
        common.check_files(self, paths, languages)
        for path in paths:
            table = ColumnTable.open(path)
            row_format = _format_of(self, table, (languages[0], languages[-1]))
            notes: Counter[str] = Counter()
            items = self._items(table, row_format, notes)
            is_empty = True
            for chunk in common.chunks_of(items):
                is_empty = False
                yield replace(row_format.text_of(chunk), notes=dict(notes))
                notes.clear()
            if is_empty:
                names = listed(map(repr, row_format.columns))
                raise DataError(f"{path}: there is no row with text in {names}")

    def _items(
        self, table: ColumnTable, row_format: _RowFormat, notes: Counter[str]
    ) -> Iterator[Any]:
        """Yield what the format makes of each row with text."""
        used_columns = {*row_format.columns, row_format.label, self.language_column}
        used_columns |= {_TRANSLATION, _ID}
        columns = [column for column in table.columns if column in used_columns]
        common.must_be_unique(columns, table.columns, table.path)
        rows: Iterable[Row] = table.rows(columns)
        if row_format.columns[0] not in table.columns:
            rows = (_translations(row, row_format.columns) for row in rows)
        elif self.language_column in table.columns:
            rows = self._of_language(row_format.languages[-1], rows, table)
        for row in rows:
            if any(row.values.get(column, "") is None for column in row_format.columns[:2]):
                notes["rows without text (null) left out"] += 1
            else:
                yield row_format.item(row, notes)

    def _of_language(
        self, language: str, rows: Iterable[Row], table: ColumnTable
    ) -> Iterator[Row]:
        """Yield the rows of a language by their column."""
        language_name = self.language_names.get(language, language)
        other_languages: Counter[str] = Counter()
        for row in rows:
            value = str(row.values.get(self.language_column))
            prefix = value.partition("-")[0]
            if language_name in {value, prefix}:
                yield row
            else:
                other_languages[prefix] += 1
        if other_languages.total() == table.count:
            known = listed(name for name, _ in other_languages.most_common(12))
            raise DataError(
                f"{table.path}: no row of {language_name!r} in the column {self.language_column!r}, which holds "
                f"{known}; set 'language_names' of the reader"
            )


@dataclass(frozen=True)
class _RowFormat(ABC):
    """Reads rows of one kind.

    languages: of both sides, the same twice for monolingual rows. columns: without a value in the first two, a row is
    left out. label: the column of labels, empty if there is none.
    """

    reader: DatasetReader
    table: ColumnTable
    languages: LanguagePair
    columns: tuple[str, ...]
    label: str

    needs: ClassVar[tuple[str, ...]] = ()  # keys of `_USUAL`

    @abstractmethod
    def item(self, row: Row, notes: Counter[str]) -> Any:
        """Return the contents of a row."""

    @abstractmethod
    def text_of(self, chunk: list[Any]) -> Text | TextPairs:
        """Return a chunk of items as text."""

    def label_name(self, column: str, row: Row, value: object) -> str:
        """Return the name of a label or a tag, empty if it is missing (-1 or '-')."""
        if value is None or value == -1:
            return ""
        if isinstance(value, str):
            return "" if value.strip() == "-" else value.strip()
        if not isinstance(value, int) or value < 0:
            raise row.error(f"{column!r} is {value!r}, expected a name or a number from 0")
        names = self.table.names.get(column, [])
        if not names:
            return str(int(value))
        if value >= len(names):
            raise row.error(
                f"{column!r} is {value}, but there are {len(names)} names: {listed(names)}"
            )
        return names[value]


class _QuestionRows(_RowFormat):
    """A passage, a question and its answers per row; a question without an answer has an empty list."""

    needs = ("context", "question", "answers")

    def item(self, row: Row, notes: Counter[str]) -> AnsweredQuestion:
        question: Question = {
            "question": row.text("question"),
            "answers": _answers(row),
            "id": row.values.get(_ID, ""),
        }
        return answered_question(question, common.one_line(row.text("context"), notes), notes)

    def text_of(self, chunk: list[AnsweredQuestion]) -> TextPairs:
        return question_pairs(chunk, self.languages, self.reader.word_tokenizer)


class _TaggedRows(_RowFormat):
    """Words and a tag for each per row."""

    needs = ("tokens", "tags")

    @property
    def kind(self) -> str:
        """The key of the tags."""
        return "names" if "ner" in self.columns[1] else "pos"

    def item(self, row: Row, notes: Counter[str]) -> common.TaggedLine:
        words: list[str] = []
        tags: list[str] = []
        for word, tag in self._words(row, notes):
            words.append(word)
            tags.append(tag)
        line, spans = common.join_tokens(words)
        if self.kind == "names":
            tags = common.repaired_iob(tags, notes)
        return common.TaggedLine(line, spans, tags)

    def _words(self, row: Row, notes: Counter[str]) -> Iterator[tuple[str, str]]:
        """Yield each word and its tag."""
        tokens = row.get(self.columns[0])
        tags = row.get(self.columns[1])
        are_lists = isinstance(tokens, list) and isinstance(tags, list)
        if not are_lists or len(tokens) != len(tags):
            names = " and ".join(map(repr, self.columns))
            raise row.error(
                f"{names} are {tokens!r:.60} and {tags!r:.60}; expected equal lengths"
            )
        for token, value in zip(tokens, tags, strict=True):
            tag = self.label_name(self.columns[1], row, value)
            is_word = isinstance(token, str) and bool(token.strip())
            if not is_word:
                notes["tokens of white space left out"] += 1
            elif self.kind == "names" and not common.is_iob(tag):
                raise row.error(
                    f"tag {tag!r} of {token!r}, expected O, B-TYPE or I-TYPE (IOB2); numbers need names"
                )
            elif self.kind == "pos" and tag == "_":
                notes["multiword tokens left out, their words kept"] += 1
            else:
                yield common.one_line(token.strip(), notes), tag

    def text_of(self, chunk: list[common.TaggedLine]) -> Text:
        return common.tagged_text(chunk, self.languages[0], self.kind, "dataset")


class _PairRows(_RowFormat):
    """Two texts per row, with or without a label."""

    needs = ("first", "second")

    def item(self, row: Row, notes: Counter[str]) -> list[str]:
        cells = [common.one_line(row.text(column), notes) for column in self.columns]
        if self.label:
            cells.append(self.label_name(self.label, row, row.get(self.label)))
        return cells

    def text_of(self, chunk: list[list[str]]) -> Text | TextPairs:
        sides = common.columns_of(chunk)
        labels = sides.pop() if self.label else None
        return common.plain(sides, self.languages, self.reader.word_tokenizer, labels)


class _TextRows(_RowFormat):
    """One text per row: no list for each, which the garbage collector would visit."""

    needs = ("text",)

    def item(self, row: Row, notes: Counter[str]) -> str:
        return common.one_line(row.text(self.columns[0]), notes)

    def text_of(self, chunk: list[str]) -> Text:
        return common.plain([chunk], self.languages, self.reader.word_tokenizer)


def _translations(row: Row, languages: Iterable[str]) -> Row:
    """Return a row with the texts in the column `translation`."""
    texts = row.get(_TRANSLATION)
    if texts is None:
        texts = dict.fromkeys(languages)
    if not isinstance(texts, dict):
        raise row.error(f"{_TRANSLATION!r} is {texts!r:.60}, expected texts by language")
    return Row(row.path, row.number, texts)


def _format_of(
    reader: DatasetReader, table: ColumnTable, languages: LanguagePair
) -> _RowFormat:
    label = _column(reader, table, "label")
    for row_format in (_QuestionRows, _TaggedRows, _PairRows):
        columns = tuple(_column(reader, table, name) for name in row_format.needs)
        if all(columns):
            return row_format(reader, table, languages, columns, label)
    columns = tuple(
        reader.language_names.get(language, language) for language in dict.fromkeys(languages)
    )
    text_column = _column(reader, table, "text")
    if _TRANSLATION in table.columns or all(name in table.columns for name in columns):
        if len(columns) == 2:
            return _PairRows(reader, table, languages, columns, "")
        text_column = columns[0]
    if text_column:
        return _TextRows(reader, table, languages, (text_column,), "")
    raise DataError(
        f"{table.path}: nothing the reader knows in the columns {listed(table.columns)}; name the columns in the "
        "reader's settings"
    )


def _column(reader: DatasetReader, table: ColumnTable, setting: str) -> str:
    """Return the column that the reader names, or the first usual one that is present; else an empty string."""
    column: str | None = getattr(reader, setting, None)
    if column is None:
        return next((name for name in _USUAL[setting] if name in table.columns), "")
    if column not in table.columns:
        raise DataError(
            f"{table.path}: there is no column {column!r}{did_you_mean(column, table.columns)}"
        )
    return column


def _answers(row: Row) -> list[Answer]:
    """Return answers as in SQuAD's file, a list of objects; tables may store an object of lists."""
    value = row.get("answers")
    if isinstance(value, dict):
        texts = value.get("text")
        starts = value.get("answer_start")
        if not (
            isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts)
        ):
            raise row.error(f"'answers' is {value!r:.60}; expected 'text' and 'answer_start'")
        value = []
        for text, start in zip(texts, starts, strict=True):
            value.append({"text": text, "answer_start": start})
    return checked(value, list[Answer], f"{row.path}: row {row.number}: 'answers'")
