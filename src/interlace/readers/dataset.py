"""Rows with named columns: JSON Lines, Parquet and Arrow files, and data sets of the Hugging Face hub.

A data set of the hub is named `hub:OWNER/NAME/CONFIGURATION/SPLIT`, followed by `@REVISION` for a revision other than
`main`. `OWNER/NAME` may be a folder. The package `datasets` downloads and caches. Only tables are read, so no code of a
data set is ever run. A folder of `save_to_disk` is read by its Arrow files.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.display import listed
from interlace.core.errors import DataError, MissingDependencyError, did_you_mean
from interlace.core.files import must_exist, must_hold_files
from interlace.core.hub import failure, hub_or_cache
from interlace.core.json_files import parse_json
from interlace.readers import HUB, Reader, is_hub
from interlace.readers.common import text as common
from interlace.readers.common.arrow import MAX_EXPANDED, MAX_RATIO, check_messages, small_parts
from interlace.readers.common.questions import AnsweredQuestion, JsonNode, question_pairs, read_question
from interlace.text import Text, TextPairs
from interlace.text.lines import plain_name, read_lines

SYNTAX = "hub:OWNER/NAME/CONFIGURATION/SPLIT[@REVISION]; CONFIGURATION is 'default' for a data set without any"
_PARQUET = "refs/convert/parquet"  # the branch with tables that the hub makes of data sets with a loading script
# Formats that `datasets` reads without running or unpickling; it does not check Arrow files (`DatasetRows` does).
_TABLES = {"parquet", "json", "csv", "text"}
_ALIGNMENT = 64  # bytes to which parts of an Arrow file may be padded
_TRANSLATION = "translation"  # a column of texts by language
_ID = "id"  # of questions
_USUAL = {
    "context": ("context", "passage_text"),
    "question": ("question", "question_text"),
    "answers": ("answers",),
    "tokens": ("tokens", "words"),
    "tags": ("ner_tags", "upos", "pos_tags", "tags"),
    "first": ("premise", "sentence1", "source_sentence"),
    "second": ("hypothesis", "sentence2", "target_sentence"),
    "label": ("label", "gold_label"),
    "text": ("text", "sentence"),
}


def _column_field(setting: str, what: str) -> Any:
    return Field(None, description=f"Column of {what}; default: the first present of {', '.join(_USUAL[setting])}.")


class DatasetReader(Reader):
    """Questions, tagged words, pairs, translations or plain text, depending on the columns.

    Files are Parquet (`.parquet`), Arrow (`.arrow`) or else JSON Lines, which may be compressed. The usual column names
    include those of XNLI, PAWS-X, WikiANN, XTREME, SQuAD, XQuAD and MLQA; settings name others. Line feeds become
    spaces. Pairs without a label have an empty one.
    """

    kind: Literal["auto", "questions", "tags", "pairs", "translations", "lines"] = Field(
        "auto", description="What the rows are; 'auto': the first of these whose columns are present."
    )
    context: str | None = _column_field("context", "the passage")
    question: str | None = _column_field("question", "the question")
    answers: str | None = _column_field("answers", "its answers, in SQuAD's format")
    tokens: str | None = _column_field("tokens", "the words")
    tags: str | None = _column_field("tags", "their tags")
    tag_kind: Literal["auto", "names", "pos"] = Field(
        "auto", description="Entities in IOB2 or parts of speech; 'auto': entities if the column's name contains 'ner'."
    )
    join: common.Join = Field(
        "auto", description="Separator of words in the line; auto: a space, none in unspaced scripts."
    )
    first: str | None = _column_field("first", "a pair's first text")
    second: str | None = _column_field("second", "a pair's second text")
    label: str | None = _column_field("label", "the label of a pair or a line")
    label_names: list[str] = Field(
        [], description="Names of numbered labels or tags, from 0; default: those of the data set, or numbers."
    )
    text: str | None = _column_field("text", "plain text")
    language_column: str = Field("language", description="Column of the language; rows of other languages are skipped.")
    language_names: dict[str, str] = Field(
        {}, description="Language -> its name in that column, or the part before the first '-', as in TyDi QA's ids."
    )
    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Read one data set after another; the first of two languages is that of passages, or of a pair's source."""
        fits = bool(paths) and len(languages) in {1, 2}
        common.expect("dataset", "data sets of one language or two", paths, languages, fits=fits)
        for path in paths:
            table = DatasetRows.open(path)
            form = _format_of(self, table, (languages[0], languages[-1]))
            selected = self.language_column in table.columns and not form.multilingual
            used = {*form.columns, _column(self, table, "label"), self.language_column, _TRANSLATION, _ID}
            table.used = [column for column in table.columns if column and column in used]
            common.must_be_unique(dict.fromkeys(table.used), table.columns, table.path)
            rows = self._selected(table, languages[-1]) if selected else table.rows()
            notes: Counter[str] = Counter()
            items = (form.item(row, notes) for row in form.rows_with_text(rows, notes))
            names = listed(map(repr, form.text_columns))
            for chunk in common.chunks_of(items, f"{table.path}: there is no row with text in {names}"):
                yield form.text_of(chunk, notes)
                notes.clear()

    def _selected(self, table: DatasetRows, language: str) -> Iterator[JsonNode]:
        """Yield the rows of a language by their column."""
        wanted = self.language_names.get(language, language)
        others: Counter[str] = Counter()
        for row in table.rows():
            own = str(row.get(self.language_column))
            if wanted in {own, own.partition("-")[0]}:
                yield row
            else:
                others[own.partition("-")[0]] += 1
        if others.total() == table.count:
            known = listed(name for name, _ in others.most_common(12))
            raise DataError(
                f"{table.path}: no row of {wanted!r} in the column {self.language_column!r}, which holds {known}; "
                "set 'language_names' of the reader"
            )


