"""Studies as data and the cells that they come to."""

import re
from functools import cache
from math import prod
from pathlib import Path

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.studies import STUDIES, Study, cells_of, matching, read_study


def cells(grid, more="", **changes):
    grid.write_text(grid.read_text() + more)
    return cells_of(*read_study(str(grid), changes))


@cache
def shipped(name):
    study, folder = read_study(name)
    return study, cells_of(study, folder)


@pytest.mark.parametrize("name", STUDIES.names())
def test_expands_every_shipped_study(name):
    study, found = shipped(name)
    runs = 0
    for system in study.systems.values():
        if system.model and "{seed}" not in system.model:
            runs += 1  # a checkpoint that is the same for all seeds
        else:
            runs += len(study.seeds if system.seeds is None else system.seeds)
    assert len(found) == runs * prod(map(len, study.axes.values()))
    assert study.about
    assert study.reference in study.systems


def test_table_of_derived_studies_counts_their_cells():
    page = (Path(__file__).parents[3] / "docs/derived-languages.md").read_text(encoding="utf-8")
    counts = dict(
        re.findall(r"^\| `(align-mlm/[\w-]+)` \|.*\| (\d+) \| [\w ]+ \|$", page, re.MULTILINE)
    )
    assert set(counts) == {name for name in STUDIES.names() if name.startswith("align-mlm/")}
    for name, count in counts.items():
        assert len(shipped(name)[1]) == int(count), name


def test_cells_are_ordered_by_seed_then_system_which_may_have_some_of_the_seeds(grid):
    assert [cell.name for cell in cells(grid)] == [
        "a,seed=0",
        "b,seed=0",
        "a,seed=1",
        "b,seed=1",
    ]
    assert [cell.name for cell in cells(grid, "[systems.c]\nrecipe = 'tiny/mlm'\nseeds = [1]\n")][2:] == [
        "a,seed=1", "b,seed=1", "c,seed=1",
    ]  # fmt: skip


def test_settings_apply_in_order_study_system_axes(grid):
    found = cells(
        grid,
        'set.train.keep = 5\n[systems.c]\nrecipe="tiny/mlm"\n[axes]\ntrain.steps = [5, 6]\n',
    )
    by_name = {cell.name: cell for cell in found}
    cell = by_name["b,steps=6,seed=1"]
    assert (cell.recipe.train.steps, cell.recipe.train.keep, cell.recipe.train.threads) == (
        6,
        5,
        1,
    )
    assert (cell.recipe.name, cell.recipe.seed, cell.label) == ("B, steps 6", 1, "B, steps 6")
    assert by_name["c,steps=6,seed=1"].recipe.train.keep == 2
    assert cell.axes == {"train.steps": 6}


def test_axes_get_the_shortest_unique_names(grid):
    more = '[axes]\n"train.optimizer.warmup" = [1]\n"evaluate.tasks.pos.tuning.epochs" = [2]\n'
    more += '"evaluate.tasks.xnli.tuning.epochs" = [3]\n'
    [cell, *_] = cells(grid, more)
    assert cell.name == "a,warmup=1,pos.tuning.epochs=2,xnli.tuning.epochs=3,seed=0"


def test_checkpoint_has_one_cell_per_evaluation(grid):
    more = '[systems.c]\nrecipe = "tiny/mlm"\nmodel = "some/model"\n'
    more += '[systems.d]\nrecipe = "tiny/mlm"\nmodel = "runs/d-{seed}"\n'
    more += '[axes]\ntrain.steps = [1, 2]\n"evaluate.tasks.retrieval.layer" = [0, 1]\n'
    found = [cell for cell in cells(grid, more) if cell.model]
    assert [(cell.name, cell.model) for cell in found] == [
        ("c,layer=0", "some/model"),
        ("d,layer=0,seed=0", "runs/d-0"),
        ("c,layer=1", "some/model"),
        ("d,layer=1,seed=0", "runs/d-0"),
        ("d,layer=0,seed=1", "runs/d-1"),
        ("d,layer=1,seed=1", "runs/d-1"),
    ]
    assert found[0].axes == {"train.steps": None, "evaluate.tasks.retrieval.layer": 0}


