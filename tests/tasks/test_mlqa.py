"""Questions and answers: their reading, the prediction of spans, and the published rules of comparison."""

import json
import logging
import re
import unicodedata
from itertools import product
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from interlace.core.errors import DataError
from interlace.objectives import Resources
from interlace.tasks import TASKS
from interlace.tasks.common.prediction import predict_all
from interlace.tasks.mlqa import (
    SPAN,
    SpanExtractor,
    best_texts,
    compare_answers,
    encode_questions,
)
from interlace.text import Text, TextPairs
from learned_vocabs import learned_vocab
from little_files import write

ENGLISH = "the doctor reads letters"
GERMAN = "der arzt liest briefe"


def question(text, *answers, key="q"):
    return {
        "id": key,
        "question": text,
        "answers": [{"text": answer, "answer_start": at} for answer, at in answers],
    }


def put(root, name, passages):
    data = [{"paragraphs": [{"context": context, "qas": asked} for context, asked in passages]}]
    write(root, name, json.dumps({"data": data}))


@pytest.fixture
def task():
    return TASKS.build("mlqa")


def predicted(*spans):
    """One answer a question; None for no answer."""
    return np.array(
        [(-1, -1, -np.inf) if span is None else (*span, 1.0) for span in spans], SPAN
    )


def test_passages_are_encoded_once_and_answers_found_in_their_subwords_and_exported(
    task, vocab, tmp_path
):
    asked = [
        question("who", ("the doctor", 0), key="a"),
        question("what", ("letters", 17), key="b"),
    ]
    put(
        tmp_path,
        "qa/test.en.json",
        [(ENGLISH, asked), (GERMAN, [question("wer", ("arzt", 4), key="c")])],
    )
    questions = task.examples("test", "en", vocab, tmp_path)
    assert questions.owners.tolist() == [0, 0, 1]
    told = task.exports(questions, task.head().gold(questions))
    assert told["answers"] == {"a": "the doctor", "b": "letters", "c": "arzt"}


DECOMPOSED = {
    "ko": "서울은 한국의 수도 이다",
    "hi": "दिल्ली की क़लम ज़मीन पर",
    "ar": "مُحَمَّدٌ رَسُولُ الآمِل",
}


@pytest.mark.parametrize("kind", ["byte-bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("language", DECOMPOSED)
def test_answers_in_decomposed_text_keep_their_last_mark(language, kind, task, tmp_path):
    """A tokenizer that composes text places the subword of a letter on its base character."""
    composed = unicodedata.normalize("NFC", DECOMPOSED[language])
    vocab = learned_vocab({language: [composed, " ".join(composed)] * 20}, 500, kind)
    passage = unicodedata.normalize("NFD", composed)
    answers = [(match[0], match.start()) for match in re.finditer(r"\S+", passage)]
    asked = [question("who", answer, key=str(number)) for number, answer in enumerate(answers)]
    put(tmp_path, f"qa/test.{language}.json", [(passage, asked)])
    questions = task.examples("test", language, vocab, tmp_path)
    assert best_texts(questions, task.head().gold(questions)) == [
        answer for answer, _ in answers
    ]


def test_only_training_leaves_out_questions_without_a_place_of_the_answer(
    task, vocab, tmp_path, caplog
):
    asked = [
        question("who", ("the doctor", 3), key="moved"),
        question("who", ("a nurse", 0), key="nowhere"),
        question("who", ("", 0), key="blank"),
        question("\u3000", ("the doctor", 0), key="empty"),
        question("what", ("nothing", 0), ("letters", 17), key="second"),
    ]
    for split in ("train", "test"):
        put(tmp_path, f"qa/{split}.en.json", [(ENGLISH, asked)])
    with caplog.at_level(logging.INFO):
        train = task.examples("train", "en", vocab, tmp_path)
    assert train.ids == ["moved", "second"]

    assert "3 questions without a text or an answer left out" in caplog.text
    test = task.examples("test", "en", vocab, tmp_path)
    scores = task.score(test, predicted((0, 10), None, (0, 3), None, (17, 24)))

    assert scores.outcomes.score.tolist() == [1, 0, 0, 0, 1]
    assert scores.outcomes.weight.tolist() == [1, 1, 0, 1, 1]
    put(tmp_path, "qa/test.en.json", [(ENGLISH, asked[2:3])])
    with pytest.raises(DataError, match="no question has an answer to compare with"):
        task.examples("test", "en", vocab, tmp_path)


def test_passages_and_questions_may_differ_in_language(vocab, tmp_path):
    task = TASKS.build(
        {"name": "mlqa", "files": {"test": "dev-context-{context}-question-{question}.json"}}
    )
    put(
        tmp_path,
        "dev-context-de-question-en.json",
        [(GERMAN, [question("who", ("der arzt", 0))])],
    )

    mixed = task.examples("test", "de-en", vocab, tmp_path)
    assert (mixed.passages.language, mixed.questions.language) == ("de", "en")

    assert task.score(mixed, predicted((4, 8)))["exact"] == 100  # German articles go


# ---- by hand ----


# Random strings of words, articles and signs with what the functions of the published programs gave for them: MLQA's
# mlqa_evaluation_v1.py (commit 5ef5c73) with the row's language, and SQuAD's evaluate-v1.1.py.
RECORDED = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))


