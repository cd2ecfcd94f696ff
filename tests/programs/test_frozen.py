"""Every small program, frozen, gives what its usual module gives, bit for bit, call after call."""

import copy

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from torch.utils import _pytree as pytree

from monograph.diagnostics import ContractError
from tests.programs.harness import SEED_OF_CALL, captured_once, inputs_at, same, shares
from tests.programs.test_programs import every_captured
from tests.seeding import reseed

pytestmark = pytest.mark.filterwarnings(
    "ignore:Using a non-tuple sequence",
    "ignore:indexing with dtype",
    "ignore:.*degrees of freedom",
)


def outcome(module, inputs, state):
    """Call on a copy: results, inputs after, and which state and inputs the results lie in."""
    args, kwargs = copy.deepcopy(inputs)
    reseed(SEED_OF_CALL)
    try:
        result = module(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  whatever is raised is compared
        return type(error), str(error).splitlines()[0]
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]
    given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    lies = [[shares(leaf, other) for other in (*given, *state)] for leaf in leaves]
    among = [[one is other for other in (*given, *leaves)] for one in leaves]
    return pytree.tree_leaves(result), given, lies, among


def equal(expected, found):
    """Hold that two outcomes are one, bit for bit."""
    assert len(expected) == len(found), (expected, found)
    if len(expected) == 2:
        assert expected == found
        return
    for one, other in zip(expected, found, strict=True):
        same(one, other, "the outcome", rtol=0, atol=0)


def frozen_as_usual(exported, draw, sizes):
    """Call a frozen module and the usual one at some sizes, twice at each."""
    other = copy.deepcopy(exported)
    with torch.no_grad():
        try:
            frozen = exported.module(freeze=True)
        except ContractError:
            return  # what the capture asked is answered otherwise here, as a call would be told
        usual = other.module()
        own = [[*each.state_dict.values()] for each in (exported, other)]
        for at in sizes:
            for _ in range(2):
                expected = outcome(usual, draw(at), own[1])
                equal(expected, outcome(frozen, draw(at), own[0]))
        written = dict(frozen.state_dict())
        for name, value in other.state_dict.items():
            if name in written:
                assert_close(written[name], value.detach(), rtol=0, atol=0, equal_nan=True)


@every_captured
def test_frozen(program):
    """Static or dynamic, at sizes unlike the example."""
    for dynamic in (False, True):
        if dynamic and program.refused_dynamic:
            continue
        exported = captured_once(program, dynamic=dynamic)
        text = str(exported)
        sizes = [program.sizes, *(program.sweep() if dynamic else program.sweep()[:1])]
        frozen_as_usual(exported, lambda at: inputs_at(program, at, SEED_OF_CALL), sizes)
        assert str(exported) == text
