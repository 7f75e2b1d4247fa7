"""The Python API of models, from a tiny checkpoint and lists of sentences."""

import json
import shutil

import numpy as np
import pytest

import interlace as il
from interlace.core.errors import CheckpointError, DataError, SettingsError
from little_checkpoints import ENGLISH, LONGEST, save

OTHER = [word[::-1] + "o" for word in ENGLISH]
SMALL = {
    "train": {"tokens_per_update": 256, "threads": 1, "precision": "no", "evaluate_tokens": 256}
}


@pytest.fixture(scope="module")
def pairs():
    rows = np.random.default_rng(0).integers(len(ENGLISH), size=(80, 5))
    sides = [
        [" ".join(words[number] for number in row) for row in rows] for words in (ENGLISH, OTHER)
    ]
    return il.Pairs.from_lists(*sides, languages=("en", "de"), word_tokenizer="whitespace")


@pytest.fixture(scope="module")
def run(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    objectives = {"mlm": {"max_length": LONGEST}, "alm": {"max_length": LONGEST, "weight": 2}}
    start = str(save("xlm-r", folder / "start"))
    return il.pretrain(
        start, pairs, objectives=objectives, steps=4, output=folder / "run", settings=SMALL
    )


def test_continues_a_checkpoint_on_pairs(run, pairs):
    words = pairs.lines()[0][0]
    found = run.model(**run.tokenizer(words, return_tensors="pt"))
    assert found.logits.isfinite().all()
    assert (run.path / "text" / "train.de").read_text().splitlines() == pairs.lines()[1]
    again = il.pretrain(
        str(run.path.parent / "start"), pairs, steps=4, output=run.path, settings=SMALL,
        objectives={"mlm": {"max_length": LONGEST}, "alm": {"max_length": LONGEST, "weight": 2}},
    )  # fmt: skip
    assert again.path == run.path  # finished: nothing to do


@pytest.mark.parametrize("planted", [{"num_labels": 10**9}, {"auto_map": {"AutoModel": "a.B"}}])
def test_a_model_of_others_is_opened_within_limits(run, tmp_path, planted):
    copied = il.api.runs.FinishedRun(tmp_path / "run")
    shutil.copytree(run.path / "model", copied.path / "model")
    path = copied.path / "model" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **planted}))
    assert copied.model.config.num_labels == 2
    path.write_text(json.dumps({**json.loads(path.read_text()), "num_hidden_layers": 900}))
    with pytest.raises(CheckpointError, match="its configuration says"):
        il.api.runs.FinishedRun(copied.path).model  # noqa: B018 - opens it
    tokenizer = copied.path / "model" / "tokenizer.json"
    with tokenizer.open("ab") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(DataError, match=r"tokenizer\.json: [\d,]+ bytes; expected at most"):
        copied.tokenizer  # noqa: B018


def test_encodes_sentences(run, pairs):
    lines = pairs.lines()[0][:7]
    vectors = il.encode(run, lines)
    assert vectors.shape == (7, run.model.config.hidden_size)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(vectors[3:4], il.encode(run.path / "model", lines[3:4]), atol=1e-5)
    assert np.linalg.norm(il.encode(run, lines, layer=0, normalize=False), axis=1) != pytest.approx(
        1
    )
    np.testing.assert_allclose(vectors, il.encode(str(run.path), lines), atol=1e-5)
    with pytest.raises(SettingsError, match="found a string"):
        il.encode(run, "a sentence")
    with pytest.raises(SettingsError, match="layer = 99"):
        il.encode(run, lines, layer=99)


def test_evaluates_and_reports(run, pairs, tmp_path):
    for language, lines in zip(("en", "de"), pairs.lines(), strict=True):
        (tmp_path / f"test.{language}").write_text("\n".join(lines[:30]) + "\n")
    files = {"evaluate": {"tasks": {"retrieval": {"files": "test.{language}", "targets": ["sw"]}}}}
    with pytest.raises(DataError, match=r"test\.en"):
        il.evaluate(run, ["retrieval"], ["de"], settings=files)
    table = il.evaluate(run, ["retrieval"], ["de"], data=tmp_path, settings=files)
    [score] = table.filter(main=True)
    assert (score.task, score.language, score.metric) == ("retrieval", "de", "p@1")
    assert (
        il.evaluate(run, "retrieval", "de", data=tmp_path, settings=files)[0].score == score.score
    )  # stored, not measured again
    assert "retrieval" in il.report([run], tmp_path / "report.html").read_text(encoding="utf-8")


def test_pretrains_by_a_recipe(tmp_path):
    toy = {
        "sentences": 300,
        "pairs": 100,
        "labelled": 30,
        "nli": 30,
        "questions": 20,
        "dev": 20,
        "test": 20,
    }
    changes = {"toy": toy, "vocab": {"size": 300}, "evaluate": {"tasks": {}}, **SMALL}
    made = il.pretrain("tiny/mlm", steps=2, output=tmp_path / "run", settings=changes)
    assert made.model.config.vocab_size >= 300
    with pytest.raises(SettingsError, match="a recipe names its own"):
        il.pretrain("tiny/mlm", objectives=["alm"], output=tmp_path / "other")


@pytest.fixture
def sentence_transformer(run):
    opened = pytest.importorskip("sentence_transformers")
    return opened.SentenceTransformer(str(run.path / "model"), device="cpu")


def test_sentence_transformers_opens_a_run(run, pairs, sentence_transformer):
    lines = pairs.lines()[0]
    np.testing.assert_allclose(sentence_transformer.encode(lines), il.encode(run, lines), atol=1e-5)


def test_mteb_evaluates_a_run(run, pairs, sentence_transformer):
    datasets, mteb = pytest.importorskip("datasets"), pytest.importorskip("mteb")
    from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining

    rows = datasets.Dataset.from_dict(
        dict(zip(("sentence1", "sentence2"), pairs.lines(), strict=True))
    )
    about = {
        "description": "Pairs.",
        "type": "BitextMining",
        "eval_langs": ["eng-Latn", "deu-Latn"],
        "main_score": "f1",
    }

    class LocalMining(AbsTaskBitextMining):
        metadata = mteb.TaskMetadata(
            name="LocalMining", dataset={"path": "local", "revision": "1"}, **about
        )

        def load_data(self, **_):
            self.dataset, self.data_loaded = datasets.DatasetDict(test=rows), True

    found = mteb.evaluate(sentence_transformer, LocalMining(), cache=None)
    [score] = found.task_results[0].scores["test"]
    source, target = (il.encode(run, side) for side in pairs.lines())
    right = (source @ target.T).argmax(axis=1) == np.arange(
        len(source)
    )  # the first of equal sentences
    assert score["accuracy"] == pytest.approx(right.mean(), abs=0.03)
