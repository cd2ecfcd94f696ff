"""Branches on 0 and 1 that come to the same are no guards; all others are, and nothing is run."""

import itertools

import pytest
import torch
from torch import nn

import monograph
from monograph import ContractError, Dim
from tests.seeding import reseed

SWITCH = True


class Config:
    """Switches of the user's."""

    def __init__(self):
        self.fast = False


STATE = Config()


def always():
    """A function of the user's that does nothing."""
    return SWITCH


def alike_expand(x, y):
    """Expand."""
    if x.shape[0] != 1:
        x = x.expand(x.shape[0], -1)
    return x + 1, y


def alike_expand_from_one(x, y):
    """Expand from one."""
    if x.shape[0] == 1:
        pass
    else:
        x = x.expand(x.shape[0], x.shape[1])
    return x + 1, y


def alike_in_vain(x, y):
    """In vain."""
    if x.shape[0] == 1 and not always():
        x = x * 2
    return x + 1, y


def alike_or(x, y):
    """Or."""
    z = x + 1
    return (z if x.shape[0] == 1 or always() else z * 2), y


def alike_stored(x, y):
    """Stored."""
    fast = x.shape[0] > 1 and not SWITCH
    return (x * 2 if fast else x + 1), y


def alike_in_loop(x, y):
    """In loop."""
    for i in range(3):
        if x.shape[0] == 1 and not SWITCH:
            continue
        x = x + i
    return x, y


def alike_none(x, y):
    """None."""
    mask = None
    if x.shape[0] > 1 and mask is not None:
        x = x + mask
    return x + 1, y


def alike_empty(x, y):
    """Empty."""
    if x.shape[0] and not SWITCH:
        x = x * 2
    return x + 1, y


def alike_attribute(x, y):
    """Attribute."""
    if x.shape[0] == 1 and STATE.fast:
        x = x * 2
    return x + 1, y


def alike_other_size(x, y):
    """Other size."""
    if x.shape[0] == 1 and x.shape[1] > 3:
        x = x * 2
    return x + 1, y


def different_value(x, y):
    """Value."""
    if x.shape[0] == 1 and always():
        x = x * 2
    return x + 1, y


def different_stored(x, y):
    """Stored."""
    single = x.shape[0] == 1
    one = False
    if single:
        one = True
    z = x * 2 if one else x + 1
    return z, y


def different_expand(x, y):
    """Expand."""
    x = x.expand(x.shape[0] if x.shape[0] != 1 else 3, -1)
    return x + 1, y


def different_effect(x, y):
    """Effect."""
    seen = []
    if x.shape[0] == 1:
        seen.append(1)
    return x + 1 + len(seen), y


def different_raise(x, y):
    """Raise."""
    if x.shape[0] == 1:
        raise ValueError(x.shape)
    return x + 1, y


def different_number(x, y):
    """Number."""
    scale = 1
    if x.shape[0] != 1:
        scale = 2
    return x * scale, y


def different_later(x, y):
    """At 1 the second question is not asked."""
    if x.shape[0] == 1 or y.shape[0] == 1:
        x = x.expand(x.shape[0], -1)
        return x * 2, y
    return x + 1, y


def different_float(x, y):
    """Float."""
    scale = 0.0
    if x.shape[0] == 1:
        scale = -0.0
    return x * scale, y


def different_bool(x, y):
    """Bool."""
    keeps = 1
    if x.shape[0] == 1:
        keeps = True
    return x + 1, y, keeps


def different_twice(x, y):
    """Twice."""
    if x.shape[0] == 1 and not SWITCH:
        x = x * 2
    if x.shape[0] == 1:
        x = x * 3
    return x + 1, y


PROGRAMS = {name: value for name, value in globals().items() if name.startswith(("alike", "diff"))}


def inputs(n, m):
    """Rows that no two sizes share."""
    reseed(n + 7 * m)
    return torch.randn(n, 2), torch.randn(m)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, strict):
    """What comes to the same takes 0 and 1 without a guard; each program agrees with eager."""
    function = PROGRAMS[name]
    module = type(name, (nn.Module,), {"forward": staticmethod(function)})()
    shapes = ({0: Dim.AUTO}, {0: Dim.AUTO})
    program = monograph.export(module, inputs(3, 4), dynamic_shapes=shapes, strict=strict)
    assert (not program.guards) is name.startswith("alike")
    for n, m in itertools.product(range(4), repeat=2):
        try:
            found = program.module()(*inputs(n, m))
        except ContractError:
            assert name.startswith("diff")
            continue
        expected = module(*inputs(n, m))
        torch.testing.assert_close(found[:2], expected[:2])
        assert [type(each) for each in found] == [type(each) for each in expected]
        assert [*map(repr, found)] == [*map(repr, expected)]


def test_one_of_two_values():
    """`n > 1` is in vain at 1 and not at 0: 0 stays out."""

    def asks(x):
        if x.shape[0] > 1 or x.shape[0] == 1:
            return x + 1
        return x * 2

    module = type("Asks", (nn.Module,), {"forward": staticmethod(asks)})()
    program = monograph.export(module, (torch.randn(3, 2),), dynamic_shapes=({0: Dim.AUTO},))
    for n in (1, 2, 5):
        torch.testing.assert_close(program.module()(torch.ones(n, 2)), torch.ones(n, 2) + 1)
    with pytest.raises(ContractError):
        program.module()(torch.ones(0, 2))


def test_an_answer_holds_for_the_sizes_it_was_given_for():
    """A size that another question leaves out, and a probe lets in, is asked for again."""

    def asks(x, heads):
        if x.shape[0] < 2 and not SWITCH:
            x = x * 3
        if x.shape[0] == 0:
            heads = heads * 2
        return x + 1, heads

    module = type("Asks", (nn.Module,), {"forward": staticmethod(asks)})()
    program = monograph.export(module, inputs(3, 4), dynamic_shapes=({0: Dim("n")}, None))
    for n in range(1, 4):
        torch.testing.assert_close(program.module()(*inputs(n, 4)), module(*inputs(n, 4)))
    with pytest.raises(ContractError):
        program.module()(*inputs(0, 4))


class Checkpoints(torch.nn.Module):
    """Asks for the grad mode, as libraries do, before it knows that it does not matter."""

    def __init__(self, checkpoints):
        super().__init__()
        self.checkpoints = checkpoints

    def forward(self, x):
        if torch.is_grad_enabled() and self.checkpoints:
            x = x + 100
        return x * 2


@pytest.mark.parametrize("strict", [True, False])
def test_a_mode_that_decides_nothing_is_no_clause(strict):
    """The program takes calls in either mode, unless the answer mattered."""
    x = torch.ones(3)
    for checkpoints in (False, True):
        program = monograph.export(Checkpoints(checkpoints), (x,), strict=strict)
        run = program.module()
        assert torch.equal(run(x), Checkpoints(checkpoints)(x))
        with torch.no_grad():
            if checkpoints:
                with pytest.raises(monograph.ContractError, match="is_grad_enabled"):
                    run(x)
            else:
                assert torch.equal(run(x), Checkpoints(checkpoints)(x))