@dataclass(frozen=True)
class HubAddress:
    """The name of a data set; `repository` is its name on the hub or a folder with its files."""

    repository: str
    configuration: str
    split: str
    revision: str = ""

    @classmethod
    def parse(cls, text: str) -> HubAddress:
        """Return the address in `hub:...`; raise a ValueError if the text does not have that form."""
        place, _, revision = text.removeprefix(HUB).partition("@")
        repository, configuration, split = [*place.rsplit("/", 2), "", ""][:3]
        if not (text.startswith(HUB) and "/" in repository and configuration and split):
            raise ValueError(f"{text!r} does not name a data set of the hub; expected {SYNTAX}")
        return cls(repository, configuration, split, revision)

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{HUB}{self.repository}/{self.configuration}/{self.split}{revision}"

    @property
    def is_folder(self) -> bool:
        """Whether the repository is a local folder."""
        return Path(self.repository).is_dir()

    def under(self, root: Root) -> HubAddress:
        """Return the address of the repository's files under the data root if they were downloaded there."""
        folder = root / self.repository
        return HubAddress(str(folder), self.configuration, self.split, self.revision) if folder.is_dir() else self


@dataclass
class DatasetRows:
    """A table that is read once.

    columns: those of the schema, or of the first row. names: names of numbered labels and tags, by column.
    contents: gives the rows with the values of some columns. used: these columns. count: rows read so far.
    """

    path: Path
    columns: list[str]
    contents: Callable[[list[str]], Iterable[Mapping[str, Any]]]
    names: Mapping[str, list[str]]
    used: list[str] = field(default_factory=list)
    count: int = 0

    @classmethod
    def open(cls, path: Path) -> DatasetRows:
        """Open the data set that `hub:..` names, or a file; raise a DataError if it is missing or damaged."""
        kind = plain_name(path).suffix
        if is_hub(path):
            dataset = open_dataset(path)
            table = cls._of_batches(
                path,
                dataset.features.arrow_schema,
                lambda names: dataset.select_columns(names).with_format("arrow").iter(1000),
            )
            if dataset.info.builder_name == "csv":
                table.columns = [_name_in_csv(name, table.columns) for name in table.columns]
            return table
        if kind in {".parquet", ".arrow"}:
            with _damage(path):
                return cls._of_batches(path, *(_parquet if kind == ".parquet" else _arrow)(must_exist(path)))
        objects = _objects(path)
        first = next(objects, {})
        return cls(path, list(first), lambda _: chain([first] if first else [], objects), {})

    @classmethod
    def _of_batches(cls, path: Path, schema: Any, batches: Callable[[list[str]], Iterable[Any]]) -> DatasetRows:
        def contents(names: list[str]) -> Iterator[Mapping[str, Any]]:
            with _damage(path):
                for batch in batches(names):
                    batch.validate(full=True)  # Arrow trusts offsets, and reads outside of a buffer or crashes
                    for part in small_parts(batch, path):
                        yield from _python_rows(part, path)

        try:
            labels = dict(_label_names(schema))
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: damaged metadata of `datasets`, expected the features: {error}") from error
        return cls(path, schema.names, contents, labels)

    def rows(self) -> Iterator[JsonNode]:
        """Yield and count all rows."""
        for values in self.contents(self.used):
            self.count += 1
            yield JsonNode(self.path, f"row {self.count}", values)


