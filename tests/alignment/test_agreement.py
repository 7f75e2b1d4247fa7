"""Agreement with gold links, worked by hand."""

import pytest

from interlace.alignment.agreement import Agreement, agreement
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged


def links(*rows):
    return Ragged.of([sorted(set(row)) for row in rows], width=2)


FOUND = links([(0, 0), (1, 1), (2, 1)], [(0, 3)])
SURE = links([(0, 0), (1, 2)], [])
POSSIBLE = links([(0, 0), (1, 2), (1, 1)], [(0, 3), (5, 5)])


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


def test_sure_links_count_as_possible():
    only_possible = links([(1, 1)], [(0, 3), (5, 5)])
    assert agreement(FOUND, SURE, only_possible) == agreement(FOUND, SURE, POSSIBLE)
    assert agreement(FOUND, SURE) == Agreement(
        links=4, sure=2, possible=2, in_sure=1, in_possible=1
    )


def test_rates_without_found_or_gold_links():
    nothing = links([], [])
    missed, invented, both = (
        agreement(nothing, SURE),
        agreement(FOUND, nothing, nothing),
        agreement(nothing, nothing),
    )
    assert (missed.precision, missed.recall, missed.f1, missed.aer) == (1.0, 0.0, 0.0, 1.0)
    assert (invented.precision, invented.recall, invented.f1, invented.aer) == (0.0, 1.0, 0.0, 1.0)
    assert (both.precision, both.recall, both.f1, both.aer) == (1.0, 1.0, 1.0, 0.0)
    # With possible links only, the error rate is one minus precision.
    loose = agreement(FOUND, nothing, POSSIBLE)
    assert (loose.recall, loose.aer) == (1.0, pytest.approx(1 - loose.precision))
    assert "gold: 0 sure" in str(both)


def test_agreement_of_parts_adds_up_and_rows_must_correspond():
    parts = [
        agreement(FOUND.slice(row, row + 1), SURE.slice(row, row + 1), POSSIBLE.slice(row, row + 1))
        for row in (0, 1)
    ]
    assert sum(parts, Agreement()) == agreement(FOUND, SURE, POSSIBLE)
    with pytest.raises(DataError, match=r"links of 2 pairs, but gold links of 1 \(sure\)"):
        agreement(FOUND, SURE.slice(0, 1))
