"""Every link from a page of the project to a file or heading of the project leads somewhere."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in ROOT.glob("docs/**/*.md") if "_build" not in page.parts),
]

FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`|^ {4}.*$", re.MULTILINE)
LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)|^\[[^\]]+\]:\s*<?(\S+?)>?\s*$|<(?:img|a)\s[^>]*?(?:src|href)=\"([^\"]+)\"",
    re.MULTILINE,
)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def links(text):
    """Targets of all links outside of code."""
    return ["".join(found) for found in LINK.findall(CODE.sub("", FENCED.sub("", text)))]


def anchors(text):
    """What links may name behind `#`: headings in lower case, punctuation dropped, blanks as hyphens."""
    headings = HEADING.findall(FENCED.sub("", text))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings
    }


def leads_somewhere(link, page, root):
    """Whether a link of a page names another site, or a file of the project and a heading of it."""
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return True
    path, _, anchor = unquote(link).partition("#")
    target = (page.parent / path).resolve() if path else page.resolve()
    if not (target.exists() and target.is_relative_to(root.resolve())):
        return False
    return (
        not anchor
        or target.suffix != ".md"
        or anchor in anchors(target.read_text(encoding="utf-8"))
    )


def dead_links(page, root):
    """Links of a page that lead nowhere."""
    return [
        link
        for link in links(page.read_text(encoding="utf-8"))
        if not leads_somewhere(link, page, root)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_have_targets(page):
    assert dead_links(page, ROOT) == []


def test_the_pages_are_found():
    assert {"README.md", "CONTRIBUTING.md", "STYLE.md"} <= {page.name for page in PAGES}
