"""Sizes of 0 and 1 that guards leave out are tried, and let in only where nothing differs."""

import itertools
import math
import threading

import pytest
import torch
from torch import nn

import monograph
from monograph import ContractError, Dim, MonographError
from tests.programs import (  # noqa: F401  importing registers the programs
    constants,
    data_dependent,
    indexing,
    mutation,
    regions,
    seeds,
    sizing,
    structures,
)
from tests.programs.harness import agree, capture
from tests.programs.registry import PROGRAMS
from tests.seeding import reseed

OPEN = Dim.AUTO(min=0)
"""Whatever capture finds, from size 0 on: so 0 and 1 are tried."""
N, M = Dim("n"), Dim("m")


def module_of(function):
    """A module with this forward."""
    return type(function.__name__, (nn.Module,), {"forward": staticmethod(function)})()


def taken(function, *shapes, dims, dtype=torch.float32):
    """Export at these shapes; give for each small n and m whether the program takes them.

    What it takes, it answers as the module does: values, shapes, and strides of dense results.
    """

    def inputs(n, m):
        sizes = {N: n, M: m}
        reseed(n + 7 * m)
        return tuple(
            torch.randn([sizes.get(size, size) for size in shape]).to(dtype) for shape in shapes
        )

    module = module_of(function)
    program = monograph.export(module, inputs(3, 4), dynamic_shapes=dims)
    found = {}
    for n, m in itertools.product(range(4), repeat=2):
        args = inputs(n, m)
        try:
            actual = program.module()(*args)
        except ContractError:
            found[n, m] = False
            continue
        torch.testing.assert_close(actual, module(*args))
        found[n, m] = True
    return found, program


def named(*shapes):
    """Declare the named sizes of these shapes."""
    return tuple({i: s for i, s in enumerate(shape) if isinstance(s, Dim)} for shape in shapes)


def test_the_same_graph_lets_a_size_in():
    """Expanding to the size a tensor has already is nothing."""

    def expands(x, y):
        if x.shape[0] != 1:
            x = x.expand(x.shape[0], -1)
        return x + 1, y

    found, program = taken(expands, (N, 2), (M,), dims=named((N, 2), (M,)))
    assert all(found.values())
    assert not program.guards
    assert not program.report.left_out


def test_another_operator_keeps_it_out():
    """And the line says so."""

    def doubles(x, y):
        if x.shape[0] == 1:
            return x * 2, y
        return x + 2, y

    found, program = taken(doubles, (N, 2), (M,), dims=named((N, 2), (M,)))
    assert {n for (n, _), is_taken in found.items() if not is_taken} == {1}
    (left_out,) = program.report.left_out
    assert (left_out.path, left_out.value) == ("x.shape[0]", 1)
    assert left_out.at[0].line == doubles.__code__.co_firstlineno + 2
    said = "leaves out 1: there the module runs aten.mul.Tensor where other sizes run aten.add."
    assert said in str(program.explain("x.shape[0]"))
    assert said in str(program.explain("n"))
    assert "left out although declared\n    x.shape[0] == 1: there" in str(program.report)


@pytest.mark.parametrize(
    "special",
    [
        lambda x: x * 3,
        lambda x: x.transpose(0, 1).transpose(0, 1) + 2.0000001,
        lambda x: x + 2 + 0,
        lambda x: x.add_(2),
        lambda x: (x.double() + 2).float(),
        lambda x: torch.add(x, 2, alpha=2),
        lambda x: (x + 2)[:, :1],
        lambda x: x + torch.tensor(3.0),
    ],
)
def test_whatever_differs_keeps_it_out(special):
    """Another number, another constant, a write, another type."""

    def asks(x, y):
        return (special(x) if x.shape[0] == 1 else x + 2), y

    found, _ = taken(asks, (N, 2), (M,), dims=named((N, 2), (M,)))
    assert not found[1, 2]
    assert found[2, 2]
    assert found[0, 2]


