"""Recipes in the papers' settings: each says what it trains, and quotes its rows to the digit."""

import pytest

from interlace.experiments.recipe import RECIPES, max_source_lengths, read_recipe, resolve_task

FOLDERS = ("xlm", "alm", "weam", "align-mlm")
# those of word vectors: test_embeddings
PAPERS = [
    name
    for name in RECIPES.names()
    if name.split("/")[0] in FOLDERS
    and not read_recipe(name).embeddings
    and "mt" not in name.partition(":")[0]
]
TRANSLATION = [
    name for name in RECIPES.names() if name.startswith(("xlm/unmt:", "xlm/mt-", "alm/mt-"))
]
MASS = [name for name in RECIPES.names() if name.startswith("mass/")]


@pytest.mark.parametrize("name", [*PAPERS, *TRANSLATION, *MASS])
def test_has_a_purpose_changes_and_a_published_row(name):
    recipe = read_recipe(name)
    assert recipe.seq2seq == (name not in PAPERS)
    assert recipe.about.endswith(".")
    assert recipe.published or name in MASS
    assert recipe.changes
    assert all(change.endswith(".") for change in recipe.changes)
    assert recipe.data_root == "$INTERLACE_DATA"


@pytest.mark.parametrize(
    "name", ["xlm/xnli:", "xlm/low-resource:", "alm/pretrain:all", "weam/mbert:"]
)
def test_published_scores_are_of_tasks_settings_and_languages_that_are_scored(name):
    for recipe in [read_recipe(one) for one in PAPERS if one.startswith(name)]:
        for row in (row for place in recipe.published for row in place.rows()):
            task = resolve_task(recipe, row.table.task)
            assert row.setting in {"", *getattr(task, "settings", ())}, row.where
            there = {recipe.evaluate.source, *(task.targets or recipe.evaluate.targets), "mean"}
            assert there & set(row.printed), row.where


def test_settings_of_the_papers():
    xlm, alm, weam = (
        read_recipe(name)
        for name in ("xlm/xnli:mlm-tlm", "alm/pretrain:all", "weam/mbert:weam-en-zh")
    )
    shape = xlm.model.shape
    assert (shape.layers, shape.width, shape.heads, shape.dropout) == (12, 1024, 8, 0.1)
    assert (xlm.vocab.size, xlm.vocab.alpha, xlm.train.language_alpha) == (95000, 0.5, "0.7")
    assert xlm.objective("mlm").masking.weighting == "inverse_sqrt_frequency"
    assert xlm.train.alternate
    assert (alm.train.optimizer.betas, alm.train.optimizer.warmup) == ((0.9, 0.98), 4000)
    switching = alm.objective("alm").code_switching
    one_language = 0.1 + 0.9 * (switching.source_share + switching.target_share)
    assert one_language == pytest.approx(0.2, abs=1e-3)
    assert (switching.max_phrase_length, switching.switch_fraction) == (4, (0.3, 0.3))
    objective = weam.objective("weam")
    assert (objective.masking.rate, objective.cross_lingual_weight) == ("0.3", 1.0)
    assert weam.train.optimizer.learning_rate == 5e-5
    recipe = read_recipe("xlm/unmt:en-fr-mlm-mlm")
    assert recipe.objectives["denoise"].loss_weight == "0:1,400000:0.1,1200000:0"
    assert recipe.train.alternate


def test_every_learned_direction_has_held_out_pairs():
    for name in TRANSLATION:
        recipe = read_recipe(name)
        held: set[str] = set()
        for group in recipe.corpora.values():
            for source, target in (pair.split("-") for pair in group.pairs if group.dev):
                held |= {f"{source}-{target}", f"{target}-{source}"}
        assert max_source_lengths(recipe).keys() <= held, name
