"""What a recipe will cost: counted by hand where it is counted, measured where it is measured."""

import json
import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import DataError, SettingsError
from interlace.experiments import estimate as estimating
from interlace.experiments.estimate import BackTranslationUpdates, estimate
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.models.build import build_model
from interlace.objectives.back_translation import BackTranslation
from toy_settings import under

SMALL = {"vocab.size": "500"} | under("model.shape", layers="1", width="32", heads="2")
SMALL |= under("train", threads="1", precision="no")


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(estimating, "_SECONDS", 0.05)


def test_tokens_parameters_and_time_match_hand_counts():
    train = {"train.steps": "10", "train.tokens_per_update": "3072", "train.tokens_per_micro_batch": "1024"}
    found = estimate(read_recipe("tiny/mlm", SMALL | train))
    assert (found.tokens_per_step, found.tokens, found.text, found.notes) == (3 * 1024, 30 * 1024, None, [])
    assert found.cost.table == 500 * 32
    # Gated layers of width 32 and inner size 88: 3 x 32^2 + 32^2 and 3 x 32 x 88, two norms but for the first layer,
    # one after the embedding, one at the end; the head: 32^2, a norm, a bias a subword.
    layer = 4 * 32 * 32 + 3 * 32 * 88 + 32
    assert found.cost.parameters == 500 * 32 + 32 + layer + 32 + 32 * 32 + 32 + 500
    assert found.cost.hours == pytest.approx(30 * 1024 / found.cost.speed / 3600)
    assert found.cost.speed > 100
    assert found.cost.device == "a CPU, threads: 1"


def test_cost_of_translation_counts_both_sides():
    pairs = {
        "corpora": {
            "pairs": {"pairs": ["en-de"], "train": ["parallel/train.{pair}.{source}", "parallel/train.{pair}.{target}"]}
        },
        "objectives": {"translation": {"max_length": 64}},
        "toy": {"languages": ["en", "de"]},
        "vocab": {"size": 500},
    }
    masked = read_recipe("tiny/mlm", SMALL)
    recipe = Recipe.read({**masked.dump(), **pairs}, "here")
    found = estimate(recipe)
    assert found.notes == []
    assert found.cost.table == 502 * 32  # a subword asks for English, one for German
    # a gated layer as above with its cross-attention: a norm, four matrices of 32 x 32; the table and the head are the
    # encoder's, what is after the embedding and at the end is not
    assert found.cost.decoder == 4 * 32 * 32 + 3 * 32 * 88 + 32 + 32 + 4 * 32 * 32 + 2 * 32
    states = found.cost.memory - 16 * found.cost.parameters
    assert (
        states > 8 * 512 * 502 + 1024 * 32 * 4
    )  # half of the tokens are predicted, each of 502, by logits and softmax


def test_memory_counts_both_gradients_of_the_table_of_weam():
    masked = read_recipe("tiny/mlm", SMALL).dump()
    pairs = {"corpora": {"pairs": {"pairs": ["en-de"], "train": ["{source}", "{target}"]}}, **TOY}
    memory = []
    for objective in ("tlm", "weam"):
        objectives = {objective: {"max_length": 64, "masking": {"rate": 0.3}}}
        memory.append(estimate(Recipe.read({**masked, **pairs, "objectives": objectives}, "here")).cost.memory)
    assert memory[1] - memory[0] == 4 * 500 * 32


def test_memory_counts_the_table_that_later_micro_batches_add_to():
    memory = []
    for update in ("1024", "3072"):
        train = {"train.tokens_per_update": update, "train.tokens_per_micro_batch": "1024"}
        memory.append(estimate(read_recipe("tiny/mlm", SMALL | train)).cost.memory)
    assert memory[1] - memory[0] == 4 * 500 * 32


def test_gradient_checkpointing_keeps_one_layer_and_the_inputs_of_all():
    shape = under("model.shape", layers="6", width="32", heads="2")
    plain, fewer = (
        estimate(read_recipe("tiny/mlm", SMALL | shape | {"train.gradient_checkpointing": each})).cost
        for each in ("false", "true")
    )
    held, tokens = (each.memory - 16 * each.parameters for each in (plain, fewer)), 1024
    whole, part = held
    head = 8 * round(tokens * 0.3) * 500
    assert part - head == pytest.approx((whole - head) / 6 + 6 * 32 * 4 * tokens, rel=0.02)


