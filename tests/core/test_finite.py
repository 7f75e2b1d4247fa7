import numpy as np
import pytest
import torch

from interlace.core.errors import CheckpointError, DataError
from interlace.core.finite import check_finite, check_finite_weights
from interlace.core.neighbors import unit


def test_rows_that_are_not_finite_are_counted():
    rows = np.ones((4, 3), np.float32)
    check_finite(rows, "vectors")
    check_finite(rows[:0], "vectors")
    rows[1, 2] = np.nan
    rows[3] = np.inf
    with pytest.raises(DataError, match=r"^2 of 4 vectors are not finite"):
        check_finite(rows, "vectors")
    with pytest.raises(DataError, match=r"^1 of 2 losses are not finite"):
        check_finite([0.5, -np.inf], "losses")


def test_vectors_without_a_direction_are_rejected():
    with pytest.raises(DataError, match=r"1 of 2 vectors are not finite"):
        unit(np.array([[1, 0], [np.nan, 0]]))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_not_finite_are_named(value):
    large = torch.full((8,), 3e38)  # their sum overflows, but they are finite
    whole = torch.zeros(2, dtype=torch.int64)
    check_finite_weights([("large", large), ("whole", whole)], "model")
    spoiled = torch.tensor([0.0, value, value])
    with pytest.raises(CheckpointError, match=r"^model: 2 of 3 values of spoiled are not finite"):
        check_finite_weights([("large", large), ("spoiled", spoiled)], "model")
