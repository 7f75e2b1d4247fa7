from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from interlace.core.ragged import Ragged
from interlace.objectives import Resources
from interlace.tasks.common.prediction import predict_all
from interlace.tasks.mlqa import SPAN, SpanExtractor, encode_questions
from interlace.text import Text, TextPairs

CPU = torch.device("cpu")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def text(count, shift=0):
    """So many words of a letter, each of which the vocabulary spells by itself."""
    return " ".join(LETTERS[(shift + place) % 26] for place in range(count))


def asked(vocab, rows, languages=("en", "en")):
    """Questions from (question, passage, place of the answer)."""
    questions, passages, places = map(list, zip(*rows, strict=True))
    source = Text.of(passages, languages[0])
    source = Text(source.language, source.lines, source.words, answers=places)
    answers = [[line[start:end]] if start >= 0 else [] for line, (start, end) in zip(passages, places, strict=True)]
    pairs = TextPairs(source, Text.of(questions, languages[1]), answers=answers, ids=list(map(str, range(len(rows)))))
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
def case(vocab, model, mixed):
    learner = SpanExtractor(max_length=40, stride=7, n_best=6, max_answer=4)
    backbone = model()
    torch.manual_seed(4)
    heads = learner.modules(backbone)
    with torch.no_grad():
        heads["linear"].weight.mul_(40)
    return learner, backbone.eval(), heads.eval(), mixed, learner.prepare(Resources(vocab, backbone.traits))


def batch_of(learner, prepared, questions):
    return learner.batch(learner.sequences(questions, prepared), prepared, 0, np.random.default_rng(0))


# ---- rows ----


def test_a_row_is_the_question_and_then_the_passage(vocab, model):
    learner = SpanExtractor()
    prepared = learner.prepare(Resources(vocab, model().traits))
    batch = batch_of(learner, prepared, asked(vocab, [("the doctor", "reads letters", (6, 13))]))
    question, passage = (vocab.encode([line]).ids[0].tolist() for line in ("the doctor", "reads letters"))
    row = [vocab.begin, *question, *vocab.separator_ids, *passage, vocab.end]
    assert batch.inputs["input_ids"].tolist() == [row]
    begins = 1 + len(question) + len(vocab.separator_ids)
    letters = len(vocab.encode(["letters"]).ids[0])
    assert batch.labels.tolist() == [[begins + len(passage) - letters, begins + len(passage) - 1]]
    assert np.flatnonzero(batch.extra["open"][0]).tolist() == list(range(begins, begins + len(passage)))


def test_windows_fill_what_the_model_can_read(case):
    learner, _, _, questions, prepared = case
    rows = learner.sequences(questions, prepared)
    overhead = 2 + len(prepared.vocab.separator_ids)
    assert (rows.lengths + overhead <= 40).all()
    assert (rows.lengths.max() + overhead) == 40
    shorter = learner.model_copy(update={"max_length": 400}).sequences(questions, prepared)
    assert shorter.lengths.max() + overhead == 48  # the model's own


def test_a_window_without_the_answer_points_at_the_first_token(case):
    learner, _, _, questions, prepared = case
    rows = learner.sequences(questions, prepared)
    batch = learner.batch(rows, prepared, 0, np.random.default_rng(0))
    has = rows.spans[:, 0] >= 0
    assert has.any()
    assert (~has).sum() > 5
    assert (batch.labels[~has] == 0).all()
    assert (np.take_along_axis(batch.extra["open"], batch.labels, 1)[has]).all()
    ids = np.take_along_axis(batch.inputs["input_ids"], batch.labels, 1)
    owners = questions.owners[rows.owners[has]]
    spans = questions.spans[rows.owners[has]]
    for found, owner, span in zip(ids[has], owners, spans, strict=True):
        assert found.tolist() == questions.passages.ids[owner][span].tolist()


def test_people_are_told_what_windows_do(case):
    learner, _, _, _, prepared = case
    questions = asked(prepared.vocab, [(text(2), text(5), (0, 1)), (text(2), text(70), (20, 119))])
    rows = learner.sequences(questions, prepared)
    assert learner.notes(rows, prepared) == [
        f"2 questions are read in {len(rows)} windows",
        "1 of 2 answers do not fit into a window and are not trained on",
    ]
    one = questions.take([0])
    assert learner.notes(learner.sequences(one, prepared), prepared) == []


# ---- what is learnt and predicted ----


def scores_by_hand(case, rows):
    """[(first scores, last scores) of the subwords of each piece] from rows read one at a time."""
    learner, backbone, heads, _, prepared = case
    found = []
    for number in range(len(rows)):
        batch = learner.batch(rows.take([number]), prepared, 0, np.random.default_rng(0)).to(CPU)
        with torch.no_grad():
            states = backbone.encode(batch.inputs)[0]
            scores = heads["linear"](states).double().numpy()
        found.append((scores, np.flatnonzero(batch.extra["open"][0].numpy())))
    return found