def test_operations_are_those_of_matrix_products():
    """Two operations a weight and token, thrice; the head reads 30 % of the tokens; scores and sums of attention."""
    cost = estimate(read_recipe("tiny/mlm", SMALL)).cost
    length = read_recipe("tiny/mlm", SMALL).objective("mlm").max_length
    layer = 4 * 32 * 32 + 3 * 32 * 88
    operations = 6 * (layer + 0.3 * (32 * 32 + 500 * 32)) + 12 * 32 * length
    assert cost.tflops * 1e12 / cost.speed == pytest.approx(operations, rel=0.02)


TOY = {"toy": {"languages": ["en", "de"]}, "vocab": {"size": 500}}
UNPAIRED = {"corpora": {"text": {"languages": ["en", "de"], "train": "{language}"}}, **TOY}


def unpaired(objectives, **train):
    masked = read_recipe("tiny/mlm", SMALL).dump()
    objectives = {name: {"max_length": 32, **entry} for name, entry in objectives.items()}
    return Recipe.read({**masked, **UNPAIRED, "objectives": objectives, "train": {**masked["train"], **train}}, "here")


@pytest.mark.parametrize(
    ("objectives", "seconds"),
    [
        ({"denoise": {}}, 0.001),
        ({"denoise": {}, "back_translation": {}}, 0.001 + 0.5 * 0.004),
        ({"back_translation": {}}, 0.001 + 0.004),
    ],
)
def test_hours_include_online_back_translation(monkeypatch, objectives, seconds):
    """Here an update takes 1 ms a subword, and 5 ms where it translates first."""
    monkeypatch.setattr(estimating._Benchmark, "run", lambda _: (1000.0, 10.0))
    monkeypatch.setattr(estimating._Benchmark, "seconds", lambda *_: 0.005)
    cost = estimate(unpaired(objectives)).cost
    assert cost.hours == pytest.approx(1500 * 1024 * seconds / 3600)
    assert cost.speed == pytest.approx(1 / seconds)
    assert cost.translating == pytest.approx(1 - 0.001 / seconds)


def test_rejects_invalid_recipes():
    """A file that is not there may still come; a model that cannot be will not."""
    alone = unpaired({"back_translation": {}}).dump()
    alone["corpora"]["text"]["languages"] = ["en"]
    with pytest.raises(SettingsError, match="there is no language to translate 'en' into"):
        estimate(Recipe.read(alone))
    narrow = read_recipe("tiny/mt", {"model.decoder": '{ shape = { family = "modernbert", width = 32, heads = 2 } }'})
    with pytest.raises(SettingsError, match=r"the decoder 32; give model\.decoder a start or a shape"):
        estimate(narrow)
    recipe = read_recipe("tiny/mlm", SMALL).model_copy(update={"toy": None})
    with pytest.raises(DataError, match=r"'mlm' needs data_root, .* \[toy\]"):
        estimate(recipe)
    with pytest.raises(SettingsError, match=r"learns word vectors .* without --dry-run"):
        estimate(read_recipe("tiny/emb"))
    found = estimate(read_recipe("derived/toy:mlm", SMALL | {"derived.en_x.of": "fr"}))
    assert found.notes == ["derived.en_x.of: the toy corpus has en, es, not 'fr'"]


def test_online_back_translation_is_measured_to_full_sentence_length(monkeypatch):
    found = estimate(unpaired({"back_translation": {}})).cost.translating
    assert 0.1 < found < 1  # a step of the decoder a subword
    recipe = unpaired({"back_translation": {}})
    vocab = estimating._vocab(recipe)
    backbone = build_model(recipe.model, vocab, recipe.languages, 0, seq2seq=True)
    backbone.decoder.model.get_output_embeddings().bias.data[vocab.end] = 100  # it would end at once
    lengths, said = [], BackTranslation._translations
    spied = lambda *asked: lengths.append((found := said(*asked))[1]) or found  # noqa: E731
    monkeypatch.setattr(BackTranslation, "_translations", spied)
    translating = BackTranslationUpdates(recipe.objective("back_translation"), backbone, vocab, recipe.languages)
    assert translating.loss(3, torch.device("cpu"))().item() > 0
    assert [each.tolist() for each in lengths] == [[30] * 3]
    assert translating.row == 64


