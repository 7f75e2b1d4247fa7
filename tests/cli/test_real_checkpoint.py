"""A published encoder through every objective, task and command that can start from one.

`INTERLACE_CHECKPOINT` names its folder; without it these tests are skipped. With multilingual-e5-small they take some
minutes.
"""

import json
import os
from pathlib import Path

import pytest
import torch
import transformers
from typer.testing import CliRunner

from interlace.cli import application
from interlace.objectives import OBJECTIVES
from interlace.tasks import TASKS, FineTuneTask

START = Path(os.environ.get("INTERLACE_CHECKPOINT") or "missing")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not START.is_dir(), reason="INTERLACE_CHECKPOINT names no folder"),
]

RECIPE = f"""
name = "real"
[toy]
languages = ["en", "de"]
sentences = 2000
pairs = 80
labelled = 16
nli = 16
dev = 60
test = 16
questions = 12
[corpora.text]
languages = ["en", "de"]
train = ["text/train.{{language}}.txt"]
dev = ["text/dev.{{language}}.txt"]
[corpora.pairs]
pairs = ["en-de"]
train = ["parallel/train.{{source}}-{{target}}.{{source}}", "parallel/train.{{source}}-{{target}}.{{target}}"]
[model]
start = "{START.absolute()}"
[train]
steps = 2
tokens_per_update = 256
evaluate_tokens = 512
[evaluate]
seeds = 1
targets = ["de"]
dictionary = "dict/{{source}}-{{target}}.txt"
"""
PROBES = [name for name in TASKS.names() if not issubclass(TASKS.get(name), FineTuneTask)]
# mt and round_trip translate, perplexity is of causal models, and the toy corpus has no paraphrases
OF_ENCODERS = [name for name in PROBES if name not in {"mt", "round_trip", "perplexity"}]
TUNED = [name for name in TASKS.names() if name not in PROBES and name != "pawsx"]


def run(*arguments):
    """Run a command, which must succeed, and return what it prints."""
    done = CliRunner().invoke(
        application(), [str(argument) for argument in arguments], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.stdout


def pretrained(folder, objectives, more=""):
    """Train the published encoder for two updates."""
    tables = "".join(f"[objectives.{name}]\n" for name in objectives)
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE + tables + more, encoding="utf-8")
    run("pretrain", recipe, "-o", folder / "run")
    return folder / "run"


@pytest.mark.parametrize("name", OBJECTIVES.names())
def test_learns_every_objective(name, tmp_path):
    objectives = ["translation", name] if name == "back_translation" else [name]
    dictionary = "[objectives.{}.dictionary]\nfiles = 'dict/{{source}}-{{target}}.txt'\n"
    trained = pretrained(
        tmp_path,
        objectives,
        dictionary.format(name) if name in {"align_mlm", "dict_mlm"} else "",
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        trained / "model", trust_remote_code=False
    )
    config = transformers.AutoConfig.from_pretrained(trained / "model", trust_remote_code=False)
    published = transformers.AutoConfig.from_pretrained(START, trust_remote_code=False)
    assert config.vocab_size == published.vocab_size
    assert config.pad_token_id == tokenizer.pad_token_id


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A run with low-rank adapters, scored on every task of encoders."""
    tasks = "".join(
        f"[evaluate.tasks.{name}]\n" for name in OF_ENCODERS if name != "word_translation"
    )
    tasks += "[evaluate.tasks.word_translation]\ncandidates = 'dictionary'\n"
    tasks += "".join(f"[evaluate.tasks.{name}.tuning]\nepochs = 1\n" for name in TUNED)
    folder = pretrained(
        tmp_path_factory.mktemp("real"), ["mlm"], "[model.lora]\nrank = 4\n" + tasks
    )
    run("evaluate", folder, "--save-models")
    return folder


def test_is_scored_on_every_task(scored):
    rows = json.loads((scored / "scores.json").read_text(encoding="utf-8"))
    assert {row["task"] for row in rows} == {*OF_ENCODERS, *TUNED}


def test_is_reported_and_exported(scored, tmp_path):
    run("report", scored, "-o", tmp_path / "report.html")
    run("export", scored, "-o", tmp_path / "exported")
    model = transformers.AutoModelForMaskedLM.from_pretrained(
        tmp_path / "exported", trust_remote_code=False
    )
    assert isinstance(model.get_input_embeddings(), torch.nn.Embedding)
