"""What recipes say that was published, beside the papers' tables."""

from __future__ import annotations

import pytest

from interlace.published import paper, papers
from interlace.recipes._files import find_recipe, read, shipped_recipes

ROWS = [row for name in papers() for row in paper(name).rows()]
QUOTED = [(name, entry) for name in shipped_recipes() for entry in read(find_recipe(name)).get("published", [])]


def fits(entry, row):
    """Place, measure and every figure, as printed; a sign or mean that print has wrong may be quoted mended."""
    same = row.where == entry["where"] and entry["task"].startswith(row.table.task)
    figures = all(score in {row.printed.get(key), row.scores.get(key)} for key, score in entry["scores"].items())
    return same and entry["metric"].startswith(row.table.metric) and figures


def test_recipes_quote_papers():
    assert len(QUOTED) > 100


@pytest.mark.parametrize(("name", "entry"), QUOTED, ids=[f"{name}: {entry['where']}" for name, entry in QUOTED])
def test_what_a_recipe_quotes_stands_in_the_paper(name, entry):
    assert any(fits(entry, row) for row in ROWS), f"{name}: {entry}"


def test_another_figure_is_found():
    entry = {**QUOTED[0][1], "scores": {**QUOTED[0][1]["scores"], next(iter(QUOTED[0][1]["scores"])): 12.3}}
    assert not any(fits(entry, row) for row in ROWS)