def test_lists_missing_files(tmp_path):
    (tmp_path / "train.en").write_text("a line\n")
    recipe = read_recipe("tiny/mlm", SMALL).model_copy(update={"toy": None, "data_root": str(tmp_path)})
    group = recipe.corpora["text"].model_copy(update={"languages": ["en", "de"], "train": ["train.{language}"]})
    found = estimate(recipe.model_copy(update={"corpora": {"text": group}}))
    assert (found.text.files, found.text.bytes) == (2, 7)
    assert found.text.missing == [str(tmp_path / "train.de")]
    missing = tmp_path / "train.de"
    assert found.notes[0] == f"corpora.text.train: {missing}: no such file; did you mean 'train.en'?"
    model = f'{{start = "{tmp_path / "nobody"}"}}'
    found = estimate(read_recipe("tiny/mlm", {"model": model}))
    assert found.cost is None
    assert found.tokens == 1500 * 1024
    assert "the model cannot be measured" in found.notes[0]
    assert "nobody" in found.notes[0]


def test_dry_run_prints_the_estimate_and_trains_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(application(), ["pretrain", "tiny/mlm", "--dry-run", *changes], catch_exceptions=False)
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "recipe", "text", "tokens", "model", "memory", "speed", "time",
    ]  # fmt: skip
    asked = ["pretrain", "tiny/mlm", "--dry-run", "--json", *changes]
    assert json.loads(CliRunner().invoke(application(), asked).stdout)["cost"]["table"] == 500 * 32
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SettingsError, match="--output FOLDER is missing"):
        CliRunner().invoke(application(), ["pretrain", "tiny/mlm"], catch_exceptions=False)
    with pytest.raises(SettingsError, match="--json prints a dry run"):
        CliRunner().invoke(application(), ["pretrain", "tiny/mlm", "--json", "-o", "run"], catch_exceptions=False)


def test_memory_on_a_cpu_is_near_that_of_a_process_that_trains(tmp_path):
    """0.05 GB were said of a process that held 0.7 GB, most of it Python and torch."""
    work = (
        "import resource, sys\n"
        "from interlace.experiments.estimate import estimate\n"
        "from interlace.experiments.pretrain import pretrain\n"
        "from interlace.experiments.recipe import read_recipe\n"
        "from pathlib import Path\n"
        f"recipe = read_recipe('tiny/mlm', {SMALL | {'train.steps': '3'}})\n"
        "cost = estimate(recipe).cost\n"
        "pretrain(recipe, Path(sys.argv[1]))\n"
        "print(cost.memory + cost.process, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", work, str(tmp_path / "run")], capture_output=True, text=True, check=True
    )
    said, held = map(int, done.stdout.split()[-2:])
    assert said == pytest.approx(held, rel=0.3)


def test_memory_counts_the_tokenizer(monkeypatch):
    """That of 250,000 entries takes 0.35 GB."""
    load, peaks = estimating._vocab, [10**9]
    monkeypatch.setattr(estimating, "_peak_of_process", lambda: peaks[-1])
    monkeypatch.setattr(estimating, "_vocab", lambda recipe: peaks.append(2 * 10**9) or load(recipe))
    assert estimate(read_recipe("tiny/mlm", SMALL)).cost.process == 2 * 10**9


def test_passes_over_the_text_are_shown(tmp_path):
    (tmp_path / "train.en").write_text("nine char\n" * 9000)  # 90,000 bytes, 20,000 tokens
    file = tmp_path / "own.toml"
    file.write_text(
        'name = "own"\ndata_root = "."\ncorpora.text = { languages = ["en"], train = "train.{language}" }\n'
        "objectives.mlm.max_length = 32\nvocab.size = 500\n"
        "model.shape = { layers = 1, width = 32, heads = 2 }\ntrain = { steps = 10, tokens_per_update = 1000 }\n"
    )
    done = CliRunner().invoke(application(), ["pretrain", str(file), "--dry-run"], catch_exceptions=False)
    assert "passes     some 0.5 over the text: not all of it is read" in done.stdout.splitlines()
