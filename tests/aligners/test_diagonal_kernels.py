"""The arithmetic of `diagonal` against slow references."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma

from interlace.aligners.diagonal import kernels


@given(st.floats(1e-3, 1e7))
def test_exp_digamma_equals_scipy(x):
    assert kernels.exp_digamma(x) == pytest.approx(np.exp(digamma(x)), rel=1e-8)


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.1, 14))
def test_the_mean_distance_in_closed_form_is_the_plain_sum(explained, explaining, tension):
    distance = abs(
        np.arange(1, explained + 1)[:, None] / explained
        - np.arange(1, explaining + 1) / explaining
    )
    weight = np.exp(-tension * distance)
    plain = ((weight * distance).sum(1) / weight.sum(1)).sum()
    found = kernels.mean_distances(np.array([explained]), np.array([explaining]), tension)
    assert found == pytest.approx(plain, rel=1e-9, abs=1e-12)
