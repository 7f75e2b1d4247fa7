from __future__ import annotations

import pytest
import torch

from interlace.models.backbone import pool

# one row of three real states and one of two, the padding large enough to show where it leaks in
STATES = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [5.0, 0.0]], [[2.0, -1.0], [4.0, -3.0], [99.0, 99.0]]])
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("first", [[1.0, -4.0], [2.0, -1.0]]),
        ("mean", [[3.0, -2.0], [3.0, -2.0]]),
        ("max", [[5.0, 0.0], [4.0, -1.0]]),
    ],
)
def test_by_hand(how: str, expected: list[list[float]]) -> None:
    assert pool(STATES, MASK, how).tolist() == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["first", "mean", "max"])
def test_padding_never_counts(how: str) -> None:
    other = STATES.clone()
    other[1, 2] = -1e9
    assert torch.equal(pool(STATES, MASK, how), pool(other, MASK, how))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["first", "mean", "max"])
def test_a_row_with_nothing_gives_zeros(how: str) -> None:
    assert pool(STATES, torch.tensor([[1, 1, 1], [0, 0, 0]]), how)[1].tolist() == [0.0, 0.0]  # type: ignore[arg-type]


def test_no_mask_counts_everything() -> None:
    assert pool(STATES)[1].tolist() == [35.0, pytest.approx(95 / 3)]


def test_half_precision_is_summed_in_float32() -> None:
    states = torch.full((1, 1000, 1), 1.001).to(torch.bfloat16)
    assert pool(states).item() == states[0, 0, 0].item()
    assert pool(states).dtype == torch.bfloat16
