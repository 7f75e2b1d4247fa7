"""Escape text for Markdown: it shows as it is, on one line, and starts no markup, link, picture or HTML."""

import re

from interlace.core.display import visible

# spaces and ends of lines; no-break spaces stay
_SPACE = re.compile(r"[\t-\r\x1c-\x1e\x85\u2028\u2029 ]+")
_BACKSLASHED = re.compile(
    r"[\\`*\[\]|~$]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # not between letters, as in `word_alignment`
    r"|(?<!\S)[#>]|^=|^[+-](?=[ -]|$)"  # headings, quotes, lists
)
_ITEM = re.compile(r"^(\d{1,9})([.)](?= |$))")  # of a numbered list
_TAG = re.compile("<(?=[a-zA-Z/!?])")
_ENTITY = re.compile(r"&(?=#?\w+;)")


def one_line(text: str) -> str:
    """Return text as one line, without spaces at its ends, its control characters visible."""
    return visible(_SPACE.sub(" ", text).strip())


def markdown_text(text: str) -> str:
    r"""Escape text for a paragraph, a heading or a table cell of Markdown.

    >>> markdown_text("a|b \\<script> ![x](y)")
    'a\\|b \\\\&lt;script> !\\[x\\](y)'
    """
    escaped = _ITEM.sub(r"\1\\\2", _BACKSLASHED.sub(r"\\\g<0>", one_line(text)))
    return _TAG.sub("&lt;", _ENTITY.sub("&amp;", escaped))
