"""Recipes in the papers' settings: each says what it trains, and quotes its rows to the digit."""

import pytest

from interlace.experiments.recipe import RECIPES, directions, read_recipe, resolve_task

FOLDERS = ("xlm", "alm", "weam", "align-mlm")
PAPERS = [
    name
    for name in RECIPES.names()
    if name.split("/")[0] in FOLDERS
    and not read_recipe(name).embeddings
    and "mt" not in name.partition(":")[0]
]  # those of word vectors: test_embeddings
TRANSLATION = [
    name for name in RECIPES.names() if name.startswith(("xlm/unmt:", "xlm/mt-", "alm/mt-"))
]
MASS = [name for name in RECIPES.names() if name.startswith("mass/")]
OTHERS = ("fr", "de", "ro")
STARTS = (
    "emb",
    *(f"{one}-{other}" for one in ("random", "clm", "mlm") for other in ("random", "clm", "mlm")),
)


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


@pytest.mark.parametrize("name", PAPERS)
def test_objectives_match_the_name(name):
    folder, _, title = name.partition(":")
    if "low-resource" in name:
        title = "clm"
    elif folder == "alm/pretrain":
        title = "alm"
    parts = {
        "clm": {"clm"},
        "mlm-tlm": {"mlm", "tlm"},
        "mlm": {"mlm"},
        "xlm": {"mlm", "tlm"},
        "alm": {"mlm", "alm"},
    }
    parts |= {"tlm": {"tlm"}, "weam": {"weam"}, "word-aligned": {"word_aligned"}}
    parts |= {"dict-mlm": {"dict_mlm"}, "align-mlm": {"align_mlm"}}
    recipe = read_recipe(name)
    if not recipe.objectives:
        assert title == "mbert"  # only evaluated
        return
    best = max((part for part in parts if f"{title}-".startswith(f"{part}-")), key=len)
    assert set(recipe.objectives) == parts[best], folder
    assert recipe.causal == (best == "clm")


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
    assert (weam.model.start, weam.train.optimizer.learning_rate) == (
        "bert-base-multilingual-cased",
        5e-5,
    )
    assert (weam.objective("weam").masking.rate, weam.objective("weam").cross_lingual_weight) == (
        "0.3",
        1.0,
    )
    for name in ("xlm/xnli:mlm-tlm", "adapt/xlm-tlm"):
        tlm = read_recipe(name).objective("tlm")
        assert (tlm.layout, tlm.reset_positions, tlm.language_ids) == ("xlm", True, True)
    recipe = read_recipe("xlm/unmt:en-fr-mlm-mlm")
    assert recipe.objectives["denoise"].loss_weight == "0:1,400000:0.1,1200000:0"
    assert recipe.train.alternate
    noise = recipe.objective("denoise").noise
    assert (noise.unit, noise.shuffle, noise.drop, noise.blank) == ("subword", "3", "0.1", "0.1")
    assert recipe.train.optimizer.learning_rate == 1e-4


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("other", OTHERS)
def test_unsupervised_translation(start, other):
    name, pair = f"xlm/unmt:en-{other}-{start}", f"en-{other}"
    recipe = read_recipe(name)
    assert set(recipe.objectives) == {"denoise", "back_translation"}
    assert recipe.corpora["dev"].trained == []  # no pair is learnt from
    assert set(directions(recipe)) == {("en", other), (other, "en")}
    assert (recipe.train.stop_by, recipe.train.patience) == (
        "bleu",
        10,
    )  # the example in the authors' code
    files = recipe.corpora["dev"].dev  # which the task finds by its own pattern
    task = resolve_task(recipe, "mt")
    named = [
        task.files.format(split="dev", source="en", target=other, language=each)
        for each in ("en", other)
    ]
    assert named == [file.format(pair=pair, source="en", target=other) for file in files]
    assert resolve_task(recipe, "mt").targets == [pair, f"{other}-en"]
    assert taken(recipe) == (["emb"] * 2 if start == "emb" else start.split("-"))
    strips = (recipe.normalization.romanian, resolve_task(recipe, "mt").romanian)
    assert strips == (("strip",) * 2 if other == "ro" else ("keep",) * 2)


def test_every_learned_direction_has_held_out_pairs():
    for name in TRANSLATION:
        recipe = read_recipe(name)
        pairs = [
            tuple(pair.split("-"))
            for group in recipe.corpora.values()
            if group.dev
            for pair in group.pairs
        ]
        held = {direction for pair in pairs for direction in (pair, pair[::-1])}
        assert set(directions(recipe)) <= held, name


def taken(recipe):
    """What encoder and decoder begin from, as the settings say it."""
    model, decoder = recipe.model, recipe.model.decoder

    def named(start, take):
        if model.vectors is not None and start is None:
            return model.vectors.split("/")[1].split("-")[1]
        if start is None or take == "none":
            return "random"
        return start.split("/")[1].split("-")[1]

    return [named(model.start, model.take), named(decoder.start or model.start, decoder.take)]
