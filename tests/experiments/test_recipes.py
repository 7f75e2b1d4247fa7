"""Recipes: reading, errors, inheritance, and published results."""

import gzip
import json
import os
from pathlib import Path

import pytest
from safetensors import safe_open

from interlace.core.errors import DataError, MissingDependencyError, SettingsError
from interlace.experiments.data_root import data_root
from interlace.experiments.estimate import estimate
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import RECIPES, Recipe, read_recipe
from interlace.experiments.run import differences
from interlace.experiments.sections import Published
from interlace.scores import published
from interlace.tasks import TASKS
from toy_settings import SHORT, TOY, VOCAB

SMALL = TOY | VOCAB
TINY = [
    name
    for name in RECIPES.names()
    if name.startswith("tiny/") and not read_recipe(name).embeddings
]
REAL = [name for name in RECIPES.names() if name.startswith("adapt/multi30k")]


@pytest.mark.parametrize("name", RECIPES.names())
def test_has_a_description_and_survives_a_round_trip(name):
    recipe = read_recipe(name)
    assert recipe.about
    assert Recipe.read(json.loads(json.dumps(recipe.dump()))) == recipe


@pytest.mark.parametrize(
    "name", [name for name in TINY if read_recipe(name).model.start is not None]
)
def test_tiny_recipes_continue_from_another_model(name, tmp_path):
    """The others train in tests/golden."""
    changes = SMALL | SHORT
    start = pretrain(read_recipe("tiny/unmt-mlm", changes), tmp_path / "start")
    changes = changes | {"model.start": json.dumps(str(start))}
    model = pretrain(read_recipe(name, changes), tmp_path / "run")
    assert list(model.rglob("*.safetensors"))
    with safe_open(tmp_path / "run" / "words.safetensors", "np") as words:
        assert set(json.loads(words.metadata()["concepts"])[0]) == set(read_recipe(name).languages)


@pytest.fixture(scope="module")
def few_captions(real_data, tmp_path_factory):
    """The folder of real data, but for a part of the captions to train on: aligning all of them takes a minute."""
    folder = tmp_path_factory.mktemp("data")
    captions = Path("parallel", "multi30k")
    (folder / captions).mkdir(parents=True)
    for path in (real_data / captions).iterdir():
        if path.name.startswith("train."):
            lines = gzip.decompress(path.read_bytes()).split(b"\n")
            (folder / captions / path.name).write_bytes(
                gzip.compress(b"\n".join([*lines[:1500], b""]))
            )
        else:
            (folder / captions / path.name).symlink_to(path)
    for path in real_data.iterdir():
        if path.name != "parallel":
            (folder / path.name).symlink_to(path)
    return folder


