from __future__ import annotations

import json
import logging

import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.tasks import TASKS
from interlace.tasks._answers import AnswerNormalizer
from interlace.tasks._spans import SPAN

ENGLISH = "the doctor reads letters"
GERMAN = "der arzt liest briefe"


def question(text, *answers, key="q"):
    return {"id": key, "question": text, "answers": [{"text": answer, "answer_start": at} for answer, at in answers]}


def write(path, passages):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = [{"paragraphs": [{"context": context, "qas": asked} for context, asked in passages]}]
    path.write_text(json.dumps({"data": data}), encoding="utf-8")


@pytest.fixture
def task():
    return TASKS.build("mlqa")


def predicted(*spans):
    """One answer a question; None for no answer."""
    return np.array([[(-1, -1, -np.inf) if span is None else (*span, 1.0)] for span in spans], SPAN)


# ---- what is read ----


def test_passages_are_encoded_once_and_answers_found_in_their_subwords(task, vocab, tmp_path):
    asked = [question("who", ("the doctor", 0), key="a"), question("what", ("letters", 17), key="b")]
    write(tmp_path / "qa/test.en.json", [(ENGLISH, asked), (GERMAN, [question("wer", ("arzt", 4))])])
    questions = task.examples("test", "en", vocab, tmp_path)
    assert questions.texts == [ENGLISH, GERMAN]
    assert questions.owners.tolist() == [0, 0, 1]
    assert questions.answers == [["the doctor"], ["letters"], ["arzt"]]
    for row, answer in enumerate(["the doctor", "letters", "arzt"]):
        first, last = questions.spans[row]
        assert vocab.decode(questions.passages.ids[questions.owners[row]][first : last + 1]).strip() == answer
    assert task.score(questions, task.learner().gold(questions), task.learner().gold(questions)) == {
        "f1": 100.0,
        "exact": 100.0,
        "ceiling": 100.0,
    }


def test_training_leaves_out_what_has_no_place_and_scoring_does_not(task, vocab, tmp_path, caplog):
    asked = [
        question("who", ("the doctor", 3), key="moved"),
        question("who", ("a nurse", 0), key="nowhere"),
        question("who", ("", 0), key="blank"),
        question("what", ("nothing", 0), ("letters", 17), key="second"),
    ]
    for split in ("train", "test"):
        write(tmp_path / f"qa/{split}.en.json", [(ENGLISH, asked)])
    with caplog.at_level(logging.INFO):
        train = task.examples("train", "en", vocab, tmp_path)
    assert train.ids == ["moved", "second"]
    assert (train.spans >= 0).all()
    for told in (
        "1 answers with a wrong answer_start, moved to their only occurrence",
        "2 answers not found at answer_start nor at exactly one other position",
        "1 questions without an answer (neither scored nor trained on)",
        "2 questions left out: nothing can be learnt without the place of an answer",
    ):
        assert told in caplog.text
    test = task.examples("test", "en", vocab, tmp_path)
    assert test.ids == ["moved", "nowhere", "blank", "second"]
    found = predicted((0, 10), None, (0, 3), (17, 24))
    assert task.score(test, found, task.learner().gold(test))["f1"] == pytest.approx(200 / 3)
    score, weight = task.outcomes(test, found, None)
    assert (score.tolist(), weight.tolist()) == ([1, 0, 0, 1], [1, 1, 0, 1])


def test_long_questions_are_counted(vocab, tmp_path, caplog):
    write(tmp_path / "qa/test.en.json", [(ENGLISH, [question("what " * 9, ("doctor", 4)), question("x", ("the", 0))])])
    with caplog.at_level(logging.INFO):
        TASKS.build({"name": "mlqa", "max_question": 5}).examples("test", "en", vocab, tmp_path)
    assert "1 questions cut behind 5 subwords" in caplog.text