def test_scores_recorded_cases_as_the_published_programs():

    for rules, language, found, answers, *right in RECORDED:
        assert compare_answers(found, answers, rules, language) == pytest.approx(
            tuple(right), abs=1e-6
        ), found


NONE = (-1, -1, -np.inf)


CPU = torch.device("cpu")
MAX_ANSWER = 4


def text(count, shift=0):
    """So many words of a letter, each of which the vocabulary spells by itself."""
    return " ".join((ascii_lowercase * 4)[shift : shift + count])


def asked(vocab, rows, languages=("en", "en")):
    """Questions from (question, passage, place of the answer)."""
    questions, passages, places = map(list, zip(*rows, strict=True))
    source = Text.of(passages, languages[0])
    source = Text(source.language, source.lines, source.words, answers=places)
    answers = [
        [line[start:end]] if start >= 0 else []
        for line, (start, end) in zip(passages, places, strict=True)
    ]
    pairs = TextPairs(
        source,
        Text.of(questions, languages[1]),
        answers=answers,
        ids=list(map(str, range(len(rows)))),
    )
    return encode_questions([pairs], vocab)


@pytest.fixture
def mixed(vocab):
    """Passages of one window and of several, one without text, one question without text and one without an answer."""
    rows = [
        (text(3), text(9), (4, 7)),
        (text(5, 7), text(60, 3), (50, 53)),
        ("", text(30), (0, 1)),
        (text(2), "", (-1, -1)),
        (text(4, 2), text(75), (-1, -1)),
        (text(40), text(44, 5), (80, 85)),
    ]
    return asked(vocab, rows)


@pytest.fixture
def case(vocab, model, mixed, monkeypatch):
    monkeypatch.setattr("interlace.tasks.mlqa.MAX_ANSWER", MAX_ANSWER)
    learner = SpanExtractor(max_length=40, stride=7)
    backbone = model()
    torch.manual_seed(4)
    heads = learner.modules(backbone)
    with torch.no_grad():
        heads["linear"].weight.mul_(40)
    return (
        learner,
        backbone.eval(),
        heads.eval(),
        mixed,
        learner.prepare(Resources(vocab, backbone.traits)),
    )


def batch_of(learner, prepared, questions):
    return learner.batch(
        learner.sequences(questions, prepared), prepared, 0, np.random.default_rng(0)
    )