def test_a_number_returned_is_compared():
    """A result that is no tensor counts as well, by value and by type."""

    def counts(x, y):
        return x + 1, (x.shape[0] if x.shape[0] != 1 else 7), y

    assert not taken(counts, (N, 2), (M,), dims=named((N, 2), (M,)))[0][1, 2]

    def says(x, y):
        return x + 1, (x.shape[0] if x.shape[0] != 1 else 1), y

    assert taken(says, (N, 2), (M,), dims=named((N, 2), (M,)))[0][1, 2]

    def floats(x, y):
        return x + 1, (x.shape[0] if x.shape[0] != 1 else 1.0), y

    assert not taken(floats, (N, 2), (M,), dims=named((N, 2), (M,)))[0][1, 2]

    def nests(x, y):
        return (x + 1, y) if x.shape[0] != 1 else [x + 1, y]

    assert not taken(nests, (N, 2), (M,), dims=named((N, 2), (M,)))[0][1, 2]


def test_regions_are_compared():
    """The same operators under another gradient mode are another program."""

    def halts(x, y):
        with torch.set_grad_enabled(x.shape[0] != 1):
            z = x * 2
        return z, y

    assert not taken(halts, (N, 2), (M,), dims=named((N, 2), (M,)))[0][1, 2]


def test_user_code_cannot_swallow_a_difference():
    """What it catches, it catches of its own."""

    def careless(x, y):
        try:
            z = x * 2 if x.shape[0] == 1 else x + 2
        except BaseException:  # noqa: BLE001
            z = x + 2
        return z, y

    assert not taken(careless, (N, 2), (M,), dims=named((N, 2), (M,)))[0][1, 2]


def test_two_sizes_of_one_are_tried_together():
    """Each run leaves out what the other lets in, so both at once need a run of their own."""

    def same(x, y):
        if x.shape[0] == 1 and y.shape[0] == 1:
            return x * 2, y
        if x.shape[0] != 1:
            x = x.expand(x.shape[0], -1)
        if y.shape[0] != 1:
            y = y.expand(y.shape[0])
        return x + 1, y

    found, _ = taken(same, (N, 2), (M,), dims=named((N, 2), (M,)))
    assert {at for at, is_taken in found.items() if not is_taken} == {(1, 1)}

    def apart(x, y):
        if x.shape[0] != 1:
            x = x.expand(x.shape[0], -1)
        if y.shape[0] != 1:
            y = y.expand(y.shape[0])
        return x + 1, y

    assert all(taken(apart, (N, 2), (M,), dims=named((N, 2), (M,)))[0].values())


def test_broadcasting_two_sizes():
    """Sizes that meet are equal; that one of them is 1 is no reason to let the other differ."""

    def meets(x, y):
        if x.shape[0] != 1:
            x = x.expand(x.shape[0], -1)
        return x[:, 0] + y

    found, _ = taken(meets, (N, 2), (N,), dims=({0: OPEN}, {0: OPEN}))
    assert {n for (n, _), is_taken in found.items() if is_taken} == {0, 1, 2, 3}


