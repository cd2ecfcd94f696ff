"""Conditions, assertions and checks on sizes, and programs that need the number itself."""

import torch

from monograph import Dim
from tests.sizes.programs.registry import size_program

AUTO, DYNAMIC = Dim.AUTO, Dim.DYNAMIC


def matrix(n=6, m=4):
    """Give a matrix."""
    return (torch.randn(n, m),)


def two(n=6, m=4):
    """Give two vectors."""
    return torch.randn(n), torch.randn(m)


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 5}, {"n": 600}),
)
def branch_narrower_than_declared(x):
    """The example takes one side, the range has both."""
    if x.shape[0] > 4:
        return x + 1
    return x - 1


@size_program(
    matrix, {"x": (Dim("n", min=5), None)}, accepts=({"n": 5}, {"n": 600}), refuses=({"n": 4},)
)
def branch_as_declared(x):
    """The range has one side only, so nothing is guarded."""
    if x.shape[0] > 4:
        return x + 1
    return x - 1


@size_program(
    lambda n=1, m=4: matrix(n, m),
    {"x": (AUTO, None)},
    accepts=({"n": 4}, {"n": 0}),
    refuses=({"n": 5},),
)
def branch_at_one(x):
    """An example of 1 takes its own side."""
    return x + 1 if x.shape[0] > 4 else x - 1


@size_program(matrix, {"x": (AUTO, None)}, accepts=({"n": 8}, {"n": 2}), refuses=({"n": 7},))
def remainder(x):
    """An even size."""
    return x + 1 if x.shape[0] % 2 == 0 else x - 1


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("relation-not-declared",),
    repaired=({"n": 8}, {"n": 2}),
)
def remainder_of_a_named_size(x):
    """Declared free, found even."""
    assert x.shape[0] % 2 == 0
    return x.view(x.shape[0] // 2, 2, -1)


@size_program(
    matrix, {"x": (2 * Dim("half"), None)}, accepts=({"n": 8}, {"n": 2}), refuses=({"n": 7},)
)
def remainder_declared(x):
    """Even by declaration."""
    assert x.shape[0] % 2 == 0
    return x.view(x.shape[0] // 2, 2, -1)


@size_program(
    lambda n=7, m=4: matrix(n, m),
    {"x": (AUTO, None)},
    accepts=({"n": 6}, {"n": 8}),
    refuses=({"n": 9}, {"n": 5}),
)
def quotient(x):
    """Three sizes have one quotient."""
    return x + 1 if x.shape[0] // 3 == 2 else x - 1


@size_program(two, {"x": (Dim("n"),), "y": (Dim("m"),)}, partial=True, refuses=({"n": 4},))
def check_greater(x, y):
    """An inequality of two names is checked at the call."""
    torch._check(x.shape[0] > y.shape[0])
    return x.sum() + y.sum()


@size_program(
    lambda n=6, m=6: two(n, m),
    {"x": (Dim("n"),), "y": (Dim("m"),)},
    refused=("dims-must-be-equal",),
    repaired=({"n": 3, "m": 3},),
)
def check_equal(x, y):
    """An equality of two names is not."""
    torch._check(x.shape[0] == y.shape[0])
    return x.sum() + y.sum()


@size_program(
    two,
    {"x": (AUTO,), "y": (AUTO,)},
    accepts=({"n": 8, "m": 3}, {"n": 24, "m": 1}),
    refuses=({"n": 5},),
)
def check_product(x, y):
    """A product of sizes is a number."""
    torch._check(x.shape[0] * y.shape[0] == 24)
    return x[:, None] * y


@size_program(
    two, {"x": (AUTO,), "y": (AUTO,)}, accepts=({"n": 0}, {"n": 16, "m": 4}), refuses=({"n": 17},)
)
def check_product_bounded(x, y):
    """A product of sizes is bounded."""
    torch._check(x.shape[0] * y.shape[0] <= 64)
    return x[:, None] * y


@size_program(
    matrix, {"x": (Dim("n"), None)}, refused=("dim-range-violated",), repaired=({"n": 2}, {"n": 32})
)
def assertion_narrower_than_declared(x):
    """Both ends are asserted."""
    assert 2 <= x.shape[0] <= 32
    return x * 2


@size_program(
    matrix, {"x": (AUTO, None)}, accepts=({"n": 4}, {"n": 12}), refuses=({"n": 5}, {"n": 3})
)
def assertion_and_condition(x):
    """A range and a remainder together."""
    assert 4 <= x.shape[0] <= 12
    if x.shape[0] % 2:
        return x - 1
    return x + 1


@size_program(matrix, {"x": (AUTO, AUTO)}, accepts=({"m": 9}, {"n": 5}, {"n": 1, "m": 2}))
def counted_loop(x):
    """`range` of a size is a loop of the program."""
    total = x.sum(0)
    for row in range(x.shape[0]):
        total = total + x[row] * row
    return total


@size_program(matrix, {"x": (DYNAMIC, None)}, refused=("dim-specialised",), repaired=({},))
def counted_loop_dynamic(x):
    """A size declared dynamic cannot be counted with where C does it."""
    return sum(x[row] * row for row in range(x.shape[0]))


@size_program(matrix, {"x": (Dim("n"), None)}, refused=("dim-specialised",), repaired=({},))
def rows_unpacked(x):
    """Unpacking a tensor takes as many rows as there are names."""
    a, b, c, d, e, f = x
    return a + b * c - d + e / f.abs().clamp(min=1)


@size_program(matrix, {"x": (AUTO, None)}, accepts=({"n": 5}, {"n": 1}))
def rows_stacked(x):
    """A list of rows is made by a loop, which has to have a round."""
    return torch.stack([row * 2 for row in x])


@size_program(
    matrix, {"x": (AUTO, AUTO)}, accepts=({"n": 9}, {"n": 5, "m": 1}), refuses=({"n": 3},)
)
def chained_comparison(x):
    """Two comparisons with two sizes."""
    if x.shape[1] < x.shape[0] < 100 and x.numel() > 4:
        return x.sum(0)
    return x.sum(1)


@size_program(
    lambda n=6, k=3: (torch.randn(n, 4), k),
    {"x": (AUTO, None), "k": DYNAMIC},
    accepts=({"n": 9, "k": 1}, {"k": 5}),
    refuses=({"k": 0}, {"k": 7}),
)
def int_input_bounds_a_slice(x, k):
    """An int input is asserted to be within a size."""
    assert 0 < k <= x.shape[0]
    return x[:k] * k


@size_program(
    lambda n=6, k=3: (torch.randn(n), k),
    {"x": (AUTO,), "k": DYNAMIC},
    accepts=({"n": 10, "k": 5}, {"n": 4, "k": 2}),
    refuses=({"k": 4},),
)
def int_input_folds(x, k):
    """An int input is asserted to divide a size."""
    assert k > 0
    assert x.shape[0] == 2 * k
    return x.view(k, 2).sum(1)
