"""What the rows of a table are: questions, tagged words, pairs, translations or lines; told by their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from interlace.core.errors import DataError, did_you_mean
from interlace.readers._common import joined, plain_pairs, plain_text, tagged_text
from interlace.readers._entities import begun, is_iob
from interlace.readers._json import Node
from interlace.readers._questions import as_pairs, one_line, read_question

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from interlace.readers._common import Tagged
    from interlace.readers._hub_table import Row, Table
    from interlace.readers._questions import Question
    from interlace.readers.hub import Hub
    from interlace.text import Text, TextPairs

CONTEXT = ("context", "passage_text")
QUESTION = ("question", "question_text")
ANSWERS = ("answers",)
TOKENS = ("tokens", "words")
TAGS = ("ner_tags", "upos", "pos_tags", "tags")
FIRST = ("premise", "sentence1", "source_sentence")
SECOND = ("hypothesis", "sentence2", "target_sentence")
LABEL = ("label", "gold_label")
TEXT = ("text", "sentence")
TRANSLATIONS = "translation"  # a column of texts by language

_UNNUMBERED, _UNDECIDED = -1, "-"  # how a label that is not known is written
_SEVERAL = "_"  # the tag of a word that is several to syntax, which stand behind it


@dataclass(frozen=True)
class Kind:
    """How rows of one kind are read. languages: of both sides; the same twice where there is one."""

    reader: Hub
    table: Table
    languages: tuple[str, str]
    columns: tuple[str, ...]

    several: ClassVar[bool] = False  # whether a row holds several languages

    @classmethod
    def found(cls, reader: Hub, table: Table, languages: tuple[str, str]) -> Kind | None:
        """The kind, where its columns are there."""
        columns = [_column(reader, table, name, usual) for name, usual in cls.needed().items()]
        return cls(reader, table, languages, tuple(columns)) if all(columns) else None

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        """The columns it cannot do without: setting -> usual names."""
        raise NotImplementedError

    def items(self, rows: Iterator[Row], notes: Counter[str]) -> Iterator[Any]:
        """What each row holds."""
        raise NotImplementedError

    def made(self, chunk: list[Any], notes: Counter[str]) -> Text | TextPairs:
        """A chunk of items as text."""
        raise NotImplementedError

    def named(self, column: str, row: Row, value: Any) -> str:
        """A label or a tag by its name, empty where it is not known."""
        if value is None or value == _UNNUMBERED:
            return ""
        if isinstance(value, str):
            return "" if value.strip() == _UNDECIDED else value.strip()
        if not isinstance(value, int) or value < 0:
            raise row.error(f"{column!r} is {value!r}, expected a name or a number from 0")
        names = self.reader.label_names or self.table.names.get(column, [])
        if names and value >= len(names):
            raise row.error(f"{column!r} is {value}, but there are names for {len(names)}: {', '.join(names)}")
        return names[value] if names else str(int(value))


class Questions(Kind):
    """Rows of a passage, a question and its answers."""

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        """Answers too: a question without any has an empty list."""
        return {"context": CONTEXT, "question": QUESTION, "answers": ANSWERS}

    def items(self, rows: Iterator[Row], notes: Counter[str]) -> Iterator[Question]:
        """As SQuAD's file would hold them."""
        context, question, answers = self.columns
        for row in rows:
            found = {"question": row.text(question), "answers": _answers(row, answers), "id": row.values.get("id", "")}
            node = Node(row.path, f"row {row.number}", found)
            yield read_question(node, one_line(row.text(context), notes), notes)

    def made(self, chunk: list[Question], notes: Counter[str]) -> TextPairs:
        """Passages and questions."""
        return as_pairs(chunk, self.languages, self.reader.word_tokenizer, notes)


class Tags(Kind):
    """Rows of words with a tag each."""

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        """Both lists."""
        return {"tokens": TOKENS, "tags": TAGS}

    @property
    def kind(self) -> str:
        """Of the tags."""
        auto = "names" if "ner" in self.columns[1] else "pos"
        return auto if self.reader.tag_kind == "auto" else self.reader.tag_kind

    def items(self, rows: Iterator[Row], notes: Counter[str]) -> Iterator[Tagged]:
        """The line, its words and their tags."""
        blanks = {"auto": None, "blank": True, "nothing": False}[self.reader.join]
        for row in rows:
            words = list(self._words(row, notes))
            line, spans = joined([word for word, _ in words], blanks=blanks)
            tags = [tag for _, tag in words]
            yield line, spans, begun(tags, notes) if self.kind == "names" else tags

    def _words(self, row: Row, notes: Counter[str]) -> Iterator[tuple[str, str]]:
        tokens, tags = (row.value(column) for column in self.columns)
        if not (isinstance(tokens, list) and isinstance(tags, list) and len(tokens) == len(tags)):
            named = " and ".join(map(repr, self.columns))
            raise row.error(f"{named} should be lists of one length, found {tokens!r:.60} and {tags!r:.60}")
        for token, value in zip(tokens, tags, strict=True):
            tag = self.named(self.columns[1], row, value)
            if not (isinstance(token, str) and token.strip()):
                notes["tokens of white space left out"] += 1
            elif self.kind == "names" and not is_iob(tag):
                raise row.error(f"tag {tag!r} of {token!r}, expected O, B-TYPE or I-TYPE (IOB2); numbers need names")
            elif self.kind == "pos" and tag == _SEVERAL:
                notes["multiword tokens left out, whose words stay"] += 1
            else:
                yield one_line(token.strip(), notes), tag

    def made(self, chunk: list[Tagged], notes: Counter[str]) -> Text:
        """Tagged text."""
        return tagged_text(chunk, self.languages[0], self.kind, "hub", notes)


