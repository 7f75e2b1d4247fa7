import numpy as np
import pytest
import torch

from interlace.core.errors import CheckpointError, DataError
from interlace.core.finite import check_finite, check_finite_weights


def test_rows_that_are_not_finite_are_counted():
    rows = np.ones((4, 3), np.float32)
    check_finite(rows, "vectors")
    check_finite(rows[:0], "vectors")
    rows[1, 2] = np.nan
    rows[3] = np.inf
    with pytest.raises(DataError, match=r"^2 of 4 vectors are not finite"):
        check_finite(rows, "vectors")


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_not_finite_are_named(value):
    large = torch.full((8,), 3e38)  # their sum overflows, but they are finite
    whole = torch.zeros(2, dtype=torch.int64)
    check_finite_weights([("large", large), ("whole", whole)], "model")
    spoiled = torch.tensor([0.0, value, value])
    with pytest.raises(
        CheckpointError, match=r"^model: 2 of 3 values of spoiled are not finite"
    ):
        check_finite_weights([("large", large), ("spoiled", spoiled)], "model")
