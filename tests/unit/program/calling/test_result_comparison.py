"""Results are compared as closely as `torch.testing.assert_close` compares them."""

import pytest
import torch

from monograph.program.calling.result_comparison import first_difference

ONE = torch.ones(2, 3)
SAME = [
    (ONE, ONE + 1e-7),
    (ONE.bfloat16(), ONE.bfloat16() * 1.01),
    (ONE.to(torch.complex64).conj(), ONE.to(torch.complex64)),
    (ONE.to(torch.float8_e4m3fn), ONE.to(torch.float8_e4m3fn)),
    (torch.tensor([True]), torch.tensor([True])),
    (torch.tensor([float("nan")]), torch.tensor([float("nan")])),
    (ONE.to_sparse(), ONE.to_sparse()),
    (torch.empty(0), torch.empty(0)),
    (float("nan"), float("nan")),
    (2, 2),
    (None, None),
    ("text", "text"),
]
OTHER = [
    (ONE, ONE + 1e-4),
    (ONE, ONE.double()),
    (ONE, ONE[0]),
    (ONE, ONE.to_sparse()),
    (torch.tensor([1, 2**62]), torch.tensor([1, 2**62 + 1])),
    (torch.tensor([True]), torch.tensor([False])),
    (torch.tensor([float("inf")]), torch.tensor([float("nan")])),
    (ONE, None),
    (1, True),
    (1.0, 1.1),
    ("text", "test"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_what_is_close_is_no_difference(left, right):
    """Rounding, conjugate bits and nan make none."""
    assert first_difference([left], [right]) is None
    assert first_difference([right], [left]) is None


@pytest.mark.parametrize(("left", "right"), OTHER)
def test_a_difference_is_found_and_said(left, right):
    """The place is its index, and the text tells what differs."""
    index, what = first_difference([0, left], [0, right])
    assert index == 1
    assert what
    with pytest.raises((AssertionError, RuntimeError, TypeError)):
        torch.testing.assert_close(right, left, equal_nan=True)
