"""Recipes in the papers' settings: each says what it trains, and quotes its rows to the digit."""

import pytest

from interlace.experiments.recipe import RECIPES, read_recipe
from interlace.scores.published import find_rows

FOLDERS = ("xlm", "alm", "weam", "align-mlm")
PAPERS = [
    name
    for name in RECIPES.names()
    if name.split("/")[0] in FOLDERS and not read_recipe(name).embeddings and "mt" not in name.partition(":")[0]
]  # those of word vectors: test_embeddings; of translation: test_translation_recipes
LANGUAGES = "en fr es de el bg ru tr ar vi th zh hi sw ur mean".split()
SETTINGS = ("supervised", "zero-shot", "difference")

# Rows as they stand in the papers, by recipe and place.
FIFTEEN = {
    ("xlm/xnli:mlm", "table 1, XLM (MLM) (cross-lingual)"): (
        "83.2 76.5 76.3 74.2 73.1 74.0 73.1 67.8 68.5 71.2 69.2 71.9 65.7 64.6 63.4 71.5"
    ),
    ("xlm/xnli:mlm-tlm", "table 1, XLM (MLM+TLM) (translate-train)"): (
        "85.0 80.2 80.8 80.3 78.1 79.3 78.1 74.7 76.5 76.6 75.5 78.6 72.3 70.9 63.2 76.7"
    ),
    ("xlm/xnli:mlm-tlm", "table 1, XLM (MLM+TLM) (translate-test)"): (
        "85.0 79.0 79.5 78.1 77.8 77.6 75.5 73.7 73.7 70.8 70.4 73.6 69.0 64.7 65.1 74.2"
    ),
    ("xlm/xnli:mlm-tlm", "table 1, XLM (MLM+TLM) (cross-lingual)"): (
        "85.0 78.7 78.9 77.8 76.6 77.4 75.3 72.5 73.1 76.1 73.2 76.5 69.6 68.4 67.3 75.1"
    ),
    ("alm/pretrain:all", "table 3, ALM (translate-train)"): (
        "85.2 81.1 82.0 82.3 78.3 79.8 78.4 74.9 76.7 76.8 75.6 78.7 72.5 71.5 63.4 77.2"
    ),
    ("alm/pretrain:all", "table 3, ALM (translate-test)"): (
        "85.2 79.1 80.0 78.4 78.0 77.8 77.1 73.9 74.2 71.2 70.5 73.8 69.2 64.8 65.3 74.6"
    ),
    ("alm/pretrain:all", "table 3, ALM (cross-lingual test)"): (
        "85.2 79.3 79.2 78.0 76.7 78.1 76.5 73.0 73.2 76.4 73.5 78.6 69.8 69.0 66.8 75.6"
    ),
}
# Encoder, decoder: en-fr fr-en en-de de-en en-ro ro-en.
UNSUPERVISED = {
    ("encoder random, decoder", "CLM"): "25.3 26.4 19.2 26.0 25.7 24.6",
    ("encoder random, decoder", "MLM"): "29.2 29.1 21.6 28.6 28.2 27.3",
    ("encoder and decoder", "CLM"): "30.4 30.0 22.7 30.5 29.0 27.8",
    ("encoder and decoder", "MLM"): "33.4 33.3 26.4 34.3 33.3 31.8",
    ("encoder", "CLM"): "28.7 28.2 24.4 30.3 29.2 28.0",
    ("encoder", "MLM"): "31.6 32.1 27.0 33.2 31.8 30.5",
}
SUPERVISED = {  # CLM, MLM
    "ro to en": (31.5, 35.3),
    "both directions": (31.5, 35.6),
    "both directions and back-translation": (37.0, 38.5),
}
NEPALI = {
    "xlm/low-resource:ne": 157.2,
    "xlm/low-resource:ne-en": 140.1,
    "xlm/low-resource:ne-hi": 115.6,
    "xlm/low-resource:ne-en-hi": 109.3,
}
MLQA = {  # EM/F1 of en, es, de, zh
    "tlm": "66.8/80.0 47.7/65.7 48.4/63.1 40.1/62.0",
    "weam": "66.7/79.7 49.6/67.8 49.7/64.3 41.7/63.7",
}
XNLI = {"word-aligned": "80.1 75.5 73.1", "tlm": "82.0 75.0 73.5 73.1", "weam": "82.6 76.4 74.5 74.4"}
DERIVED = {  # XNLI, NER, POS: SUP ZS difference each; alignment of table 8
    "mlm-trans": "76.4 74.9 1.5 80.6 78.0 2.6 95.0 94.6 0.4 90.0",
    "mlm-inv": "73.9 56.7 17.2 79.2 35.9 43.3 95.0 56.5 38.5 0.3",
    "mlm-syn": "73.5 69.0 4.5 71.3 52.3 19.0 93.6 91.6 2.0 57.3",
    "xlm-trans": "77.3 77.5 -0.2 80.8 79.7 1.1 95.0 94.8 0.2 97.7",
    "xlm-inv": "75.4 67.2 8.2 80.0 60.7 19.4 95.0 61.8 33.2 85.6",
    "xlm-syn": "76.1 74.1 1.9 71.5 59.6 11.9 93.7 92.7 0.9 98.6",
    "dict-mlm-trans": "77.0 75.9 1.1 79.3 78.3 1.1 95.1 94.8 0.3 95.7",
    "dict-mlm-inv": "74.5 65.3 9.2 79.1 59.8 19.3 95.0 76.0 19.0 64.2",
    "dict-mlm-syn": "74.3 72.2 2.2 71.4 57.6 13.8 93.6 92.6 1.0 93.7",
    "align-mlm-trans": "75.1 75.5 -0.5 79.4 78.6 0.8 94.9 94.8 0.1 98.4",
    "align-mlm-inv": "75.5 68.8 6.7 80.0 64.5 15.5 95.0 92.0 3.0 95.2",
    "align-mlm-syn": "74.7 71.1 3.6 71.3 58.3 13.1 93.7 92.9 0.8 98.2",
    "xlm-inv-parallel-1": "75.9 59.8 16.1 79.8 40.2 39.5 95.0 66.9 28.1",
    "xlm-inv-parallel-10": "75.3 65.8 9.5 79.7 59.4 20.3 95.1 63.6 31.5",
    "xlm-inv-parallel-100": "75.0 65.2 9.8 80.0 62.4 17.6 95.1 60.0 35.1",
    "xlm-inv-overlap-25": "76.6 71.3 5.2 79.8 64.0 15.8 95.1 92.6 2.4",
    "xlm-inv-overlap-50": "75.0 72.2 2.8 80.0 42.5 37.5 95.0 94.4 0.6",
}
HALF = {  # the difference alone
    "dict-mlm-inv-50": "6.0 15.9 3.4",
    "align-mlm-inv-50": "5.7 14.0 1.5",
    "dict-mlm-syn-50": "2.9 13.4 0.9",
    "align-mlm-syn-50": "1.6 11.5 0.7",
}


