"""The sections of the page besides scores: training, published results, setup and others."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from interlace.report.runs import LoggedScores, ReportedRun, Sample, SampleRow, read_runs
from interlace.report.sections.derived_languages import transfer_points
from interlace.report.sections.diagnostics import evenly
from interlace.report.sections.training_examples import shown_sample
from interlace.report.sections.word_maps import cosines_note, project
from interlace.scores import ScoreTable, table_of_entries
from report_runs import bare_run, change, score, section

DASH = "\N{EN DASH}"
DIAGNOSTICS, EVALUATION, LOSSES, MIXTURE = "diagnostics", "during training", "losses", "Mixture"
RECIPE, COMPUTE, REPRODUCTION = "Recipe", "Compute", "Reproduction"


def words_of(found):
    """The text of a section without tags."""
    words = [unescape(part).strip() for part in re.split(r"<[^>]*>", found.body)]
    return [word for word in words if word]


def text_of(found):
    return " ".join(words_of(found))


def rows_of(found):
    """By label the cells of the rows of all tables, without marks of missing ones."""
    rows = {}
    for row in re.findall(r"<tr.*?</tr>", found.body, re.DOTALL):
        label, *cells = (
            unescape(re.sub(r"<[^>]*>", "", cell)).strip()
            for cell in re.split(r"</t[hd]>", row)[:-1]
        )
        rows[label] = [cell for cell in cells if cell != DASH]
    return rows


def titles(body):
    return re.findall(r'class="title">([^<]*)<', body)


SCORES = {
    "alignment/en-de": 10.0, "alignment/mean": 10.0,
    "retrieval/en-de": 40.0, "retrieval/de-en": 60.0, "retrieval/en-hi": 4.0, "retrieval/hi-en": 8.0,
    "retrieval/mean": 28.0, "gap/en-de": -0.01, "gap/mean": -0.01,
    "align_mlm/train/p@1": 90.0, "align_mlm/train/cosine": 0.9, "align_mlm/held-out/p@1": 30.0,
}  # fmt: skip
ON = {"en-de": {"pairs": 128, "from": "dev"}}


def diagnosed(label="a", style=0, on=None, scores=None, **more):
    lines = [
        LoggedScores(step=step, scores={name: value * step for name, value in (scores or SCORES).items()},
                     on=on or ON)
        for step in (0, 1, 2)
    ]  # fmt: skip
    return ReportedRun(
        Path(label), {}, more.pop("facts", {}), label, style, diagnoses=lines, **more
    )


def test_diagnostics_have_a_panel_per_pair_and_name_those_left_out():
    pair, hindi = f"English {DASH} German", f"English {DASH} Hindi"
    found = section("diagnostics", [diagnosed()], DIAGNOSTICS)
    assert titles(found.body) == [
        pair, "align_mlm, trained on", "align_mlm, held out", "align_mlm, trained on", pair, hindi, "Mean of all",
        pair,
    ]  # fmt: skip
    both = next(
        drawing.label for drawing in found.figures if drawing.label.startswith(f"{pair}: P@1 in %")
    )
    assert both.endswith("a 20.0")  # the alignment; retrieval averages both directions:
    assert [drawing.label for drawing in found.figures][4].endswith("a 100")
    languages = "ar bg de el es fr hi ru sw th tr ur vi".split()
    scores = {f"gap/en-{language}": 0.1 for language in languages} | {"gap/mean": 0.1}
    body = section("diagnostics", [diagnosed(scores=scores)], DIAGNOSTICS).body
    assert (titles(body)[0], titles(body)[-1], len(titles(body))) == (
        f"English {DASH} Arabic",
        "Mean of all",
        12,
    )
    assert "Not drawn: English" in body
    for count, most, expected in (
        (3, 8, [0, 1, 2]),
        (13, 4, [0, 4, 8, 12]),
        (25, 8, [0, 3, 7, 10, 14, 17, 21, 24]),
    ):
        assert evenly([str(number) for number in range(count)], most) == [
            str(number) for number in expected
        ]


def test_mixture_by_objective_and_language():
    counts = {"tokens": (1500, 500), "rows": (15, 9), "steps": (3, 1)}
    mixture = {
        what: dict(zip(("mlm/de", "tlm/en-de"), each, strict=True)) for what, each in counts.items()
    }
    mixture["languages"] = {"de": 1750, "en": 250}
    shares = {"mlm/de": 0.75, "tlm/en-de": 0.25}
    body = section(
        "mixture",
        [ReportedRun(Path("a"), {}, {"shares": shares, "mixture": mixture}, "a")],
        MIXTURE,
    ).body
    assert "1,500 subwords, 15 rows, 3 steps" in body
    languages = body.partition("By language")[2]
    for expected in ("German", "87.5\u202f%", "12.5\u202f%"):
        assert expected in languages
    plain = section(
        "mixture", [ReportedRun(Path("a"), {}, {"shares": {"mlm/de": 1.0}}, "a")], MIXTURE
    ).body
    assert "100.0\u202f%" in plain
    assert "By language" not in plain


def published(make_run, **row):
    """The text of the section for a run with one score."""
    folder = make_run("mlm", gain=0.0)
    change(folder, "scores.json", lambda _: [{"source": "en", "seed": 0, "n": 9, **row}])
    return text_of(section("published", [folder], "Published"))


def test_published_results_are_below_ours(make_run):
    folder = make_run("mlm", gain=0.0)
    change(
        folder,
        "scores.json",
        lambda rows: [{**row, "tuning": {"rule": "source-dev"}} for row in rows],
    )
    found = section("published", [folder], "Published")
    labels = list(rows_of(found))
    weam = "Yang et al. 2021, table 2, mBERT+WEAM (xnli, zero-shot, accuracy, %)"
    assert labels.index("mlm") < labels.index(weam)
    assert "82.6" in rows_of(found)[weam]
    assert "Tang et al. 2022" not in text_of(found)  # no languages there
    assert "not comparable" in found.lead
    assert "(ours: source-dev). The printed learning rates of 5e-4 to 2e-4" in text_of(found)


@pytest.mark.parametrize(("translations", "there"), [("machine", True), ("human", False)])
def test_published_translate_test_is_not_beside_an_oracle(translations, there, make_run):
    folder = make_run("mlm", gain=0.0)
    about = {
        "setting": "translate-test",
        "translations": translations,
        "task": "xnli",
        "metric": "accuracy",
    }
    row = {**about, "unit": "%", "source": "en", "seed": 0, "n": 9, "language": "de", "score": 50.0}
    change(folder, "scores.json", lambda _: [row, {**row, "setting": "zero-shot"}])
    published = text_of(section("published", [folder], "Published"))
    assert ("78.1" in published) == there  # XLM's translate-test in German
    assert "77.8" in published  # zero-shot
    assert ("translate-test, oracle" in text_of(section("scores", [folder], "Scores"))) != there


def test_published_figures_are_below_our_metric_of_the_same_name(make_run):
    """The paper's figure for Nepali is likely per word; our main metric is per subword."""
    both = {"perplexity": 468.0, "perplexity per subword": 468.0, "perplexity per word": 2345.6}
    about = {
        "task": "perplexity",
        "metric": "perplexity",
        "unit": "per subword",
        "language": "ne",
        "score": 468.0,
    }
    text = published(make_run, **about, greater_is_better=False, scores=both)
    assert "perplexity ↓ (perplexity per word) runs ne published mean mlm 1 2345.6" in text
    assert "perplexity, not named, likely per word, not named: Wikipedia)" in text
    assert "157.2" in text
    assert "468" not in text
    assert "Unit: not named, likely per word (ours: perplexity per word)." in text
    assert "157.2" not in published(
        lambda *args, **more: make_run(*args, folder="other", **more), **about
    )


