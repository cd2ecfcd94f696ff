"""A `for` over a symbolic number of values is one loop, and agrees for every number of rounds."""

import contextlib
import copy

import pytest
import torch

import monograph
from monograph import Dim
from tests.control_flow.forms import made_forms, naming
from tests.control_flow.looped import PROGRAMS, Looped, example
from tests.seeding import reseed

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


def agree(mine, eager, sizes=SIZES, least=0, **within):
    """The same results, and failures where eager code fails; writes to x and buffers too."""
    for seed, n in enumerate((*sizes, *sizes)):
        given, taken = example(n, seed=seed), example(n, seed=seed)
        expected = outcome(eager, given)
        found = outcome(mine, taken)
        if n < least:
            assert isinstance(found, monograph.ContractError)
            continue
        if isinstance(expected, Exception):
            assert isinstance(found, Exception), f"no failure at size {n}"
            continue
        assert not isinstance(found, Exception), f"at size {n}: {found}"
        within = within or {"rtol": 0, "atol": 0}
        torch.testing.assert_close(found, expected, equal_nan=True, **within)
        torch.testing.assert_close(taken, given, equal_nan=True, **within)


@pytest.mark.parametrize("program", CAPTURED, ids=lambda each: each.name)
@pytest.mark.parametrize("dim", [Dim("n", min=0), Dim.AUTO], ids=["named", "auto"])
def test_agrees(program: Looped, dim):
    """At sizes unlike the example's, with as many rounds."""
    exported = captured(program, dim)
    agree(exported.module(), copy.deepcopy(program.make()), least=program.least)


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
def test_agrees_in_every_form(program: Looped):
    """Lowered, saved and loaded, as code, and in torch.export, which needs a round to run."""
    for form, made in made_forms(captured(program, Dim.AUTO)):
        is_stock = form == "in_stock"
        if is_stock and not program.stock:
            continue
        with naming(form), torch.no_grad() if is_stock else contextlib.nullcontext():
            sizes = (5, 3, 9) if is_stock else (5, 2, 1)
            agree(made(), program.make(), sizes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "program", [each for each in PROGRAMS.values() if each.refused], ids=lambda each: each.name
)
def test_refused_by_name(program: Looped):
    """A size that must vary is never fixed; one that may be is, and the program says so."""
    with pytest.raises(monograph.MonographError) as caught:
        captured(program, Dim("n", min=1))
    assert program.refused in [each.diagnostic.name for each in caught.value.problems]


@pytest.mark.parametrize(
    "program", [each for each in PROGRAMS.values() if each.refused], ids=lambda each: each.name
)
def test_a_size_that_may_be_fixed_is(program: Looped):
    """Where a loop cannot be recorded, rounds come one by one, as without capture."""
    eager = program.make()
    if isinstance(outcome(eager, example(5)), Exception):
        return
    mine = captured(program, Dim.AUTO).module()
    agree(mine, eager, (5,))
    if program.name != "returns_inside":
        assert isinstance(outcome(mine, example(6)), monograph.ContractError)


class Counted(torch.nn.Module):
    """The number of rounds is in a tensor."""

    def forward(self, x, n):
        """Newton's iteration, as often as asked for."""
        guess = x
        for i in range(n.item()):
            guess = 0.5 * (guess + x / guess) + i
        return guess


class Experts(torch.nn.Module):
    """The experts that were chosen, as mixtures of experts go over them."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.weights = torch.nn.Parameter(torch.randn(4, 3, 3))

    def forward(self, x, chosen):
        """Each token to the expert that it has chosen; those without a token are left out."""
        mask = torch.nn.functional.one_hot(chosen, 4)
        out = torch.zeros_like(x)
        for expert in mask.sum(0).gt(0).nonzero():
            (tokens,) = torch.where(mask[:, expert[0]] > 0)
            out.index_add_(0, tokens, x[tokens] @ self.weights[expert[0]])
        return out


def test_a_number_of_rounds_from_data():
    """Also none."""
    x = torch.tensor([2.0, 9.0])
    program = monograph.export(Counted(), (x, torch.tensor(3)), control_flow="capture").module()
    for n in (0, 1, 2, 3, 7, -2):
        torch.testing.assert_close(program(x, torch.tensor(n)), Counted()(x, torch.tensor(n)))


def test_experts_that_data_choose():
    """All, some, one."""
    x, module = torch.randn(6, 3), Experts()
    chosen = torch.tensor([0, 1, 2, 3, 1, 0])
    program = monograph.export(module, (x, chosen), control_flow="capture").module()
    for each in (chosen, torch.tensor([2, 2, 2, 2, 2, 2]), torch.tensor([3, 0, 0, 3, 3, 3])):
        torch.testing.assert_close(program(x, each), module(x, each))


class FollowedInRounds(torch.nn.Module):
    """What a round computes is followed by autograd; what no round computes is not."""

    def forward(self, x, z):
        n = 0
        while n < 3 and z.sum() > 0:
            n += 1
            x = x.clone()
            x.requires_grad_()
        return x


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rounds_let_autograd_follow(sign) -> None:
    """The first round finds a tensor that autograd does not follow."""
    program = monograph.export(FollowedInRounds(), (torch.ones(2), torch.full((2,), sign)))
    for lowered in (program, program.run_decompositions()):
        for other in (1.0, -1.0):
            given = torch.ones(2), torch.full((2,), other)
            found, expected = lowered.module()(*given), FollowedInRounds()(*given)
            assert found.requires_grad is expected.requires_grad
            assert found.is_leaf is expected.is_leaf
