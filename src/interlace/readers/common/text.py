"""What several readers share: chunks of lines as `Text` and `TextPairs`, tagged tokens, tab-separated tables, XML."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TypeVar
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate
from xml.parsers.expat.errors import XML_ERROR_UNDEFINED_ENTITY, codes

from interlace import readers
from interlace.core.display import listed
from interlace.core.errors import DataError, did_you_mean
from interlace.core.ragged import Ragged
from interlace.text import Text, TextPairs
from interlace.text.lines import binary_format, check_length, read_blocks, read_lines
from interlace.text.scripts import is_unspaced

T = TypeVar("T")

TaggedLine = tuple[str, list[tuple[int, int]], list[str]]  # a line, the spans of its words, their tags
Join = Literal["auto", "space", "none"]
_OUTSIDE = "O"
_STEP = 100  # items whose length is taken together
_CHUNK_CHARACTERS = 1 << 22  # of a chunk of long lines
_MAX_TOKENS = 100_000  # of a sentence
_MAX_DEPTH = 100  # of elements of XML around those that are read


def expect(reader: str, takes: str, paths: Sequence[Path], languages: Sequence[str], *, fits: bool) -> None:
    """Raise a DataError unless the files and languages fit a reader, which `takes` says."""
    if not fits:
        raise DataError(
            f"the reader {reader!r} takes {takes}; found {len(paths)} files for {len(languages)} languages "
            f"({', '.join(languages)})"
        )


def chunks_of(items: Iterable[T], empty: str = "") -> Iterator[list[T]]:
    """Yield lists of at most `CHUNK` items, and of few that are long; raise a DataError, `empty` if given, for none."""
    items, step = iter(items), min(_STEP, readers.CHUNK)
    chunk, size = list[T](), 0
    while part := list(islice(items, step)):
        length = _characters(part)
        if chunk and (len(chunk) + len(part) > readers.CHUNK or size + length > _CHUNK_CHARACTERS):
            yield chunk
            chunk, size, empty = [], 0, ""
        if length > _CHUNK_CHARACTERS:
            yield from ([item] for item in part)
            empty = ""
        else:
            chunk += part
            size += length
    if chunk:
        yield chunk
    elif empty:
        raise DataError(empty)


def _characters(items: Sequence[Any]) -> int:
    """Return the length of all text in items that are texts, several texts each, or objects of texts."""
    if isinstance(items[0], str):
        return sum(map(len, items))
    if not isinstance(items[0], tuple | list):
        items = [vars(item).values() for item in items]
    return sum(map(len, chain.from_iterable(items)))


def check_sentence(tokens: Sequence[Any], path: Path, line: int) -> None:
    """Raise a DataError if a sentence of a file with a token a line does not end."""
    if len(tokens) > _MAX_TOKENS:
        raise DataError(f"{path}, line {line}: a sentence of more than {_MAX_TOKENS:,} tokens; an empty line ends one")


def chunks_with_notes(
    paths: Iterable[Path], rows: Callable[[Path, Counter[str]], Iterable[T]], empty: str = ""
) -> Iterator[tuple[list[T], Counter[str]]]:
    """Yield chunks of the rows of all files, each with what `rows` counted since the chunk before; as `chunks_of`."""
    notes: Counter[str] = Counter()
    for chunk in chunks_of((row for path in paths for row in rows(path, notes)), empty):
        yield chunk, notes
        notes.clear()


def plain(
    sides: Sequence[list[str]],
    languages: Sequence[str],
    word_tokenizer: str,
    labels: list[str] | None = None,
    notes: Counter[str] | None = None,
) -> Any:
    """Return the lines of one side as `Text`, of two as `TextPairs`, with the words that a word tokenizer finds."""
    if len(sides) == 1:
        return replace(Text.of(sides[0], languages[0], word_tokenizer), labels=labels, notes=dict(notes or {}))
    pairs = TextPairs.of(sides[0], sides[1], (languages[0], languages[1]), word_tokenizer)
    return replace(pairs, labels=labels, notes=dict(notes or {}))


def tagged_text(
    sentences: list[TaggedLine], language: str, kind: str, word_tokenizer: str, notes: Counter[str]
) -> Text:
    """Return sentences with the words and tags of the file."""
    words = Ragged.of([words for _, words, _ in sentences], width=2)
    tags = {kind: [tags for _, _, tags in sentences]}
    return Text(language, [line for line, _, _ in sentences], words, word_tokenizer, tags=tags, notes=dict(notes))


def join_tokens(tokens: Sequence[str], join: Join = "auto") -> tuple[str, list[tuple[int, int]]]:
    """Return a line of tokens and their spans; tokens have no white space at their ends.

    join: what separates tokens; `auto`: a space, except next to a character of an unspaced script.
    """
    line, spans = "", []
    for token in tokens:
        if line and (join == "space" or (join == "auto" and not (_is_unspaced(line[-1]) or _is_unspaced(token[0])))):
            line += " "
        spans.append((len(line), len(line) + len(token)))
        line += token
    return line, spans


def is_iob(tag: str) -> bool:
    """Whether a tag is O, B-TYPE or I-TYPE."""
    return tag == _OUTSIDE or (tag[:2] in {"B-", "I-"} and bool(tag[2:]))


def repaired_iob(tags: Iterable[str], notes: Counter[str]) -> list[str]:
    """Return IOB2 tags of a sentence: an `I-` that does not continue an entity of its type becomes `B-`, counted."""
    repaired = [_OUTSIDE]
    for tag in tags:
        wrong = tag.startswith("I-") and repaired[-1][2:] != tag[2:]
        repaired.append("B-" + tag[2:] if wrong else tag)
        if wrong:
            notes["I- without B- changed to B-"] += 1
    return repaired[1:]


def one_line(text: str, notes: Counter[str]) -> str:
    """Return text with line feeds replaced by spaces, counted; character positions do not change."""
    if "\n" not in text:
        return text
    notes["line feeds read as spaces"] += text.count("\n")
    return text.replace("\n", " ")


def _is_unspaced(character: str) -> bool:
    """Whether a character belongs to an unspaced script or its punctuation."""
    return is_unspaced(character) or "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uffef"


@dataclass(frozen=True)
class TsvRow:
    """Selected cells of one line of a table."""

    path: Path
    line: int
    cells: list[str]

    def error(self, message: str) -> DataError:
        """Return an error about this line."""
        return DataError(f"{self.path}, line {self.line}: {message}")


def tsv_rows(
    path: Path, columns: Sequence[str | int | tuple[str, ...]], *, header: bool, optional: Sequence[str] = ()
) -> Iterator[TsvRow]:
    """Yield the selected columns of each line of a table without quoting: a quote is an ordinary character.

    columns: a name, a number from 0, or several names of which the first that the header has is read.
    optional: names of further columns; their cells are empty if the header does not have them.
    """
    lines = enumerate(read_lines(path), 1)
    names = next(lines)[1].split("\t") if header else []
    required = [_index(path, column, names, header=header) for column in columns]
    must_be_unique(optional, names, path)
    extra = [names.index(name) if name in names else -1 for name in optional]
    width = max(*required, *extra, 0) + 1
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) < max(width, len(names)):
            if not line.strip():
                continue  # an empty line at the end of a file
            expected = f"the header names {len(names)}" if header else f"column {width - 1} (counted from 0) is needed"
            raise DataError(f"{path}, line {number}: {len(cells)} tab-separated columns, {expected}")
        yield TsvRow(path, number, [*(cells[at] for at in required), *(cells[at] if at >= 0 else "" for at in extra)])


def must_be_unique(used: Iterable[str], names: Sequence[str], path: Path) -> None:
    """Raise a DataError if several columns of a table have the name of one that is read."""
    repeated = [name for name in used if names.count(name) > 1]
    if repeated:
        raise DataError(f"{path}: several columns are named {listed(map(repr, repeated))}; rename or remove them")


def _index(path: Path, column: str | int | tuple[str, ...], names: list[str], *, header: bool) -> int:
    if isinstance(column, tuple):
        present = [name for name in column if name in names]
        if not present:
            known = listed(map(repr, column))
            near = next(filter(None, (did_you_mean(name, names) for name in column)), "; name yours in the reader")
            raise DataError(f"{path}: the header has none of the columns {known}{near}")
        column = present[0]
    if isinstance(column, int):
        if header and column >= len(names):
            raise DataError(f"{path}: there is no column {column}; the header names {len(names)}, counted from 0")
        return column
    if not header:
        raise DataError(f"{path}: column {column!r} is a name, but header = false; give its number from 0")
    if column not in names:
        raise DataError(f"{path}: the header has no column {column!r}{did_you_mean(column, names)}")
    must_be_unique([column], names, path)
    return names.index(column)


class _Elements:
    """Collects the elements with some tags, and the prefixes of these, from the events of an XML parser."""

    def __init__(self, parser: Any, path: Path, tags: Sequence[str]) -> None:
        self._parser = parser
        self._path = path
        self._tags = tags
        self._builder: TreeBuilder | None = None  # of the element that is read
        self._tag = ""
        self._line = 0
        self._depth = 0
        self.start = -1  # byte at which the element that is read begins; -1: none is read
        self.whole: list[tuple[int, Element]] = []  # elements that were read, with the lines that they begin in
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = self._refuse

    @property
    def place(self) -> str:
        """The file and line of the parser."""
        return f"{self._path}, line {self._parser.CurrentLineNumber}"

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._builder is None and self._depth > _MAX_DEPTH:
            raise DataError(f"{self.place}: elements inside of more than {_MAX_DEPTH} others")
        if self._builder is not None and tag == self._tag:
            raise DataError(f"{self.place}: <{tag}> inside of <{tag}>; is </{tag}> missing before it?")
        if self._builder is None:
            if tag not in self._tags:
                return
            self._builder = TreeBuilder()
            self._tag = tag
            self._line = self._parser.CurrentLineNumber
            self.start = self._parser.CurrentByteIndex
            self._parser.CharacterDataHandler = self._builder.data
        self._builder.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if self._builder is None:
            return
        self._builder.end(tag)
        if tag == self._tag:
            self.whole.append((self._line, self._builder.close()))
            self._builder = None
            self.start = -1
            self._parser.CharacterDataHandler = None

    def _refuse(self, name: str, *_: Any) -> None:
        raise DataError(f"{self.place}: declares the entity {name!r}; remove the declaration")


def read_elements(path: Path, *tags: str) -> Iterator[tuple[int, Element]]:
    """Yield the elements of an XML file with one of these tags and prefixes, with the line that each begins in.

    Encodings are UTF-8, UTF-16 and those with a byte a character; a DataError names the conversion of others.
    """
    parser = ParserCreate()
    elements = _Elements(parser, path, tags)
    encodings: list[str | None] = []  # that the file declares
    parser.buffer_text = True
    parser.XmlDeclHandler = lambda _, encoding, __: encodings.append(encoding)
    size = 0  # of what was read
    try:
        for block in chain(read_blocks(path), [b""]):
            if not block and not size:
                raise DataError(f"{path}: the file is empty")
            part = block if size else _standalone(block)
            _parse(parser, part, path, encodings)
            size += len(part)
            begin = parser.CurrentByteIndex if elements.start < 0 else elements.start  # of an element, or else a tag
            check_length(size - begin, elements.place, "an element")
            yield from elements.whole
            elements.whole.clear()
    except ExpatError as error:
        remedy = binary_format(block[:1024])
        if error.code == codes[XML_ERROR_UNDEFINED_ENTITY]:
            remedy = "an entity that is not declared: replace it by its character"
        raise DataError(f"{path}, line {error.lineno}: invalid XML: {error}; {remedy}".rstrip("; ")) from None


# the byte order mark, and the fields of the declaration of XML
_DECLARATION = re.compile(r"(\ufeff|\xef\xbb\xbf)?(?:<\?xml(\s[\s!-=?-~]*?)\?>)?")
_STANDALONE = re.compile(r"""(?<=\s)standalone\s*=\s*("\w*"|'\w*')""")


def _standalone(begin: bytes) -> bytes:
    """Return the beginning of a document with the declaration that it needs no other file.

    Without it, and after a DOCTYPE that names a file, the parser leaves undeclared entities out; those in attributes
    without any event.
    """
    codec = "latin-1"  # stands for all in which a byte is a character of ASCII
    if begin.startswith(b"\xff\xfe") or begin[1:2] == b"\0":
        codec = "utf-16-le"
    elif begin.startswith((b"\xfe\xff", b"\0")):
        codec = "utf-16-be"
    declaration = next(_DECLARATION.finditer(begin[:1024].decode(codec, "replace")))
    mark, fields = declaration.groups()
    fields = _STANDALONE.sub("", fields or " version='1.0'")
    written = f"{mark or ''}<?xml{fields} standalone='yes'?>"
    return written.encode(codec) + begin[len(declaration[0].encode(codec)) :]


def _parse(parser: Any, block: bytes, path: Path, encodings: list[str | None]) -> None:
    """Parse a block, the last one if it is empty; encodings: those that were declared before."""
    try:
        parser.Parse(block, not block)
    except (LookupError, ValueError) as error:  # of Python's codecs
        name = listed(filter(None, encodings))
        raise DataError(
            f"{path}: the encoding {name!r} that it declares cannot be read ({error}); expected UTF-8: convert the "
            f"file (iconv -f {name.upper()} -t UTF-8), and declare UTF-8 in its first line"
        ) from error
