"""Recipes of translated captions: what is compared differs in its start alone, and a start is gone on from."""

import gzip
import json

import numpy as np
import pytest

from interlace.experiments.embeddings import learn_vectors
from interlace.experiments.evaluate import evaluate, target_of
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from run_records import records
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
        assert (begin.train, begin.vocab) == (base.train, base.vocab)
    assert read_recipe("mt/multi30k:halves-mlm").model.shape == base.model.shape


def test_halves_share_no_image():
    corpora = read_recipe("mt/multi30k:unmt-en-de").corpora
    assert (corpora["english"].rows, corpora["others"].rows) == (":14500", "14500:")


def test_trains_unsupervised_from_a_model_pretrained_with_learned_dictionaries(
    captions, tmp_path
):
    pytest.importorskip("gensim")
    words = {**HALVES, "data_root": json.dumps(str(captions)), "embeddings.skipgram.width": "8"}
    learn_vectors(read_recipe("mt/multi30k-halves-words", words), tmp_path / "words")
    vectors = {"objectives.align_mlm.dictionary.vectors": json.dumps(str(tmp_path / "words"))}
    recipe = made("mt/multi30k:halves-align", captions, **HALVES, **vectors)
    start = pretrain(recipe, tmp_path / "start")
    begun = {**HALVES, "model.start": json.dumps(str(start))}
    run = tmp_path / "run"
    pretrain(made("mt/multi30k:unmt-en-de", captions, **begun), run)
    objectives = {step["objective"] for step in records(run, "step")}
    assert objectives <= {"denoise", "back_translation"}
    rows = evaluate(target_of(str(run)), ["mt"])
    assert [(row["language"], row["n"]) for row in rows] == [("en-de", 8), ("de-en", 8)]
    assert all("round-trip bleu" in row["scores"] for row in rows)
