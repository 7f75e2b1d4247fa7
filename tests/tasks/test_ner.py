import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.tasks import TASKS
from interlace.tasks.ner import Ner, tag_numbers
from little_files import write
from little_words import tagged

FILE = "ner/test.en.tsv"


def test_an_unknown_type_names_both_solutions(tmp_path, vocab):
    write(tmp_path, FILE, ("the", "O"), ("doctor", "B-DATE"))
    with pytest.raises(DataError) as caught:
        Ner().examples("test", "en", vocab, tmp_path)
    message = str(caught.value)
    assert (
        "test.en.tsv: sentence 'the doctor', word 'doctor': an entity of type 'DATE'" in message
    )
    assert "set types = ['PER', 'ORG', 'LOC', 'DATE'], or other_types = 'outside'" in message
    write(tmp_path, FILE, ("the", "O"))
    with pytest.raises(DataError, match="no word is part of an entity"):
        Ner().examples("test", "en", vocab, tmp_path)


def test_other_types_can_be_read_as_outside(tmp_path, vocab, caplog):
    write(
        tmp_path,
        FILE,
        ("doctor", "B-PER"),
        ("the", "B-DATE"),
        ("letters", "I-DATE"),
        ("reads", "I-MISC"),
    )
    with caplog.at_level(logging.INFO, "interlace"):
        examples = Ner(other_types="outside").examples("test", "en", vocab, tmp_path)
    assert examples.tags.to_lists() == [[1, 0, 0, 0]]
    assert "3 words of other types read as O (B-DATE, B-MISC, I-DATE)" in caplog.text


@pytest.mark.parametrize(
    ("types", "message"), [(["PER", "PER"], "'PER' is given 2"), (["B-PER"], "without B-")]
)
def test_rejects_invalid_types(types, message):
    with pytest.raises(SettingsError, match=message):
        TASKS.build({"name": "ner", "types": types})


TYPES = ("PER", "ORG", "LOC")
NUMBERS = tag_numbers(TYPES)
TAGS = list(NUMBERS)


@pytest.fixture(scope="module")
def seqeval():
    return pytest.importorskip("seqeval.metrics")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_scores_equal_seqeval(seqeval, data):
    shape = data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=6))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    gold = [rng.choice(TAGS, length).tolist() for length in shape]
    found = [
        [tag if rng.random() < 0.7 else str(rng.choice(TAGS)) for tag in row] for row in gold
    ]
    sides = (
        Ragged.of([[NUMBERS[tag] for tag in row] for row in side]) for side in (found, gold)
    )
    predictions, tags = sides
    ours = Ner().score(tagged(tags), predictions)
    for name in ("precision", "recall", "f1"):
        assert ours[name] == pytest.approx(
            100 * getattr(seqeval, f"{name}_score")(gold, found, zero_division=0)
        ), name
    report = seqeval.classification_report(gold, found, output_dict=True, zero_division=0)
    for kind in TYPES:
        if report.get(kind, {}).get("support"):
            assert ours[f"f1 {kind}"] == pytest.approx(100 * report[kind]["f1-score"])
