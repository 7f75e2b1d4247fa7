"""Recipes in the papers' settings: each says what it trains, and quotes its rows to the digit."""

import numpy as np
import pytest

from interlace.data import Pairs
from interlace.experiments.recipe import RECIPES, directions, read_recipe

FOLDERS = ("xlm", "alm", "weam", "align-mlm")
PAPERS = [
    name
    for name in RECIPES.names()
    if name.split("/")[0] in FOLDERS and not read_recipe(name).embeddings and "mt" not in name.partition(":")[0]
]  # those of word vectors: test_embeddings
TRANSLATION = [name for name in RECIPES.names() if name.startswith(("xlm/unmt:", "xlm/mt-", "alm/mt-"))]
MASS = [name for name in RECIPES.names() if name.startswith("mass/")]
OTHERS = ("fr", "de", "ro")
STARTS = ("emb", *(f"{one}-{other}" for one in ("random", "clm", "mlm") for other in ("random", "clm", "mlm")))
DERIVED = [name for name in PAPERS if name.startswith("align-mlm/wikitext:")]


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("xlm/unmt:en-fr-mlm-clm", {"en-fr": 33.4, "fr-en": 32.3}),
        ("xlm/unmt:en-ro-emb", {"en-ro": 27.5, "ro-en": 26.6}),
        ("xlm/mt-ro-en:clm", {"ro-en": 31.5}),
        ("xlm/mt-ro-en:both-random", {"ro-en": 28.5}),
        ("xlm/mt-ro-en:bt-mlm", {"ro-en": 38.5}),
        ("xlm/low-resource:ne-hi", {"ne": 115.6}),
        ("alm/mt-de-en:alm", {"de-en": 35.53}),
        ("alm/mt-en-de:mbert", {"en-de": 28.64}),
        ("weam/mbert:tlm-en-de", {"en": 66.8, "de": 48.4}),
        ("align-mlm/wikitext:align-mlm-inv", {"supervised": 75.5, "zero-shot": 68.8, "difference": 6.7}),
    ],
)
def test_quotes_the_row_of_its_name(name, figures):
    """Tests of `scores` check the tables as a whole."""
    assert next(iter(read_recipe(name).published)).rows()[0].printed == figures


@pytest.mark.parametrize("name", [*PAPERS, *TRANSLATION, *MASS])
def test_has_a_purpose_changes_and_a_published_row(name):
    recipe = read_recipe(name)
    assert recipe.seq2seq == (name not in PAPERS)
    assert recipe.about.endswith(".")
    assert recipe.published or name in MASS
    assert recipe.changes
    assert all(change.endswith(".") for change in recipe.changes)
    assert recipe.data_root == "$INTERLACE_DATA"


@pytest.mark.parametrize("name", ["xlm/xnli:", "xlm/low-resource:", "alm/pretrain:all", "weam/mbert:"])
def test_published_scores_are_of_tasks_settings_and_languages_that_are_scored(name):
    for recipe in [read_recipe(one) for one in PAPERS if one.startswith(name)]:
        for row in (row for place in recipe.published for row in place.rows()):
            task = recipe.evaluate.task(row.table.task)
            assert row.setting in {"", *getattr(task, "settings", ())}, row.where
            there = {recipe.evaluate.source, *(task.targets or recipe.evaluate.targets), "mean"}
            assert there & set(row.printed), row.where


@pytest.mark.parametrize("kind", ["mlm", "mlm-tlm"])
def test_xlm_selects_as_in_the_paper(kind):
    swept, plain = (read_recipe(f"xlm/xnli:{kind}{end}") for end in ("-swept", ""))
    tuning = swept.evaluate.task("xnli").tuning
    assert (tuning.rates, tuning.select, tuning.checks) == ([2e-6, 5e-6, 1e-5, 2.5e-5], "per-language-dev", 20)
    tuning = plain.evaluate.task("xnli").tuning
    assert (tuning.rates, tuning.select) == ([5e-6], "source-dev")
    one, other = ([change for change in each.changes if "XNLI" not in change] for each in (swept, plain))
    assert one == other
    assert (swept.train, swept.objectives, swept.corpora) == (plain.train, plain.objectives, plain.corpora)


def test_xlm_measures_words_as_its_table_5():
    model, static = (read_recipe(name).evaluate for name in ("xlm/xnli:mlm", "xlm/word-embeddings:concat"))
    for name in ("word_translation", "word_similarity"):
        ours, theirs = model.task(name), static.task(name)
        assert (ours.reading.multi_subword, ours.reading.layer) == ("skip", None)  # of the input embeddings
        assert (ours.files, getattr(ours, "gold", None)) == (theirs.files, getattr(theirs, "gold", None))
        assert getattr(ours, "missing", None) == getattr(theirs, "missing", None)


