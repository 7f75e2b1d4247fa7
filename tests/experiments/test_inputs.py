"""What a recipe reads is checked before work starts: by pre-training, studies, dry runs and `check` alike."""

import json
import shutil
import tomllib

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import DataError, SettingsError
from interlace.experiments.inputs import missing_inputs
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe
from interlace.experiments.studies import read_study
from interlace.experiments.studies.running import run_study
from interlace.toy.corpus import write_toy
from interlace.toy.settings import ToyCorpus

SIZES = {
    "sentences": 60,
    "pairs": 40,
    "labelled": 20,
    "nli": 30,
    "questions": 20,
    "dev": 20,
    "test": 20,
}


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_toy(ToyCorpus(languages=["en", "de"], **SIZES), folder)
    return folder


@pytest.fixture
def root(toy, tmp_path):
    return shutil.copytree(toy, tmp_path / "data")


RECIPE = """
name = "own"
[corpora.text]
languages = ["en", "de"]
train = "text/train.{language}.txt"
dev = "text/dev.{language}.txt"
[corpora.pairs]
pairs = ["en-de"]
train = ["parallel/train.{pair}.{source}", "parallel/train.{pair}.{target}"]
[align]
name = "pharaoh"
links = "parallel/train.{pair}.links"
[vocab]
size = 400
[model.shape]
layers = 1
width = 16
heads = 2
[objectives]
mlm = { max_length = 32 }
weam = { max_length = 32 }
[objectives.align_mlm]
max_length = 32
dictionary = "dict/en-de.txt"
[train]
steps = 2
tokens_per_update = 128
[evaluate]
tasks = { retrieval = {}, pos = {} }
dictionary = "plot/{source}-{target}.txt"
"""


def recipe(root, **changes):
    return Recipe.read({**tomllib.loads(RECIPE), "data_root": str(root), **changes})


def keys(messages):
    return [message.split(":")[0] for message in messages]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("text/train.de.txt", "corpora.text.train"),
        ("text/dev.de.txt", "corpora.text.dev"),
        ("parallel/train.en-de.de", "corpora.pairs.train"),
        ("parallel/train.en-de.links", "align.links"),
        ("dict/en-de.txt", "objectives.align_mlm.dictionary.files"),
    ],
)
def test_names_the_key_of_each_missing_file_of_training(root, tmp_path, path, key):
    (root / path).unlink()
    told = missing_inputs(recipe(root)).training
    assert keys(told) == [key]
    assert path in told[0]
    file = tmp_path / "recipe.json"
    file.write_text(json.dumps(recipe(root).dump()))
    done = CliRunner().invoke(application(), ["check", str(file)])
    assert path.rpartition("/")[2] in done.output.replace("\n", "")
    with pytest.raises(DataError, match=key):
        pretrain(recipe(root), tmp_path / "run")


@pytest.mark.parametrize("path", ["parallel/test.en-de.de", "pos/dev.en.conllu"])
def test_missing_files_of_tasks_stop_a_study_before_training(root, tmp_path, path):
    (root / path).unlink()
    missing = missing_inputs(recipe(root))
    assert missing.training == []
    task = "pos" if path.startswith("pos") else "retrieval"
    assert keys(missing.evaluation) == [f"evaluate.tasks.{task}"]
    (tmp_path / "own.json").write_text(json.dumps(recipe(root).dump()))
    study = tmp_path / "study.toml"
    study.write_text("name = 'own'\n[systems.own]\nrecipe = 'own.json'\n")
    with pytest.raises(
        SettingsError, match=f"own: evaluate.tasks.{task}: .*{path.rpartition('/')[2]}"
    ):
        run_study(*read_study(str(study)), tmp_path / "out")
    assert not (tmp_path / "out/cells").exists()


def test_a_missing_dictionary_of_the_plot_is_only_noted(root, tmp_path):
    asked = recipe(root, objectives={"mlm": {"max_length": 32}}, align=None)
    missing = missing_inputs(asked)
    assert (missing.training, missing.evaluation) == ([], [])
    assert pretrain(asked, tmp_path / "run").is_dir()


def test_groups_with_the_same_pair_are_told_apart(root):
    sides = ["parallel/train.{pair}.{source}", "parallel/train.{pair}.{target}"]
    group = {"pairs": ["en-de"], "train": sides}
    objectives = {"tlm": {"corpora": ["en-de"]}, "weam": {"corpora": ["second:en-de"]}}
    asked = recipe(root, corpora={"first": group, "second": group}, objectives=objectives)
    annotations = [asked.annotations(name) for name in asked.named_corpora]
    assert annotations == [frozenset(), frozenset({"links"})]
    (root / "parallel/train.en-de.links").unlink()
    assert keys(missing_inputs(asked).training) == ["align.links"]
    held_out = {"pairs": ["en-de"], "dev": sides}
    with pytest.raises(
        SettingsError, match=r"tlm.corpora: no parallel corpus 'en-de'.*second:en-"
    ):
        recipe(root, corpora={"first": held_out, "second": group}, objectives=objectives)
