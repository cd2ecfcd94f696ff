"""Ranges, derived sizes and hints: what is declared, against what the program needs."""

import torch
import torch.nn.functional as F

from monograph import Dim
from tests.sizes.programs.registry import size_program

AUTO, DYNAMIC = Dim.AUTO, Dim.DYNAMIC


def matrix(n=6, m=4):
    """Give a matrix."""
    return (torch.randn(n, m),)


@size_program(
    lambda n=6, k=7: (torch.randn(n), torch.randn(k)),
    {"x": (Dim("n"),), "y": (Dim("n") + 1,)},
    accepts=({"n": 0, "k": 1}, {"n": 1, "k": 2}, {"n": 9, "k": 10}),
    refuses=({"k": 8},),
)
def one_longer(x, y):
    """Differences of neighbours."""
    return x * (y[1:] - y[:-1])


@size_program(
    lambda n=6, k=7: (torch.randn(n), torch.randn(k)),
    {"x": (Dim("n"),), "y": (Dim("k"),)},
    refused=("relation-not-declared",),
    repaired=({"n": 9, "k": 10},),
)
def one_longer_undeclared(x, y):
    """The padding makes them differ by one."""
    return F.pad(x, (1, 0)) * y


@size_program(
    lambda n=4, k=13: (torch.randn(n), torch.randn(k)),
    {"x": (Dim("n", max=10),), "y": (3 * Dim("n", max=10) + 1,)},
    accepts=({"n": 10, "k": 31}, {"n": 0, "k": 1}, {"n": 1, "k": 4}),
    refuses=({"k": 14}, {"n": 11, "k": 34}),
)
def three_times_and_one(x, y):
    """A derived size inherits the range."""
    return y[1:].view(-1, 3).sum(1) + x


@size_program(
    lambda n=5, k=13: (torch.randn(n), torch.randn(k)),
    {"x": (Dim("n"),), "y": (3 * Dim("n") + 1,)},
    refused=("spec-dim-sizes-differ",),
    placeless=True,
)
def derived_example_differs(x, y):
    """The example is not of the declared sizes."""
    return y[1:].view(-1, 3).sum(1) + x


@size_program(
    matrix,
    {"x": (Dim("n", min=7, max=9), None)},
    refused=("spec-size-outside-range",),
    placeless=True,
)
def example_outside_the_range(x):
    """The example is no call."""
    return x + 1


@size_program(
    matrix,
    {"x": (Dim("n", min=4, max=64), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 4}, {"n": 10}),
)
def range_too_wide(x):
    """A slice of a table of ten."""
    return x + torch.arange(10.0).narrow(0, 0, x.shape[0])[:, None]


@size_program(
    matrix,
    {"x": (Dim("n", min=5, max=6), None)},
    accepts=({"n": 5},),
    refuses=({"n": 4}, {"n": 7}),
)
def range_narrower_than_needed(x):
    """The program would take more, the declaration does not."""
    return x.softmax(0)


@size_program(
    lambda n=1, m=4: matrix(n, m),
    {"x": (Dim("n", min=1), None)},
    accepts=({"n": 2}, {"n": 600}, {"n": 1}),
    refuses=({"n": 0},),
)
def example_of_one(x):
    """An example of 1 is an example like others."""
    return (x - x.mean(0)) @ x.T


@size_program(
    lambda n=1, m=1: matrix(n, m),
    {"x": (Dim("n"), Dim("m"))},
    accepts=({"n": 2}, {"m": 3}, {"n": 0, "m": 0}, {"n": 5, "m": 7}),
)
def example_of_ones(x):
    """Two of them are not one size."""
    return x.sum(0, keepdim=True) + x, x.T.reshape(-1)


@size_program(
    lambda n=0, m=4: matrix(n, m),
    {"x": (Dim("n", max=8), None)},
    accepts=({"n": 1}, {"n": 8}),
    refuses=({"n": 9},),
)
def example_of_zero(x):
    """Neither is 0 special."""
    return torch.cat([x, x.new_ones(1, 4)]).cumsum(0)


