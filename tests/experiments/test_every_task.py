"""Every task of the registry scored as people do it: by `interlace evaluate`, on the toy corpus, nothing stands in.

What is scored: a run of ours, a plain checkpoint of transformers, a run that translates, and static word vectors. A new
task fails here until its row stands in `CASES`.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass

import pytest
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import InterlaceError
from interlace.experiments.data_root import data_root
from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.experiments.score_store import folder_key
from interlace.tasks import TASKS, FineTuneTask
from interlace.training.predictions import outcomes_file, outcomes_key, read_outcomes
from interlace.training.run_folder import read_run
from little_checkpoints import save_plain_bert
from paraphrase_files import add_paraphrases
from toy_settings import EVERY_TEST_SET, TINY_RUN, under

TARGETS = ["de", "hi"]
ALL = ["en", *TARGETS]
THREE = ["zero-shot", "translate-train", "translate-test"]
TUNED = {"tuning": {"epochs": 1, "learning_rate": 1e-3, "tokens_per_batch": 512}}


@dataclass(frozen=True)
class Case:
    """How a task is scored here: in which languages, with which settings."""

    targets: list[str]
    changes: dict


def pairs_of(name):
    """A classifier of pairs in all settings; its English test set, the same rows, stands for the translated ones."""
    files = {split: name.replace("{split}", split) for split in ("train", "dev", "test")}
    files["translated"] = name.format(split="test", language="en")
    changes = {"files": files, "settings": THREE, "translations": "human", **TUNED}
    return Case(ALL, changes)


CASES = {
    "xnli": pairs_of("nli/{split}.{language}.tsv"),
    "pawsx": pairs_of("pawsx/{split}-{language}.tsv"),
    "pos": Case(ALL, TUNED),
    "ner": Case(ALL, TUNED),
    "mlqa": Case(ALL, TUNED),
    "retrieval": Case(TARGETS, {}),
    "word_alignment": Case(TARGETS, {}),
    "perplexity": Case(ALL, {}),
    "embedding_alignment": Case(TARGETS, {}),
    "word_translation": Case(TARGETS, {"reading": {"multi_subword": "mean"}}),
    "word_similarity": Case(ALL, {"reading": {"multi_subword": "mean"}}),
    "mt": Case(["en-de", "hi-en"], {"search": {"beam": 2}}),
    "round_trip": Case(["en-de", "hi-en"], {"search": {"beam": 2}}),
}
WRITERS = {"mt", "round_trip"}  # an encoder alone cannot write
PREDICTORS = {"perplexity"}  # or predict the next word
STATIC = {name for name in TASKS.names() if TASKS.get(name).static_vectors}
SCORED = [
    *(
        (kind, name)
        for kind in ("run", "checkpoint")
        for name in TASKS.names()
        if name not in WRITERS | PREDICTORS
    ),
    *(("translator", name) for name in sorted(WRITERS)),
    *(("predictor", name) for name in PREDICTORS),
    *(("vectors", name) for name in sorted(STATIC)),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tmp_path_factory.mktemp("every")


@pytest.fixture(scope="module")
def run(base):
    """A run of two steps, which is all that a score needs."""
    pretrain(read_recipe("tiny/mlm-tlm", TINY_RUN), base / "run")
    return base / "run"


@pytest.fixture(scope="module")
def world(run):
    """The folder of the toy corpus, which the run wrote, and files of paraphrases."""
    toy = data_root(read_recipe("tiny/mlm-tlm", TINY_RUN))
    add_paraphrases(toy)
    return toy


@pytest.fixture(scope="module")
def checkpoint(base, world):
    """A BERT as transformers saves it, with WordPiece learnt on the same text."""
    files = [world / f"text/train.{language}.txt" for language in ALL]
    return save_plain_bert(
        base / "bert", [line for file in files for line in file.read_text().splitlines()]
    )


@pytest.fixture(scope="module")
def translator(base):
    changes = {
        key: value
        for key, value in TINY_RUN.items()
        if not key.startswith(("corpora.text", "train.diagnostics"))
    }
    pretrain(read_recipe("tiny/mt", changes), base / "translator")
    return base / "translator"


@pytest.fixture(scope="module")
def predictor(base):
    changes = {
        key: value for key, value in TINY_RUN.items() if not key.startswith("corpora.pairs")
    }
    pretrain(read_recipe("tiny/clm", changes), base / "predictor")
    return base / "predictor"


@pytest.fixture(scope="module")
def vectors(base):
    quick = under("embeddings.skipgram", width="8", min_count="1", epochs="1", buckets="100")
    small = EVERY_TEST_SET | quick | {"corpora.text.languages": json.dumps(ALL)}
    learn_vectors(read_recipe("tiny/concat", small), base / "vectors")
    return base / "vectors"


def flat(settings, before):
    """The leaves of a table by their whole keys."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}.{key}")
        else:
            yield f"{before}.{key}", value


