import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.core.neighbors import MarginScorer, unit
from interlace.tasks import TASKS
from interlace.tasks.mining import MinedPairs, Mining, mine
from little_files import write

LINES = ["the doctor reads letters", "letters", "the letters", "doctor", "the doctor", "reads", "reads the", "the the"]


def parallel(root, lines=LINES):
    for split in ("dev", "test"):
        for language in ("en", "de"):
            write(root, f"parallel/{split}.en-de.{language}", *lines)


def decoded(vocab, sentences):
    return [vocab.decode(row) for row in sentences.ids]


def test_parallel_text_keeps_a_share_of_its_pairs_and_has_sides_of_one_length(tmp_path, vocab):
    parallel(tmp_path)
    texts = Mining(parallel_share=0.5).examples("test", "de", vocab, tmp_path).scored
    source, target = decoded(vocab, texts.source), decoded(vocab, texts.target)
    assert len(texts.gold) == 4
    assert len(source) == len(target) == 6
    assert [source[i] for i, _ in texts.gold] == [target[j] for _, j in texts.gold]
    assert set(source) | set(target) == set(LINES)
    assert len(set(source) & set(target)) == 4
    whole = Mining(parallel_share=1).examples("test", "de", vocab, tmp_path)
    assert whole.scored.gold.tolist() == [[row, row] for row in range(8)]
    assert len(whole) == len(whole.lengths) == 8
    write(tmp_path, "parallel/test.en-de.de", *LINES[:-1])
    with pytest.raises(DataError, match="8 lines in 'en', but 7 in 'de'"):
        Mining().examples("test", "de", vocab, tmp_path)


def test_named_sentences_and_gold_in_either_order(tmp_path, vocab):
    for split in ("dev", "test"):
        write(tmp_path, f"bucc/{split}.en-de.en", "en-1\tletters", "en-2\tdoctor")
        write(tmp_path, f"bucc/{split}.en-de.de", "de-1\tarzt", "de-2\tliest", "de-3\tder")
        write(tmp_path, f"bucc/{split}.en-de.gold", "de-1\ten-2")
    reader = {"name": "tsv", "columns": [1], "label": 0, "header": False}
    settings = {"files": "bucc/{split}.en-de.{language}", "gold": "bucc/{split}.en-de.gold", "reader": reader}
    texts = TASKS.build({"name": "mining", **settings}).examples("test", "de", vocab, tmp_path).scored
    assert texts.gold.tolist() == [[1, 0]]
    assert decoded(vocab, texts.target) == ["arzt", "liest", "der"]
    with pytest.raises(DataError, match="the reader of the text finds no names"):
        Mining(**{**settings, "reader": "lines"}).examples("test", "de", vocab, tmp_path)
    write(tmp_path, "bucc/test.en-de.gold", "de-1\ten-2", "de-9\ten-1")
    with pytest.raises(DataError, match=r"test.en-de.gold, line 2: no sentences are named 'de-9\\ten-1'"):
        TASKS.build({"name": "mining", **settings}).examples("test", "de", vocab, tmp_path)
    write(tmp_path, "bucc/test.en-de.en", "en-1\tletters", "en-1\tdoctor")
    with pytest.raises(DataError, match="two sentences in 'en' have the same name"):
        TASKS.build({"name": "mining", **settings}).examples("test", "de", vocab, tmp_path)


# three sources, three targets; x1 and x2 both like y1 best, y3 likes x1 best
SOURCE = unit([[1.0, 0.0], [0.9, 0.45], [-1.0, 0.1]])
TARGET = unit([[1.0, 0.05], [-1.0, 0.0], [0.5, -0.9]])
GOLD = np.array([[0, 0], [2, 1]])


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("forward", [[0, 0], [2, 1], [1, 0]]),
        ("backward", [[0, 0], [2, 1], [0, 2]]),
        ("intersection", [[0, 0], [2, 1]]),
        ("max", [[0, 0], [2, 1]]),
    ],
)
def test_proposes_pairs_by_each_search(search, expected):
    around = MarginScorer.of("absolute", SOURCE, TARGET, 4)
    mined = mine(SOURCE, TARGET, around, GOLD, search)
    assert mined.pairs.tolist() == expected
    assert (np.diff(mined.scores) <= 0).all()
    assert mined.right.tolist() == [True, True, False][: len(expected)]
    assert mined.gold == 2


def test_max_proposes_the_next_best_free_pair():
    # backward proposes (0, 1) for the second target; forward gives source 0 to target 0
    source, target = unit([[1.0, 0.0], [0.6, 0.8]]), unit([[1.0, 0.1], [0.8, 0.6]])
    mined = mine(source, target, MarginScorer.of("absolute", source, target, 4), np.array([[0, 0]]), "max")
    assert mined.pairs.tolist() == [[0, 0], [1, 1]]


def made(scores, right, gold):
    pairs = np.zeros((len(scores), 2), np.int64)
    return MinedPairs(pairs, np.array(scores, np.float32), np.array(right), gold)


def test_the_threshold_is_where_f1_is_best():
    mined = made([0.9, 0.8, 0.6, 0.4, 0.2], [True, True, False, True, False], 4)
    # F1 after each: 2/5, 4/6, 4/7, 6/8, 6/9
    assert mined.best_threshold() == pytest.approx(0.3)
    assert mined.scores_at(0.3) == (75, 75, 75)
    assert mined.scores_at(0.7) == (100, 50, pytest.approx(200 / 3))
    assert mined.scores_at(2) == (0, 0, 0)
    mined = made([0.9, 0.5, 0.5], [True, True, False], 2)
    assert mined.best_threshold() == pytest.approx(0.5)
    assert mined.scores_at(mined.best_threshold())[2] == pytest.approx(80)


def test_f1_is_a_sum_over_sources():
    pairs, gold = np.array([[0, 0], [1, 2], [2, 1], [0, 3]]), np.array([[0, 0], [2, 1], [3, 3]])
    mined = MinedPairs(pairs, np.array([0.9, 0.8, 0.7, 0.1], np.float32), np.array([True, False, True, False]), 3)
    score, weight = mined.by_source(0.5, gold, 5)
    assert score.tolist() == [2, 0, 2, 0, 0]
    assert weight.tolist() == [2, 1, 2, 1, 0]  # believed and gold; the last source is in neither
    assert 100 * score.sum() / weight.sum() == pytest.approx(mined.scores_at(0.5)[2])


def test_the_threshold_is_chosen_on_the_dev_set(tmp_path, vocab, model):
    parallel(tmp_path)
    task = Mining(layer=0, margin="absolute")
    scores = task.measure(model(), vocab, task.examples("test", "de", vocab, tmp_path))
    assert scores["best f1"] >= scores["f1"]
    assert scores.metrics == task.measure(model(), vocab, task.examples("test", "de", vocab, tmp_path)).metrics
