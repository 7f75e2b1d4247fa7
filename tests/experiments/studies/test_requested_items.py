"""What a study takes for asked is what an evaluation scores."""

import pytest

from interlace.experiments.evaluate import Target, _job
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.experiments.studies.folder import requested_items
from interlace.training.fine_tuning import fine_tune_runs

EVALUATIONS = {
    "as the recipe says": {},
    "of the recipe's targets": {"targets": ["es"]},
    "of the task's targets": {
        "targets": ["es"],
        "tasks": {"pos": {"targets": ["de"]}, "perplexity": {"targets": ["de"]}},
    },
    "in several settings": {
        "tasks": {"xnli": {"settings": ["zero-shot", "translate-train", "translate-test"]}}
    },
    "of another source": {"source": "de"},
}


@pytest.mark.parametrize("evaluation", EVALUATIONS.values(), ids=EVALUATIONS)
@pytest.mark.parametrize(
    "name", ["pos", "xnli", "retrieval", "perplexity", "word_similarity", "mt"]
)
def test_requested_items_match_scored_items(name, evaluation, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "interlace.experiments.evaluate.data_root", lambda _: tmp_path
    )  # no toy corpus is made
    data = read_recipe("tiny/mlm").dump()
    data["evaluate"] |= evaluation
    recipe = Recipe.read(data, "here")
    target = Target("model", recipe, tmp_path)
    cell = _job(target, name, recipe.evaluate.task(name), None, None)  # as an evaluation makes it
    assert requested_items(recipe, name) == {
        item for fit in fine_tune_runs(cell) for item in fit.items
    }
