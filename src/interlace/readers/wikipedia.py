"""Dumps of Wikipedia and other wikis: MediaWiki's export XML, `...-pages-articles.xml.bz2`."""

import html
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from interlace.core.display import listed
from interlace.core.errors import DataError, MissingDependencyError
from interlace.core.guarded import GuardedFunction
from interlace.readers import TokenizingReader
from interlace.readers.common.text import chunks_with_notes, expect, plain
from interlace.readers.common.xml import read_elements
from interlace.text import Text
from interlace.text.codes import base_language

_LOST = "pages left out on whose markup the parser crashed or took too long"
_ARTICLES = "0"  # the namespace of articles
_HIDDEN = {"6", "14"}  # namespaces of files and categories: links to these are not text
# of files, which are also linked by older names of their namespace, such as [[Bild:x.jpg]], that no dump lists
_MEDIA = re.compile(
    r"[^:]+\.(jpe?g|png|gif|svg|tiff?|webp|xcf|pdf|djvu|og[agv]|opus|webm|mp[34]|mpe?g|wav|flac|midi?|stl)",
    re.IGNORECASE,
)
_DROPPED = "ref references gallery math chem syntaxhighlight source timeline score imagemap".split()
_LITERAL = {"nowiki", "pre"}
_LIST = "\0"  # begins an item of a list
_TAG_TEXT = {
    "br": "\n",
    "table": "\n\n",
    "li": _LIST,
    "dd": _LIST,
    "dt": _LIST,
    **dict.fromkeys(_DROPPED, ""),
}
_LIST_LINE = re.compile(rf"^[ \t]*{_LIST}.*$", re.MULTILINE)
_MAGIC = re.compile(r"__[^\W\d_]+__")  # such as __NOTOC__
_INTERLANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z-]+)?|simple")  # [[de:Anarchie]], in old dumps
_EMPTY_BRACKETS = re.compile(r" ?\([\s,;:]*\)")  # what is left of a template
_APOSTROPHE = re.compile(r"(?<=\w)'{3}(?=\w)")  # an apostrophe and italics, as in l'''Iliade''
_STYLE = re.compile("'{2,}")  # bold, italics, or both, and further apostrophes
_CONVERTED = set(
    "ban crh gan iu kk ku sh shi sr tg uz zh".split()
)  # languages whose text MediaWiki converts
_VARIANT = re.compile(r"-\{(?:([^{}|]*)\|)?([^{}]*)\}-")
_CHOICE = re.compile(
    rf"(?:^|;|=>)\s*((?:{'|'.join(_CONVERTED)}|wuu)(?:-[a-z]+)?)\s*:([^;]*)", re.IGNORECASE
)
_NOT_SHOWN = {"-", "H", "T"}  # flags of rules of the page's title, or for words elsewhere
_MAX_NESTED = 10  # variants in variants, MediaWiki's own limit


class Wikipedia(TokenizingReader):
    """The articles of a dump, a paragraph a line, in the order of the dump.

    Redirects and pages outside the main namespace are left out; so are headings, lists, templates, tables, references,
    formulas, files and categories. Of language variants (`-{zh-hans:..;zh-hant:..}-`) that of the language is read.
    Pages on which the parser crashes or takes too long are left out and counted.
    """

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """Read one dump after another; a file without any article is rejected."""
        expect(self, paths, languages, 1)
        try:
            import mwparserfromhell  # noqa: F401
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                "the reader 'wikipedia'", "mwparserfromhell", "wikipedia"
            ) from error
        with GuardedFunction(page_paragraphs) as parse:
            rows = partial(_dump_paragraphs, languages[0], parse)
            for lines, notes in chunks_with_notes(paths, rows, f"{listed(paths)}: no paragraph"):
                yield plain([lines], languages, self.word_tokenizer, notes=notes)


def _dump_paragraphs(
    language: str, parse: GuardedFunction, path: Path, notes: Counter[str]
) -> Iterator[str]:
    articles = 0
    lost = 0
    for lines in parse.map(_articles(path, language)):
        articles += 1
        if lines is None:
            lost += 1
            notes[_LOST] += 1
        else:
            yield from lines
    if not articles:
        raise DataError(
            f"{path}: no article; expected a MediaWiki dump with <page> elements in namespace 0"
        )
    if lost == articles:
        raise DataError(f"{path}: {_LOST}: all {articles:,}")