def test_published_means_are_below_ours(make_run):
    text = published(make_run, task="word_translation", metric="p@1 csls", unit="%", language="en-de", score=40.0,
                     scores={"p@1 csls": 40.0, "mean cosine": 0.412, "mean distance": 3.5})  # fmt: skip
    assert re.search(r"\(mean cosine, cosine\) word_translation (↓ )?\(mean distance, L2\)", text)
    assert "mlm 1 0.412 3.5" in text
    assert re.search(r"table 5, XLM[^)]*mean cosine, cosine[^)]*\) – – – 0.55", text)


# (the row that must stand below, whether the recipe names it, score, figure)
OF_EACH_PAPER = [
    ("Yang et al. 2020, table 1, ALM (mt, BLEU)", {"task": "mt", "metric": "bleu", "language": "en-de"}, "29.22"),
    ("Yang et al. 2020, table 2, ALM (mt, BLEU)", {"task": "mt", "metric": "bleu", "language": "de-en"}, "35.53"),
    ("Yang et al. 2020, table 3, ALM (cross-lingual test) (xnli, zero-shot, accuracy, %)",
     {"task": "xnli", "metric": "accuracy", "language": "de"}, "78"),
    ("Yang et al. 2021, table 1, mBERT+WEAM (mlqa, zero-shot, F1, %)",
     {"task": "mlqa", "metric": "f1", "language": "de"}, "64.3"),
    ("Yang et al. 2021, table 2, mBERT+WEAM (xnli, zero-shot, accuracy, %)",
     {"task": "xnli", "metric": "accuracy", "language": "de"}, "74.5"),
    ("Conneau & Lample 2019, table 2, encoder and decoder MLM (mt, BLEU)",
     {"task": "mt", "metric": "tokenized bleu", "language": "en-fr"}, "33.4"),
    ("Conneau & Lample 2019, table 3, both directions (mt, BLEU)",
     {"task": "mt", "metric": "tokenized bleu", "language": "ro-en"}, "35.6"),
    ("Tang et al. 2022, table 3, ALIGN-MLM, Trans + Inv (xnli, accuracy, %, dev)",
     {"task": "xnli", "metric": "accuracy", "language": "en_x"}, "68.8"),
    ("Tang et al. 2022, table 3, ALIGN-MLM, Trans + Inv (xnli, accuracy, %, dev)",
     {"task": "xnli", "metric": "accuracy", "language": "en_x", "setting": "supervised"}, "75.5"),
    ("Tang et al. 2022, table 8, ALIGN-MLM, Trans + Inv (embedding_alignment, precision at 1, %, whole vocabulary)",
     {"task": "embedding_alignment", "metric": "p@1", "language": "en-en_x"}, "95.2"),
]  # fmt: skip
NAMED = {"Conneau & Lample 2019, table 3, both directions": {"system": "MLM"},
         "Tang et al. 2022, table 3, ALIGN-MLM, Trans + Inv": {},
         "Tang et al. 2022, table 8, ALIGN-MLM, Trans + Inv": {}}  # fmt: skip


