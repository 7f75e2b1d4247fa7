from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.tasks import TASKS
from interlace.tasks.ner import Ner

WHERE = os.environ.get("INTERLACE_DATA", "")


def write(root, *rows, name="ner/test.en.tsv"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join("\t".join(row) for row in rows) + "\n")


def test_tags_by_word(tmp_path, vocab):
    write(tmp_path, ("the", "O"), ("doctor", "B-PER"), ("letters", "I-PER"), (), ("doctor", "B-LOC"))
    examples = Ner().examples("test", "en", vocab, tmp_path)
    assert examples.tags.to_lists() == [[0, 1, 2], [5]]
    assert examples.examples.language == "en"


def test_an_unknown_type_is_named_with_both_cures(tmp_path, vocab):
    write(tmp_path, ("the", "O"), ("doctor", "B-DATE"))
    with pytest.raises(DataError) as caught:
        Ner().examples("test", "en", vocab, tmp_path)
    message = str(caught.value)
    assert "test.en.tsv: sentence 'the doctor', word 'doctor': an entity of type 'DATE'" in message
    assert "set types = ['PER', 'ORG', 'LOC', 'DATE'], or other_types = 'outside'" in message


def test_a_misspelt_type_gets_a_hint(tmp_path, vocab):
    write(tmp_path, ("doctor", "B-PERS"))
    with pytest.raises(DataError, match="did you mean 'PER'"):
        Ner().examples("test", "en", vocab, tmp_path)


def test_other_types_can_be_outside_and_are_counted(tmp_path, vocab, caplog):
    write(tmp_path, ("doctor", "B-PER"), ("the", "B-DATE"), ("letters", "I-DATE"), ("reads", "I-MISC"))
    with caplog.at_level(logging.INFO, "interlace"):
        examples = Ner(other_types="outside").examples("test", "en", vocab, tmp_path)
    assert examples.tags.to_lists() == [[1, 0, 0, 0]]
    assert "3 words of other types read as O (B-DATE, B-MISC, I-DATE)" in caplog.text


def test_types_are_settings(tmp_path, vocab):
    task = TASKS.build({"name": "ner", "types": ["DATE", "PER"], "max_length": 64, "dropout": 0.3})
    write(tmp_path, ("the", "B-DATE"), ("letters", "I-DATE"), ("doctor", "B-PER"))
    assert task.examples("test", "en", vocab, tmp_path).tags.to_lists() == [[1, 2, 3]]
    learner = task.learner()
    assert (learner.classes, learner.max_length, learner.dropout) == (5, 64, 0.3)
    assert task.tuning.epochs == 10


@pytest.mark.parametrize(("types", "message"), [(["PER", "PER"], "'PER' stands there 2"), (["B-PER"], "without B-")])
def test_types_that_make_no_sense_are_refused(types, message):
    with pytest.raises(SettingsError, match=message):
        TASKS.build({"name": "ner", "types": types})


def test_mended_tags_are_counted(tmp_path, vocab, caplog):
    write(tmp_path, ("the", "O"), ("doctor", "I-PER"))
    with caplog.at_level(logging.INFO, "interlace"):
        assert Ner().examples("test", "en", vocab, tmp_path).tags.to_lists() == [[0, 1]]
    assert "1 I- without B- changed to B-" in caplog.text


def test_a_tag_that_is_no_iob2_is_named_with_its_line(tmp_path, vocab):
    write(tmp_path, ("the", "O"), ("doctor", "S-PER"))
    with pytest.raises(DataError, match=r"test.en.tsv, line 2: tag 'S-PER', expected O, B-TYPE or I-TYPE"):
        Ner().examples("test", "en", vocab, tmp_path)


def test_a_type_missing_in_training_is_told(tmp_path, vocab, caplog):
    write(tmp_path, ("doctor", "B-PER"), ("the", "B-LOC"), name="ner/train.en.tsv")
    Ner().examples("train", "en", vocab, tmp_path)
    assert "train.en.tsv: no entity of type ORG to learn from" in caplog.text
    caplog.clear()
    Ner(types=("PER", "LOC")).examples("train", "en", vocab, tmp_path)
    assert not caplog.text


def test_text_without_entities_has_no_score(tmp_path, vocab):
    write(tmp_path, ("the", "O"))
    with pytest.raises(DataError, match="no word is part of an entity"):
        Ner().examples("test", "en", vocab, tmp_path)


def test_scores_by_hand():
    gold = Ragged.of([[1, 2, 0, 5], [5, 6]])  # PER, LOC; LOC
    found = Ragged.of([[1, 2, 0, 6], [5, -1]])  # PER, LOC opened by an I; the last word is not read
    scores = Ner().score(None, found, gold)
    assert scores == {
        "f1": pytest.approx(200 / 3),
        "precision": pytest.approx(200 / 3),
        "recall": pytest.approx(200 / 3),
        "f1 PER": 100,
        "f1 LOC": 50,
        "opened": pytest.approx(100 / 3),
        "unread": pytest.approx(100 / 6),
    }


def test_words_without_gold_are_not_scored():
    gold, found = Ragged.of([[1, 0, -1]]), Ragged.of([[1, 0, 3]])
    assert Ner().score(None, found, gold)["f1"] == 100


@pytest.mark.skipif(not Path(WHERE, "ner").is_dir(), reason="INTERLACE_DATA is not set")
def test_masakhaner_and_panx(vocab, caplog):
    date = ("PER", "ORG", "LOC", "DATE")
    task = Ner(files="ner/masakhaner1/{language}/{split}.txt", types=date)
    with caplog.at_level(logging.INFO, "interlace"):
        examples = task.examples("test", "yor", vocab, Path(WHERE))
    assert len(examples) == 645
    assert "1 I- without B- changed to B-" in caplog.text
    task = Ner(files={"test": "ner/panx/dev-{language}.tsv.gz[500:]"})
    assert len(task.examples("test", "sw", vocab, Path(WHERE))) == 500