def test_study_extends_another_and_replaces_its_axes(grid):
    grid.write_text(grid.read_text() + "[axes]\ntrain.keep = [1, 2]\n")
    other = grid.with_name("other.toml")
    other.write_text(
        'extends = "grid.toml"\nname = "other"\nseeds = [7]\n[axes]\ntrain.steps = [3]\n'
    )
    study, _ = read_study(str(other))
    assert (list(study.systems), study.seeds, study.axes) == (
        ["a", "b"],
        [7],
        {"train.steps": [3]},
    )


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ('baseline = "z"', r"baseline: no system 'z'; there are: a, b|cannot be read"),
        ('[systems.c]\nrecipe = "tiny/mln"', r"no recipe 'tiny/mln'.*did you mean 'tiny/mlm'"),
        (
            '[systems.c]\nrecipe = "tiny/mlm"\nset.train.stepz = 3',
            r"c \(.*tiny/mlm.toml\): unknown key 'train.stepz'",
        ),
        ("[axes]\ntrain.steps = []", r"axes.train.steps"),
        ("[axes]\nseed = [1]", "set `seeds` instead"),
        ('[axes]\ntrain.steps = [1, "1"]', r"two cells have the name 'a,steps=1,seed=0'"),
    ],
)
def test_rejects_invalid_studies(grid, more, error):
    text = grid.read_text()
    grid.write_text(
        text.replace('baseline = "a"\n', more + "\n")
        if more.startswith("baseline")
        else text + more + "\n"
    )
    with pytest.raises((SettingsError, DataError), match=error):
        cells_of(*read_study(str(grid)))


def test_rejects_invalid_options(grid):
    with pytest.raises(
        SettingsError,
        match=r"--set train.steps: a study has no key 'train'.*--set set.train.steps=",
    ):
        read_study(str(grid), {"train.steps": "3"})
    with pytest.raises(
        SettingsError, match=r"--only 'c\*' matches no cell; there are: a,seed=0"
    ):
        matching(cells(grid), "c*")
    message = "there is no task 'retrival'; did you mean 'retrieval'"
    with pytest.raises(SettingsError, match=message):
        cells(grid, **{"evaluate.tasks": '["retrival"]'})
    with pytest.raises(SettingsError, match=message):  # although it is not scored
        cells(grid, **{"evaluate.tasks": '["ner"]', "set.evaluate.tasks.retrival": "{}"})
    message = "ner has no metric 'precison'; did you mean 'precision'"
    with pytest.raises(SettingsError, match=message):
        cells(
            grid,
            **{"evaluate.tasks": '["ner"]', "evaluate.metrics.ner": '["f1 PER", "precison"]'},
        )


def test_rejects_studies_without_tasks(tmp_path):
    (tmp_path / "none.toml").write_text(
        'name="n"\n[corpora.text]\nlanguages=["en"]\ntrain="x"\n[objectives.mlm]\n'
    )
    study = Study.read({"name": "s", "systems": {"c": {"recipe": "none.toml"}}})
    with pytest.raises(SettingsError, match="no tasks for 'c': name some"):
        cells_of(study, tmp_path)


def test_another_recipe_can_define_the_evaluation(grid):
    (grid.parent / "judge.toml").write_text(
        'name = "judge"\n[evaluate]\nseeds = 7\ntargets = ["de"]\n[evaluate.tasks.pud]\ntask = "pos"\n'
    )
    changes = {"evaluate.recipe": "judge.toml", "evaluate.tasks": '["retrieval", "pud"]'}
    [cell, *_] = cells(grid, **changes)
    assert cell.tasks == ("retrieval", "pud")
    assert cell.recipe.evaluate.targets == ["de"]
