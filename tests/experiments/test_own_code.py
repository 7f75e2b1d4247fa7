"""Runs of objectives from `--code` files."""

import pytest

from interlace.core import registry
from interlace.core.errors import RunError, SettingsError
from interlace.experiments.recipe import Recipe
from interlace.experiments.run import Run
from interlace.objectives import OBJECTIVES

OWN = "from interlace.objectives.tlm import Tlm\nclass Own(Tlm):\n    pass\n"


def recipe(steps=10):
    return Recipe.read(
        {
            "name": "own",
            "objectives": {"own_tlm": {}},
            "toy": {},
            "corpora": {"p": {"pairs": ["en-de"], "train": ["a.{source}", "a.{target}"]}},
            "train": {"steps": steps, "optimizer": {"schedule": "constant", "warmup": 1}},
        }
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The folder of a run of a plugin, before its first step."""
    monkeypatch.setattr(registry, "_PLUGINS", {})
    (tmp_path / "own_tlm.py").write_text(OWN)
    registry.register_plugin(tmp_path / "own_tlm.py", {"objectives": OBJECTIVES})
    (tmp_path / "run").mkdir()
    Run(tmp_path / "run").claim(recipe())
    return tmp_path / "run"


def test_a_run_keeps_its_code_and_names_it_where_it_is_missing(run, tmp_path, monkeypatch):
    (run / "run.json").write_text('{"finished": true}')
    assert Run(run).finished_recipe().objectives.keys() == {"own_tlm"}
    (tmp_path / "own_tlm.py").unlink()
    monkeypatch.setattr(registry, "_PLUGINS", {})
    with pytest.raises(
        SettingsError, match=rf"no objective 'own_tlm'.* --code {run}/code/own_tlm\.py"
    ):
        Run(run).finished_recipe()
    registry.register_plugin(run / "code" / "own_tlm.py", {"objectives": OBJECTIVES})
    assert Run(run).finished_recipe().name == "own"


def test_edited_code_cannot_resume_a_run_and_leaves_a_finished_one(run, tmp_path, monkeypatch):
    copy, edited = run / "code" / "own_tlm.py", OWN + "# edited\n"
    (tmp_path / "own_tlm.py").write_text(edited)
    Run(run).claim(recipe())
    assert copy.read_text() == edited  # no checkpoint: the run starts over
    Run(run).check_state({"the code own_tlm.py": "edited"})
    (tmp_path / "own_tlm.py").write_text(OWN)
    monkeypatch.setattr("interlace.training.checkpoint.steps_in", lambda _: [5])
    Run(run).claim(recipe())
    assert copy.read_text() == edited
    with pytest.raises(RunError, match=r"the code own_tlm\.py changed since the run began"):
        Run(run).check_state({"the code own_tlm.py": "original"})
    (run / "run.json").write_text('{"finished": true}')
    Run(run).claim(recipe())
    with pytest.raises(RunError, match=r"holds a run of another recipe: train\.steps"):
        Run(run).claim(recipe(steps=20))
    assert (run / "run.json").exists()
    assert copy.read_text() == edited