def test_a_sequence_is_the_question_and_the_passage(vocab, model):
    learner = SpanExtractor()
    prepared = learner.prepare(Resources(vocab, model().traits))
    batch = batch_of(
        learner, prepared, asked(vocab, [("the doctor", "reads letters", (6, 13))])
    )
    question, passage = (
        vocab.encode([line]).ids[0].tolist() for line in ("the doctor", "reads letters")
    )
    row = [vocab.begin, *question, *vocab.separator_ids, *passage, vocab.end]
    assert batch.inputs["input_ids"].tolist() == [row]
    begins = 1 + len(question) + len(vocab.separator_ids)

    ends = begins + len(passage)
    letters = vocab.encode(["letters"]).ids[0]
    assert batch.labels.tolist() == [[ends - len(letters), ends - 1]]
    assert np.flatnonzero(batch.extra["open"][0]).tolist() == list(range(begins, ends))


def scores_by_hand(case, rows):
    """[(first scores, last scores) of the subwords of each piece] from rows read one at a time."""
    learner, backbone, heads, _, prepared = case
    found = []
    for number in range(len(rows)):
        batch = learner.batch(rows.take([number]), prepared, 0, np.random.default_rng(0)).to(
            CPU
        )
        with torch.no_grad():
            states = backbone.encode(batch.inputs)[0]
            scores = heads["linear"](states).double().numpy()
        found.append((scores, np.flatnonzero(batch.extra["open"][0].numpy())))
    return found


def test_the_loss_covers_the_passage_and_the_first_token(case):
    learner, backbone, heads, questions, prepared = case
    rows = learner.sequences(questions, prepared)
    batch = learner.batch(rows, prepared, 0, np.random.default_rng(0))
    expected = 0.0
    for (scores, open_), (first, last) in zip(
        scores_by_hand(case, rows), batch.labels.tolist(), strict=True
    ):
        places = [0, *open_.tolist()]
        for side, label in enumerate((first, last)):
            logits = torch.from_numpy(scores[places, side])
            expected += float(cross_entropy(logits, torch.tensor(places.index(label)))) / 2
    with torch.no_grad():
        terms = learner.loss(backbone, heads, batch.to(CPU))
    assert terms["answer"].total.item() == pytest.approx(expected, rel=1e-4)
    assert batch.counts == {"answer": float(len(rows))}


def best_by_hand(case):
    """For each question (score, first, last) in subwords of the passage, or None; every pair is tried.

    Every letter is a subword of one byte here, so other subwords are other characters.
    """
    learner, _, _, questions, prepared = case
    rows = learner.sequences(questions, prepared)
    begins = rows.examples.source.lengths + 1 + len(prepared.vocab.separator_ids)
    best = [None] * len(questions)
    for number, (scores, open_) in enumerate(scores_by_hand(case, rows)):
        owner, shift = rows.owners[number], rows.firsts[number] - begins[number]
        for i, j in product(open_, open_):
            score = scores[i, 0] + scores[j, 1]
            if i <= j < i + MAX_ANSWER and (best[owner] is None or score > best[owner][0]):
                best[owner] = (score, int(i + shift), int(j + shift))
    return best


@pytest.mark.parametrize("tokens", [60, 5000])
def test_finds_the_best_span_exactly(case, tokens):
    learner, backbone, heads, questions, prepared = case
    found = predict_all(learner, backbone, heads, questions, prepared, tokens)
    gold = learner.gold(questions)
    assert gold.dtype == found.dtype == SPAN
    for row, expected in enumerate(best_by_hand(case)):
        if expected is None:
            assert found[row].tolist() == NONE
            continue
        score, first, last = expected
        characters = questions.characters[questions.owners[row]]
        assert found[row].tolist() == (
            characters[first, 0],
            characters[last, 1],
            pytest.approx(score, rel=1e-4),
        )
    assert gold["start"].tolist() == [4, 50, 0, -1, -1, 80]
    assert gold["end"].tolist() == [7, 53, 1, -1, -1, 85]
