from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.tasks import TASKS
from interlace.tasks.mlqa import SPAN, AnswerNormalizer, best_texts, compare_all, compare_answers, n_best

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
    assert task.score(questions, task.head().gold(questions)).metrics == {
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
        "2 questions left out",
    ):
        assert told in caplog.text
    test = task.examples("test", "en", vocab, tmp_path)
    assert test.ids == ["moved", "nowhere", "blank", "second"]
    found = predicted((0, 10), None, (0, 3), (17, 24))
    assert task.score(test, found)["f1"] == pytest.approx(200 / 3)
    outcomes = task.score(test, found).outcomes
    assert (outcomes.score.tolist(), outcomes.weight.tolist()) == ([1, 0, 0, 1], [1, 1, 0, 1])


def test_long_questions_are_counted(vocab, tmp_path, caplog):
    write(tmp_path / "qa/test.en.json", [(ENGLISH, [question("what " * 9, ("doctor", 4)), question("x", ("the", 0))])])
    with caplog.at_level(logging.INFO):
        TASKS.build({"name": "mlqa", "max_question": 5}).examples("test", "en", vocab, tmp_path)
    assert "1 questions truncated to 5 subwords" in caplog.text


@pytest.mark.parametrize(("split", "purpose"), [("train", "train on"), ("test", "compare with")])
def test_a_file_of_blank_answers_alone_is_refused_with_a_way_out(task, vocab, tmp_path, split, purpose):
    write(tmp_path / f"qa/{split}.en.json", [(ENGLISH, [question("who", ("", 0))])])
    with pytest.raises(DataError, match=rf"no question has an answer to {purpose}; .* hold out a part of a training"):
        task.examples(split, "en", vocab, tmp_path)


def test_passages_and_questions_may_differ_in_language(vocab, tmp_path):
    task = TASKS.build({"name": "mlqa", "files": {"test": "dev-context-{context}-question-{question}.json"}})
    write(tmp_path / "dev-context-de-question-en.json", [(GERMAN, [question("who", ("der arzt", 0))])])
    write(tmp_path / "dev-context-de-question-de.json", [(GERMAN, [question("wer", ("der arzt", 0))])])
    mixed = task.examples("test", "de-en", vocab, tmp_path)
    assert (mixed.passages.language, mixed.questions.language) == ("de", "en")
    plain = task.examples("test", "de", vocab, tmp_path)
    assert (plain.passages.language, plain.questions.language) == ("de", "de")
    assert task.score(mixed, predicted((4, 8)))["exact"] == 100  # German articles go
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
    for reader, message in [("lines", "expected pairs"), ({"name": "nli"}, "the header has none|no column")]:
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
        task = TASKS.build({"name": "mlqa", "normalization": rules})
        questions = task.examples("test", "de", vocab, tmp_path)
        scores = task.score(questions, found)
        assert scores["f1"] == pytest.approx(expected)


def test_the_ceiling_shows_what_subwords_cannot_tell_apart(task, vocab, tmp_path):
    """The word is one subword, so an answer that is a part of it cannot be given."""
    assert len(vocab.encode(["the doctor"]).ids[0]) == 2
    write(tmp_path / "qa/test.en.json", [("the doctor", [question("who", ("doc", 4)), question("x", ("doctor", 4))])])
    questions = task.examples("test", "en", vocab, tmp_path)
    gold = task.head().gold(questions)
    assert task.score(questions, gold).metrics == {"f1": 50.0, "exact": 50.0, "ceiling": 50.0}


def test_what_is_kept_is_what_official_programs_read(task, vocab, tmp_path):
    asked = [question("who", ("the doctor", 0), key="a"), question("what", ("letters", 17), key="b")]
    write(tmp_path / "qa/test.en.json", [(ENGLISH, asked)])
    questions = task.examples("test", "en", vocab, tmp_path)
    told = task.exports(questions, task.head().gold(questions))
    assert told["answers"] == {"a": "the doctor", "b": "letters"}
    assert [each["text"] for each in told["n-best"]["b"]] == ["letters"]


def test_real_sets_can_be_answered(real_data, vocab):
    for settings, languages in [
        ({"files": {"test": "qa/xquad/xquad.{language}.json[:200]"}, "normalization": "squad"}, ["zh", "hi"]),
        ({"files": {"test": "qa/mlqa/dev/dev-context-{context}-question-{question}.json.gz[-200:]"}}, ["ar", "zh-en"]),
        ({"files": {"test": "qa/tydiqa-goldp/tydiqa.goldp.{language}.train.json.gz[:200]"}}, ["ko"]),
    ]:
        task = TASKS.build({"name": "mlqa", **settings})
        for language in languages:
            questions = task.examples("test", language, vocab, real_data)
            gold = task.head().gold(questions)
            assert (gold["start"] >= 0).all()
            scores = task.score(questions, gold)
            assert scores["f1"] == scores["ceiling"] > 98


# ---- comparison of answers ----


# ---- by hand ----


def test_questions_without_answers_are_not_scored():
    scores = compare_all(["x", "y", ""], [["x"], [], ["z"]], AnswerNormalizer("mlqa", "en"))
    np.testing.assert_array_equal(scores["f1"], [1, np.nan, 0])
    np.testing.assert_array_equal(scores["exact"], [1, np.nan, 0])
    assert compare_all([], [], AnswerNormalizer("mlqa", "en"))["f1"].shape == (0,)


