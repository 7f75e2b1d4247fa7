"""Recipes of translated captions: what is compared differs in its start alone, and a start is gone on from."""

import gzip
import json

import numpy as np
import pytest
from safetensors.torch import load_file

from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.evaluate import evaluate, target_of
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.experiments.workspace import Workspace
from toy_settings import under

STARTS = ("mlm", "tlm", "alm")
HALVES = {"corpora.english.rows": '":200"', "corpora.others.rows": '"200:"'}
SMALL = {"layers": "1", "width": "32", "heads": "2"}
QUICK = under(
    "train",
    steps="4",
    tokens_per_update="128",
    evaluate_every="2",
    checkpoint_every="2",
    precision='"no"',
)
QUICK |= {"train.optimizer.warmup": "1", "train.threads": "1", "vocab.size": "400"}


@pytest.fixture(scope="module")
def captions(tmp_path_factory):
    """A folder laid out as that of Multi30k: 400 captions of made-up words and a number, and few to measure by."""
    folder = tmp_path_factory.mktemp("data") / "parallel/multi30k"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for split, count in {"train": 400, "val": 12, "test_2016_flickr": 8}.items():
        rows = rng.integers(30, size=(count, 5))
        for language in ("en", "de", "fr"):
            lines = [
                " ".join([*(f"{language}{word}" for word in row), str(row[0])]) for row in rows
            ]
            (folder / f"{split}.{language}.gz").write_bytes(
                gzip.compress("\n".join([*lines, ""]).encode())
            )
    return folder.parent.parent


def made(name, captions, **more):
    shape = under("model.shape", **SMALL) if read_recipe(name).model.shape else {}
    return read_recipe(name, {**QUICK, **shape, "data_root": json.dumps(str(captions)), **more})


@pytest.mark.parametrize("other", ["de", "fr"])
def test_compared_recipes_differ_only_in_initialization(other):
    base = read_recipe(f"mt/multi30k:en-{other}")
    for start in STARTS:
        one = read_recipe(f"mt/multi30k:en-{other}-{start}")
        begin = read_recipe(f"mt/multi30k:{start}")
        for part in ("corpora", "vocab", "objectives", "train", "evaluate"):
            assert getattr(one, part) == getattr(base, part)
        assert one.model.start == f"runs/m30k-mt-{start}/model"
        assert begin.model.shape == base.model.shape
        assert begin.train == base.train
        assert (begin.vocab, begin.corpora["text"].train) == (
            base.vocab,
            base.corpora["text"].train,
        )
    assert read_recipe("mt/multi30k:halves-mlm").model.shape == base.model.shape


def test_trains_and_scores_from_pretrained_models(captions, tmp_path):
    start = pretrain(made("mt/multi30k:mlm", captions), tmp_path / "start")
    name = "mt/multi30k:en-de-mlm"
    begun = {"model.start": json.dumps(str(start)), "corpora.pairs.share": "0.3"}
    run = tmp_path / "run"
    pretrain(made(name, captions, **begun), run)
    facts = json.loads((run / "run.json").read_text())
    pairs = next(
        row for row in facts["data"] if row["corpus"] == "en-de" and row["split"] == "train"
    )
    assert 80 < pairs["rows"] < 160
    assert any(path.stat().st_size for path in (run / "model").rglob("*.safetensors"))
    rows = evaluate(target_of(str(run)), ["mt"])
    assert [(row["language"], row["n"]) for row in rows] == [("en-de", 8), ("de-en", 8)]
    assert all(row["signatures"]["bleu"] for row in rows)
    assert len((run / "predictions/mt.zero-shot.0.en-de.txt").read_text().split("\n")) == 9


def test_halves_share_no_image(captions):
    workspace = Workspace(made("mt/multi30k:halves-mlm", captions, **HALVES)).open()
    assert {name: len(corpus) for name, corpus in workspace.train.items()} == {
        "en": 200,
        "de": 200,
        "fr": 200,
    }
    recipe = read_recipe("mt/multi30k:unmt-en-de")
    first, second = recipe.corpora["english"].rows, recipe.corpora["others"].rows
    assert (first, second) == (":14500", "14500:")


@pytest.mark.parametrize("start", ["mlm", "align"])
def test_trains_unsupervised_from_pretrained_models(start, captions, tmp_path):
    settings = dict(HALVES)
    if start == "align":
        words = {**HALVES, "data_root": json.dumps(str(captions)), "embeddings.skipgram.width": "8"}
        learn_vectors(read_recipe("mt/multi30k-halves-words", words), tmp_path / "words")
        settings["objectives.align_mlm.dictionary.vectors"] = json.dumps(str(tmp_path / "words"))
    start = pretrain(made(f"mt/multi30k:halves-{start}", captions, **settings), tmp_path / "start")
    begun = {**HALVES, "model.start": json.dumps(str(start))}
    run = tmp_path / "run"
    pretrain(made("mt/multi30k:unmt-en-de", captions, **begun), run)
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert {step["objective"] for step in steps if step["kind"] == "step"} <= {
        "denoise",
        "back_translation",
    }
    rows = evaluate(target_of(str(run)), ["mt"])
    assert all("round-trip bleu" in row["scores"] for row in rows)
    assert load_file(next((run / "checkpoints").glob("step-*/model.safetensors")))
