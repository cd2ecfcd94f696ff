"""Sizes as keys."""

import functools

import pytest
import torch
from torch import nn

from monograph import Dim, export
from monograph.diagnostics import ConstraintViolation, ContractError, DataDependentError

BY_SIZE = {4: 2.0, (4, 3): 5.0}


@functools.lru_cache
def scale(n):
    """What a size is multiplied by."""
    return n * 2


def by_key(x):
    """A table, by one size and by all of them."""
    return x * BY_SIZE.get(x.shape[0], 1.0) * BY_SIZE.get(tuple(x.shape), 1.0)


def in_a_set(x):
    """A set of sizes."""
    return x * len({x.shape[0], 4, 7})


def cached(x):
    """A function that is remembered by its arguments."""
    return x * scale(x.shape[0])


def module_of(forward):
    """A module with that forward."""
    return type("Model", (nn.Module,), {"forward": staticmethod(forward)})()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("forward", [by_key, in_a_set, cached])
def test_a_size_that_is_looked_up_is_fixed_or_followed(forward, strict):
    """Calls of another size agree, or are refused with the line."""
    shapes = {"x": {0: Dim.AUTO}}
    program = export(module_of(forward), (torch.ones(4, 3),), dynamic_shapes=shapes, strict=strict)
    assert torch.equal(program.module()(torch.ones(4, 3)), forward(torch.ones(4, 3)))
    others = [torch.ones(n, 3) for n in (1, 5, 7)]
    if forward is cached:
        assert all(torch.equal(program.module()(x), forward(x)) for x in others)
        return
    for x in others:
        with pytest.raises(ContractError, match=r"x\.shape\[0\]"):
            program.module()(x)


@pytest.mark.parametrize("strict", [True, False])
def test_a_declared_size_is_refused(strict):
    """It was said to vary."""
    shapes = {"x": {0: Dim("n")}}
    with pytest.raises(ConstraintViolation, match="by_key"):
        export(module_of(by_key), (torch.ones(4, 3),), dynamic_shapes=shapes, strict=strict)


def test_a_size_of_data_is_refused():
    """There is no example of it."""

    def forward(x):
        return x * BY_SIZE.get(x.nonzero().shape[0], 1.0)

    with pytest.raises(DataDependentError):
        export(module_of(forward), (torch.ones(4, 3),))


def test_hash_is_put_back():
    """Outside of a capture symbolic numbers have no hash."""
    before = torch.SymInt.__hash__
    export(module_of(by_key), (torch.ones(4, 3),))
    assert torch.SymInt.__hash__ is before
