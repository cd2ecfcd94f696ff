"""Elementwise rules lay their results as PyTorch does, whatever strides sizes of 1 have."""

import itertools

import pytest
import torch

from monograph.abstract.tensor_type import TensorType
from monograph.integers import Facts, use
from monograph.rules.registry import RULES

OF_TABLES = {"_unary.<locals>.rule", "_binary.<locals>.rule"}
ROWS = [rule for rule in RULES.rules() if rule.function.__qualname__ in OF_TABLES]
SHAPES = [(1, 5), (5, 1), (4, 1, 1), (2, 1, 3)]
VIEWS = [lambda t: t, lambda t: t.transpose(0, 1), lambda t: t.permute(*range(t.dim())[::-1])]


def typed(value):
    """The type of a tensor, with its very strides; a number as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    return TensorType(tuple(value.shape), value.dtype, value.device, value.stride())


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_strides_of_sizes_of_1(dtype):
    """Alone, with a number, with itself, in another layout, and with what is repeated."""
    wrong, n_compared = {}, 0
    with use(Facts()):
        for rule, shape, view in itertools.product(ROWS, SHAPES, VIEWS):
            x = view((torch.rand(shape) + 1).to(dtype))
            one = torch.ones((), dtype=dtype)
            for given in ((x,), (x, 2), (2, x), (x, x), (x, x.contiguous() + 0), (x, one)):
                try:
                    expected = rule.overload(*given)
                except (RuntimeError, TypeError, NotImplementedError):
                    continue
                found = rule.function(*map(typed, given))
                n_compared += 1
                if found.stride() != expected.stride():
                    wrong[str(rule.overload), len(given)] = (x.stride(), found, expected.stride())
    assert n_compared > 1000
    assert not wrong
