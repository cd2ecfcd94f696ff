"""Examples of size 0 and 1: captured in general, literally only where the example insists."""

import itertools

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim


class EvenRows(nn.Module):
    """Asserts what holds for 0 rows, and not for just any number."""

    def forward(self, x):
        assert x.shape[0] % 2 == 0
        return x + 1


class Smallest(nn.Module):
    """Asks one question after another about sizes of 1."""

    def forward(self, x):
        return x * max(x.shape[1], x.shape[0]) + int(x.shape[1] * 0.5)


class Flat(nn.Module):
    """Depends on the strides of a tensor without elements."""

    def forward(self, x):
        return x.reshape(-1) * x.stride(0)


class Strided(nn.Module):
    """Gives a stride of a tensor without elements, after its size is known."""

    def forward(self, x):
        assert x.shape[1] == 0
        return x.stride(0), x.shape[0]


class Expanded(nn.Module):
    """Asks whether a tensor is contiguous that is so at sizes of 0 and 1 alone."""

    def forward(self, x):
        wide = x.expand(x.shape[0], *x.shape)
        return (x * 2, wide) if wide.is_contiguous() else (x + 2, wide)


class Turned(nn.Module):
    """Gives the strides of a transposed tensor."""

    def forward(self, x):
        return x.t().stride(1) + x


class Rounds(nn.Module):
    """Counts its rows in a loop whose body is a region, after a view that knows their number."""

    def forward(self, x):
        for _ in range(x.shape[1]):
            x, n = x.view(x.shape), 0
            while n < x.shape[0]:
                n += 1
            x = x + n
        return x


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 3), (1, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize("model", [Strided(), Expanded(), Turned(), Flat()])
def test_what_is_asked_of_layouts_holds_at_every_size(model, shape):
    """Sizes of 0 and 1 have answers of their own: they are given, or refused."""
    try:
        program = monograph.export(
            model, (torch.randn(shape),), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}}
        )
    except (AssertionError, monograph.ConstraintViolation):
        return
    for other in [shape, *itertools.product(range(4), repeat=2)]:
        x = torch.randn(other)
        try:
            actual = program.module()(x)
        except monograph.ContractError:
            assert other != shape
            continue
        torch.testing.assert_close(actual, model(x), msg=lambda text, at=other: f"{at}: {text}")


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (EvenRows(), (0, 0)),
        (Smallest(), (1, 1)),
        (Flat(), (0, 0)),
        (Flat(), (3, 0)),
        (Rounds(), (1, 2)),
    ],
)
def test_a_program_accepts_its_own_example(model, shape):
    """Whatever an example of size 0 or 1 teaches, the program answers it as the model does."""
    x = torch.randn(shape)
    program = monograph.export(model, (x,), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}})
    torch.testing.assert_close(program.module()(x), model(x))


@pytest.mark.parametrize("lower", [False, True])
def test_what_a_region_asserts_of_sizes_is_told_before_it_computes(lower):
    """Also where it took the view of so many rows, lowered, before it asked."""
    program = monograph.export(
        Rounds(), (torch.ones(2, 3),), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}}
    )
    run = (program.run_decompositions() if lower else program).module()
    torch.testing.assert_close(run(torch.ones(2, 5)), Rounds()(torch.ones(2, 5)))
    with pytest.raises(monograph.ContractError):
        run(torch.ones(3, 3))


@pytest.mark.parametrize("mode", [torch.no_grad, lambda: torch.autocast("cpu")])
def test_what_is_told_before_it_computes_is_in_no_mode(mode):
    """Where the loop is in one."""

    class Within(Rounds):
        def forward(self, x):
            with mode():
                y = super().forward(x)
                return y @ y.t()

    program = monograph.export(
        Within(), (torch.ones(2, 3),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)
    )
    for run in (program.module(), monograph.unflatten(program)):
        x = torch.ones(2, 5)
        torch.testing.assert_close(run(x), Within()(x))


@pytest.mark.parametrize("n", [1, 3])
def test_a_view_at_other_sizes_alone_is_not_written_to(n):
    """Autograd refuses writes to a view that a row makes a leaf with a history: that is no view."""

    class Rows(nn.Module):
        def forward(self, x, y):
            try:
                if len(y) > 1:
                    raise ValueError(y)  # noqa: TRY301  (that is the program)
            except ValueError:
                y = y.view(y.shape)
            y[0].add_(x)
            y.add_(2)
            return x * 1

    x = torch.ones(3)
    program = monograph.export(
        Rows(), (x, torch.ones(n, 3)), dynamic_shapes={"x": None, "y": {0: Dim.AUTO}}
    )
    for rows in (1, 3):
        y, other = torch.ones(rows, 3), torch.ones(rows, 3)
        x = torch.ones(3, requires_grad=rows == n == 1)
        if rows == n:
            program.module()(x, y)
            torch.testing.assert_close(y, other.add_(2).index_add_(0, torch.tensor([0]), x[None]))
        else:
            with pytest.raises(monograph.ContractError):
                program.module()(x, y)
