"""Text of recipes, metrics and files in Markdown: shown as it is, never as markup."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from interlace.core.markup import markdown_text, one_line
from interlace.report.tables import Column, Entry, Line, Table, markdown

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MARKUP = st.text(
    st.one_of(st.sampled_from("\\`*_[]()<>|~#!&;-+=1. \n\r\t$^{}%a:/"), st.characters()),
    max_size=30,
)
EVIL = [
    "<script>alert(1)</script>",
    "\\<script>",
    "a | b \\| c \\\\| d",
    "![x](https://example.org/x.png) [y](javascript:alert(1))",
    "a\n\n# Heading\n\n| x |\n| --- |",
    "`code` **bold** __bold__ ~~no~~",
    "&lt;b&gt; &#124; C # C ##",
    "\\",
]


def shown(token):
    """The text of a block that has only text and the emphasis of tables; None for anything else."""
    kinds = {child.type for child in token.children}
    if kinds - {"text", "em_open", "em_close", "strong_open", "strong_close"}:
        return None
    return "".join(child.content for child in token.children)


@given(MARKUP)
@example("=")
@example("12) x")
@example("- - -")
def test_a_paragraph_or_a_heading_shows_the_text(text):
    for block, kind in (
        (f"{markdown_text(text)}\n", "paragraph_open"),
        (f"## {markdown_text(text)}\n", "heading_open"),
    ):
        tokens = RENDERER.parse(block)
        if one_line(text).strip():
            assert [token.type for token in tokens][::2] == [
                kind,
                kind.replace("open", "close"),
            ]
            assert shown(tokens[1]).strip() == one_line(text).strip()


def table_of(text):
    columns = (Column(text, group=text), Column(f"x{text}", is_text=True))
    lines = (
        Line(text, (Entry(text), None)),
        Line(f"a{text}", (Entry(f"x{text}", bold=True), Entry(text)), theirs=True),
    )
    return Table("name", text, columns, lines, text, head=text)


@given(MARKUP)
@pytest.mark.parametrize("evil", ["", *EVIL])
def test_a_table_of_markdown_has_its_cells(evil, text):
    table = table_of(evil + text)
    found = RENDERER.parse(markdown(table).split("\n", 1)[1])
    cells = [
        token for before, token in pairwise(found) if before.type in {"th_open", "td_open"}
    ]
    texts = [(shown(cell) or "").strip() for cell in cells]
    line, twice, a, x = (
        one_line(part + evil + text).strip() for part in ("", f"{evil}{text} ", "a", "x")
    )
    assert texts == [line, twice, x, line, line, "–", a, x, line]


def test_ordinary_names_and_numbers_stay_readable():
    for text in (
        "pos, zero-shot (accuracy, %)",
        "-5.4 ± 0.3†",
        "p < 0.001",
        "A & B",
        "2 of 3.",
    ):
        assert markdown_text(text) == text
