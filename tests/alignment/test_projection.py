"""Annotation projection, by hand."""

import numpy as np
import pytest

from interlace.alignment.projection import project
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged


def projected(labels, links, length, confidence=None, words=None, **more):
    rows = Ragged.of([np.array(links, np.int32).reshape(-1, 2)], width=2)
    sure = np.ones(len(links)) if confidence is None else np.array(confidence)
    words = len(labels.split()) if words is None else words
    return project(
        [labels.split()], rows, sure, (np.array([words]), np.array([length])), **more
    )[0]


def test_tags_follow_the_most_confident_link():
    # the old house -> la vieille maison, with a weak link from "the" to "maison"
    links, sure = [(0, 0), (0, 2), (1, 1), (2, 2)], [0.9, 0.2, 0.8, 0.7]
    assert projected("DET ADJ NOUN", links, 4, sure) == ["DET", "ADJ", "NOUN", "_"]
    # of equal ones the first
    assert projected("DET ADJ NOUN", [(0, 0), (2, 0)], 2, missing="X") == [
        "DET",
        "X",
    ]


def test_names_are_spans_and_of_overlapping_ones_the_surer_keeps_its_words():
    # New York is big -> groß ist New York, and a name in two parts is filled
    assert projected("B-LOC I-LOC O O", [(0, 2), (1, 3), (3, 0), (2, 1)], 4) == [
        "O",
        "O",
        "B-LOC",
        "I-LOC",
    ]
    assert projected("B-PER I-PER O", [(0, 0), (1, 2)], 4) == ["B-PER", "I-PER", "I-PER", "O"]
    assert projected("B-PER O", [(1, 0)], 2) == ["O", "O"]  # a name without a link is lost
    # the first name would cover words 0 to 3, the second 2 and 3
    links, sure = [(0, 0), (1, 3), (2, 2), (3, 3)], [0.2, 0.1, 0.9, 0.9]
    assert projected("B-PER I-PER B-LOC I-LOC", links, 4, sure) == [
        "B-PER",
        "I-PER",
        "B-LOC",
        "I-LOC",
    ]


def test_rejects_labels_of_another_text():
    with pytest.raises(DataError, match="line 1: 1 labels, but the source has 2 words"):
        projected("A", [(0, 0)], 1, words=2)
    with pytest.raises(DataError, match="0 lines of labels, but 1 pairs"):
        project([], Ragged.of([[]], width=2), np.zeros(0), (np.ones(1), np.ones(1)))