@pytest.mark.parametrize(("label", "score", "figure"), OF_EACH_PAPER)
def test_a_run_shows_the_row_of_each_paper(label, score, figure, make_run):
    folder = make_run("mlm", gain=0.0)
    places = [{"where": where, **more} for where, more in NAMED.items()]
    change(folder, "recipe.json", lambda recipe: {**recipe, "published": places})
    change(
        folder,
        "scores.json",
        lambda _: [{"source": "en", "seed": 0, "n": 9, "score": 50.0, **score}],
    )
    assert figure in rows_of(section("published", [folder], "Published"))[label]
    change(folder, "recipe.json", lambda recipe: {**recipe, "published": []})
    is_named = any(label.startswith(where) for where in NAMED)
    assert (label in rows_of(section("published", [folder], "Published"))) is not is_named


def test_printing_errors_and_notes_of_recipes_are_shown(make_run):
    about = {
        "task": "mlqa",
        "metric": "f1",
        "unit": "%",
        "language": "de",
        "score": 50.0,
        "scores": {"exact": 33.0},
    }
    assert "Printing errors: AVG(zero-shot) is the mean of es, de, zh and AVG(all)" in published(
        make_run, **about
    )
    folder = make_run("other", gain=0.0)
    places = [
        {"where": "Yang et al. 2020, table 3, ALM (cross-lingual test)", "note": "Ours is less."},
        {"where": "Doe 2020, table 9, X"},
    ]
    change(folder, "recipe.json", lambda recipe: {**recipe, "published": places})
    text = text_of(section("published", [folder], "Published"))
    assert "Yang et al. 2020, table 3, ALM (cross-lingual test): Ours is less." in text
    assert "Doe 2020" not in text


SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def translated(language, bleu, seed=0, **more):
    scores = {
        "bleu": bleu,
        "chrf": 50.0,
        "tokenized bleu": bleu + 2,
        "copied words": 9.0,
        "length ratio": 0.985,
    }
    about = {
        "task": "mt",
        "metric": "bleu",
        "unit": "BLEU",
        "language": language,
        "source": "en",
        "seed": seed,
    }
    return {**about, "score": bleu, "scores": scores, "signatures": {"bleu": SIGNATURE}} | more


def test_translation_has_other_metrics_and_signatures(tmp_path):
    first = [translated("en-de", 30.0, low=28.0, high=32.5), translated("de-en", 33.0)]
    second = [translated("en-de", 35.0), translated("en-de", 37.0, 1)]
    runs = [bare_run(tmp_path / "a", "random", first), bare_run(tmp_path / "b", "started", second)]
    found = section("scores", runs, "Scores").body
    assert found.count(f"Signatures: bleu {SIGNATURE}.") == 1
    words = words_of(section("scores", runs, "Scores"))
    for expected in ("36.0", "28.0–32.5", "35.0–37.0", "0.98", "tokenized"):
        assert expected in " ".join(words)


TRANS, INV = ["transliterate"], ["invert", "transliterate"]


def transferred(label, steps, supervised, zero_shot, alignment = None, whole = None,
                folder = "x"):  # fmt: skip
    name = f"{label}, transformations {'+'.join(steps)}"
    rows = [
        score("en", 95.0),
        *(score("en_x", value, seed) for seed, value in enumerate(zero_shot)),
    ]
    rows += [score("en_x", value, setting="supervised") for value in supervised]
    if alignment is not None:
        more = {} if whole is None else {"p@1, all": whole}
        rows.append(score("en_x", alignment, task="embedding_alignment", metric="p@1", scores=more))
    recipe = {"derived": {"en_x": {"of": "en", "transformations": steps}}, "name": name}
    return ReportedRun(
        Path(folder), recipe, {}, name, scores=ScoreTable(table_of_entries(rows, run=folder))
    )


@pytest.fixture
def derived_runs():
    return [
        transferred("MLM", TRANS, [90], [80, 90], 60.0),
        transferred("MLM", INV, [90], [40], 5.0),
        transferred("ALIGN", TRANS, [90], [88], 40.0, 70.0),
        transferred("ALIGN", INV, [91], [61], 30.0, 65.0),
        transferred("ALIGN", INV, [91], [71], 30.0, 65.0, "y"),
    ]


def test_transfer_points_are_means_over_runs_and_seeds(derived_runs):
    points = {
        (point.system, point.transformation): point for point in transfer_points(derived_runs)
    }
    assert list(points) == [
        ("MLM", "Trans"),
        ("MLM", "Trans + Inv"),
        ("ALIGN", "Trans"),
        ("ALIGN", "Trans + Inv"),
    ]
    assert points["MLM", "Trans"].gaps == (10.0,)  # 90 minus 80: the seed that has both
    assert points["ALIGN", "Trans + Inv"].gaps == (30.0, 20.0)
    assert points["ALIGN", "Trans"].alignment == 70.0  # over all words, not only held-out ones


def test_gaps_scores_and_alignment_are_drawn(derived_runs):
    found = section("derived_languages", derived_runs, "derived")
    labels = [drawing.label for drawing in found.figures]
    starts = [
        "Part-of-speech tagging: transfer gap",
        "Part-of-speech tagging: gap by alignment (%)",
    ]
    assert [label.startswith(start) for label, start in zip(labels, starts, strict=True)] == [
        True
    ] * 2
    assert (
        "ALIGN, Trans + Inv, Part-of-speech tagging: supervised 91.0, zero-shot 66.0, gap 25.0"
        in labels[0]
    )
    assert section("derived_languages", [transferred("MLM", TRANS, [], [80])], "derived").body == ""