def test_quotients_of_other_sizes_and_guards_about_them():
    """What the other size is asked for stays asked for, at every size of this one."""

    def halves(x, y):
        if x.shape[0] != 1:
            x = x.expand(x.shape[0], -1)
        assert (y.shape[0] + 3) // 2 >= 2
        return x + 1, y[: y.shape[0] // 2], x.new_zeros((x.shape[0] * y.shape[0]) // 2)

    found, program = taken(halves, (N, 2), (M,), dims=named((N, 2), (M,)))
    assert {m for (_, m), is_taken in found.items() if not is_taken} == {0}
    assert not program.report.left_out[1:]


def test_a_size_that_follows_is_tried_with_the_one_it_follows():
    """`2*n` is 2 where n is 1."""

    def follows(x, y):
        if y.shape[0] != 2:
            y = y.expand(y.shape[0])
        return torch.cat([x[:, 0], x[:, 1]]) + y

    module = module_of(follows)
    program = monograph.export(
        module,
        (torch.randn(3, 2), torch.randn(6)),
        dynamic_shapes=({0: N}, {0: 2 * N}),
    )
    for n in range(4):
        args = torch.randn(n, 2), torch.randn(2 * n)
        torch.testing.assert_close(program.module()(*args), module(*args))


def test_a_guard_that_has_no_value_there_lets_nothing_in():
    """Python raises at the logarithm of 0."""

    def padded(x):
        return torch.nn.functional.pad(x, (0, 2 ** math.ceil(math.log2(x.shape[0])) - x.shape[0]))

    program = monograph.export(module_of(padded), (torch.ones(16),), dynamic_shapes=({0: OPEN},))
    assert torch.equal(program.module()(torch.ones(16)), torch.ones(16))
    with pytest.raises(ContractError):
        program.module()(torch.ones(0))


def test_a_size_that_no_view_infers_is_left_out():
    """Without elements PyTorch refuses `-1`, and the call that asked first does not come to it."""

    class Flattens(nn.Module):
        def forward(self, x):
            if x.shape[0] > 0:
                x = x.view(x.shape[0], -1)
            return x * 2

    shapes = ({0: Dim("batch", min=0, max=9)},)
    exported = monograph.export(Flattens(), (torch.ones(3, 7),), dynamic_shapes=shapes, strict=True)
    program = exported.module()
    assert torch.equal(program(torch.ones(1, 7)), torch.full((1, 7), 2.0))
    with pytest.raises(ContractError):
        program(torch.ones(0, 7))


def test_an_example_of_one_stays_dynamic():
    """The example is tried, where its stand-in was told apart from it."""

    def expands(x, y):
        if x.shape[0] != 1:
            x = x.expand(x.shape[0], -1)
        return x + 1, y

    for dim in (Dim.AUTO, Dim.DYNAMIC, Dim("batch", min=1, max=32)):
        program = monograph.export(
            module_of(expands), (torch.randn(1, 2), torch.ones(2)), dynamic_shapes=({0: dim}, None)
        )
        for n in (1, 2, 7, 32):
            x = torch.randn(n, 2)
            torch.testing.assert_close(program.module()(x, torch.ones(2))[0], x + 1)


def plainly(*args, **kwargs):
    """Export as plain Python, which lets forward count its calls."""
    return monograph.export(*args, **kwargs, strict=False)


def test_nothing_is_run_where_nothing_is_left_out():
    """Nor for a size that is left to capture."""
    calls = threading.calls = []  # where no capture of plain Python looks

    def counts(x, y):
        threading.calls.append(x.shape)
        return x + 1, y

    args = torch.randn(3, 2), torch.randn(3)
    plainly(module_of(counts), args, dynamic_shapes=({0: N}, {0: M}))
    assert len(calls) == 1
    calls.clear()

    def asks(x, y):
        threading.calls.append(x.shape)
        return (x if x.shape[0] == 1 else x + 1), y

    plainly(module_of(asks), args, dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
    assert len(calls) == 1
    calls.clear()
    plainly(module_of(asks), args, dynamic_shapes=({0: Dim.DYNAMIC}, {0: Dim.AUTO}))
    assert len(calls) == 2


def test_a_guard_about_more_is_not_tried():
    """`if n > 4` leaves out 1, and not because it is 1."""
    calls = threading.calls = []  # where no capture of plain Python looks

    def asks(x, y):
        threading.calls.append(x.shape)
        return (x if x.shape[0] > 2 else x + 1), y

    args = torch.randn(3, 2), torch.randn(3)
    plainly(module_of(asks), args, dynamic_shapes=({0: Dim.DYNAMIC}, {0: M}))
    assert len(calls) == 1


CAPTURED = [each for each in PROGRAMS.values() if each.sizes and not each.refused]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", CAPTURED, ids=[each.name for each in CAPTURED])
def test_programs_at_zero_and_one(program):
    """Every program of the corpus, 0 and 1 tried: it agrees with eager or refuses there."""
    try:
        exported = capture(program, dynamic=True, hint=OPEN)
    except MonographError:
        pytest.skip("refused")
    except Exception:
        if program.raises is None:
            raise
        return
    example, module = program.sizes, exported.module()
    for sizes in itertools.islice(itertools.product((0, 1, 2), repeat=len(example)), 27):
        agree(program, module, dict(zip(example, sizes, strict=True)))
    for sizes in program.sweep():
        agree(program, module, sizes)