@size_program(
    lambda n=2, m=4: matrix(n, m),
    {"x": (Dim("n", min=0, max=2), None)},
    accepts=({"n": 0}, {"n": 1}),
    refuses=({"n": 3},),
)
def range_down_to_zero(x):
    """Nothing at all, one, or two."""
    return x.sum(0), x.softmax(0), x.reshape(-1, 2)


@size_program(
    lambda n=1, m=4: matrix(n, m),
    {"x": (Dim("n"), None)},
    refused=("dim-specialised",),
    repaired=({},),
)
def one_is_needed(x):
    """A squeeze that must remove the dimension."""
    return x.squeeze(0).view(2, 2)


@size_program(
    matrix,
    {"x": (AUTO, AUTO)},
    specialised={"x.shape[0]": 6, "x.shape[1]": 4},
    refuses=({"n": 5}, {"m": 5}),
)
def automatic_becomes_constant(x):
    """A table of this very shape."""
    return x * torch.ones(6, 4)


@size_program(
    lambda n=6, k=6: (torch.randn(n), torch.randn(k)),
    {"x": (AUTO,), "y": (None,)},
    specialised={"x.shape[0]": 6},
    refuses=({"n": 5}, {"n": 5, "k": 5}),
)
def automatic_meets_static(x, y):
    """A sum with a size that is fixed."""
    return x + y


@size_program(
    lambda n=6, k=6: (torch.randn(n), torch.randn(k)),
    {"x": (DYNAMIC,), "y": (None,)},
    refused=("dim-specialised",),
    repaired=({},),
)
def dynamic_meets_static(x, y):
    """A sum with a size that is fixed."""
    return x + y


@size_program(
    lambda n=6, k=6: (torch.randn(n), torch.randn(k)),
    {"x": (Dim("n"),), "y": (AUTO,)},
    accepts=({"n": 3, "k": 3}, {"n": 1, "k": 1}),
    refuses=({"k": 5},),
    partial=True,
)
def named_meets_automatic(x, y):
    """The automatic size follows the named one."""
    return x + y


@size_program(
    lambda n=6, k=12: (torch.randn(n), torch.randn(k)),
    {"x": (AUTO,), "y": (DYNAMIC,)},
    accepts=({"n": 3, "k": 6}, {"n": 1, "k": 2}),
    refuses=({"k": 11},),
)
def hints_are_related(x, y):
    """One is found to be twice the other."""
    return x.repeat(2) + y


@size_program(
    lambda n=5: (torch.randn(3), n),
    {"x": None, "n": Dim("n", min=1, max=9)},
    accepts=({"n": 1}, {"n": 9}),
    refuses=({"n": 0}, {"n": 10}),
)
def named_int(x, n):
    """An int has a name and a range."""
    return x.expand(n, 3) * n, n // 2


@size_program(
    lambda n=5, k=4: (torch.randn(n, 3), k),
    {"x": (Dim("n"), None), "k": Dim("n") - 1},
    accepts=({"n": 3, "k": 2}, {"n": 1, "k": 0}),
    refuses=({"k": 3}, {"n": 0, "k": -1}),
)
def int_one_below_a_size(x, k):
    """The last row by its number."""
    return x.narrow(0, k, 1)


@size_program(
    matrix,
    {"x": (Dim("n"), Dim("n"))},
    refused=("spec-dim-sizes-differ",),
    placeless=True,
)
def one_name_two_sizes(x):
    """One name is one size."""
    return x.T


@size_program(
    lambda n=5, m=5: matrix(n, m),
    {"x": (Dim("n"), Dim("m"))},
    refused=("dims-must-be-equal",),
    repaired=({"n": 3, "m": 3}, {"n": 1, "m": 1}),
)
def square_declared_apart(x):
    """A matrix is multiplied with itself."""
    return x @ x