def _articles(path: Path, language: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield the arguments of `page_paragraphs` for each article of a dump."""
    hidden = {"file", "image", "category"}
    for _, element in read_elements(path, "namespace", "page"):
        if element.tag == "namespace":
            if element.get("key") in _HIDDEN and element.text:
                hidden.add(element.text.lower())
        elif element.findtext("ns") == _ARTICLES and element.find("redirect") is None:
            yield element.findtext("revision/text") or "", sorted(hidden), language


def page_paragraphs(markup: str, hidden: list[str], language: str) -> list[str]:
    """Return the paragraphs of a page; hidden: namespaces whose links are not text."""
    import mwparserfromhell

    # the parser does not end bold and italics with the line, and so would miss <ref>, links and tables
    code = mwparserfromhell.parse(markup, skip_style_tags=True)
    return list(_paragraphs(code, set(hidden), language))


def _paragraphs(code: Any, hidden: set[str], language: str) -> Iterator[str]:
    """Yield the paragraphs of a parsed page."""
    text = _MAGIC.sub("", _LIST_LINE.sub("\n", _text(code, hidden)))
    if base_language(language) in _CONVERTED:
        text = _in_variant(text, language)
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(_EMPTY_BRACKETS.sub("", paragraph).split())
        if line:
            yield line


def _in_variant(text: str, language: str) -> str:
    """Return text with one variant of each `-{zh-hans:..;zh-hant:..}-`: that of the language, else the first."""
    _, separator, subtag = language.lower().replace("_", "-").partition("-")
    language_code = f"{base_language(language)}{separator}{subtag}"

    def choose(match: re.Match[str]) -> str:
        flags, content = match.groups()
        if flags and _NOT_SHOWN & {flag.strip() for flag in flags.split(";")}:
            return ""
        variants: list[tuple[str, str]] = _CHOICE.findall(content)
        for code, words in variants:
            if code.lower() == language_code:
                return words.strip()
        return variants[0][1].strip() if variants else content.strip()

    for _ in range(_MAX_NESTED):
        text = _VARIANT.sub(choose, text)
    return text


def _text(code: Any, hidden: set[str]) -> str:
    """Return parsed wiki markup as text; `_LIST` marks items of lists."""
    from mwparserfromhell import nodes

    parts = []
    for node in code.nodes if code is not None else ():
        match node:
            case nodes.Text():
                text = _APOSTROPHE.sub("'", str(node.value).replace(_LIST, ""))
                parts.append(_STYLE.sub(_apostrophes, text))
            case nodes.HTMLEntity():
                parts.append(node.normalize())
            case nodes.Wikilink():
                parts.append(_link_text(node, hidden))
            case nodes.ExternalLink() if node.title:
                parts.append(_text(node.title, hidden))
            case nodes.Heading():
                parts.append("\n\n")
            case nodes.Tag():
                parts.append(_tag_text(node, hidden))
    return "".join(parts)


def _apostrophes(style: re.Match[str]) -> str:
    """Return the apostrophes of the text next to bold (3 apostrophes) or bold italics (5)."""
    length = len(style[0])
    return "'" if length == 4 else "'" * (length - 5)


def _tag_text(node: Any, hidden: set[str]) -> str:
    """Return what an HTML tag shows."""
    tag = str(node.tag).strip().lower()
    if tag in _LITERAL:
        return html.unescape(str(node.contents))
    if tag in _TAG_TEXT:
        return _TAG_TEXT[tag]
    return _text(node.contents, hidden)


def _link_text(link: Any, hidden: set[str]) -> str:
    """Return what a link shows: nothing for files, categories, and the page in other languages."""
    title = str(link.title)
    namespace, colon, page = title.partition(":")
    namespace = namespace.strip()
    if namespace and colon:
        is_hidden = namespace.replace("_", " ").lower() in hidden
        if is_hidden or _MEDIA.fullmatch(page.strip()):
            return ""
    if link.text:
        return _text(link.text, hidden)
    if colon and _INTERLANGUAGE.fullmatch(namespace):
        return ""
    return _text(link.title, hidden).strip().removeprefix(":")
