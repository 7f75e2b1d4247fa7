"""Elements of XML files, one at a time."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate
from xml.parsers.expat.errors import XML_ERROR_UNDEFINED_ENTITY, codes

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.text.lines import binary_format, check_length, read_blocks

_MAX_DEPTH = 100  # of elements around those that are read


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
        self.whole: list[
            tuple[int, Element]
        ] = []  # elements that were read, with the lines that they begin in
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
            raise DataError(
                f"{self.place}: <{tag}> inside of <{tag}>; is </{tag}> missing before it?"
            )
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
    parser.buffer_text = True
    elements = _Elements(parser, path, tags)
    encodings = _declared_encodings(parser)
    size = 0  # of what was read
    try:
        for block in chain(read_blocks(path), [b""]):
            if not block and not size:
                raise DataError(f"{path}: the file is empty")
            part = block if size else _standalone(block)
            _parse(parser, part, path, encodings)
            size += len(part)
            begin = (
                parser.CurrentByteIndex if elements.start < 0 else elements.start
            )  # of an element, or else a tag
            check_length(size - begin, elements.place, "an element")
            yield from elements.whole
            elements.whole.clear()
    except ExpatError as error:
        remedy = binary_format(block[:1024])
        if error.code == codes[XML_ERROR_UNDEFINED_ENTITY]:
            remedy = "an entity that is not declared: replace it by its character"
        raise DataError(
            f"{path}, line {error.lineno}: invalid XML: {error}; {remedy}".rstrip("; ")
        ) from None


def _declared_encodings(parser: Any) -> list[str]:
    """Return a list to which the parser adds the encoding that a file declares."""
    encodings: list[str] = []

    def declare(_version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None:
            encodings.append(encoding)

    parser.XmlDeclHandler = declare
    return encodings


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


def _parse(parser: Any, block: bytes, path: Path, encodings: list[str]) -> None:
    """Parse a block, the last one if it is empty; encodings: those that were declared before."""
    try:
        parser.Parse(block, not block)
    except (LookupError, ValueError) as error:  # of Python's codecs
        name = listed(encodings)
        raise DataError(
            f"{path}: the encoding {name!r} that it declares cannot be read ({error}); expected UTF-8: convert the "
            f"file (iconv -f {name.upper()} -t UTF-8), and declare UTF-8 in its first line"
        ) from error
