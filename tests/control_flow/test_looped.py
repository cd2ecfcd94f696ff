"""A `for` over a symbolic number of values is one loop, and agrees for every number of rounds."""

import copy
import io

import pytest
import torch

import monograph
from monograph import Dim
from tests.control_flow.looped import PROGRAMS, Looped, example

SIZES = (5, 0, 1, 2, 9)
CAPTURED = [each for each in PROGRAMS.values() if not each.refused]


def captured(program: Looped, dim, n=5):
    """The exported program."""
    return monograph.export(
        program.make(), (example(n),), dynamic_shapes=({1: dim},), control_flow="capture"
    )


def outcome(function, x):
    """The result, or the failure."""
    try:
        return function(x)
    except Exception as error:  # noqa: BLE001
        return error


def agree(mine, eager, sizes=SIZES):
    """The same results, and failures where eager code fails; writes to x and buffers too."""
    for seed, n in enumerate((*sizes, *sizes)):
        given, taken = example(n, seed=seed), example(n, seed=seed)
        expected = outcome(eager, given)
        found = outcome(mine, taken)
        if isinstance(expected, Exception):
            assert isinstance(found, Exception), f"no failure at size {n}"
            continue
        assert not isinstance(found, Exception), f"at size {n}: {found}"
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(taken, given, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("program", CAPTURED, ids=lambda each: each.name)
@pytest.mark.parametrize("dim", [Dim("n", min=0), Dim.AUTO], ids=["named", "auto"])
def test_agrees(program: Looped, dim):
    """At sizes unlike the example's, with as many rounds."""
    exported = captured(program, dim)
    agree(exported.module(), copy.deepcopy(program.make()))


@pytest.mark.parametrize(
    "program", [each for each in CAPTURED if each.gradients], ids=lambda each: each.name
)
def test_gradients(program: Looped):
    """As in eager code."""
    mine, eager = captured(program, Dim.AUTO).module(), program.make()
    for n in (2, 7):
        one, other = (example(n).requires_grad_() for _ in range(2))
        for function, x in ((mine, one), (eager, other)):
            leaves = torch.utils._pytree.tree_leaves(function(x))
            floats = [each for each in leaves if isinstance(each, torch.Tensor)]
            sum(each.sum() for each in floats if each.requires_grad).backward()
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("program", CAPTURED, ids=lambda each: each.name)
def test_saved_and_lowered(program: Looped):
    """Also after saving and loading, and after decompositions."""
    exported = captured(program, Dim.AUTO)
    file = io.BytesIO()
    monograph.save(exported, file)
    file.seek(0)
    agree(monograph.load(file).module(), program.make(), (5, 2))
    agree(exported.run_decompositions().module(), program.make(), (5, 2))


@pytest.mark.parametrize(
    "program", [each for each in PROGRAMS.values() if each.refused], ids=lambda each: each.name
)
def test_refused_by_name(program: Looped):
    """A size that must vary is never fixed; one that may be is, and the program says so."""
    with pytest.raises(monograph.MonographError) as caught:
        captured(program, Dim("n", min=1))
    assert program.refused in [each.diagnostic.name for each in caught.value.problems]
