"""Agreement with gold links, worked by hand."""

import pytest

from interlace.alignment.agreement import Agreement, agreement
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged


def links(*rows):
    return Ragged.of([sorted(set(row)) for row in rows], width=2)


FOUND = links([(0, 0), (1, 1), (2, 1)], [(0, 3)])
SURE = links([(0, 0), (1, 2)], [])
NOTHING = links([], [])
POSSIBLE = links([(1, 1)], [(0, 3), (5, 5)])  # sure links count as possible, too


def test_rates_of_a_corpus_by_hand():
    # 4 links: (0,0) is sure, (1,1) and the second pair's (0,3) are possible, (2,1) is neither; (1,2) is missed.
    score = agreement(FOUND, SURE, POSSIBLE)
    assert score == Agreement(links=4, sure=2, possible=5, in_sure=1, in_possible=3)
    assert (score.precision, score.recall) == (3 / 4, 1 / 2)
    assert score.f1 == pytest.approx(0.6)
    assert score.aer == pytest.approx(1 - (1 + 3) / (4 + 2))
    assert str(score) == (
        "precision 75.0%, recall 50.0%, F1 60.0%, AER 33.3% (4 links; gold: 2 sure and 3 possible)"
    )


@pytest.mark.parametrize(
    ("predicted", "gold", "rates"),
    [
        (NOTHING, SURE, (1.0, 0.0, 0.0, 1.0)),
        (FOUND, NOTHING, (0.0, 1.0, 0.0, 1.0)),
        (NOTHING, NOTHING, (1.0, 1.0, 1.0, 0.0)),
    ],
)
def test_rates_without_found_or_gold_links(predicted, gold, rates):
    score = agreement(predicted, gold)
    assert (score.precision, score.recall, score.f1, score.aer) == rates


def test_agreement_of_parts_adds_up_and_rows_must_correspond():
    parts = [
        agreement(
            FOUND.slice(row, row + 1), SURE.slice(row, row + 1), POSSIBLE.slice(row, row + 1)
        )
        for row in (0, 1)
    ]
    assert sum(parts, Agreement()) == agreement(FOUND, SURE, POSSIBLE)
    with pytest.raises(DataError, match=r"links of 2 pairs, but gold links of 1 \(sure\)"):
        agreement(FOUND, SURE.slice(0, 1))
