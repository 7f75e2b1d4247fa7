from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.tasks._entities import Found, compare, entities, tag_numbers

TYPES = ("PER", "ORG", "LOC")
NUMBERS = tag_numbers(TYPES)
TAGS = list(NUMBERS)


def numbered(*rows):
    return Ragged.of([[NUMBERS[tag] for tag in row.split()] for row in rows])


def spans(*rows):
    found = entities(numbered(*rows))
    kinds = [TYPES[kind] for kind in found.types]
    return list(zip(found.starts.tolist(), found.stops.tolist(), kinds, strict=True))


def test_numbers_of_tags():
    assert TAGS == ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]


def test_spans_of_valid_tags():
    assert spans("B-PER I-PER O B-LOC", "B-ORG B-ORG") == [(0, 2, "PER"), (3, 4, "LOC"), (4, 5, "ORG"), (5, 6, "ORG")]


def test_an_inside_without_a_beginning_begins():
    assert spans("O I-PER I-PER I-LOC") == [(1, 3, "PER"), (3, 4, "LOC")]
    assert entities(numbered("O I-PER I-PER B-LOC")).opened.tolist() == [True, False]


def test_entities_end_where_rows_end():
    assert spans("O B-PER", "I-PER O") == [(1, 2, "PER"), (2, 3, "PER")]


def test_what_is_no_tag_is_outside():
    assert len(entities(Ragged.of([[1, -1, 2]]))) == 2
    assert len(entities(Ragged.of([[], []]))) == 0


def test_an_entity_is_right_with_its_span_and_type():
    gold = numbered("B-PER I-PER O B-LOC O B-ORG")
    found = numbered("B-PER I-PER O B-ORG B-PER B-ORG")
    together, by_type = compare(entities(found), entities(gold), 3)
    assert together == Found(right=2, found=4, gold=3)
    assert (together.precision, together.recall) == (50, pytest.approx(200 / 3))
    assert together.f1 == pytest.approx(2 * 50 * (200 / 3) / (50 + 200 / 3))
    assert by_type == [Found(1, 2, 1), Found(1, 2, 1), Found(0, 0, 1)]


def test_nothing_found_is_zero():
    assert (Found(0, 0, 3).precision, Found(0, 0, 3).f1, Found(0, 2, 0).recall) == (0, 0, 0)


@pytest.fixture(scope="module")
def seqeval():
    return pytest.importorskip("seqeval.metrics")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_scores_are_those_of_seqeval(seqeval, data):
    shape = data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=6))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    gold = [rng.choice(TAGS, length).tolist() for length in shape]
    found = [[tag if rng.random() < 0.7 else str(rng.choice(TAGS)) for tag in row] for row in gold]
    ours, by_type = compare(*(entities(numbered(*map(" ".join, side))) for side in (found, gold)), 3)
    for name, score in (("precision", ours.precision), ("recall", ours.recall), ("f1", ours.f1)):
        theirs = getattr(seqeval, f"{name}_score")(gold, found, zero_division=0)
        assert score == pytest.approx(100 * theirs), name
    report = seqeval.classification_report(gold, found, output_dict=True, zero_division=0)
    for kind, counts in zip(TYPES, by_type, strict=True):
        if counts.gold:
            assert counts.f1 == pytest.approx(100 * report[kind]["f1-score"])
            assert counts.gold == report[kind]["support"]