def numbers(text):
    return [float(number) for number in text.split()]


def published(name):
    """The scores of all rows that a recipe stands for, in its order."""
    return [row.printed for said in read_recipe(name).published for row in said.rows()]


def at(name, place):
    """The scores of the rows of one place."""
    said = [said for said in read_recipe(name).published if said.where.endswith(place)]
    return [row.printed for each in said for row in each.rows()]


@pytest.mark.parametrize("name", PAPERS)
def test_says_what_it_is_what_differs_and_what_was_published(name):
    recipe = read_recipe(name)
    assert recipe.about.endswith(".")
    assert recipe.published
    assert recipe.changes
    assert all(change.endswith(".") for change in recipe.changes)
    assert recipe.data_root == "$INTERLACE_DATA"


def test_no_two_recipes_share_a_name():
    names = [read_recipe(name).name for name in RECIPES.names() if not name.startswith("adapt/")]
    assert len(set(names)) == len(names)


def test_what_is_only_there_to_be_extended_is_not_listed():
    assert not [name for name in RECIPES.names() if name.split("/")[-1].startswith("_")]


@pytest.mark.parametrize("name", PAPERS)
def test_trains_what_its_name_says(name):
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


@pytest.mark.parametrize(("name", "place"), FIFTEEN)
def test_figures_of_fifteen_languages(name, place):
    assert at(name, place) == [dict(zip(LANGUAGES, numbers(FIFTEEN[name, place]), strict=True))]


