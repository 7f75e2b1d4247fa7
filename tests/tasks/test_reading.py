"""Rows that share a text with held-out rows: which are left out, and of what."""

from __future__ import annotations

import json
import logging

import pytest

from interlace.core.errors import DataError
from interlace.data.vocab import Vocab
from interlace.tasks import TASKS

ROWS = ["a b\tc d\t1", "e f\tg h\t0", "A  B\ti j\t0", "k l\tm n\t1", "o p\te f\t1", "q r\ts t\t0"]
FILES = {"train": "rows.{language}[:3]", "dev": "rows.{language}[3:5]", "test": "rows.{language}[5:]"}


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ["a b c d e f g h i j k l m n o p q r s t"] * 20}, size=300)


def write(root, name, lines):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def counts(task, root, vocab):
    return {split: len(task.examples(split, "en", vocab, root)) for split in ("train", "dev", "test")}


def pawsx(*, decontaminate=True):
    return TASKS.build({"name": "pawsx", "files": FILES, "decontaminate": decontaminate})


def test_training_rows_that_share_a_sentence_are_left_out(tmp_path, vocab, caplog):
    caplog.set_level(logging.INFO)
    write(tmp_path, "rows.en", ROWS)  # the second row shares "e f" with a development row
    assert counts(pawsx(decontaminate=False), tmp_path, vocab) == {"train": 3, "dev": 2, "test": 1}
    assert counts(pawsx(), tmp_path, vocab) == {"train": 2, "dev": 2, "test": 1}
    assert "removed 1 of 3 train rows" in caplog.text


def test_case_and_blanks_are_no_difference_and_development_rows_give_way_to_test_rows(tmp_path, vocab):
    write(tmp_path, "rows.en", [*ROWS[:5], "K L\ta  b\t0"])
    # of training, both rows with "a b" and that with "e f"; of development, that with "k l"
    with pytest.raises(DataError, match="each of the 3 train rows in 'en' shares a held-out text"):
        pawsx().examples("train", "en", vocab, tmp_path)
    assert len(pawsx().examples("dev", "en", vocab, tmp_path)) == 1


def test_without_a_test_file_there_is_nothing_to_hold_apart(tmp_path, vocab):
    write(tmp_path, "rows.en", ROWS[:3])
    task = TASKS.build({"name": "pawsx", "files": {"train": "rows.{language}"}, "decontaminate": True})
    assert len(task.examples("train", "en", vocab, tmp_path)) == 3


def test_questions_on_one_passage_stay_on_one_side(tmp_path, vocab):
    passages = ["a b c", "d e f", "a b c", "g h i"]
    paragraphs = []
    for at, text in enumerate(passages):
        answer = {"text": text[:1], "answer_start": 0}
        paragraphs.append({"context": text, "qas": [{"id": str(at), "question": f"{at}?", "answers": [answer]}]})
    write(tmp_path, "qa.json", [json.dumps({"data": [{"paragraphs": paragraphs}]})])
    files = {"train": "qa.json[:2]", "test": "qa.json[2:]"}
    task = TASKS.build({"name": "mlqa", "files": files, "decontaminate": True})
    questions = task.examples("train", "en", vocab, tmp_path)
    assert questions.ids == ["1"]


def test_tagged_sentences(tmp_path, vocab):
    lines = ["a B-PER", "b O", "", "c B-LOC", "", "A B-LOC", "b O", ""]
    write(tmp_path, "ner.en", [line.replace(" ", "\t") for line in lines])
    files = {"train": "ner.en[:2]", "test": "ner.en[2:]"}
    task = TASKS.build({"name": "ner", "files": files, "decontaminate": True})
    assert len(task.examples("train", "en", vocab, tmp_path)) == 1
