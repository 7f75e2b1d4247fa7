"""Student's t distribution agrees with scipy's."""

import math

import pytest
import scipy.stats

from interlace.scores.student import critical_value, two_sided_p

FREEDOMS = (1, 1.37, 2, 4.5, 30, 999.5, 1e5)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("t", [0, 1e-6, 0.3, -1, 2.5, 40, 1e4])
def test_p_values(t, freedom):
    expected = 2 * scipy.stats.t.sf(abs(t), freedom)
    assert two_sided_p(t, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("level", [0.5, 0.05, 0.001])
def test_critical_values(level, freedom):
    expected = scipy.stats.t.isf(level / 2, freedom)
    assert critical_value(level, freedom) == pytest.approx(expected, rel=1e-10)


def test_an_infinite_value_never_occurs():
    assert two_sided_p(-math.inf, 3) == 0
