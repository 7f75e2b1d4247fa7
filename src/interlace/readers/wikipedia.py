"""Dumps of Wikipedia and other wikis: MediaWiki's export XML, `...-pages-articles.xml.bz2`."""

import html
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError, MissingDependencyError
from interlace.core.guarded import GuardedFunction
from interlace.readers import Reader
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
# of a link that is shown in the text, such as [[wikt:Ada]] and [[:fr:Ada]]
_INTERWIKI = re.compile(
    r":?((wikipedia|w|wiktionary|wikt|wiki(books|news|quote|source|versity|voyage|species|data)|[bdnqsvcm]|voy|species"
    rf"|commons|meta|mw):)*(({_INTERLANGUAGE.pattern}):)?"
)
_EMPTY_BRACKETS = re.compile(r" ?\([\s,;:]*\)")  # what is left of a template
_MARK = "\1"  # around apostrophes that are bold or italics
_STYLE = re.compile(f"{_MARK}('+){_MARK}")
_CONVERTED = set(
    "ban crh gan iu kk ku sh shi sr tg uz zh".split()
)  # languages whose text MediaWiki converts
_VARIANT = re.compile(r"-\{([^{}]*)\}-")
_CHOICE = re.compile(
    rf"(?:^|;|=>)\s*((?:{'|'.join(_CONVERTED)}|wuu)(?:-[a-z]+)?)\s*:([^;]*)", re.IGNORECASE
)
_NOT_SHOWN = {"-", "H", "T"}  # flags of rules of the page's title, or for words elsewhere
_MAX_NESTED = 10  # variants in variants, MediaWiki's own limit
_SAME_SCRIPT = [
    {"hans", "cn", "sg", "my"},
    {"hant", "tw", "hk", "mo"},
    {"cyrl", "ec"},
    {"latn", "el"},
]


class Wikipedia(Reader):
    """The articles of a dump, a paragraph a line, in the order of the dump.

    Redirects and pages outside the main namespace are left out; so are headings, lists, templates, tables, references,
    formulas, files and categories. Of language variants (`-{zh-hans:..;zh-hant:..}-`) that of the language is read.
    Pages on which the parser crashes or takes too long are left out and counted.
    """

    min_characters: int = Field(
        1, ge=1, description="Minimum length of a paragraph, in characters."
    )
    word_tokenizer: str = Field(
        "whitespace", description="Word tokenizer (an entry of that registry)."
    )

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """Read one dump after another; a file without any article is rejected."""
        expect(
            "wikipedia",
            "dumps of one language",
            paths,
            languages,
            fits=bool(paths) and len(languages) == 1,
        )
        try:
            import mwparserfromhell  # noqa: F401
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                "the reader 'wikipedia'", "mwparserfromhell", "wikipedia"
            ) from error
        empty = f"{listed(paths)}: no paragraph of {self.min_characters} characters"
        with GuardedFunction(page_paragraphs) as parse:
            rows = partial(self._paragraphs, languages[0], parse)
            for lines, notes in chunks_with_notes(paths, rows, empty):
                yield plain([lines], languages, self.word_tokenizer, notes=notes)

    def _paragraphs(
        self, language: str, parse: GuardedFunction, path: Path, notes: Counter[str]
    ) -> Iterator[str]:
        articles = 0
        lost = 0
        for lines in parse.map(_articles(path, language)):
            articles += 1
            if lines is None:
                notes[_LOST] += 1
                lost += 1
                continue
            yield from (line for line in lines if len(line) >= self.min_characters)
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
    text = "\n".join(_without_style(line) for line in _text(code, hidden).split("\n"))
    text = _MAGIC.sub("", _LIST_LINE.sub("\n", text))
    if base_language(language) in _CONVERTED:
        text = _in_variant(text, language)
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(_EMPTY_BRACKETS.sub("", paragraph).split())
        if line:
            yield line


def _without_style(line: str) -> str:
    """Remove bold and italics; apostrophes of the text next to them stay, by the rules of MediaWiki's `doQuotes`."""
    marks = list(_STYLE.finditer(line))
    lengths = [len(mark[1]) for mark in marks]
    apostrophes = [1 if length == 4 else max(length - 5, 0) for length in lengths]
    bold = [number for number, length in enumerate(lengths) if length in {3, 4}]
    bold_italic = sum(length >= 5 for length in lengths)
    bold_is_open = (len(bold) + bold_italic) % 2 == 1
    italics_are_open = (lengths.count(2) + bold_italic) % 2 == 1
    if bold and bold_is_open and italics_are_open:
        # ''Iliad'''s has an apostrophe and italics; of several such places, one as in l'''Iliad'', none after a space
        ranks = [_apostrophe_rank(line, marks[number].start()) for number in bold]
        apostrophes[bold[ranks.index(min(ranks))]] += 1
    counts = iter(apostrophes)
    return _STYLE.sub(lambda _: "'" * next(counts), line)


def _apostrophe_rank(line: str, start: int) -> int:
    """Return the rank of a mark as an apostrophe and italics; lowest where one letter stands before it."""
    before = line[max(start - 2, 0) : start]
    if before.endswith(" "):
        return 2
    return 0 if before.startswith(" ") else 1


def _in_variant(text: str, language: str) -> str:
    """Return text with one variant of each `-{zh-hans:..;zh-hant:..}-`: that of the language, else the first."""
    subtags = set(language.lower().replace("_", "-").split("-")[1:])
    same_script = set()
    for scripts in _SAME_SCRIPT:
        if scripts & subtags:
            same_script |= scripts

    def distance(variant: tuple[str, str]) -> int:
        subtag = variant[0].lower().partition("-")[2]
        if subtag in subtags:
            return 0
        return 1 if subtag in same_script else 2

    def choose(match: re.Match[str]) -> str:
        flags, bar, rules = match[1].partition("|")
        if bar and _NOT_SHOWN & {flag.strip() for flag in flags.split(";")}:
            return ""
        content = rules if bar else flags
        variants: list[tuple[str, str]] = _CHOICE.findall(content)
        _, chosen = min(variants, key=distance, default=("", content))
        return chosen.strip()

    for _ in range(_MAX_NESTED):
        chosen = _VARIANT.sub(choose, text)
        if chosen == text:
            break
        text = chosen
    return text


def _text(code: Any, hidden: set[str]) -> str:
    """Return parsed wiki markup as text; `_LIST` marks items of lists."""
    from mwparserfromhell import nodes

    parts = []
    for node in code.nodes if code is not None else ():
        match node:
            case nodes.Text():
                text = str(node.value).replace(_LIST, "")
                parts.append(re.sub("'{2,}", rf"{_MARK}\g<0>{_MARK}", text))
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
    return _INTERWIKI.sub("", _text(link.title, hidden).strip(), count=1)
