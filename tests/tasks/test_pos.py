import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.tasks.pos import TAGS, Pos
from little_files import write
from little_words import tagged

FILE = "pos/test.en.conllu"


def word(number, form, tag):
    return (str(number), form, "_", tag, *"______")


def test_words_without_a_tag_are_counted_and_not_scored(tmp_path, vocab, caplog):
    write(tmp_path, FILE, word(1, "the", "_"), word(2, "doctor", "NOUN"))
    caplog.set_level(logging.INFO, "interlace")
    examples = Pos().examples("test", "en", vocab, tmp_path)
    assert examples.tags.to_lists() == [[-1, TAGS.index("NOUN")]]
    assert "1 words without a tag, not scored" in caplog.text
    write(tmp_path, FILE, word(1, "the", "_"))
    with pytest.raises(DataError, match="no word has a tag"):
        Pos().examples("test", "en", vocab, tmp_path)
    write(tmp_path, FILE, word(1, "the", "DET"), word(2, "doctor", "NOUNN"))
    message = (
        r"test\.en\.conllu: .*word 'doctor': 'NOUNN' is no universal tag; did you mean 'NOUN'"
    )
    with pytest.raises(DataError, match=message):
        Pos().examples("test", "en", vocab, tmp_path)


def test_unread_words_are_wrong():
    gold = Ragged.of([[1, 2, -1], [3, 4]])
    predictions = Ragged.of([[1, 9, -1], [3, -1]])
    examples = tagged(gold)
    metrics = Pos().score(examples, predictions).metrics
    assert metrics == {"accuracy": 50.0, "f1": pytest.approx(400 / 7), "unread": 25.0}


def f1_of(gold, found):
    numbers = {tag: number for number, tag in enumerate(TAGS)}
    tags, predictions = (
        Ragged.of([[numbers.get(tag, -1) for tag in row] for row in side])
        for side in (gold, found)
    )
    return Pos().score(tagged(tags), predictions)["f1"]


@pytest.mark.filterwarnings("ignore:.* seems not to be NE tag")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_f1_equals_seqeval(shape, seed):
    seqeval = pytest.importorskip("seqeval.metrics")
    rng = np.random.default_rng(seed)
    some = rng.choice(TAGS, 5)
    gold = [rng.choice(some, length).tolist() for length in shape]
    found = [
        [tag if rng.random() < 0.6 else str(rng.choice([*some, "O"])) for tag in row]
        for row in gold
    ]
    assert f1_of(gold, found) == pytest.approx(
        100 * seqeval.f1_score(gold, found, zero_division=0)
    )