@pytest.mark.parametrize(("where", "kind"), UNSUPERVISED)
def test_figures_of_unsupervised_translation(where, kind):
    place = f"table 2, {where} {kind}" + (", decoder random" if where == "encoder" else "")
    row = numbers(UNSUPERVISED[where, kind])
    for column, other in enumerate(("fr", "de", "ro")):
        found = at(f"xlm/encoders:{kind.lower()}-en-{other}", place)
        assert found == [{f"en-{other}": row[2 * column], f"{other}-en": row[2 * column + 1]}]


def test_figures_of_supervised_translation():
    for number, kind in enumerate(("clm", "mlm")):
        found = {place: at(f"xlm/encoders:{kind}-en-ro", f"table 3, {place}") for place in SUPERVISED}
        assert found == {place: [{"ro-en": row[number]}] for place, row in SUPERVISED.items()}


def test_figures_of_language_models_embeddings_and_alms_translation():
    assert {name: published(name)[0]["ne"] for name in NEPALI} == NEPALI
    assert [row["mean"] for row in at("xlm/xnli:mlm", "table 5, XLM")] == [0.55, 2.64, 0.69]
    for name in ("alm/pretrain:en-de", "alm/pretrain:en-de-table"):
        assert published(name) == [{"en-de": 29.22}, {"de-en": 35.53}]


@pytest.mark.parametrize("name", [name for name in PAPERS if name.startswith("weam/")])
def test_weams_recipes_score_both_tasks_of_the_paper(name):
    recipe = read_recipe(name)
    assert set(recipe.evaluate.tasks) == {"mlqa", "xnli"}
    assert recipe.evaluate.task("mlqa").normalization == "mlqa"
    head = RECIPES.find(name).path.read_text(encoding="utf-8")
    assert all(file in head for file in ("qa/squad/", "qa/mlqa/test/", "nli/train.en.tsv"))


@pytest.mark.parametrize("name", [name for name in PAPERS if name.startswith("weam/")])
def test_figures_of_weam(name):
    method, _, language = name.removeprefix("weam/mbert:").partition("-en-")
    column = ("en", "es", "de", "zh").index(language)
    xnli = numbers(XNLI[method])
    expected = [{"en": xnli[0], language: xnli[column]}]
    if method in MLQA:
        cells = [numbers(cell.replace("/", " ")) for cell in MLQA[method].split()]
        expected = [{"en": cells[0][kind], language: cells[column][kind]} for kind in (0, 1)] + expected
    assert published(name) == expected


@pytest.mark.parametrize("title", DERIVED)
def test_figures_of_derived_languages(title):
    row = numbers(DERIVED[title])
    expected = [dict(zip(SETTINGS, row[3 * task : 3 * task + 3], strict=True)) for task in range(3)]
    expected += [{"mean": row[9]}] if len(row) > 9 else []
    assert published(f"align-mlm/wikitext:{title}") == expected


@pytest.mark.parametrize("title", HALF)
def test_figures_of_larger_dictionaries(title):
    recipe = read_recipe(f"align-mlm/wikitext:{title}")
    assert [row["difference"] for row in published(f"align-mlm/wikitext:{title}")] == numbers(HALF[title])
    objective = recipe.objective(title.split("-mlm")[0] + "_mlm")
    assert objective.dictionary.share == 0.5


def test_every_recipe_of_a_paper_is_held_to_its_rows():
    told = {name for name, _ in FIFTEEN} | set(NEPALI) | {f"align-mlm/wikitext:{title}" for title in (*DERIVED, *HALF)}
    told |= {f"xlm/encoders:{kind}-en-{other}" for kind in ("clm", "mlm") for other in ("fr", "de", "ro")}
    told |= {"alm/pretrain:en-de", "alm/pretrain:en-de-table"} | {name for name in PAPERS if name.startswith("weam/")}
    assert told == set(PAPERS)


