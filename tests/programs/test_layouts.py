"""Inputs laid out unlike the example (transposed, offset, expanded): programs agree or refuse."""

import copy

import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from monograph.diagnostics import ContractError
from tests.programs.harness import (
    SEED_OF_CALL,
    aliases,
    build,
    captured_once,
    inputs_at,
    same,
    start_anew,
)
from tests.programs.test_programs import CAPTURED
from tests.seeding import reseed

pytestmark = pytest.mark.filterwarnings(
    "ignore:Using a non-tuple sequence",
    "ignore:indexing with dtype",
    "ignore:.*degrees of freedom",
    "ignore:torch.searchsorted",
    "ignore:Use of .* on expanded tensors",
)


def transposed(tensor: Tensor) -> Tensor:
    """The same values in another order of dimensions, or with gaps."""
    if tensor.dim() >= 2:
        return tensor.mT.contiguous().mT
    return torch.stack([tensor, tensor], 1)[:, 0] if tensor.dim() == 1 else tensor


def offset(tensor: Tensor) -> Tensor:
    """The same values further into their storage."""
    return torch.cat([tensor.new_zeros(3), tensor.flatten()])[3:].view(tensor.shape)


def expanded(tensor: Tensor) -> Tensor:
    """One row, repeated without being copied."""
    return tensor[:1].expand_as(tensor) if tensor.dim() and tensor.shape[0] else tensor


def outcome(module, given, names):
    """Give the result, the inputs afterwards and what shares storage; or what was raised."""
    args, kwargs = copy.deepcopy(given)
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    reseed(SEED_OF_CALL)
    try:
        result = module(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  whatever user code raises is compared
        return error
    return result, (args, kwargs), aliases(tensors, result, module, names)


@pytest.mark.parametrize("program", CAPTURED, ids=[each.name for each in CAPTURED])
def test_other_layouts(program):
    """Values, layouts, effects and aliasing are eager's, whatever the layout of the inputs."""
    module = captured_once(program, dynamic=False).module()
    for lay in (transposed, offset, expanded):
        reference = build(program)
        start_anew(module, reference)
        names = sorted(reference.state_dict().keys() & module.state_dict().keys())
        given = pytree.tree_map(
            lambda leaf, lay=lay: lay(leaf.detach()) if isinstance(leaf, Tensor) else leaf,
            inputs_at(program, program.sizes, SEED_OF_CALL),
        )
        actual = outcome(module, given, names)
        expected = outcome(reference, given, names)
        if isinstance(actual, ContractError) or isinstance(expected, Exception):
            # Eager refuses to write to a tensor that repeats its elements; a program that would
            # write somewhere else first is not held to fail at the same point.
            continue
        if isinstance(actual, Exception):
            raise AssertionError(f"{lay.__name__}: {actual!r}") from actual
        same(expected[0], actual[0], f"{lay.__name__}: the result")
        same(expected[1], actual[1], f"{lay.__name__}: the inputs")
        assert expected[2] == actual[2], f"{lay.__name__}: {expected[2]} became {actual[2]}"