@pytest.mark.parametrize(
    "name", ["adapt/multi30k:mixture", "adapt/multi30k:dict-mlm"]
)  # all there is in the others
@pytest.mark.skipif(not os.environ.get("INTERLACE_DATA"), reason="no real data here")
def test_recipes_on_real_data_train(name, few_captions, tmp_path):
    quick = SHORT | {
        "vocab.size": "4000",
        "align.name": "diagonal",
        "data_root": json.dumps(str(few_captions)),
    }
    pretrain(read_recipe(name, quick), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["steps"] == 2


def test_compared_recipes_differ_only_in_objectives_and_steps():
    """But for the number of steps, by which they come to read as many real subwords."""
    encoders = [name for name in TINY if not read_recipe(name).seq2seq and "unmt" not in name]
    for one, other in [
        *(("tiny/mlm", each) for each in encoders),
        *(("adapt/multi30k:mlm", each) for each in REAL),
    ]:
        a, b = read_recipe(one), read_recipe(other)
        assert (a.vocab, a.model, a.evaluate, a.seed) == (b.vocab, b.model, b.evaluate, b.seed)
        assert a.train == b.train.model_copy(update={"steps": a.train.steps})


def test_missing_data_root_error_says_how_to_set_it(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLACE_DATA", "")  # is no way to say: the current folder
    with pytest.raises(
        DataError, match="data_root '' is not a folder; set the environment variable INTERLACE_DATA"
    ):
        data_root(read_recipe("evaluation/public"))
    monkeypatch.delenv("INTERLACE_DATA", raising=False)
    with pytest.raises(DataError, match="INTERLACE_DATA"):
        pretrain(read_recipe("adapt/multi30k:mlm"), tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluate.tasks.pso": "{}"}, "did you mean 'pos'"),
        ({"evaluate.tasks.pos.dropuot": "0.2"}, r"evaluate\.tasks\.pos.*did you mean 'dropout'"),
        ({"vocab.corpora": '["txt"]'}, "did you mean 'text'"),
        ({"word_tokenizer": "unicod"}, "did you mean 'unicode'"),
        ({"corpora.text.reader": "lins"}, "did you mean 'lines'"),
        ({"toy.languages": '["en", "dee"]'}, "did you mean 'de'"),
        ({"objectives.mlm.masking.rate": "2"}, r"masking\.rate.*\[0, 1\]"),
        ({"data_root": "elsewhere"}, r"data_root: a recipe with a \[toy\] section"),
        (
            {"train.trackers": '["tensorbord"]'},
            r"train\.trackers\.0: input should be .*'tensorboard'",
        ),
        ({"corpora.text.train": "train.{lang}"}, r"corpora\.text\.train.*{lang}.*'language'"),
        ({"corpora.text.languages": '["pt-BR"]'}, "write 'pt_BR'"),
        (
            {"evaluate.dictionary": "dict/{from}.txt"},
            r"evaluate\.dictionary.*unknown placeholder {from}",
        ),
        ({"align.settings": "0.5"}, "align: settings: expected a table, found 0.5"),
        ({"objectives.mlm.weight": "-1"}, r"weight.*must lie in \[0, "),
        ({"objectives.mlm.weight": '"0:1,10:nan"'}, r"weight.*must lie in"),
        ({"train.optimizer.betas": "[0.9, 1.5]"}, r"betas\.1.*less than 1"),
        ({"train.patience": "3", "train.evaluate_every": "0"}, "evaluate_every"),
        ({"name.x": "1"}, "'name' is not a section"),
        (
            {"objectives.mlm.weigth": "1"},
            r"objectives\.mlm: unknown key 'weigth'; did you mean 'weight'\?",
        ),
        (
            {"train.lr": "1"},
            r"unknown key 'train\.lr'; did you mean 'train\.optimizer\.learning_rate'\?",
        ),
        (
            {"learning_rate": "1"},
            r"unknown key 'learning_rate'; did you mean 'train\.optimizer\.learning_rate'\?",
        ),
        (
            {"train.max_tokens": "1"},
            r"unknown key 'train\.max_tokens'; did you mean 'train\.tokens_per_update'\?",
        ),
        (
            {"train.batch_tokens": "1"},
            r"'train\.batch_tokens'; did you mean 'train\.tokens_per_update'\?",
        ),
        (
            {"model.lr": "1"},
            r"unknown key 'model\.lr'; did you mean 'train\.optimizer\.learning_rate'\?",
        ),
        ({"train.seed": "1"}, r"unknown key 'train\.seed'; did you mean 'seed'\?"),
        (
            {"objectives.mlm.max_lenght": "64"},
            r"objectives\.mlm: unknown key 'max_lenght'; did you mean 'max_length'",
        ),
        (
            {"train.stop_by": '"perplexty"'},
            r"'perplexity', .*\(found 'perplexty'\); did you mean 'perplexity'\?$",
        ),
        ({"objectives.mlm.weight": '"0:1,abc"'}, r"^(?!.*found '0:1,abc'.*found '0:1,abc')"),
    ],
)
def test_errors_name_the_key_and_the_nearest_match(changes, message):
    with pytest.raises(SettingsError, match=message):
        read_recipe("tiny/mlm", changes)


def test_evaluation_recipe_cannot_be_trained(tmp_path, monkeypatch):
    recipe = Recipe(name="judge", evaluate={"targets": ["de"]})
    assert recipe.languages == ["en", "de"]
    assert not recipe.causal
    for work in (lambda: pretrain(recipe, tmp_path / "run"), lambda: estimate(recipe)):
        with pytest.raises(
            SettingsError, match=r"'judge' has no \[corpora\].*interlace evaluate MODEL --recipe"
        ):
            work()
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr("interlace.training.device.find_spec", lambda _name: None)
    with pytest.raises(MissingDependencyError, match="pip install tensorboard"):
        pretrain(read_recipe("tiny/mlm", {"train.trackers": '["tensorboard"]'}), tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"corpora.text.dev": "[]", "train.patience": "2"}, "early stopping needs held-out text"),
        ({"objectives.mlm.max_length": "500"}, r"max_length = 500, but the model's maximum is 128"),
    ],
)
def test_checks_settings_before_training(changes, message, tmp_path):
    with pytest.raises((DataError, SettingsError), match=message):
        pretrain(read_recipe("tiny/mlm", SMALL | SHORT | changes), tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("list.json", "[1]", "expected a table"),
        ("mine.toml", "name = 'mine'\ncorpora = 3\n", r"mine\.toml: corpora"),
        ("mine.toml", 'name = "mine"\nsteps = 3\n', r"mine\.toml: unknown key 'steps'"),
        (
            "mine.toml",
            'name = "mine"\n"train.steps" = 3\n',
            r"mine\.toml: unknown key 'train\.steps'",
        ),
    ],
)
def test_errors_name_the_file(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=message):
        read_recipe(str(tmp_path / name), {"seed": "1"} if "steps" in text else {})


