"""Elements of an XML file, one at a time; entities that the file declares are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

from interlace.core.errors import DataError
from interlace.text.lines import read_blocks


def read_elements(path: Path, *tags: str) -> Iterator[tuple[int, Element]]:
    """Yield the elements with one of these tags, with the line that each begins in; prefixes are part of tags.

    Raises:
        DataError: the file is missing, empty, damaged, no well-formed XML, or declares entities; names the line.
    """
    found = _Elements(path, tags)
    try:
        for block in read_blocks(path):
            found.parser.Parse(block, False)
            yield from found.take()
        if not found.parser.CurrentByteIndex > 0:
            raise DataError(f"{path}: the file is empty")
        found.parser.Parse(b"", True)
    except ExpatError as error:
        raise DataError(f"{path}, line {error.lineno}: invalid XML: {error}") from None
    yield from found.take()


class _Elements:
    """Builds the elements with some tags from the events of a parser."""

    def __init__(self, path: Path, tags: tuple[str, ...]) -> None:
        self.path, self.tags = path, tags
        self.parser = ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler, self.parser.EntityDeclHandler = self._data, self._entity
        self._builder: TreeBuilder | None = None
        self._begun = (0, "")  # line and tag of the element being built
        self._whole: list[tuple[int, Element]] = []

    def take(self) -> list[tuple[int, Element]]:
        whole, self._whole = self._whole, []
        return whole

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._builder is None and tag in self.tags:
            self._builder, self._begun = TreeBuilder(), (self.parser.CurrentLineNumber, tag)
        if self._builder is not None:
            self._builder.start(tag, attributes)

    def _end(self, tag: str) -> None:
        if self._builder is not None:
            self._builder.end(tag)
            if tag == self._begun[1]:
                self._whole.append((self._begun[0], self._builder.close()))
                self._builder = None

    def _data(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)

    def _entity(self, name: str, *_: Any) -> None:
        where = f"{self.path}, line {self.parser.CurrentLineNumber}"
        raise DataError(f"{where}: declares the entity {name!r}; remove the declaration")
