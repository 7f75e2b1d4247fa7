"""Recipes of translation: each stands for the row of its paper that its name says, and begins where that row does."""

from __future__ import annotations

import numpy as np
import pytest

from interlace.data import Pairs
from interlace.experiments.recipe import RECIPES, directions, read_recipe

NAMES = [name for name in RECIPES.names() if name.startswith(("xlm/unmt:", "xlm/mt-", "alm/mt-"))]
MASS = [name for name in RECIPES.names() if name.startswith("mass/")]

# Table 2, encoder and decoder: en-fr fr-en en-de de-en en-ro ro-en.
UNSUPERVISED = {
    "emb": "29.4 29.4 21.3 27.3 27.5 26.6",
    "random-random": "13.0 15.8 6.7 15.3 18.9 18.3",
    "random-clm": "25.3 26.4 19.2 26.0 25.7 24.6",
    "random-mlm": "29.2 29.1 21.6 28.6 28.2 27.3",
    "clm-random": "28.7 28.2 24.4 30.3 29.2 28.0",
    "clm-clm": "30.4 30.0 22.7 30.5 29.0 27.8",
    "clm-mlm": "32.3 31.6 24.3 32.5 31.6 29.8",
    "mlm-random": "31.6 32.1 27.0 33.2 31.8 30.5",
    "mlm-clm": "33.4 32.3 24.9 32.9 31.7 30.4",
    "mlm-mlm": "33.4 33.3 26.4 34.3 33.3 31.8",
}
OTHERS = ("fr", "de", "ro")
# Table 3: random, CLM, MLM.
SUPERVISED = {"": (28.4, 31.5, 35.3), "both-": (28.5, 31.5, 35.6), "bt-": (34.4, 37.0, 38.5)}
STARTS = ("random", "clm", "mlm")
# ALM, tables 1 and 2.
ALM = {
    "transformer": (28.40, 34.49),
    "mbert": (28.64, 34.82),
    "mass": (28.92, 35.14),
    "xlm": (28.88, 35.22),
    "alm": (29.22, 35.53),
}


def figures(name):
    (said,) = read_recipe(name).published
    (row,) = said.rows()
    return row.printed


@pytest.mark.parametrize("start", UNSUPERVISED)
@pytest.mark.parametrize("other", OTHERS)
def test_unsupervised_translation(start, other):
    name, pair = f"xlm/unmt:en-{other}-{start}", f"en-{other}"
    recipe = read_recipe(name)
    row = [float(number) for number in UNSUPERVISED[start].split()]
    column = 2 * OTHERS.index(other)
    assert figures(name) == {pair: row[column], f"{other}-en": row[column + 1]}
    assert set(recipe.objectives) == {"denoise", "back_translation"}
    assert recipe.corpora["dev"].trained == []  # no pair is learnt from
    assert set(directions(recipe)) == {("en", other), (other, "en")}
    assert (recipe.train.stop_by, recipe.train.patience) == ("bleu", 10)  # the example in the authors' code
    files = recipe.corpora["dev"].dev  # which the task finds by its own pattern
    task = recipe.evaluate.task("mt")
    named = [task.files.format(split="dev", source="en", target=other, language=each) for each in ("en", other)]
    assert named == [file.format(pair=pair, source="en", target=other) for file in files]
    assert recipe.evaluate.task("mt").targets == [pair, f"{other}-en"]
    assert taken(recipe) == ({"encoder": "emb", "decoder": "emb"} if start == "emb" else sides(start))
    strips = (recipe.normalization.romanian, recipe.evaluate.task("mt").romanian)
    assert strips == (("strip",) * 2 if other == "ro" else ("keep",) * 2)


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_is_said_of_those_that_it_is_true_of(name):
    """A variant with more changes repeats the list, so each list is checked."""
    recipe = read_recipe(name)
    changes = " ".join(recipe.changes)
    assert ("trained by gensim instead of fastText" in changes) == name.endswith("-emb")
    assert ("iterations of four updates" in changes) == ("denoise" in recipe.objectives)
    assert ("online back-translation have 1000 tokens" in changes) == (
        {"translation", "back_translation"} <= set(recipe.objectives)
    )
    assert ("8192 tokens of both sides" in changes) == name.startswith("alm/")


def sides(start):
    return dict(zip(("encoder", "decoder"), start.split("-"), strict=True))


def taken(recipe):
    """What each side begins from, as the settings say it."""
    model, decoder = recipe.model, recipe.model.decoder

    def named(start, take):
        if model.vectors is not None and start is None:
            return model.vectors.split("/")[1].split("-")[1]
        if start is None or take == "none":
            return "random"
        return start.split("/")[1].split("-")[1]

    return {"encoder": named(model.start, model.take), "decoder": named(decoder.start or model.start, decoder.take)}


@pytest.mark.parametrize("other", OTHERS)
def test_what_emb_begins_from(other):
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
    assert figures(name) == figures(f"xlm/unmt:en-{other}-emb")


@pytest.mark.parametrize("kind", SUPERVISED)
@pytest.mark.parametrize("start", STARTS)
def test_supervised_translation_of_romanian(kind, start):
    name = f"xlm/mt-ro-en:{kind}{start}"
    recipe = read_recipe(name)
    assert figures(name) == {"ro-en": SUPERVISED[kind][STARTS.index(start)]}
    assert taken(recipe) == {"encoder": start, "decoder": start}
    assert set(recipe.objectives) == {"translation"} | ({"back_translation"} if kind == "bt-" else set())
    there = {("ro", "en")} if not kind else {("ro", "en"), ("en", "ro")}
    assert set(directions(recipe)) == there