def test_words_are_drawn_before_and_after_training(make_run):
    folder = make_run("mlm", gain=0.0)
    concepts = [{"en": f"w{n}", "de": f"v{n}", "hi": f"u{n}"} for n in range(8)]
    rng = np.random.default_rng(0)
    means = rng.normal(size=(8, 1, 12))
    before, after = (
        np.float32(rng.normal(size=(8, 3, 12)) + near * means).reshape(-1, 12) for near in (0, 3)
    )
    save_file(
        {"before": before, "after": after},
        folder / "words.safetensors",
        {"concepts": json.dumps(concepts)},
    )
    (run,) = read_runs([folder])
    assert run.words.pairs[:2] == [(0, 1), (0, 2)]
    assert re.match(
        r"Mean cosine of translations 0\.[89]\d, of other words .?0\.[01]",
        cosines_note(run.words, after),
    )
    found = section("word_maps", [folder], "Words and")
    assert len(found.figures) == 4
    assert found.body.count('class="on-wide"') == 4
    assert re.findall(r"</b> (t-SNE|PCA)\.", found.body) == ["t-SNE", "PCA"] * 2
    unit = after / np.linalg.norm(after, axis=1, keepdims=True)
    values = np.linalg.svd(unit - unit.mean(axis=0), compute_uv=False)
    assert np.linalg.norm(project(after, "PCA"), axis=0) == pytest.approx(values[:2], rel=1e-4)
    assert found.body.index("mlm, before training") < found.body.index("mlm, after training")


def test_a_run_with_nan_costs_the_others_no_page(make_run):
    concepts = [{"en": f"w{n}", "de": f"v{n}"} for n in range(8)]
    folders = [make_run("good", gain=0.0), make_run("broken", gain=0.0)]
    vectors = np.float32(np.random.default_rng(0).normal(size=(16, 12)))
    for folder, after in zip(folders, [vectors, vectors * np.nan], strict=True):
        save_file(
            {"before": vectors, "after": after},
            folder / "words.safetensors",
            {"concepts": json.dumps(concepts)},
        )
    found = section("word_maps", folders, "Words and")
    assert "good, after training" in found.body
    assert "broken" not in found.body
    assert "Left out, with vectors that are not finite: broken." in found.lead


def parts(tokens, corpus, sides=None):
    """(language, tokens) of each part of a training example."""
    row = SampleRow(tokens=tokens.split(), sides=sides or [])
    found = shown_sample(Sample(objective="tlm", corpus=corpus, rows=[row])).parts
    return [(part.language, [token.text for token in part.tokens]) for part in found]


def test_sides_are_recorded_or_cut_at_the_first_closing_token():
    assert parts("<s> a b c", "en-de", [0, 0, 1, 1]) == [("en", ["<s>", "a"]), ("de", ["b", "c"])]
    first, second = parts("<s> a </s> </s> b c </s>", "en-de")
    assert (first, second) == (("en", ["<s>", "a", "</s>", "</s>"]), ("de", ["b", "c", "</s>"]))
    assert parts("<s> a </s> b </s>", "en") == [("en", ["<s>", "a", "</s>", "b", "</s>"])]
    row = SampleRow(tokens="the Hund sees eine cat".split(), sides=[0, 1, 0, 1, 0])
    [mixed] = shown_sample(Sample(objective="alm", corpus="en-de", rows=[row])).parts
    assert [token.side for token in mixed.tokens] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("tokens", "joined"),
    [
        ("[CLS] play ##ing [MASK] ball", [False, False, True, False, False]),
        ("<s> play ing \u2581ball <mask> s", [False, False, True, False, False, True]),
        ("a b c", [False, False, False]),
    ],
)
def test_tokens_of_a_word_are_joined(tokens, joined):
    [part] = shown_sample(
        Sample(objective="mlm", corpus="en", rows=[SampleRow(tokens=tokens.split())])
    ).parts
    assert [token.joined for token in part.tokens] == joined


def test_shared_fine_tuning_counts_once(make_run):
    folder = make_run("mlm", gain=0.0)
    change(folder, "scores.json", lambda rows: [
        {**row, "seconds": 1.0, "tuning": {"seconds": 60.0 + row["seed"], "learning_rate": 1e-5}} for row in rows
    ])  # fmt: skip
    found = words_of(section("compute", [folder], COMPUTE))
    assert "6 min 6 s" in found  # two tasks, three seeds: 60, 61 and 62 s each
    assert "36 s" in found  # two tasks, six languages, three seeds
    assert "4.92 million" in found
    assert "38 161" in [
        word.replace("\u202f", " ") for word in found
    ]  # 4,915,200 tokens in 128.8 s