def _name_in_csv(name: str, names: list[str]) -> str:
    """Return the name of a column in the header of a CSV file: pandas reads a second `text` as `text.1`."""
    first, _, number = name.rpartition(".")
    return first if number.isdecimal() and first in names else name


_BATCH_ROWS = 1000
_MEAN_BYTES = 1 << 26  # that a batch may have if all rows are of mean length
_BATCH_BYTES = 1 << 30  # that a batch may have if all rows hold the longest value


def _python_rows(part: Any, path: Path) -> list[dict[str, Any]]:
    """Return the rows of a batch; raise a DataError that names the columns if Python has no such value."""
    try:
        rows: list[dict[str, Any]] = part.to_pylist()
    except (ValueError, OverflowError) as error:  # such as a time after the year 9999, or text that is not UTF-8
        columns = listed(f"{field.name!r} ({field.type})" for field in part.schema)
        raise DataError(f"{path}: a value in the columns {columns} cannot be read: {error}") from error
    return rows


def _parquet(path: Path) -> tuple[Any, Callable[[list[str]], Iterable[Any]]]:
    """Open a Parquet file; the more a value can hold that is stored once, the fewer rows are decoded together."""
    from pyarrow import parquet

    file = parquet.ParquetFile(path)

    def batches(names: list[str]) -> Iterable[Any]:
        rows = _BATCH_ROWS
        for group in range(file.metadata.num_row_groups):
            columns = (file.metadata.row_group(group).column(number) for number in range(file.metadata.num_columns))
            for column in columns:
                if column.path_in_schema.partition(".")[0] not in names:
                    continue
                _check_expansion(path, column)
                mean = column.total_uncompressed_size // max(column.num_values, 1)
                rows = min(rows, max(_MEAN_BYTES // max(mean, 1), 1))
                if size := _longest_value(path, column):
                    rows = min(rows, max(_BATCH_BYTES // size, 1))
        found: Iterable[Any] = file.iter_batches(rows, columns=names)
        return found

    return file.schema_arrow, batches


def _check_expansion(path: Path, column: Any) -> None:
    """Raise a DataError if a column chunk expands to more than is to be expected of its compressed size."""
    size, limit = column.total_uncompressed_size, max(MAX_EXPANDED, MAX_RATIO * column.total_compressed_size)
    if size > limit:
        name, stored = column.path_in_schema, column.total_compressed_size
        raise DataError(
            f"{path}: column {name!r} has {stored:,} bytes that expand to {size:,}; at most {limit:,} are read"
        )


def _longest_value(path: Path, column: Any) -> int:
    """Return the size that the longest repeated value of a column chunk can have in bytes; 0 if no value repeats.

    That is the size of the dictionary, which begins with its Thrift header: type, uncompressed and compressed size.
    """
    if "DELTA_BYTE_ARRAY" in column.encodings:
        return int(column.total_uncompressed_size)
    if not any("DICTIONARY" in encoding for encoding in column.encodings):
        return 0
    with path.open("rb") as file:  # old files do not tell the place of the dictionary, which comes first
        file.seek(column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset)
        header = file.read(16)
    position, size = header.find(b"\x15", 1) + 1, 0
    for shift, byte in enumerate(header[position : position + 5]):
        size |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            break
    return size >> 1  # zigzag


def _arrow(path: Path) -> tuple[Any, Callable[[list[str]], Iterable[Any]]]:
    """Open a file of the streaming format, as `datasets` writes, or of the random access format."""
    import pyarrow as pa

    source = pa.memory_map(str(path))
    start, batch_count = 0, -1
    if source.read(6) == b"ARROW1":  # a stream, and its contents
        start, batch_count = 8, pa.ipc.open_file(source).num_record_batches
    source.seek(start)
    check_messages(source, path)
    following, padding = source.size() - source.tell(), 0
    if batch_count >= 0:
        following, padding = following - _contents_size(source), _ALIGNMENT
    if following > padding:
        raise DataError(f"{path}: damaged arrow file: {following:,} bytes follow the end of the stream")
    source.seek(start)
    stream = pa.ipc.open_stream(source)

    def batches(names: list[str]) -> Iterator[Any]:
        read_count = 0
        for batch in stream:
            read_count += 1
            yield batch.select(names)
        if batch_count >= 0 and read_count != batch_count:
            raise DataError(f"{path}: damaged arrow file: {read_count} batches, but its contents name {batch_count}")

    return stream.schema, batches


def _contents_size(source: Any) -> int:
    """Return the bytes of the contents at the end of a file of the random access format, and of their size and mark."""
    source.seek(source.size() - 10)
    (size,) = struct.unpack("<i", source.read(4))
    return int(size) + 10


def _label_names(schema: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield the names of numbered labels and tags by column, from what `datasets` stores in a schema."""
    stored = parse_json((schema.metadata or {}).get(b"huggingface", b"{}"))
    for column, feature in stored.get("info", {}).get("features", {}).items():
        while isinstance(feature, list) or "feature" in feature:  # a list of labels
            feature = feature[0] if isinstance(feature, list) else feature["feature"]  # noqa: PLW2901 - unwrap the list
        if "names" in feature:
            yield column, list(map(str, feature["names"]))


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Convert errors of pyarrow."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError, struct.error) as error:
        raise DataError(f"{path}: damaged {path.suffix[1:]} file: {_first_line(error)}") from error


@dataclass(frozen=True)
class _RowFormat(ABC):
    """Reads rows of one kind. `languages` are those of both sides, the same twice for monolingual rows."""

    reader: DatasetReader
    table: DatasetRows
    languages: tuple[str, str]
    columns: tuple[str, ...]

    required: ClassVar[tuple[str, ...]] = ()  # settings that name the columns
    multilingual: ClassVar[bool] = False

    @classmethod
    def match(cls, reader: DatasetReader, table: DatasetRows, languages: tuple[str, str]) -> _RowFormat | None:
        """Return the format if the table has its columns."""
        columns = [_column(reader, table, name) for name in cls.required]
        return cls(reader, table, languages, tuple(columns)) if all(columns) else None

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns without whose values a row is left out."""
        return self.columns

    def rows_with_text(self, rows: Iterable[JsonNode], notes: Counter[str]) -> Iterator[JsonNode]:
        """Yield the rows whose text is not null, and count the others."""
        for row in rows:
            values = self.texts_of(row)
            if any(values.has(column) and values.get(column) is None for column in self.text_columns):
                notes["rows without text (null) left out"] += 1
            else:
                yield row

    def texts_of(self, row: JsonNode) -> JsonNode:
        """Return the object that holds the text columns."""
        return row

    @abstractmethod
    def item(self, row: JsonNode, notes: Counter[str]) -> Any:
        """Return the contents of a row."""

    @abstractmethod
    def text_of(self, chunk: list[Any], notes: Counter[str]) -> Text | TextPairs:
        """Return a chunk of items as text."""

    def plain(self, sides: list[list[str]], notes: Counter[str], labels: list[str] | None = None) -> Any:
        """Return one side as text, two as pairs."""
        return common.plain(sides, self.languages, self.reader.word_tokenizer, labels, notes)

    def label_name(self, column: str, row: JsonNode, value: Any) -> str:
        """Return the name of a label or a tag, empty if it is missing (-1 or '-')."""
        if value is None or value == -1:
            return ""
        if isinstance(value, str):
            return "" if value.strip() == "-" else value.strip()
        if not isinstance(value, int) or value < 0:
            raise row.error(f"{column!r} is {value!r}, expected a name or a number from 0")
        names = self.reader.label_names or self.table.names.get(column, [])
        if names and value >= len(names):
            raise row.error(f"{column!r} is {value}, but there are {len(names)} names: {listed(names)}")
        return names[value] if names else str(int(value))


class _QuestionRows(_RowFormat):
    """A passage, a question and its answers per row; a question without an answer has an empty list."""

    required = ("context", "question", "answers")

    @property
    def text_columns(self) -> tuple[str, ...]:
        return self.columns[:2]

    def item(self, row: JsonNode, notes: Counter[str]) -> AnsweredQuestion:
        context, question, answers = self.columns
        found = {"question": row.text(question), "answers": _answers(row, answers), "id": row.value.get(_ID, "")}
        return read_question(replace(row, value=found), common.one_line(row.text(context), notes), notes)

    def text_of(self, chunk: list[AnsweredQuestion], notes: Counter[str]) -> TextPairs:
        return question_pairs(chunk, self.languages, self.reader.word_tokenizer, notes)


class _TaggedRows(_RowFormat):
    """Words and a tag for each per row."""

    required = ("tokens", "tags")

    @property
    def kind(self) -> str:
        auto = "names" if "ner" in self.columns[1] else "pos"
        return auto if self.reader.tag_kind == "auto" else self.reader.tag_kind

    def item(self, row: JsonNode, notes: Counter[str]) -> common.TaggedLine:
        words = list(self._words(row, notes))
        line, spans = common.join_tokens([word for word, _ in words], self.reader.join)
        tags = [tag for _, tag in words]
        return line, spans, common.repaired_iob(tags, notes) if self.kind == "names" else tags

    def _words(self, row: JsonNode, notes: Counter[str]) -> Iterator[tuple[str, str]]:
        tokens, tags = (row.get(column) for column in self.columns)
        if not (isinstance(tokens, list) and isinstance(tags, list) and len(tokens) == len(tags)):
            names = " and ".join(map(repr, self.columns))
            raise row.error(f"{names} should be lists of one length, found {tokens!r:.60} and {tags!r:.60}")
        for token, value in zip(tokens, tags, strict=True):
            tag = self.label_name(self.columns[1], row, value)
            if not (isinstance(token, str) and token.strip()):
                notes["tokens of white space left out"] += 1
            elif self.kind == "names" and not common.is_iob(tag):
                raise row.error(f"tag {tag!r} of {token!r}, expected O, B-TYPE or I-TYPE (IOB2); numbers need names")
            elif self.kind == "pos" and tag == "_":
                notes["multiword tokens left out, their words kept"] += 1
            else:
                yield common.one_line(token.strip(), notes), tag

    def text_of(self, chunk: list[common.TaggedLine], notes: Counter[str]) -> Text:
        return common.tagged_text(chunk, self.languages[0], self.kind, "dataset", notes)


class _PairRows(_RowFormat):
    """Two texts per row, with or without a label."""

    required = ("first", "second")

    def item(self, row: JsonNode, notes: Counter[str]) -> tuple[str, str, str]:
        first, second = (common.one_line(row.text(column), notes) for column in self.columns)
        return first, second, self.label_name(self.label, row, row.get(self.label)) if self.label else ""

    def text_of(self, chunk: list[tuple[str, str, str]], notes: Counter[str]) -> Any:
        first, second, labels = map(list, zip(*chunk, strict=True))
        return self.plain([first, second], notes, labels if self.label else None)

    @cached_property
    def label(self) -> str:
        """The column of labels, empty if there is none."""
        return _column(self.reader, self.table, "label")


class _TranslationRows(_RowFormat):
    """The same text in several languages per row: a column each, or all in the column `translation`."""

    multilingual = True

    @classmethod
    def match(cls, reader: DatasetReader, table: DatasetRows, languages: tuple[str, str]) -> _RowFormat | None:
        """Return the format if every language has its column."""
        names = tuple(reader.language_names.get(language, language) for language in languages)
        present = _TRANSLATION in table.columns or all(name in table.columns for name in names)
        return cls(reader, table, languages, names) if present else None

    def texts_of(self, row: JsonNode) -> JsonNode:
        if _TRANSLATION not in self.table.columns:
            return row
        texts = row.get(_TRANSLATION)
        if texts is None:
            texts = dict.fromkeys(self.columns)
        if not isinstance(texts, dict):
            raise row.error(f"{_TRANSLATION!r} is {texts!r:.60}, expected texts by language")
        return replace(row, value=texts)

    def item(self, row: JsonNode, notes: Counter[str]) -> list[str]:
        texts = self.texts_of(row)
        return [common.one_line(texts.text(column), notes) for column in self.columns]

    def text_of(self, chunk: list[list[str]], notes: Counter[str]) -> Any:
        sides = list(map(list, zip(*chunk, strict=True)))
        if self.languages[0] == self.languages[1]:
            sides = sides[:1]
        return self.plain(sides, notes)


class _TextRows(_RowFormat):
    """One text per row."""

    required = ("text",)

    def item(self, row: JsonNode, notes: Counter[str]) -> str:
        return common.one_line(row.text(self.columns[0]), notes)

    def text_of(self, chunk: list[str], notes: Counter[str]) -> Any:
        return self.plain([chunk], notes)


_FORMATS: dict[str, type[_RowFormat]] = {
    "questions": _QuestionRows,
    "tags": _TaggedRows,
    "pairs": _PairRows,
    "translations": _TranslationRows,
    "lines": _TextRows,
}


def _format_of(reader: DatasetReader, table: DatasetRows, languages: tuple[str, str]) -> _RowFormat:
    names = list(_FORMATS) if reader.kind == "auto" else [reader.kind]
    for name in names:
        rows = _FORMATS[name].match(reader, table, languages)
        if rows is not None:
            return rows
    what = "nothing the reader knows" if reader.kind == "auto" else f"no {reader.kind}"
    raise DataError(
        f"{table.path}: {what} in the columns {listed(table.columns)}; name the columns in the reader's settings"
    )


def _column(reader: DatasetReader, table: DatasetRows, setting: str) -> str:
    """Return the column that the reader names, or the first usual one that is present; else an empty string."""
    named: str | None = getattr(reader, setting)
    if named is None:
        return next((name for name in _USUAL[setting] if name in table.columns), "")
    if named not in table.columns:
        raise DataError(f"{table.path}: there is no column {named!r}{did_you_mean(named, table.columns)}")
    return named


def _answers(row: JsonNode, column: str) -> list[dict[str, Any]]:
    """Return answers as in SQuAD's file, a list of objects; tables may store an object of lists."""
    value = row.get(column)
    if isinstance(value, dict):
        texts, starts = value.get("text"), value.get("answer_start", value.get("start"))
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            return [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    if isinstance(value, list):
        return value
    raise row.error(f"{column!r} is {value!r:.60}, expected lists 'text' and 'answer_start' of one length")


def _objects(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the object on each non-empty line."""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            found = parse_json(line, unique=True)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: invalid JSON: {error}") from error
        if not isinstance(found, dict):
            raise DataError(f"{path}, line {number}: {line[:60]!r}; expected an object with a value for each column")
        yield found


def stored_files(path: Path) -> list[Path]:
    """Return the files that hold a data set: the path itself, or the Arrow files in the cache of `datasets`."""
    if not is_hub(path):
        return [path]
    return [Path(file["filename"]) for file in open_dataset(path).cache_files]


def open_dataset(name: Path | str) -> Any:
    """Return the split that `hub:..` names as a `datasets.Dataset`, downloaded unless it is in the cache."""
    try:
        address = HubAddress.parse(str(name))
        from datasets import load_dataset_builder
        from datasets.exceptions import DatasetNotFoundError, DatasetsError
    except ModuleNotFoundError as error:
        raise MissingDependencyError(f"{name}", "datasets", "hub") from error
    except ValueError as error:
        raise DataError(str(error)) from None
    revision = None if address.is_folder else address.revision or None
    try:
        if address.is_folder:
            must_hold_files(Path(address.repository), "**/*")
        with nullcontext() if address.is_folder else hub_or_cache():
            builder = load_dataset_builder(address.repository, name=address.configuration, revision=revision)
            _check_builder(address, builder)
            builder.download_and_prepare()
            return builder.as_dataset(split=address.split)
    except DatasetNotFoundError as error:
        raise DataError(f"{address}: {_first_line(error)} A gated one needs `hf auth login`") from error
    except RuntimeError as error:
        raise DataError(f"{address}: {_first_line(error)}; {_parquet_hint(address)}") from error
    except ConnectionError as error:
        options = "--repo-type dataset" + (f" --revision {address.revision}" if address.revision else "")
        raise DataError(
            f"{address}: not in the cache, and {failure(error)}. Where there is a "
            f"network, run `hf download {address.repository} {options} --local-dir DATA_ROOT/{address.repository}`; "
            f"files under the data root are used first"
        ) from error
    except (DatasetsError, OSError, ValueError) as error:
        raise DataError(f"{address}: {_first_line(error.__cause__ or error)}") from error


def _check_builder(address: HubAddress, builder: Any) -> None:
    """Raise a DataError before any download unless the files are tables and the split exists."""
    if builder.name not in _TABLES:
        raise DataError(f"{address}: its files are of kind {builder.name!r}, not tables; {_parquet_hint(address)}")
    splits = [str(split) for split in builder.config.data_files or {}]
    if address.split not in splits:
        raise DataError(f"{address}: there is no split {address.split!r}{did_you_mean(address.split, splits)}")


def _parquet_hint(address: HubAddress) -> str:
    if address.is_folder:
        return f"download the hub's tables of it: hf download NAME --repo-type dataset --revision {_PARQUET}"
    if address.revision == _PARQUET:
        return "the hub has no tables of it"
    return f"the hub may have tables of it: {replace(address, revision=_PARQUET)}"


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