def test_settings_that_the_papers_name():
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


WEAM_PAIRS = {"de": 1.92e6, "es": 1.97e6, "zh": 5.2e6}  # Europarl, release 7, and translation2019zh


@pytest.mark.parametrize("language", WEAM_PAIRS)
@pytest.mark.parametrize("kind", ["weam", "tlm"])
def test_two_passes_of_the_papers_batches_over_one_pair_of_languages(kind, language):
    recipe = read_recipe(f"weam/mbert:{kind}-en-{language}")
    pairs = WEAM_PAIRS[language]
    assert recipe.train.tokens_per_batch == 32 * 64  # pairs, subwords of a pair
    assert 32 * recipe.train.steps / pairs == pytest.approx(2, abs=0.06)
    assert any(f"{pairs / 1e6:g} million pairs" in change for change in recipe.changes)


@pytest.mark.parametrize("title", [*DERIVED, *HALF])
def test_rows_of_derived_languages_make_them_and_are_scored_in_both_ways(title):
    recipe = read_recipe(f"align-mlm/wikitext:{title}")
    (language,) = recipe.evaluate.targets
    made = recipe.derived[language]
    last = "overlap" if "overlap" in title else "transliterate"
    first = {"inv": ["invert"], "syn": ["syntax"], "trans": []}[language.split("_")[2]]
    assert (made.of, made.transformations) == ("en", [*first, last])
    for task in ("xnli", "ner", "pos"):
        assert recipe.evaluate.task(task).settings == ["zero-shot", "supervised"]
    if title.startswith("xlm-"):  # rows of TLM as the share of sentences that have their translation
        assert recipe.objectives["tlm"].weight == str(made.parallel)
    if "overlap" in title:
        assert made.settings["overlap"]["share"] * 100 == int(title.rpartition("-")[2])


@pytest.mark.parametrize("title", [title for title in DERIVED if title.startswith("xlm-")])
def test_xlm_on_derived_languages_has_language_ids_and_positions_that_restart(title):
    recipe = read_recipe(f"align-mlm/wikitext:{title}")
    assert recipe.objective("mlm").language_ids is True
    assert (recipe.objective("tlm").language_ids, recipe.objective("tlm").reset_positions) == (True, True)


def test_recipes_to_be_compared_differ_in_their_objectives_alone():
    names = [f"align-mlm/wikitext:{method}-inv" for method in ("mlm", "xlm", "dict-mlm", "align-mlm")]
    recipes = [read_recipe(name) for name in names]
    assert all(recipe.train == recipes[0].train for recipe in recipes)
    assert all(recipe.model.shape == recipes[0].model.shape for recipe in recipes)
    assert all(recipe.evaluate == recipes[0].evaluate for recipe in recipes)
    assert [recipe.model.languages for recipe in recipes] == ["none", "embeddings", "embeddings", "none"]
    assert read_recipe("align-mlm/wikitext:align-mlm-inv").objective("align_mlm").alignment_weight == 10
    assert read_recipe("align-mlm/wikitext:dict-mlm-inv").objective("dict_mlm").mode == "input"
    for language in ("es", "de", "zh"):
        one, other = (read_recipe(f"weam/mbert:{kind}-en-{language}") for kind in ("weam", "tlm"))
        assert (one.train, one.model, one.corpora) == (other.train, other.model, other.corpora)


def test_the_average_that_weams_table_misprints_is_told():
    true = {"weam": {"exact": 47.0, "f1": 65.3}, "tlm": {"exact": 45.4, "f1": 63.6}}
    for kind, figures in true.items():
        mlqa = read_recipe(f"weam/mbert:{kind}-en-de").published[0]
        rows = find_rows(mlqa.where)
        assert {row.table.score: row.correct["mean zero-shot"] for row in rows} == figures
        assert all("mean of es, de, zh" in row.table.errata for row in rows)