@pytest.mark.parametrize(("split", "purpose"), [("train", "learn"), ("test", "compare with")])
def test_a_file_of_blank_answers_alone_is_refused_with_a_way_out(task, vocab, tmp_path, split, purpose):
    write(tmp_path / f"qa/{split}.en.json", [(ENGLISH, [question("who", ("", 0))])])
    with pytest.raises(DataError, match=rf"no question has an answer to {purpose}; .* hold out a part of a training"):
        task.examples(split, "en", vocab, tmp_path)


def test_a_training_file_without_a_place_for_any_answer_is_refused(task, vocab, tmp_path):
    write(tmp_path / "qa/train.en.json", [("", [question("who", ("doctor", 0))])])
    with pytest.raises(DataError, match="no question has an answer to learn"):
        task.examples("train", "en", vocab, tmp_path)


def test_passages_and_questions_may_differ_in_language(vocab, tmp_path):
    task = TASKS.build({"name": "mlqa", "files": {"test": "dev-context-{context}-question-{question}.json"}})
    write(tmp_path / "dev-context-de-question-en.json", [(GERMAN, [question("who", ("der arzt", 0))])])
    write(tmp_path / "dev-context-de-question-de.json", [(GERMAN, [question("wer", ("der arzt", 0))])])
    mixed = task.examples("test", "de-en", vocab, tmp_path)
    assert (mixed.passages.language, mixed.questions.language) == ("de", "en")
    plain = task.examples("test", "de", vocab, tmp_path)
    assert (plain.passages.language, plain.questions.language) == ("de", "de")
    assert task.score(mixed, predicted((4, 8)), task.learner().gold(mixed))["exact"] == 100  # German articles go
    with pytest.raises(DataError, match=r"no test data in 'en-de'.*there is test data in: de, de-en"):
        task.examples("test", "en-de", vocab, tmp_path)


def test_parts_of_a_file_are_of_questions(vocab, tmp_path):
    asked = [question("who", ("the", 0), key=str(number)) for number in range(3)]
    write(tmp_path / "all.json", [(ENGLISH, asked), ("the end", [question("x", ("the", 0), key="last")])])
    files = {"train": "all.json[:2]", "dev": "all.json[-2:]"}
    task = TASKS.build({"name": "mlqa", "files": files})
    train, dev = (task.examples(split, "en", vocab, tmp_path) for split in files)
    assert (train.ids, dev.ids) == (["0", "1"], ["2", "last"])
    assert (train.texts, dev.texts) == ([ENGLISH], [ENGLISH, "the end"])


def test_other_readers_give_no_questions(vocab, tmp_path):
    (tmp_path / "qa").mkdir()
    (tmp_path / "qa/test.en.json").write_text("a\tb\n")
    for reader, message in [("lines", "pairs are needed"), ({"name": "nli"}, "the header has none|no column")]:
        with pytest.raises(DataError, match=message):
            TASKS.build({"name": "mlqa", "reader": reader}).examples("test", "en", vocab, tmp_path)
    (tmp_path / "qa/test.en.json").write_text("sentence1\tsentence2\tgold_label\na\tb\tneutral\n")
    with pytest.raises(DataError, match="pairs without answers; set another 'reader', such as 'squad'"):
        TASKS.build({"name": "mlqa", "reader": "nli"}).examples("test", "en", vocab, tmp_path)


# ---- what is scored ----


def test_rules_follow_the_setting_and_the_passages_language(vocab, tmp_path):
    write(tmp_path / "qa/test.de.json", [(GERMAN, [question("wer", ("arzt", 4))])])
    found = predicted((0, 8))
    for rules, expected in [("mlqa", 100), ("squad", 200 / 3)]:
        task = TASKS.build({"name": "mlqa", "normalisation": rules})
        questions = task.examples("test", "de", vocab, tmp_path)
        scores = task.score(questions, found, task.learner().gold(questions))
        assert scores["f1"] == pytest.approx(expected)