class Pairs(Kind):
    """Rows of two texts, with or without a label."""

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        """Both texts."""
        return {"first": FIRST, "second": SECOND}

    def items(self, rows: Iterator[Row], notes: Counter[str]) -> Iterator[tuple[str, str, str]]:
        """Both texts, and the label or nothing."""
        first, second = self.columns
        label = _column(self.reader, self.table, "label", LABEL)
        for row in rows:
            name = self.named(label, row, row.value(label)) if label else ""
            yield one_line(row.text(first), notes), one_line(row.text(second), notes), name

    def made(self, chunk: list[tuple[str, str, str]], notes: Counter[str]) -> TextPairs:
        """LabeledExamples where the table has labels."""
        first, second, labels = map(list, zip(*chunk, strict=True))
        there = _column(self.reader, self.table, "label", LABEL)
        return plain_pairs(
            (first, second), self.languages, self.reader.word_tokenizer, labels if there else None, notes
        )


class Translations(Kind):
    """Rows of the same text in several languages: a column each, or all in the column `translation`."""

    several: ClassVar[bool] = True

    @classmethod
    def found(cls, reader: Hub, table: Table, languages: tuple[str, str]) -> Kind | None:
        """The kind, where every language that is asked for has its column."""
        names = tuple(reader.language_names.get(language, language) for language in languages)
        there = TRANSLATIONS in table.columns or all(name in table.columns for name in names)
        return cls(reader, table, languages, names) if there else None

    def items(self, rows: Iterator[Row], notes: Counter[str]) -> Iterator[tuple[str, str]]:
        """The text in both languages."""
        nested = TRANSLATIONS in self.table.columns
        for row in rows:
            inner = _nested(row) if nested else row
            first, second = (one_line(inner.text(column), notes) for column in self.columns)
            yield first, second

    def made(self, chunk: list[tuple[str, str]], notes: Counter[str]) -> Text | TextPairs:
        """Pairs of two languages, or lines of one."""
        first, second = map(list, zip(*chunk, strict=True))
        if self.languages[0] == self.languages[1]:
            return plain_text(first, self.languages[0], self.reader.word_tokenizer, notes=notes)
        return plain_pairs((first, second), self.languages, self.reader.word_tokenizer, notes=notes)


class Lines(Kind):
    """Rows of one text."""

    @classmethod
    def needed(cls) -> dict[str, tuple[str, ...]]:
        """The text."""
        return {"text": TEXT}

    def items(self, rows: Iterator[Row], notes: Counter[str]) -> Iterator[str]:
        """The text."""
        for row in rows:
            yield one_line(row.text(self.columns[0]), notes)

    def made(self, chunk: list[str], notes: Counter[str]) -> Text:
        """Plain text."""
        return plain_text(chunk, self.languages[0], self.reader.word_tokenizer, notes=notes)


_KINDS = {"questions": Questions, "tags": Tags, "pairs": Pairs, "translations": Translations, "lines": Lines}


def kind_of(reader: Hub, table: Table, languages: tuple[str, str]) -> Kind:
    """What the rows are read as.

    Raises:
        DataError: columns that are asked for are not there, or those of no kind are.
    """
    names = list(_KINDS) if reader.kind == "auto" else [reader.kind]
    for name in names:
        kind: Kind | None = _KINDS[name].found(reader, table, languages)
        if kind is not None:
            return kind
    what = "nothing the reader knows" if reader.kind == "auto" else f"no {reader.kind}"
    raise DataError(
        f"{table.path}: {what} in the columns {', '.join(table.columns)}; say in the reader's settings which is which"
    )


def _column(reader: Hub, table: Table, setting: str, usual: tuple[str, ...]) -> str:
    """The column that the reader names, or the one there is of the usual ones; empty where there is none."""
    named: str | None = getattr(reader, setting)
    if named is None:
        return next((name for name in usual if name in table.columns), "")
    if named not in table.columns:
        raise DataError(f"{table.path}: there is no column {named!r}{did_you_mean(named, table.columns)}")
    return named


def _answers(row: Row, column: str) -> list[dict[str, Any]]:
    """Answers as SQuAD's file has them: a list of objects, also where a table keeps an object of lists."""
    value = row.value(column)
    if isinstance(value, dict):
        texts, starts = value.get("text"), value.get("answer_start", value.get("start"))
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            return [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    if isinstance(value, list):
        return value
    raise row.error(f"{column!r} is {value!r:.60}, expected lists 'text' and 'answer_start' of one length")


def _nested(row: Row) -> Any:
    value = row.value(TRANSLATIONS)
    if not isinstance(value, dict):
        raise row.error(f"{TRANSLATIONS!r} is {value!r:.60}, expected texts by language")
    return type(row)(row.path, row.number, value)
