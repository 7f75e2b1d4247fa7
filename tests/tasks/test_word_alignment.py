import logging

import pytest
import torch

from interlace.core.errors import DataError, SettingsError
from interlace.tasks.word_alignment import WordAlignment
from little_files import write

SOURCE = ["the doctor reads letters", "letters"]
TARGET = ["der arzt liest briefe", "briefe"]


@pytest.fixture
def root(tmp_path):
    write(tmp_path, "parallel/test.en-de.en.tok", *SOURCE)
    write(tmp_path, "parallel/test.en-de.de.tok", *TARGET)
    write(tmp_path, "parallel/test.en-de.links", "0-0 1-1 2p2 3-3", "0-0")
    return tmp_path


@pytest.fixture
def translated(vocab, model):
    """A model whose words and their translations have one vector."""
    backbone = model()
    rows = vocab.encode_words(" ".join([*SOURCE[:1], *TARGET[:1]]).split())
    assert (rows.lengths == 1).all()
    with torch.no_grad():
        backbone.input_embeddings[rows.flat[4:].tolist()] = backbone.input_embeddings[
            rows.flat[:4].tolist()
        ]
    return backbone


@pytest.mark.parametrize("method", ["argmax", "itermax"])
def test_aligns_words_with_equal_vectors(root, vocab, translated, method):
    task = WordAlignment(layer=0, method=method)
    scores = task.measure(translated, vocab, task.examples("test", "de", vocab, root))
    assert scores.metrics == {"aer": 0, "precision": 100, "recall": 100, "f1": 100}


def test_rates_by_hand(root, vocab, translated):
    # found: the diagonals, 5 links; gold: 2 of them sure, one possible, and a sure one that nobody finds
    write(root, "parallel/test.en-de.links", "0-0 1p1 0-3", "0-0")
    scores = WordAlignment(layer=0).measure(
        translated, vocab, WordAlignment().examples("test", "de", vocab, root)
    )
    assert scores["precision"] == pytest.approx(100 * 3 / 5)
    assert scores["recall"] == pytest.approx(100 * 2 / 3)
    assert scores["aer"] == pytest.approx(100 * (1 - (2 + 3) / (5 + 3)))
    # of the first pair 4 links found and 2 sure ones, of which 1 and 2 agree; of the second one 1 and 1, which agree
    assert scores.outcomes.score.tolist() == [4 + 2 - 1 - 2, 0]
    assert scores.outcomes.weight.tolist() == [6, 2]


def test_detects_links_counted_from_one(root, vocab, caplog):
    write(root, "parallel/test.en-de.links", "1-1 2-2 4-4", "1-1")
    examples = WordAlignment().examples("test", "de", vocab, root)
    assert examples.sure.to_lists() == [[[0, 0], [1, 1], [3, 3]], [[0, 0]]]
    with caplog.at_level(logging.INFO, "interlace"):
        examples = WordAlignment(base=0).examples("test", "de", vocab, root)
    assert examples.sure.to_lists() == [[[1, 1], [2, 2]], []]
    assert "links beyond the end of a sentence dropped" in caplog.text


def test_reads_both_sides_from_one_file(tmp_path, vocab):
    write(tmp_path, "de.txt", "the doctor ||| der arzt")
    write(tmp_path, "de.gold", "0-0 1-1")
    task = WordAlignment(files="{target}.txt", gold={"test.de": "de.gold"})
    assert task.examples("test", "de", vocab, tmp_path).lengths.tolist() == [4]


def test_rejects_bad_input(root, vocab, model):
    write(root, "parallel/test.en-de.links", "", "")
    with pytest.raises(DataError, match="no links to compare with"):
        WordAlignment().examples("test", "de", vocab, root)
    write(root, "parallel/test.en-de.links", "0-0", "0-0")
    examples = WordAlignment().examples("test", "de", vocab, root)
    with pytest.raises(SettingsError, match="layer = 9, but the model has the layers 0 to 3"):
        WordAlignment(layer=9).measure(model(), vocab, examples)


SETS = {
    ("en", "fr"): ("enfr.src-tgt", "enfr.gold", 447, 4038, 17438),
    # one beyond the end
    ("de", "en"): (
        "bicici-de-en/test.{language}",
        "bicici-de-en/de-en.wa",
        100,
        1232,
        1232,
    ),
    ("en", "es"): (
        "multi-jsonl/en-es/es_golden.train.jsonl",
        "multi-jsonl/en-es/es_golden.train.jsonl",
        90,
        757,
        757,
    ),
}


@pytest.mark.parametrize("pair", SETS)
def test_gold_sets(vocab, pair, real_data):
    text, gold, pairs, sure, possible = SETS[pair]
    task = WordAlignment(source=pair[0], files=f"alignment/{text}", gold=f"alignment/{gold}")
    examples = task.examples("test", pair[1], vocab, real_data)
    assert (len(examples), len(examples.sure.flat), len(examples.possible.flat)) == (
        pairs,
        sure,
        possible,
    )