def test_the_ceiling_shows_what_subwords_cannot_tell_apart(task, vocab, tmp_path):
    """The word is one subword, so an answer that is a part of it cannot be given."""
    assert len(vocab.encode(["the doctor"]).ids[0]) == 2
    write(tmp_path / "qa/test.en.json", [("the doctor", [question("who", ("doc", 4)), question("x", ("doctor", 4))])])
    questions = task.examples("test", "en", vocab, tmp_path)
    gold = task.learner().gold(questions)
    assert task.score(questions, gold, gold) == {"f1": 50.0, "exact": 50.0, "ceiling": 50.0}


def test_an_answer_that_stands_nowhere_lowers_the_ceiling(task, vocab, tmp_path):
    asked = [question("who", ("the doctor", 0)), question("what", ("a horse", 3))]
    write(tmp_path / "qa/test.en.json", [(ENGLISH, asked)])
    questions = task.examples("test", "en", vocab, tmp_path)
    gold = task.learner().gold(questions)
    assert task.score(questions, gold, gold) == {"f1": 50.0, "exact": 50.0, "ceiling": 50.0}


def test_what_is_kept_is_what_official_programs_read(task, vocab, tmp_path):
    asked = [question("who", ("the doctor", 0), key="a"), question("what", ("letters", 17), key="b")]
    write(tmp_path / "qa/test.en.json", [(ENGLISH, asked)])
    questions = task.examples("test", "en", vocab, tmp_path)
    told = task.told(questions, task.learner().gold(questions))
    assert told["answers"] == {"a": "the doctor", "b": "letters"}
    assert [each["text"] for each in told["n-best"]["b"]] == ["letters"]


def test_answers_are_told_with_their_questions(task, vocab, tmp_path):
    write(
        tmp_path / "qa/test.en.json", [(ENGLISH, [question("who", ("doctor", 4), key="a"), question("x", ("the", 0))])]
    )
    questions = task.examples("test", "en", vocab, tmp_path)
    told = task.answers(questions, predicted((4, 10), None))
    assert [each["id"] for each in told] == ["a", "q"]
    assert [[answer["text"] for answer in each["n_best"]] for each in told] == [["doctor"], []]
    assert json.loads(json.dumps(told)) == told


def test_real_sets_can_be_answered(real_data, vocab):
    for settings, languages in [
        ({"files": {"test": "qa/xquad/xquad.{language}.json[:200]"}, "normalisation": "squad"}, ["zh", "hi"]),
        ({"files": {"test": "qa/mlqa/dev/dev-context-{context}-question-{question}.json.gz[-200:]"}}, ["ar", "zh-en"]),
        ({"files": {"test": "qa/tydiqa-goldp/tydiqa.goldp.{language}.train.json.gz[:200]"}}, ["ko"]),
    ]:
        task = TASKS.build({"name": "mlqa", **settings})
        for language in languages:
            questions = task.examples("test", language, vocab, real_data)
            gold = task.learner().gold(questions)
            assert (gold["start"] >= 0).all()
            scores = task.score(questions, gold, gold)
            assert scores["f1"] == scores["ceiling"] > 98


def test_answers_become_words_once_for_all_checks(task, vocab, tmp_path, monkeypatch):
    write(tmp_path / "qa/test.en.json", [(ENGLISH, [question("who", ("the doctor", 0), ("a doctor", 0))])])
    questions = task.examples("test", "en", vocab, tmp_path)
    gold = task.learner().gold(questions)
    first = task.score(questions, predicted((4, 10)), gold)
    seen = []
    words = AnswerNormalizer.words
    monkeypatch.setattr(AnswerNormalizer, "words", lambda self, answer: seen.append(answer) or words(self, answer))
    assert task.score(questions, predicted((4, 10)), gold) == first
    assert seen == ["doctor"]
    squad = TASKS.build({"name": "mlqa", "normalisation": "squad"})
    assert squad.score(questions, predicted((4, 10)), gold) == first
    assert seen[1:].count("the doctor") == 2  # the answer, and the ceiling