def test_checkpoints_of_one_fine_tuning_count_once(make_run):
    """With per-language-dev: 60 s is a part of the 90 s; another learning rate is another training."""
    folder = make_run("mlm", gain=0.0)
    spent = {"de": (60.0, 1e-5), "tr": (90.0, 1e-5), "hi": (30.0, 5e-6)}
    change(folder, "scores.json", lambda rows: [
        {**row, "key": "k", "tuning": dict(zip(("seconds", "learning_rate"), spent[row["language"]], strict=True))}
        for row in rows if (row["task"], row["seed"]) == ("pos", 0) and row["language"] in spent
    ])  # fmt: skip
    assert "2 min 0 s" in words_of(section("compute", [folder], COMPUTE))
    change(folder, "scores.json", lambda rows: [{**row, "setting": "supervised"} for row in rows])
    assert "3 min 0 s" in words_of(
        section("compute", [folder], COMPUTE)
    )  # a training for each language


def commands(*folders):
    body = section("reproduction", folders, REPRODUCTION).body
    found = re.search(r"Commands</h3>\n<pre[^>]*><code>(.*?)</code>", body, re.DOTALL)
    return unescape(found[1]).strip().split("\n")


def of_checkpoint(folder, models):
    """A folder of scores: by task the checkpoint that it is of."""
    rows = [
        score("de", 50.0, seed, task=task, model=model)
        for task, model in models.items()
        for seed in (0, 1)
    ]
    return bare_run(folder, "", rows)


def test_commands_for_checkpoints(tmp_path):
    folder = of_checkpoint(
        tmp_path / "xlmr", {"retrieval": "some/xlm-r", "perplexity": "some/xlm-r"}
    )
    first = "evaluate some/xlm-r --recipe xlmr/evaluate.json --tasks retrieval,perplexity --seeds 2 --output again/xlmr"
    second = "report again/xlmr --output again/report.html"
    assert commands(folder) == [f"interlace {first}", f"interlace {second}"]
    assert (
        "<dt>checkpoint</dt><dd>some/xlm-r</dd>"
        in section("reproduction", [folder], REPRODUCTION).body
    )
    private = of_checkpoint(tmp_path / "a", {"pos": str(tmp_path / "mine" / "bert")})
    assert commands(private)[0].startswith("interlace evaluate bert --recipe a/evaluate.json ")
    unknown = of_checkpoint(tmp_path / "b", {"pos": ""})
    assert commands(unknown) == [
        "# b: unknown checkpoint",
        "interlace report b --output again/report.html",
    ]


def test_settings_are_those_that_a_run_was_scored_by(make_run):
    runs = [make_run("mlm", gain=0), make_run("mlm+tlm", gain=1, tlm=True)]
    recipe = json.loads((runs[0] / "recipe.json").read_text())
    used = {**recipe, "evaluate": {**recipe["evaluate"], "source": "de"}}
    (runs[0] / "evaluate.json").write_text(json.dumps(used))
    assert "evaluate.source de en" in text_of(section("recipe", runs, RECIPE))
    assert commands(runs[0])[1].startswith(
        "interlace evaluate again/mlm --recipe mlm/evaluate.json --tasks "
    )


def test_commands_for_runs(make_run, tmp_path):
    folder = make_run("mlm+tlm", gain=0.0)
    change(folder, "recipe.json", lambda recipe: {**recipe, "about": "für Wörter"})
    assert "für Wörter" in section("recipe", [folder], RECIPE).body
    assert commands(folder)[0] == "interlace pretrain mlm+tlm/recipe.json --output again/mlm+tlm"
    assert "<dt>checkpoint" not in section("reproduction", [folder], REPRODUCTION).body
    checkpoint = of_checkpoint(tmp_path / "xlmr", {"pos": "some/xlm-r"})
    assert section("recipe", [checkpoint], RECIPE).body == ""
    assert "xlmr" not in section("recipe", [folder, checkpoint], RECIPE).body
