"""Elements of XML files, one at a time."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

from interlace.core.errors import DataError
from interlace.text.lines import check_length, read_blocks

_MAX_DEPTH = 100  # of elements around those that are read


class _Elements:
    """Collects the elements with a tag from the events of an XML parser."""

    def __init__(self, parser: Any, path: Path, tag: str) -> None:
        self._parser = parser
        self._path = path
        self._tag = tag
        self._builder: TreeBuilder | None = None  # of the element that is read
        self._line = 0
        self._depth = 0
        self.start = -1  # byte at which the element that is read begins; -1: none is read
        self.whole: list[tuple[int, Element]] = []  # with the lines that they begin in
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = self._refuse

    @property
    def place(self) -> str:
        """The file and line of the parser."""
        return f"{self._path}, line {self._parser.CurrentLineNumber}"

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._builder is not None:
            if tag == self._tag:
                raise DataError(
                    f"{self.place}: <{tag}> inside of <{tag}>; is </{tag}> missing before it?"
                )
        elif self._depth > _MAX_DEPTH:
            raise DataError(f"{self.place}: elements inside of more than {_MAX_DEPTH} others")
        elif tag == self._tag:
            self._builder = TreeBuilder()
            self._line = self._parser.CurrentLineNumber
            self.start = self._parser.CurrentByteIndex
            self._parser.CharacterDataHandler = self._builder.data
        if self._builder is not None:
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


def read_elements(path: Path, tag: str) -> Iterator[tuple[int, Element]]:
    """Yield the elements of an XML file with a tag, with the line that each begins in.

    Encodings are UTF-8, UTF-16 and those with a byte a character.
    """
    parser = ParserCreate()
    parser.buffer_text = True
    elements = _Elements(parser, path, tag)
    size = 0  # of what was read
    try:
        for block in chain(read_blocks(path), [b""]):
            if not block and not size:
                raise DataError(f"{path}: the file is empty")
            part = block if size else _standalone(block)
            parser.Parse(part, not part)
            size += len(part)
            begin = elements.start  # of an element, or else a tag
            if begin < 0:
                begin = parser.CurrentByteIndex
            check_length(size - begin, elements.place, "an element")
            yield from elements.whole
            elements.whole.clear()
    except ExpatError as error:
        raise DataError(
            f"{path}, line {error.lineno}: invalid XML: {error}; expected the encoding that it declares (convert it "
            "by iconv), and no entities but those of XML (replace each by its character)"
        ) from None
    except (LookupError, ValueError) as error:  # of Python's codecs
        raise DataError(
            f"{path}: the encoding that it declares cannot be read ({error}); expected UTF-8: convert the file by "
            "iconv, and declare UTF-8 in its first line"
        ) from error


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
