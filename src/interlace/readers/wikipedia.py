"""Dumps of Wikipedia and other wikis: MediaWiki's export XML, `...-pages-articles.xml.bz2`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from interlace.core.errors import DataError, MissingDependencyError
from interlace.readers import Reader
from interlace.readers.common.text import chunks_of, expect, plain, read_elements
from interlace.text import Text

_ARTICLES = "0"  # the namespace of articles
_HIDDEN = {"6", "14"}  # namespaces of files and categories: links to these are not text
_DROPPED = set("ref references gallery math chem syntaxhighlight source timeline score imagemap".split())
_LISTS = {"li", "dd", "dt"}
_LIST = "\0"
_LIST_LINE = re.compile(rf"^[ \t]*{_LIST}.*$", re.MULTILINE)
_MAGIC = re.compile(r"__[^\W\d_]+__")  # such as __NOTOC__
_INTERLANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z-]+)?|simple")  # [[de:Anarchie]], in old dumps
_EMPTY_BRACKETS = re.compile(r" ?\([\s,;:]*\)")  # what is left of a template


class Wikipedia(Reader):
    """The articles of a dump, a paragraph a line, in the order of the dump.

    Redirects and pages outside the main namespace are left out; so are headings, lists, templates, tables, references,
    formulas, files and categories.
    """

    min_characters: int = Field(1, ge=1, description="Minimum length of a paragraph, in characters.")
    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """Read one dump after another; a file without any article is rejected."""
        expect("wikipedia", "dumps of one language", paths, languages, fits=bool(paths) and len(languages) == 1)
        empty = f"{', '.join(map(str, paths))}: no paragraph of {self.min_characters} characters"
        for lines in chunks_of((line for path in paths for line in self._paragraphs(path)), empty):
            yield plain([lines], languages, self.word_tokenizer)

    def _paragraphs(self, path: Path) -> Iterator[str]:
        try:
            import mwparserfromhell
        except ModuleNotFoundError as error:
            raise MissingDependencyError("the reader 'wikipedia'", "mwparserfromhell", "wikipedia") from error
        hidden = {"file", "image", "category"}
        empty = True
        for _, element in read_elements(path, "namespace", "page"):
            if element.tag == "namespace":
                if element.get("key") in _HIDDEN and element.text:
                    hidden.add(element.text.lower())
            elif element.findtext("ns") == _ARTICLES and element.find("redirect") is None:
                empty = False
                code = mwparserfromhell.parse(element.findtext("revision/text") or "")
                yield from (line for line in _paragraphs(code, hidden) if len(line) >= self.min_characters)
        if empty:
            raise DataError(f"{path}: no article; expected a MediaWiki dump with <page> elements in namespace 0")


def _paragraphs(code: Any, hidden: set[str]) -> Iterator[str]:
    """Yield the paragraphs of a page."""
    text = _MAGIC.sub("", _LIST_LINE.sub("\n", _text(code, hidden)))
    for paragraph in re.split(r"\n\s*\n", text):
        if line := " ".join(_EMPTY_BRACKETS.sub("", paragraph).split()):
            yield line


def _text(code: Any, hidden: set[str]) -> str:
    """Return parsed wiki markup as text; `_LIST` marks items of lists."""
    from mwparserfromhell import nodes

    parts = []
    for node in code.nodes if code is not None else ():
        match node:
            case nodes.Text():
                parts.append(str(node.value).replace(_LIST, ""))
            case nodes.HTMLEntity():
                parts.append(node.normalize())
            case nodes.Wikilink():
                space, colon, _ = str(node.title).strip().partition(":")
                if not (colon and (space.lower() in hidden or (_INTERLANGUAGE.fullmatch(space) and not node.text))):
                    parts.append(_text(node.text or node.title, hidden))
            case nodes.ExternalLink() if node.title:
                parts.append(_text(node.title, hidden))
            case nodes.Heading():
                parts.append("\n\n")
            case nodes.Tag():
                tag = str(node.tag).strip().lower()
                plain = {"br": "\n", "table": "\n\n", **dict.fromkeys(_LISTS, _LIST), **dict.fromkeys(_DROPPED, "")}
                parts.append(plain[tag] if tag in plain else _text(node.contents, hidden))
    return "".join(parts)