def test_the_loss_is_over_the_passage_and_the_first_token(case):
    learner, backbone, heads, questions, prepared = case
    rows = learner.sequences(questions, prepared)
    batch = learner.batch(rows, prepared, 0, np.random.default_rng(0))
    expected = 0.0
    for (scores, open_), (first, last) in zip(scores_by_hand(case, rows), batch.labels.tolist(), strict=True):
        places = [0, *open_.tolist()]
        for side, label in enumerate((first, last)):
            logits = torch.from_numpy(scores[places, side])
            expected += float(cross_entropy(logits, torch.tensor(places.index(label)))) / 2
    with torch.no_grad():
        terms = learner.loss(backbone, heads, batch.to(CPU))
    assert terms["answer"].total.item() == pytest.approx(expected, rel=1e-4)
    assert batch.counts == {"answer": float(len(rows))}


def best_by_hand(case):
    """For each question (score, first, last), best first, in subwords of the passage; every pair is tried.

    Every letter is a subword of one byte here, so other subwords are other characters.
    """
    learner, _, _, questions, prepared = case
    rows = learner.sequences(questions, prepared)
    begins = rows.examples.source.lengths + 1 + len(prepared.vocab.separator_ids)
    best = [{} for _ in range(len(questions))]
    for number, (scores, open_) in enumerate(scores_by_hand(case, rows)):
        pairs = [(i, j) for i in open_ for j in open_ if i <= j < i + learner.max_answer]
        spans = [(scores[i, 0] + scores[j, 1], i - begins[number], j - begins[number]) for i, j in pairs]
        for score, i, j in sorted(spans, reverse=True)[: learner.n_best]:
            span = (int(i + rows.firsts[number]), int(j + rows.firsts[number]))
            known = best[rows.owners[number]]
            known[span] = max(score, known.get(span, -np.inf))
    return [sorted(((score, *span) for span, score in one.items()), reverse=True)[: learner.n_best] for one in best]


@pytest.mark.parametrize("tokens", [60, 5000])
def test_the_best_spans_are_those_of_trying_every_pair(case, tokens):
    learner, backbone, heads, questions, prepared = case
    found, gold = predict_all(learner, backbone, heads, questions, prepared, tokens, CPU), learner.gold(questions)
    assert found.shape == (len(questions), learner.n_best)
    assert gold.dtype == found.dtype == SPAN
    for row, expected in enumerate(best_by_hand(case)):
        places = questions.characters[questions.owners[row]]
        there = found[row][found[row]["start"] >= 0]
        assert len(there) == len(expected)
        np.testing.assert_allclose(there["score"], [score for score, _, _ in expected], rtol=1e-4, atol=1e-4)
        spans = [(places[first, 0], places[last, 1]) for _, first, last in expected]
        assert [(start, end) for start, end, _ in there.tolist()] == spans
        assert np.isneginf(found[row]["score"][len(there) :]).all()
    assert (found["start"][3] == -1).all()  # no passage, no answer
    assert gold["start"][:, 0].tolist() == [4, 50, 0, -1, -1, 80]
    assert gold["end"][:, 0].tolist() == [7, 53, 1, -1, -1, 85]


def test_no_answer_is_longer_than_allowed_or_outside_its_passage(case):
    learner, backbone, heads, questions, prepared = case
    wide = learner.model_copy(update={"n_best": 5000, "max_answer": 3})
    found = predict_all(wide, backbone, heads, questions, prepared, 400, CPU)
    for row, spans in enumerate(found):
        there = spans[spans["start"] >= 0]
        places = questions.characters[questions.owners[row]].tolist()
        words = [number for number, (start, end) in enumerate(places) if start < end]
        pairs = {(places[i][0], places[j][1]) for i in words for j in words if i <= j < i + 3}
        assert {(start, end) for start, end, _ in there.tolist()} == pairs
        assert len(there) == len(pairs)


def test_equal_spans_of_two_windows_are_one_answer():
    """Both windows hold subwords 2 and 3 of one passage; their better score counts."""
    learner = SpanExtractor(n_best=3)
    windows = type("Windows", (), {"owners": np.array([0, 0, 1]), "firsts": np.array([0, 2, 0])})
    places = Ragged.of([[(place, place + 1) for place in range(6)]] * 2, width=2)
    questions = type("Questions", (), {"characters": places, "owners": np.array([0, 1]), "__len__": lambda _: 2})()
    none = (-1, -1, -np.inf)
    found = np.array([[(2, 3, 1.0), (0, 0, 0.5), none], [(0, 1, 3.0), (3, 3, 0.7), (1, 1, 0.6)], [none] * 3], SPAN)
    best = learner.merge(questions, windows, found)
    assert best[0].tolist() == [(2, 4, 3.0), (5, 6, pytest.approx(0.7)), (3, 4, pytest.approx(0.6))]
    assert best[1].tolist() == [none] * 3


def test_where_there_is_nothing_to_read_nothing_is_found(vocab, case):
    learner, backbone, heads, _, prepared = case
    empty = asked(vocab, [("the doctor", "", (-1, -1)), ("", "", (-1, -1)), ("who", "  ", (-1, -1))])
    found, gold = predict_all(learner, backbone, heads, empty, prepared, 100, CPU), learner.gold(empty)
    assert (found["start"] == -1).all()
    assert (gold["start"] == -1).all()
    terms = learner.loss(backbone, heads, batch_of(learner, prepared, empty).to(CPU))
    assert terms["answer"].total.item() == pytest.approx(0, abs=1e-5)  # the first token has nothing to compete with
