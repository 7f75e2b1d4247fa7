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
        [" ".join(words[number] for number in row) for row in rows]
        for words in (ENGLISH, OTHER)
    ]
    return il.Pairs.from_lists(*sides, languages=("en", "de"), word_tokenizer="whitespace")


def continued(start, pairs, output):
    objectives = {"mlm": {"max_length": LONGEST}, "alm": {"max_length": LONGEST, "weight": 2}}
    more = {"objectives": objectives, "output": output, "settings": SMALL}
    return il.pretrain(start, pairs, steps=4, **more)


@pytest.fixture(scope="module")
def run(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    return continued(str(save("xlm-r", folder / "start")), pairs, folder / "run")


def test_continues_a_checkpoint_on_pairs(run, pairs):
    words = pairs.lines()[0][0]
    found = run.model(**run.tokenizer(words, return_tensors="pt"))
    assert found.logits.isfinite().all()
    assert (run.path / "text" / "train.de").read_text().splitlines() == pairs.lines()[1]
    again = continued(str(run.path.parent / "start"), pairs, run.path)
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
    np.testing.assert_allclose(
        vectors[3:4], il.encode(run.path / "model", lines[3:4]), atol=1e-5
    )
    plain = il.encode(run, lines, layer=0, normalize=False)
    assert np.linalg.norm(plain, axis=1) != pytest.approx(1)
    with pytest.raises(SettingsError, match="found 'a sentence'"):
        il.encode(run, "a sentence")
    with pytest.raises(SettingsError, match=r"^layer = 99"):
        il.encode(run, lines, layer=99)
    with pytest.raises(SettingsError, match=r"expected a list of strings, found \[\]"):
        il.encode(run, [])


def test_evaluates_and_reports(run, pairs, tmp_path):
    for language, lines in zip(("en", "de"), pairs.lines(), strict=True):
        (tmp_path / f"test.{language}").write_text("\n".join(lines[:30]) + "\n")
    files = {
        "evaluate": {"tasks": {"retrieval": {"files": "test.{language}", "targets": ["sw"]}}}
    }
    table = il.evaluate(run, ["retrieval"], ["de"], data=tmp_path, settings=files)
    [score] = table.filter(main=True)
    assert (score.task, score.language, score.metric) == ("retrieval", "de", "p@1")
    assert "retrieval" in il.report([run], tmp_path / "report.html").read_text(encoding="utf-8")


def test_sentence_transformers_opens_a_run(run, pairs):
    library = pytest.importorskip("sentence_transformers")
    opened = library.SentenceTransformer(str(run.path / "model"), device="cpu")
    lines = pairs.lines()[0]
    np.testing.assert_allclose(opened.encode(lines), il.encode(run, lines), atol=1e-5)
