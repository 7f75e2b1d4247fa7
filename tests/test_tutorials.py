"""What the tutorials show is what their commands print."""

from pathlib import Path

import pytest

import pages

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in DOCS.glob("tutorial-*.md")))
def test_every_command_of_a_tutorial_prints_what_it_shows(name, python, tmp_path):
    page = (DOCS / name).read_text(encoding="utf-8")
    hint = f"run: python tests/support/pages.py docs/{name}"
    assert page == pages.with_real_output(page, tmp_path, python), hint
    for figure in pages.figures(page):
        assert (DOCS / figure).read_text(encoding="utf-8") == (tmp_path / figure).read_text(
            encoding="utf-8"
        ), hint


def test_outputs_are_replaced_the_rest_of_a_page_stays_and_failing_commands_are_named(tmp_path):
    page = (
        "# A\n\n```console\n$ echo a \\\n  b\n{}$ touch c\n$ ls\n{}```\n\nB\n\n"
        "```python\nprint(1 + 1)\n```\n\n```text\n{}```\n"
    )
    assert pages.with_real_output(page.format("old\n", "", "3\n"), tmp_path) == page.format(
        "a b\n", "c\n", "2\n"
    )
    with pytest.raises(RuntimeError, match=r"(?s)cat none.*ended with 1"):
        pages.with_real_output("```console\n$ cat none\n```\n", tmp_path)
