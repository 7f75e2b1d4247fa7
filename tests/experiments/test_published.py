"""What recipes say that was published: places in the papers' tables, whose figures stand there alone."""

from __future__ import annotations

import pytest

from interlace.core.errors import SettingsError
from interlace.experiments.recipe import RECIPES
from interlace.experiments.sections import Published

QUOTED = [(name, entry) for name in RECIPES.names() for entry in RECIPES.read(name).get("published", [])]


def test_recipes_name_papers():
    assert len(QUOTED) > 60


@pytest.mark.parametrize(("name", "entry"), QUOTED, ids=[f"{name}: {entry['where']}" for name, entry in QUOTED])
def test_what_a_recipe_names_stands_in_the_paper_and_its_figures_nowhere_else(name, entry):
    rows = Published.read(entry).rows()
    assert {row.where for row in rows} == {entry["where"]}, name
    assert len({row.system for row in rows}) == 1, "several systems: name one"
    assert all(row.printed for row in rows)
    assert not {"scores", "metric"} & set(entry)


def test_a_row_is_read_for_each_of_its_measures():
    rows = Published(where="Yang et al. 2021, table 1, mBERT+WEAM", columns=["en", "de"]).rows()
    assert [(row.table.score, row.scores) for row in rows] == [
        ("exact", {"en": 66.7, "de": 49.7}),
        ("f1", {"en": 79.7, "de": 64.3}),
    ]


def test_the_systems_that_share_a_name_are_told_apart():
    place = "Conneau & Lample 2019, table 3, ro to en"
    assert [row.scores for row in Published(where=place, system="MLM").rows()] == [{"ro-en": 35.3}]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"where": "Yang et al. 2020, table 1, AML"}, "did you mean 'Yang et al. 2020, table 1, ALM'"),
        ({"where": "Yang et al. 2020, table 1, ALM", "columns": ["en-ed"]}, "no column 'en-ed'; did you mean 'en-de'"),
        ({"where": "Yang et al. 2020, table 1, ALM", "task": "xnli"}, "no published results at"),
    ],
)
def test_what_stands_in_no_paper_is_refused(entry, told):
    with pytest.raises(SettingsError, match=told):
        Published.read(entry)
