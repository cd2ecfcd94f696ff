"""Conversions return their argument where nothing changes, and something fresh where it does."""

import pytest
import torch

from monograph.abstract.tensor_type import TensorType, type_of
from monograph.diagnostics import MonographError
from monograph.integers import Facts, use
from monograph.rules.elementwise.conversions import (
    clone,
    contiguous,
    copy_,
    to_dtype,
)

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def facts():
    """Facts in force."""
    with use(Facts()) as made:
        yield made


def test_nothing_to_do_returns_the_argument():
    """The same object, as eager returns the same tensor."""
    x = type_of(torch.ones(2, 3))
    assert to_dtype(x, torch.float32) is x
    assert to_dtype(x, device="cpu") is x
    assert contiguous(x) is x


def test_a_changed_dtype_keeps_the_order_of_dimensions():
    """A transposed tensor stays transposed."""
    x = type_of(torch.ones(2, 3).t())
    assert to_dtype(x, torch.int64).stride() == (1, 3)
    assert to_dtype(x, torch.float32, copy=True) is not x


def test_a_transposed_tensor_of_unknown_sizes_stays_dense(facts):
    """Its copy has its strides: equal expressions are enough, nobody compares sizes."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=5)
    x = TensorType((n, m), torch.float32, CPU, (1, n))
    assert clone(x).stride() == (1, n)
    assert contiguous(x).stride() == (m, 1)
    assert not facts.guards


def test_a_copy_into_a_tensor_keeps_its_sizes(facts):
    """The source may be broadcast, the target may not."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3)
    x, y = (TensorType((size, 4), torch.float32, CPU) for size in (n, m))
    assert copy_(x, TensorType((4,), torch.int64, CPU)) is x
    assert not facts.guards
    assert copy_(x, y) is x
    assert len(facts.guards) == 1
    with pytest.raises(MonographError):
        copy_(TensorType((4,), torch.float32, CPU), x)