def test_recipe_names_are_unique():
    names = [read_recipe(name).name for name in RECIPES.names() if not name.startswith("adapt/")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", PAPERS)
def test_objectives_match_the_name(name):
    folder, _, title = name.partition(":")
    if "low-resource" in name:
        title = "clm"
    elif folder == "alm/pretrain":
        title = "alm"
    parts = {"clm": {"clm"}, "mlm-tlm": {"mlm", "tlm"}, "mlm": {"mlm"}, "xlm": {"mlm", "tlm"}, "alm": {"mlm", "alm"}}
    parts |= {"tlm": {"tlm"}, "weam": {"weam"}, "word-aligned": {"word_aligned"}}
    parts |= {"dict-mlm": {"dict_mlm"}, "align-mlm": {"align_mlm"}}
    best = max((part for part in parts if f"{title}-".startswith(f"{part}-")), key=len)
    recipe = read_recipe(name)
    assert set(recipe.objectives) == parts[best], folder
    assert recipe.causal == (best == "clm")


@pytest.mark.parametrize("name", [name for name in PAPERS if name.startswith("weam/")])
def test_weam_scores_both_tasks_of_the_paper(name):
    recipe = read_recipe(name)
    assert set(recipe.evaluate.tasks) == {"mlqa", "xnli"}
    assert recipe.evaluate.task("mlqa").normalization == "mlqa"
    head = RECIPES.find(name).path.read_text(encoding="utf-8")
    assert all(file in head for file in ("qa/squad/", "qa/mlqa/test/", "nli/train.en.tsv"))


def test_settings_of_the_papers():
    xlm, alm, weam = (read_recipe(name) for name in ("xlm/xnli:mlm-tlm", "alm/pretrain:all", "weam/mbert:weam-en-zh"))
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
    assert (weam.model.start, weam.train.optimizer.learning_rate) == ("bert-base-multilingual-cased", 5e-5)
    assert (weam.objective("weam").masking.rate, weam.objective("weam").cross_lingual_weight) == ("0.3", 1.0)
    for name in ("xlm/xnli:mlm-tlm", "adapt/xlm-tlm"):
        tlm = read_recipe(name).objective("tlm")
        assert (tlm.layout, tlm.reset_positions, tlm.language_ids) == ("xlm", True, True)
    recipe = read_recipe("xlm/unmt:en-fr-mlm-mlm")
    assert recipe.objectives["denoise"].loss_weight == "0:1,400000:0.1,1200000:0"
    assert recipe.train.alternate
    noise = recipe.objective("denoise").noise
    assert (noise.unit, noise.shuffle, noise.drop, noise.blank) == ("subword", "3", "0.1", "0.1")
    assert recipe.train.optimizer.learning_rate == 1e-4


WEAM_PAIRS = {"de": 1.92e6, "es": 1.97e6, "zh": 5.2e6}  # Europarl, release 7, and translation2019zh


@pytest.mark.parametrize("language", WEAM_PAIRS)
@pytest.mark.parametrize("kind", ["weam", "tlm"])
def test_weam_trains_two_passes_over_the_pairs(kind, language):
    recipe = read_recipe(f"weam/mbert:{kind}-en-{language}")
    pairs = WEAM_PAIRS[language]
    assert recipe.train.tokens_per_update == 32 * 64  # pairs, subwords of a pair
    assert 32 * recipe.train.steps / pairs == pytest.approx(2, abs=0.06)
    assert any(f"{pairs / 1e6:g} million pairs" in change for change in recipe.changes)


@pytest.mark.parametrize("name", DERIVED)
def test_derived_languages_match_the_name(name):
    recipe, title = read_recipe(name), name.partition(":")[2]
    (language,) = recipe.evaluate.targets
    made = recipe.derived[language]
    last = "overlap" if "overlap" in title else "transliterate"
    first = {"inv": ["invert"], "syn": ["syntax"], "trans": []}[language.split("_")[2]]
    assert (made.of, made.transformations) == ("en", [*first, last])
    for task in ("xnli", "ner", "pos"):
        assert recipe.evaluate.task(task).settings == ["zero-shot", "supervised"]
    if title.startswith("xlm-"):  # rows of TLM as the share of sentences that have their translation
        assert recipe.objectives["tlm"].weight == str(made.parallel)
    kept = [getattr(made.chain().transformations[-1], f"keep_{what}", False) for what in ("punctuation", "digits")]
    assert kept == [title.endswith("kept-marks")] * 2
    assert recipe.vocab.kind == "bpe"  # cuts words and their twins alike
    if "overlap" in title:
        assert made.settings["overlap"]["share"] * 100 == int(title.rpartition("-")[2])
    if title.endswith(("mlm-inv-50", "mlm-syn-50")):
        assert recipe.objective(title.split("-mlm")[0] + "_mlm").dictionary.share == 0.5
    if title.startswith("xlm-"):
        assert recipe.objective("mlm").language_ids is True
        tlm = recipe.objective("tlm")
        assert (tlm.language_ids, tlm.layout, tlm.reset_positions) == (True, "xlm", False)
        assert (tlm.packed, tlm.max_length, tlm.packed_length()) == ("halves", 512, 254)


def test_compared_recipes_differ_only_in_objectives():
    names = [f"align-mlm/wikitext:{method}-inv" for method in ("mlm", "xlm", "dict-mlm", "align-mlm")]
    recipes = [read_recipe(name) for name in names]
    assert all(recipe.train == recipes[0].train for recipe in recipes)
    assert all(recipe.model.shape == recipes[0].model.shape for recipe in recipes)
    assert all(recipe.evaluate == recipes[0].evaluate for recipe in recipes)
    assert [recipe.model.languages for recipe in recipes] == ["none", "embeddings", "embeddings", "none"]
    for language in ("es", "de", "zh"):
        one, other = (read_recipe(f"weam/mbert:{kind}-en-{language}") for kind in ("weam", "tlm"))
        assert (one.train, one.model, one.corpora) == (other.train, other.model, other.corpora)


# ---- translation ----


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("other", OTHERS)
def test_unsupervised_translation(start, other):
    name, pair = f"xlm/unmt:en-{other}-{start}", f"en-{other}"
    recipe = read_recipe(name)
    assert set(recipe.objectives) == {"denoise", "back_translation"}
    assert recipe.corpora["dev"].trained == []  # no pair is learnt from
    assert set(directions(recipe)) == {("en", other), (other, "en")}
    assert (recipe.train.stop_by, recipe.train.patience) == ("bleu", 10)  # the example in the authors' code
    files = recipe.corpora["dev"].dev  # which the task finds by its own pattern
    task = recipe.evaluate.task("mt")
    named = [task.files.format(split="dev", source="en", target=other, language=each) for each in ("en", other)]
    assert named == [file.format(pair=pair, source="en", target=other) for file in files]
    assert recipe.evaluate.task("mt").targets == [pair, f"{other}-en"]
    assert taken(recipe) == (["emb"] * 2 if start == "emb" else start.split("-"))
    strips = (recipe.normalization.romanian, recipe.evaluate.task("mt").romanian)
    assert strips == (("strip",) * 2 if other == "ro" else ("keep",) * 2)


@pytest.mark.parametrize("name", TRANSLATION)
def test_changes_match_the_settings(name):
    """A variant with more changes repeats the list, so each list is checked."""
    recipe = read_recipe(name)
    changes = " ".join(recipe.changes)
    assert ("trained by gensim instead of fastText" in changes) == name.endswith("-emb")
    assert ("iterations of four updates" in changes) == ("denoise" in recipe.objectives)
    both = {"translation", "back_translation"} <= set(recipe.objectives)
    assert ("online back-translation have 1000 tokens" in changes) == both
    assert ("8192 tokens of both sides" in changes) == name.startswith("alm/")


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


@pytest.mark.parametrize("other", OTHERS)
def test_emb_starts_from_vectors_of_the_same_text(other):
    """Vectors of the same text and subwords as every other row's start, learnt as Lample et al. (2018b) do."""
    name = f"xlm/subword-embeddings:en-{other}"
    vectors, model = read_recipe(name), read_recipe(f"xlm/unmt:en-{other}-emb")
    masked = read_recipe(f"xlm/encoders:mlm-en-{other}")
    assert (vectors.vocab, vectors.normalization) == (masked.vocab, masked.normalization)
    assert vectors.corpora["text"].train == masked.corpora["text"].train
    assert vectors.languages == masked.languages == model.languages
    grams = vectors.embeddings.method().skipgram
    assert (vectors.embeddings.name, vectors.embeddings.units) == ("concat", "subwords")
    assert (grams.window, grams.negatives, grams.epochs, grams.min_count) == (5, 10, 10, 1)  # their get_data_enfr.sh
    assert grams.width == model.model.shape.width == 1024
    assert model.model.vectors == f"runs/{vectors.name}/vectors"
    assert (model.model.vectors_spread, model.model.decoder.embeddings) == ("own", "own")
    random = read_recipe(f"xlm/unmt:en-{other}-random-random")
    assert (model.model.shape, model.train, model.objectives) == (random.model.shape, random.train, random.objectives)
    assert [said.where for said in vectors.published] == [said.where for said in model.published]


@pytest.mark.parametrize("kind", ["", "both-", "bt-"])
@pytest.mark.parametrize("start", ["random", "clm", "mlm"])
def test_supervised_translation_of_romanian(kind, start):
    name = f"xlm/mt-ro-en:{kind}{start}"
    recipe = read_recipe(name)
    assert taken(recipe) == [start] * 2
    assert set(recipe.objectives) == {"translation"} | ({"back_translation"} if kind == "bt-" else set())
    there = {("ro", "en")} if not kind else {("ro", "en"), ("en", "ro")}
    assert set(directions(recipe)) == there


def test_offline_back_translation_reads_both_directions():
    recipe = read_recipe("xlm/mt-ro-en:bt-offline-mlm")
    assert recipe.objective("translation").directions == "forward"
    made = {name: (group.pairs, group.train[0]) for name, group in recipe.corpora.items() if name.startswith("made")}
    assert made == {  # Romanian was made of English text, and is read; and the other way round
        "made-romanian": (["ro-en"], "back/en/train.{source}"),
        "made-english": (["en-ro"], "back/ro/train.{source}"),
    }
    assert set(directions(recipe)) == {("ro", "en"), ("en", "ro")}


@pytest.mark.parametrize("start", ["transformer", "mbert", "mass", "xlm", "alm"])
def test_translation_of_alm(start):
    for place, (tag, direction) in enumerate({"en-de": ("en", "de"), "de-en": ("de", "en")}.items()):
        name = f"alm/mt-{tag}:{start}"
        recipe = read_recipe(name)
        assert set(directions(recipe)) == {direction}
        assert recipe.train.tokens_per_update == 8192
        assert recipe.evaluate.task("mt").search.beam == 8
        assert recipe.train.optimizer.learning_rate == (1e-3, 5e-4)[place]
        starts = {"transformer": None, "mbert": "bert-base-multilingual-cased"}
        assert recipe.model.start == starts.get(start, recipe.model.start)
        assert start in str(recipe.model.start or "transformer").replace("bert-base-multilingual-cased", "mbert")


@pytest.mark.parametrize("name", [name for name in TRANSLATION if "unmt" in name] + MASS)
def test_batches_hold_as_much_text_as_in_the_papers(name):
    """XLM's code, of which MASS's is a copy, counts single sentences once; here they are read and, or half, written."""
    recipe, paper = read_recipe(name), 2000 if "unmt" in name else 3000
    assert f"{paper} " in " ".join(recipe.changes) or "MASS's fragments and batch" in " ".join(recipe.changes)
    for each in map(recipe.objective, recipe.objectives):
        lengths = np.array([20, 30, 40])
        costs = each.pair_costs(lengths, lengths) if each.reads is Pairs else each.sentence_costs(lengths)
        assert recipe.train.micro_batches == 8  # GPUs
        held = recipe.train.micro_batch_tokens * (lengths + 4) / costs  # subwords of text where all rows are so long
        assert held == pytest.approx(paper, rel=0.03 if name in MASS else 1e-9)  # fragments are whole subwords
    assert recipe.train.language_alpha == "0"  # a step of each language in every iteration, however much text it has
    if name in MASS:
        assert set(recipe.objectives) == {"mass"}
        assert recipe.objective("mass").code_switched == ("switched" in name)


@pytest.mark.parametrize("name", [name for name in TRANSLATION if "/mt-ro-en" in name])
def test_batches_of_pairs_count_both_sides(name):
    recipe = read_recipe(name)
    (cost,) = recipe.objective("translation").pair_costs(np.array([30]), np.array([30]))
    assert recipe.train.micro_batches == 8  # GPUs
    assert recipe.train.micro_batch_tokens * 2 * (30 + 4) / cost == pytest.approx(2000)


def test_every_learned_direction_has_held_out_pairs():
    for name in TRANSLATION:
        recipe = read_recipe(name)
        pairs = [tuple(pair.split("-")) for group in recipe.corpora.values() if group.dev for pair in group.pairs]
        held = {direction for pair in pairs for direction in (pair, pair[::-1])}
        assert set(directions(recipe)) <= held, name