def options(name):
    """`--set` for all that a task is asked here; what is trained is scored in English too, unasked."""
    trains = issubclass(TASKS.get(name), FineTuneTask)
    targets = [language for language in CASES[name].targets if language != "en" or not trains]
    settings = flat({**CASES[name].changes, "targets": targets}, f"evaluate.tasks.{name}")
    return [part for key, value in settings for part in ("--set", f"{key}={json.dumps(value)}")]


@pytest.fixture(scope="module")
def scored(request, base, world):
    """The rows of one kind of model, all its tasks in one command; a model is scored once."""
    known = {}

    def of(kind):
        if kind not in known:
            model = request.getfixturevalue(kind)
            names = [name for one, name in SCORED if one == kind and name in CASES]
            arguments = [
                "evaluate",
                str(model),
                "--tasks",
                ",".join(names),
                "--seeds",
                "1",
                "--json",
            ]
            if kind == "checkpoint":
                recipe = [
                    part
                    for key, value in TINY_RUN.items()
                    for part in ("--set", f"{key}={value}")
                ]
                arguments += [
                    "--recipe",
                    "tiny/mlm-tlm",
                    "--output",
                    str(base / "scores"),
                    *recipe,
                ]
            arguments += [part for name in names for part in options(name)]
            done = CliRunner().invoke(application(), arguments, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            known[kind] = (
                base / "scores" if kind == "checkpoint" else model,
                json.loads(done.stdout),
            )
        return known[kind]

    return of


def places(name):
    """(setting, language) of every row that must come back."""
    asked = CASES[name]
    settings = asked.changes.get("settings", ["zero-shot"])
    return {(setting, language) for setting in settings for language in asked.targets
            if setting == "zero-shot" or language != "en"}  # fmt: skip


def test_cases_cover_every_task():
    assert set(CASES) == set(TASKS.names()), "say in CASES how the new task is scored"


def check_range(row):
    """Scores are finite, within what they can be, and within their interval."""
    unbounded, correlation = row["unit"].startswith("per "), row["task"] == "word_similarity"
    least, most = (1.0, math.inf) if unbounded else (-100.0 if correlation else 0.0, 100.0)
    assert least <= row["score"] <= most, row
    assert all(math.isfinite(value) for value in row["scores"].values()), row
    assert (row["scores"][row["metric"]], row["seed"]) == (row["score"], 0)
    if not correlation:  # which is no sum over examples
        assert least <= row["low"] <= row["score"] <= row["high"] <= most, row
        assert row["examples"]


def check_outcomes(folder, row):
    """What is stored by example gives the same score."""
    path = outcomes_file(folder, row["task"], 0, row["language"], row["setting"])
    kept = read_outcomes(path, outcomes_key(row))
    scale = 100 if row["unit"] == "%" else 1
    assert scale * kept.total == pytest.approx(row["score"], rel=1e-4, abs=1e-3), row
    assert kept.identity == row["examples"]
    assert (kept.weight > 0).sum() == row["n"]
    if row["task"] in WRITERS:
        assert len(path.with_suffix(".txt").read_text().splitlines()) == row["n"]


@pytest.mark.parametrize(("kind", "name"), SCORED)
def test_scores_every_language_and_setting_and_stores_the_outcomes(kind, name, scored):
    if kind == "vectors":
        pytest.importorskip("gensim")
    folder, rows = scored(kind)
    rows = [row for row in rows if row["task"] == name]
    assert sorted((row["setting"], row["language"]) for row in rows) == sorted(places(name))
    for row in rows:
        check_range(row)
        assert row["n"] > 0, row
        if name != "word_similarity":
            check_outcomes(folder, row)


def spoiled(run, folder, name, factor):
    """A copy of the run with these weights multiplied."""
    shutil.copytree(run, folder)
    path = folder / "model/model.safetensors"
    weights = load_file(path)
    weights[name].mul_(factor)
    save_file(weights, path, {"format": "pt"})
    about = read_run(folder) | {"model_key": folder_key(folder / "model")}  # as if exported so
    (folder / "run.json").write_text(json.dumps(about))
    return folder


@pytest.mark.parametrize("name", [name for kind, name in SCORED if kind == "run"])
@pytest.mark.usefixtures("world")
def test_a_model_whose_values_are_not_finite_has_no_score(name, run, tmp_path):
    """A comparison with NaN is false, so that every rank would be 1."""
    folder = spoiled(run, tmp_path / "run", "model.embeddings.tok_embeddings.weight", math.nan)
    arguments = ["evaluate", str(folder), "--tasks", name, "--seeds", "1", *options(name)]
    with pytest.raises(InterlaceError, match=r"values of .*embeddings.* are not finite"):
        CliRunner().invoke(application(), arguments, catch_exceptions=False)
