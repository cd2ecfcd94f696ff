"""Lists and dicts of the caller's, and of forward's own, that the rounds of a loop write to."""

import copy

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import monograph
from monograph import ContractError

PROGRAMS = {}
FOR_FEWER = {"replaced_and_written", "in_a_function", "exchanged", "replaced_in_another"}
"""Those that are refused for other numbers of rounds, or for none."""


def program(function):
    """Register a function of a matrix and a list of one vector."""
    PROGRAMS[function.__name__] = function
    return function


@program
def replaced(x, z):
    """Nobody reads the list afterwards, but the caller."""
    for row in x:
        z[0] = z[0] + row
    return x * 1


@program
def counted(x, z):
    """Of the number of rounds alone."""
    for at in range(x.shape[0]):
        z[0] = z[0] + at
    return x * 1


@program
def by_another_name(x, z):
    """Two variables hold one list."""
    other = z
    for row in x:
        other[0] = other[0] + row
    return z[0] * 1


@program
def within_another(x, z):
    """Read by one way, written to by another."""
    holder = {"a": [z]}
    for row in x:
        holder["a"][0][0] = z[0] + row
        z[0] = z[0] * 2
    return holder["a"][0][0] * 2


@program
def numbers_too(x, z):
    """A list as a cell for a number."""
    n = [0]
    for row in x:
        n[0] += 1
        z[0] = z[0] + row * n[0]
    return x * n[0]


@program
def in_a_function(x, z):
    """It is written to by what is called."""

    def add(row):
        z[0] = z[0] + row

    for row in x:
        add(row)
    return z[0] * 1


@program
def left_early(x, z):
    """The loop is left, with what it has written."""
    for row in x:
        z[0] = z[0] + row
        if z[0].sum() > 3:
            break
    return x * 1


@program
def returned_early(x, z):
    """And so is the function."""
    for row in x:
        z[0] = z[0] + row
        if z[0].sum() > 3:
            return z[0] * 1
    return x.sum(0)


@program
def on_one_side(x, z):
    """Some rounds write to it."""
    for row in x:
        if row.sum() > 1:
            z[0] = z[0] + row
    return x * 1


@program
def in_both_loops(x, z):
    """So does a loop in the loop."""
    for row in x:
        for other in x:
            z[0] = z[0] + other * row
    return x * 1


@program
def while_it_is_small(x, z):
    """What is written decides whether another round comes."""
    while z[0].sum() < 5:
        z[0] = z[0] + x.sum(0) + 1
    return x * 1


@program
def by_methods(x, z):
    """The list is emptied and filled again."""
    for row in x:
        z.reverse()
        z.append(z.pop() * 2 + row)
        z[:] = [z[0] + 1]
    return x * 1


@program
def iterated_later(x, z):
    """An iterator from before sees it."""
    rest = iter(z)
    for row in x:
        z[0] = z[0] + row
    return next(rest) * 1


@program
def replaced_and_written(x, z):
    """The name stands for another list from the first round on: refused, or one round."""
    first = z
    for row in x:
        z[0] = z[0] + 1
        z = [z[0] + row]
    return z[0] * 1, first[0] * 2


@program
def only_replaced(x, z):
    """What the variable held stays as it was."""
    first = z
    for row in x:
        z = [z[0] + row]
    return z[0] * 1, first[0] * 2


@program
def exchanged(x, z):
    """Two lists in a list change places, and one of them is written to."""
    both = [z, [z[0] + 1]]
    for row in x:
        both[0], both[1] = both[1], both[0]
        both[0][0] = both[0][0] + row
    return both[0][0] * 1, both[1][0] * 2


@program
def replaced_in_another(x, z):
    """A list holds another one from the first round on, and the first is written to."""
    holder = [z]
    for row in x:
        holder[0] = [z[0] + row]
        z[0] = z[0] * 2 + 1
    return holder[0][0] * 1


@program
def kept(x, z):
    """It is the list that it was."""
    own = [z[0] * 1]
    held = own
    for row in x:
        own[0] = own[0] + row
    return (own is held) * held[0]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_rounds_write_is_there_afterwards(name, strict):
    """Results, and what the caller's list holds; with more rounds, one and none."""
    forward = PROGRAMS[name]
    module = type("Module", (nn.Module,), {"forward": staticmethod(forward)})()
    shapes = ({0: monograph.Dim.AUTO}, [None])
    found = monograph.export(
        module, (torch.ones(3, 2), [torch.zeros(2)]), dynamic_shapes=shapes, strict=strict
    )
    n_right = 0
    for rounds in (3, 5, 1, 0):
        x, z = torch.rand(rounds, 2), [torch.zeros(2)]
        given = copy.deepcopy(z)
        expected = module(x, z)
        try:
            result = found.module()(x, given)
        except ContractError:
            continue
        torch.testing.assert_close(
            pytree.tree_leaves((result, given)), pytree.tree_leaves((expected, z))
        )
        n_right += 1
    assert n_right == 4 or (name in FOR_FEWER and n_right >= 1)