def test_back_translations_made_once_are_what_is_read():
    recipe = read_recipe("xlm/mt-ro-en:bt-offline-mlm")
    assert figures("xlm/mt-ro-en:bt-offline-mlm") == {"ro-en": 38.5}
    assert recipe.objective("translation").directions == "forward"
    made = {name: (group.pairs, group.train[0]) for name, group in recipe.corpora.items() if name.startswith("made")}
    assert made == {  # Romanian was made of English text, and is read; and the other way round
        "made-romanian": (["ro-en"], "back/en/train.{source}"),
        "made-english": (["en-ro"], "back/ro/train.{source}"),
    }
    assert set(directions(recipe)) == {("ro", "en"), ("en", "ro")}


@pytest.mark.parametrize("start", ALM)
def test_alms_translation(start):
    for place, (tag, direction) in enumerate({"en-de": ("en", "de"), "de-en": ("de", "en")}.items()):
        name = f"alm/mt-{tag}:{start}"
        recipe = read_recipe(name)
        assert figures(name) == {tag: ALM[start][place]}
        assert set(directions(recipe)) == {direction}
        assert recipe.train.tokens_per_batch == 8192
        assert recipe.evaluate.task("mt").search.beam == 8
        assert recipe.train.optimizer.learning_rate == (1e-3, 5e-4)[place]
        starts = {"transformer": None, "mbert": "bert-base-multilingual-cased"}
        assert recipe.model.start == starts.get(start, recipe.model.start)
        assert start in str(recipe.model.start or "transformer").replace("bert-base-multilingual-cased", "mbert")


def test_no_recipe_is_left_out():
    told = {f"xlm/unmt:en-{other}-{start}" for other in OTHERS for start in UNSUPERVISED}
    told |= {f"xlm/mt-ro-en:{kind}{start}" for kind in SUPERVISED for start in STARTS} | {"xlm/mt-ro-en:bt-offline-mlm"}
    told |= {f"alm/mt-{tag}:{start}" for tag in ("en-de", "de-en") for start in ALM}
    assert told == set(NAMES)


@pytest.mark.parametrize("name", [*NAMES, *MASS])
def test_says_what_it_is_and_what_differs(name):
    recipe = read_recipe(name)
    assert recipe.seq2seq
    assert recipe.about.endswith(".")
    assert recipe.changes
    assert all(change.endswith(".") for change in recipe.changes)
    assert recipe.data_root == "$INTERLACE_DATA"


def test_mass_hides_fragments_of_one_language_or_of_switched_sentences():
    for name in MASS:
        recipe = read_recipe(name)
        assert set(recipe.objectives) == {"mass"}
        assert recipe.objective("mass").code_switched == ("switched" in name)
    assert [row.printed for said in read_recipe("mass/pretrain:en-de").published for row in said.rows()] == [
        {"en-de": 28.92},
        {"de-en": 35.14},
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if "unmt" in name] + MASS)
def test_a_batch_holds_as_much_text_as_the_papers(name):
    """XLM's code, of which MASS's is a copy, counts single sentences once; here they are read and, or half, written."""
    recipe, paper = read_recipe(name), 2000 if "unmt" in name else 3000
    assert f"{paper} " in " ".join(recipe.changes) or "MASS's fragments and batch" in " ".join(recipe.changes)
    for each in map(recipe.objective, recipe.objectives):
        lengths = np.array([20, 30, 40])
        costs = each.pair_costs(lengths, lengths) if each.reads is Pairs else each.sentence_costs(lengths)
        held = recipe.train.tokens_per_batch * (lengths + 4) / costs  # subwords of text where all rows are so long
        assert held == pytest.approx(paper, rel=0.03 if name in MASS else 1e-9)  # fragments are whole subwords


@pytest.mark.parametrize("name", [name for name in NAMES if "/mt-ro-en" in name])
def test_pairs_are_counted_on_both_sides_as_the_papers(name):
    recipe = read_recipe(name)
    (cost,) = recipe.objective("translation").pair_costs(np.array([30]), np.array([30]))
    assert recipe.train.tokens_per_batch * 2 * (30 + 4) / cost == pytest.approx(2000)


def test_every_direction_that_is_learnt_from_pairs_can_be_measured():
    for name in NAMES:
        recipe = read_recipe(name)
        held = {direction for group in recipe.corpora.values() if group.dev for direction in both(group.pairs)}
        assert set(directions(recipe)) <= held, name


@pytest.mark.parametrize("name", [name for name in NAMES if "unmt" in name or ":bt-" in name] + MASS)
def test_every_language_is_read_alike_as_in_the_authors_code(name):
    """XLM's code, and MASS's, take a step of each language in every iteration, however much text it has."""
    assert read_recipe(name).train.language_alpha == "0"


def test_the_rate_of_alms_translation_falls_as_in_the_paper_that_it_names():
    for tag in ("en-de", "de-en"):
        optimizer = read_recipe(f"alm/mt-{tag}:alm").train.optimizer
        assert (optimizer.schedule, optimizer.warmup) == ("inverse_sqrt", 4000)
        assert "lower-cased" in " ".join(read_recipe(f"alm/mt-{tag}:alm").changes) or tag == "en-de"


def both(pairs):
    for pair in pairs:
        source, target = pair.split("-")
        yield from ((source, target), (target, source))


def test_denoising_fades_as_in_the_authors_example():
    recipe = read_recipe("xlm/unmt:en-fr-mlm-mlm")
    assert recipe.objectives["denoise"].weight == "0:1,100000:0.1,300000:0"
    noise = recipe.objective("denoise").noise
    assert (noise.unit, noise.shuffle, noise.drop, noise.blank) == ("subword", "3", "0.1", "0.1")
    assert recipe.train.optimizer.learning_rate == 1e-4