# Worked out by hand from the published rules: lower case, then no punctuation, then no articles, then words; F1 is
# 2 x common / (found + right).
BY_HAND = [
    # SQuAD v1.1: ASCII's punctuation and English articles, in every language
    ("squad", "en", "the Denver Broncos", ["Denver Broncos", "The Denver Broncos."], 1, 1),
    ("squad", "en", "Broncos of Denver", ["Denver Broncos"], 4 / 5, 0),
    ("squad", "en", "U.S.", ["US"], 1, 1),  # points go, and nothing stands in their place
    ("squad", "en", "a an the", ["?"], 0, 1),  # nothing is left of either
    ("squad", "de", "die Donau", ["Donau"], 2 / 3, 0),
    ("squad", "es", "¿Qué?", ["Qué"], 0, 0),  # the turned mark is none of ASCII's and stays
    ("squad", "zh", "北京市", ["北京"], 0, 0),  # one word each
    ("squad", "ar", "الكتاب", ["كتاب"], 0, 0),
    ("squad", "hi", "1947 में।", ["1947 में"], 1 / 2, 0),  # the danda stays at its word
    # MLQA: everybody's punctuation, articles of the passage's language, Chinese by character
    ("mlqa", "en", "“Anna” – a Queen’s name", ["anna queens name"], 1, 1),
    ("mlqa", "de", "die Donau", ["Donau"], 1, 1),
    ("mlqa", "de", "auf der schönen Donau", ["an der Donau"], 2 / 5, 0),
    ("mlqa", "es", "¿La casa?", ["casa"], 1, 1),
    ("mlqa", "vi", "cái nhà của Anna", ["nhà Anna"], 1, 1),
    ("mlqa", "hi", "1947 में।", ["1947 में"], 1, 1),
    ("mlqa", "hi", "सन् 1947 में", ["1947 में"], 4 / 5, 0),
    ("mlqa", "hi", "नई दिल्ली", ["दिल्ली", "नयी दिल्ली"], 2 / 3, 0),  # of one word: 2 x 1 / (2 + 1)
    ("mlqa", "ar", "الكتاب", ["كتاب"], 1, 1),
    ("mlqa", "ar", "مال", ["م"], 1, 1),  # the article's letters go inside of words too
    ("mlqa", "ar", "في القاهرة، مصر", ["القاهرة"], 1 / 2, 0),  # three words against one
    ("mlqa", "zh", "北京市", ["北京"], 4 / 5, 0),
    ("mlqa", "zh", "1997年7月1日", ["1997年7月"], 8 / 10, 0),  # 1997 年 7 月 (1 日): digits stay together
    ("mlqa", "zh", "《红楼梦》", ["红楼梦"], 1, 1),
    ("mlqa", "zh", "iPhone 手机", ["iphone手机"], 1, 1),
    ("mlqa", "zh", "the 红", ["红"], 2 / 3, 0),  # Chinese has no articles
]


@pytest.mark.parametrize(("rules", "language", "found", "answers", "f1", "exact"), BY_HAND)
def test_cases_score_as_worked_out_by_hand_from_the_published_rules(rules, language, found, answers, f1, exact):
    assert compare_answers(found, answers, AnswerNormalizer(rules, language)) == (pytest.approx(f1), exact)


# Random strings of words, articles and signs with what the functions of the published programs gave for them: MLQA's
# mlqa_evaluation_v1.py (commit 5ef5c73) with the row's language, and SQuAD's evaluate-v1.1.py.
RECORDED = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))


def test_recorded_cases_score_as_in_the_published_programs():
    assert {(rules, language) for rules, language, *_ in RECORDED} == {
        (rules, language) for rules in ("mlqa", "squad") for language in ("en", "es", "hi", "vi", "de", "ar", "zh")
    }
    assert sum(0 < f1 < 1 for *_, f1, _ in RECORDED) > len(RECORDED) / 2
    for rules, language, found, answers, *right in RECORDED:
        assert compare_answers(found, answers, AnswerNormalizer(rules, language)) == pytest.approx(
            tuple(right), abs=1e-6
        ), found


# ---- predictions as text ----

QUESTIONS = SimpleNamespace(texts=["one two", "red green red"], owners=np.array([1, 0, 1]))
PREDICTIONS = np.array(
    [
        [(0, 3, 2.0), (10, 13, 1.0), (4, 9, 0.0)],
        [(-1, -1, -np.inf)] * 3,
        [(4, 9, 1.0), (-1, -1, -np.inf), (-1, -1, -np.inf)],
    ],
    SPAN,
)


def test_the_best_answer_is_cut_out_of_its_passage():
    assert best_texts(QUESTIONS, PREDICTIONS) == ["red", "", "green"]


def test_the_n_best_are_different_texts_with_probabilities():
    first, second, third = n_best(QUESTIONS, PREDICTIONS)
    assert [(one["text"], one["start"]) for one in first] == [("red", 0), ("green", 4)]
    assert [one["probability"] for one in first] == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))])
    assert second == []
    assert third == [{"text": "green", "start": 4, "score": 1.0, "probability": 1.0}]
