"""The study for a GPU, in miniature: its systems learn from the first lines of its files, and are scored."""

import gzip

import pytest

from interlace.experiments.evaluate import evaluate, target_of
from interlace.experiments.pretrain import pretrain
from interlace.experiments.studies import cells_of, read_study
from toy_settings import under

FILES = (
    "pos/UD_English-EWT/en_ewt-ud-train.conllu.gz",
    "pos/UD_English-EWT/en_ewt-ud-dev.conllu",
    "pos/UD_English-EWT/en_ewt-ud-test.conllu",
    "parallel/multi30k/train.en.gz",
    "mono/wikipedia-paragraphs/en.txt.gz",
    "mono/wikitext-2/valid.txt.gz",
    "ner/panx/train-en.tsv.gz",
    "ner/panx/dev-en.tsv.gz",
    "nli/sick/SICK_train.txt",
    "nli/sick/SICK_trial.txt",
)
SMALL = {"set.vocab.size": "700"}
SMALL |= under("set.model.shape", layers="1", width="16", heads="2")
SMALL |= under("set.train", steps="2", tokens_per_update="512", evaluate_tokens="512")
SMALL |= {"set.train.threads": "1", "set.evaluate.tasks.pos.tuning.epochs": "1"}


@pytest.fixture
def first_lines(real_data, tmp_path, monkeypatch, own_cache):
    """The study's files, of at most 400 lines up to an empty one or the last."""
    folder = tmp_path / "data"
    for name in FILES:
        data = (real_data / name).read_bytes()
        packed = name.endswith(".gz")
        lines = (gzip.decompress(data) if packed else data).split(b"\n")[:400]
        if "ner/" in name or "pos/" in name:
            last = len(lines) - lines[::-1].index(b"")
            lines = lines[:last]
        content = b"\n".join(lines) + b"\n"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if packed else content)
    monkeypatch.setenv("INTERLACE_DATA", str(folder))


@pytest.mark.slow
def test_systems_train_and_are_scored(first_lines, tmp_path):
    study, folder = read_study("gpu/derived", SMALL)
    reversed_cells = cells_of(study, folder)[:4]
    assert {cell.system for cell in reversed_cells} == set(study.systems)
    for cell in reversed_cells:
        pretrain(cell.recipe, tmp_path / cell.system)
    rows = evaluate(target_of(str(tmp_path / "align-mlm")), ["pos", "embedding_alignment"])
    scored = {(row["task"], row["setting"], row["language"]) for row in rows}
    assert {("pos", "zero-shot", "en"), ("pos", "zero-shot", "en_x")} <= scored
    assert {task for task, *_ in scored} == {"pos", "embedding_alignment"}