def _write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_recipe_file_overrides_the_extended_recipe(tmp_path):
    base = read_recipe("tiny/mlm")
    _write(
        tmp_path / "wide.toml", 'extends = "tiny/mlm"\nname = "wide"\n[model.shape]\nwidth = 128\n'
    )
    text = 'extends = "wide.toml"\nname = "twice"\n[objectives.clm]\nmax_length = 32\n'
    other = read_recipe(_write(tmp_path / "twice.toml", text))
    assert (other.name, other.about, other.train) == ("twice", base.about, base.train)
    assert other.model.shape.width == 128
    assert other.model.shape.layers == base.model.shape.layers
    assert list(other.objectives) == ["clm"]  # a mixture is said as a whole


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('extends = "tiny/mln"\nname = "a"', r"no recipe 'tiny/mln'.*tiny/mlm"),
        ('extends = "tiny/mlm"', "a.toml: a recipe that extends another needs its own name"),
        ('extends = 3\nname = "a"', "a.toml: extends: expected the name of a recipe, found 3"),
        ('extends = "a.toml"\nname = "a"', "a.toml: 'extends' is circular: a.toml > a.toml"),
    ],
)
def test_rejects_invalid_extends(tmp_path, text, message):
    with pytest.raises((DataError, SettingsError), match=message):
        read_recipe(_write(tmp_path / "a.toml", text))


def test_stored_recipe_accepts_the_same_changes(tmp_path):
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(read_recipe("tiny/mlm").dump()))
    changed = {"objectives.mlm.masking.rate": "0.2", "objectives.mlm.weight": "2"}
    assert read_recipe(str(path), changed) == read_recipe("tiny/mlm", changed)
    assert read_recipe(str(path), changed).objective("mlm").masking.rate == "0.2"
    one, other = (read_recipe("tiny/mlm").dump() for _ in range(2))
    other |= {"about": "else", "changes": ["smaller"]}
    assert differences(one, other) == []
    assert differences(one, other | {"seed": 3}) == ["seed was 0, is 3"]


def test_errors_in_changes_name_the_option():
    with pytest.raises(SettingsError, match=r"^--set: unknown key 'train\.steps'"):
        read_recipe("tiny/mlm", {'"train.steps"': "3"})
    with pytest.raises(
        SettingsError, match=r"^--set: unknown key 'evaluate\.target'; .* 'evaluate\.targets'"
    ):
        read_recipe("evaluation/small", {"evaluate.target": '["de"]'})
    with pytest.raises(SettingsError, match=r"^--set: evaluate\.targets: .*found 'de'\)$"):
        read_recipe("evaluation/small", {"evaluate.targets": "de"})


QUOTED = [
    (name, entry) for name in RECIPES.names() for entry in RECIPES.read(name).get("published", [])
]


@pytest.mark.parametrize(
    ("name", "entry"), QUOTED, ids=[f"{name}: {entry['where']}" for name, entry in QUOTED]
)
def test_published_entries_resolve_to_one_system(name, entry):
    rows = Published.read(entry).rows()
    assert {row.where for row in rows} == {entry["where"]}, name
    assert len({row.system for row in rows}) == 1, "several systems: name one"
    assert all(row.printed for row in rows)
    assert not {"scores", "metric"} & set(entry)


def test_published_rows_are_of_one_system_with_a_table_per_metric():
    rows = Published(where="Yang et al. 2021, table 1, mBERT+WEAM", columns=["en", "de"]).rows()
    scores = {"exact": {"en": 66.7, "de": 49.7}, "f1": {"en": 79.7, "de": 64.3}}
    assert [(row.table.score, row.scores) for row in rows] == [*scores.items()]
    place = "Conneau & Lample 2019, table 3, ro to en"
    assert [row.scores for row in Published(where=place, system="MLM").rows()] == [{"ro-en": 35.3}]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            {"where": "Yang et al. 2020, table 1, AML"},
            "did you mean 'Yang et al. 2020, table 1, ALM'",
        ),
        (
            {"where": "Yang et al. 2020, table 1, ALM", "columns": ["en-ed"]},
            "no column 'en-ed'; did you mean 'en-de'",
        ),
        ({"where": "Yang et al. 2020, table 1, ALM", "task": "xnli"}, "no published results at"),
    ],
)
def test_rejects_unknown_published_results(entry, told):
    with pytest.raises(SettingsError, match=told):
        Published.read(entry)


def test_fine_tuning_of_alm_is_the_papers():
    """Yang et al. 2020 on XNLI: Adam's second beta is 0.997, and 1,000 sentences lie between evaluations."""
    tuning = read_recipe("alm/pretrain:all").evaluate.tasks["xnli"]["tuning"]
    assert tuning["betas"] == [0.9, 0.997]
    assert 392_702 / tuning["checks"] == pytest.approx(1000, rel=0.01)


def test_every_row_of_weam_has_a_recipe():
    named = {place.where for name in RECIPES.names() for place in read_recipe(name).published}
    assert {row.where for row in published.paper("weam").rows()} <= named


@pytest.mark.parametrize("split", ["train", "dev"])
def test_mbert_of_weam_reads_translations_for_translate_train(split, tmp_path):
    settings = read_recipe("weam/mbert:mbert").evaluate.tasks["mlqa"]
    task = TASKS.get("mlqa")(**settings)
    for language, name in (
        ("en", f"squad/{split}-v1.1"),
        ("es", f"es_squad-translate-train-{split}-v1.1"),
    ):
        with pytest.raises(DataError, match=name):
            list(task.read_chunks(task.query(split, language, tmp_path)))
