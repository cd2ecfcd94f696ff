"""Programs that ask more of their sizes than was declared: what is said, and what repairs it."""

import torch
import torch.nn.functional as F

from monograph import Dim
from tests.sizes.programs.registry import size_program

AUTO, DYNAMIC = Dim.AUTO, Dim.DYNAMIC


def matrix(n=6, m=4):
    """Give a matrix."""
    return (torch.randn(n, m),)


def two(n=4, m=8):
    """Give two vectors, one twice as long."""
    return torch.randn(n), torch.randn(m)


def same(n=5, m=5):
    """Give two vectors of one size."""
    return torch.randn(n), torch.randn(m)


def longer(n=5, m=6):
    """Give two vectors, one longer by one."""
    return torch.randn(n), torch.randn(m)


def three(a=2, b=3, c=5):
    """Give three vectors, the third as long as the others together."""
    return torch.randn(a), torch.randn(b), torch.randn(c)


def cube(b=3, s=5, w=4):
    """Give a batch of matrices."""
    return (torch.randn(b, s, w),)


def int_and_rows(n=6, k=3):
    """Give a matrix and a number."""
    return torch.randn(n, 4), k


@size_program(matrix, {"x": (Dim("n"), None)}, partial=True)
def first_row_of_a_named_size(x):
    """A first row needs one row."""
    return x[0] + 1


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 3}, {"n": 600}),
)
def third_row_of_a_named_size(x):
    """The third row needs three."""
    return x[2] * 2


@size_program(matrix, {"x": (DYNAMIC, None)}, partial=True)
def two_rows_unpacked(x):
    """As many names as rows."""
    first, second, *rest = x[:2]
    return first + second + len(rest)


@size_program(matrix, {"x": (Dim("n"), None)}, partial=True)
def differences_of_neighbours(x):
    """At least one difference, or the maximum has no rows."""
    return (x[1:] - x[:-1]).amax(0)


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 3}, {"n": 600}),
)
def best_three(x):
    """`topk` takes no more than there are."""
    return x.topk(3, dim=0).values


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 4}, {"n": 600}),
)
def windows_of_four(x):
    """A window of four fits."""
    return x.unfold(0, 4, 1).sum(-1)


@size_program(
    matrix,
    {"x": (Dim("n", max=64), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 4}, {"n": 64}),
)
def narrowed_rows(x):
    """`narrow` stays within."""
    return x.narrow(0, 2, 2) + 1


@size_program(matrix, {"x": (Dim("n"), None)}, partial=True)
def split_in_two_and_rest(x):
    """`split` with sizes that add up."""
    head, tail = x.split([2, x.shape[0] - 2])
    return head.sum() + tail


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("relation-not-declared",),
    repaired=({"n": 2}, {"n": 600}),
)
def rows_in_pairs(x):
    """A view in pairs needs an even number."""
    return x.view(-1, 2, x.shape[1]).sum(1)


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("relation-not-declared",),
    repaired=({"n": 3}, {"n": 600}),
)
def unflattened_in_threes(x):
    """So does `unflatten` in threes."""
    return x.unflatten(0, (-1, 3)).sum(1)


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 4}, {"n": 600}),
)
def pooled_in_fours(x):
    """Pooling needs a window's length."""
    return F.avg_pool1d(x.T, 4)


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 4}, {"n": 600}),
)
def reflected(x):
    """Padding by reflection is shorter than what it reflects."""
    return F.pad(x.T[None], (3, 0), mode="reflect")


@size_program(matrix, {"x": (None, Dim("m"))}, refused=("dim-specialised",), repaired=({"m": 4},))
def columns_of_a_weight(x):
    """A constant of the module fixes the columns."""
    return x @ torch.ones(4, 3)


@size_program(
    matrix,
    {"x": (DYNAMIC, DYNAMIC)},
    refused=("dim-specialised", "dim-specialised"),
    repaired=({},),
)
def added_to_a_table(x):
    """A constant fixes both sizes."""
    return x + torch.ones(6, 4)


@size_program(matrix, {"x": (Dim("n"), Dim("m"))}, partial=True)
def product_with_itself(x):
    """A matrix times itself is square."""
    return x[:, : x.shape[0]] @ x[: x.shape[1]]


@size_program(
    two,
    {"x": (Dim("n"),), "y": (Dim("m"),)},
    refused=("relation-not-declared", "relation-not-declared"),
    repaired=({},),
)
def one_is_twice_the_other(x, y):
    """Pairs of one are added to the other."""
    return y.view(-1, 2).sum(1) + x


@size_program(
    same,
    {"x": (Dim("n"),), "y": (Dim("m"),)},
    refused=("dims-must-be-equal",),
    repaired=({"n": 9, "m": 9},),
)
def dot_declared_apart(x, y):
    """A dot product has one size."""
    return x.dot(y)


@size_program(
    same,
    {"x": (Dim("n"),), "y": (Dim("m"),)},
    refused=("dims-must-be-equal",),
    repaired=({"n": 9, "m": 9},),
)
def loss_declared_apart(x, y):
    """A loss compares what is alike."""
    return F.mse_loss(x, y)


@size_program(
    same,
    {"x": (Dim("n"),), "y": (Dim("m"),)},
    refused=("dims-must-be-equal",),
    repaired=({"n": 9, "m": 9},),
)
def stacked_declared_apart(x, y):
    """Stacked tensors have one shape."""
    return torch.stack([x, y])


@size_program(
    same,
    {"x": (Dim("n"),), "y": (Dim("m"),)},
    refused=("dims-must-be-equal",),
    repaired=({"n": 9, "m": 9},),
)
def where_declared_apart(x, y):
    """A choice is made element by element."""
    return torch.where(x > 0, x, y)


@size_program(
    same,
    {"x": (Dim("n"),), "y": (Dim("m"),)},
    refused=("dims-must-be-equal",),
    repaired=({"n": 9, "m": 9},),
)
def written_declared_apart(x, y):
    """A copy into another tensor has its size."""
    z = x.clone()
    z.copy_(y)
    return z


@size_program(
    same,
    {"x": (Dim("n", min=2, max=64),), "y": (Dim("m", min=4),)},
    refused=("dim-range-violated", "dims-must-be-equal"),
    repaired=({"n": 4, "m": 4}, {"n": 64, "m": 64}),
)
def ranges_meet(x, y):
    """Equal sizes have the range that both have."""
    return x + y


@size_program(
    longer, {"x": (Dim("n"),), "y": (Dim("m"),)}, refused=("relation-not-declared",), repaired=({},)
)
def one_longer_by_slicing(x, y):
    """All but the last of one is the other."""
    return x + y[:-1]


@size_program(longer, {"x": (AUTO,), "y": (DYNAMIC,)}, partial=True)
def one_longer_by_catting(x, y):
    """A start is prepended."""
    return torch.cat([x.new_zeros(1), x]) + y


@size_program(
    three,
    {"x": (Dim("a"),), "y": (Dim("b"),), "z": (Dim("c"),)},
    refused=("relation-not-declared",),
    repaired=({},),
)
def sum_of_two_sizes(x, y, z):
    """What is joined is added to a third."""
    return torch.cat([x, y]) + z


@size_program(
    matrix,
    {"x": (Dim("n", min=1, max=8), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 1}, {"n": 7}),
)
def at_most_seven(x):
    """User code has a limit of its own."""
    if x.shape[0] > 7:
        return x.sum(0)
    return x + 1


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 3}, {"n": 100}),
)
def between_limits(x):
    """Two limits, both of them crossed."""
    if x.shape[0] < 3 or x.shape[0] > 100:
        raise ValueError(x.shape)
    return x + 1


@size_program(matrix, {"x": (Dim("n"), None)}, partial=True)
def not_seven(x):
    """A single number is an exception."""
    return x if x.shape[0] == 7 else x + 1


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("relation-not-declared",),
    repaired=({"n": 3}, {"n": 600}),
)
def asserted_multiple(x):
    """An assertion on a remainder."""
    assert x.shape[0] % 3 == 0
    return x.view(3, -1)


@size_program(
    matrix,
    {"x": (Dim("n"), None)},
    refused=("dim-range-violated",),
    repaired=({"n": 5}, {"n": 600}),
)
def checked_minimum(x):
    """`torch._check` says how many."""
    torch._check(x.shape[0] >= 5)
    return x[4] + 1


@size_program(matrix, {"x": (Dim("n"), Dim("m"))}, partial=True)
def elements_are_bounded(x):
    """A limit on the number of elements."""
    assert x.numel() <= 1000
    return x + 1


@size_program(matrix, {"x": (DYNAMIC, None)}, partial=True)
def as_an_int(x):
    """`int` asks for the number."""
    return x + int(x.shape[0])


@size_program(matrix, {"x": (Dim("n"), None)}, refused=("dim-specialised",), repaired=({},))
def a_list_of_weights(x):
    """As many weights as rows."""
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    return x * torch.tensor(weights)[:, None]


@size_program(matrix, {"x": (DYNAMIC, None)}, refused=("dim-specialised",), repaired=({},))
def as_text(x):
    """A text of a size says its number."""
    return x + len(f"{x.shape[0]}")


@size_program(matrix, {"x": (DYNAMIC, None)}, accepts=({"n": 9}, {"n": 2}))
def looped_over(x):
    """One step for each row."""
    total = x.new_zeros(4)
    for row in x:
        total = total * 2 + row
    return total


@size_program(
    cube, {"x": (Dim("b"), Dim("s"), Dim("w"))}, refused=("relation-not-declared",), repaired=({},)
)
def heads_of_a_width(x):
    """A width in two heads of a power."""
    b, s, w = x.shape
    return x.view(b, s, 2, w // 2).transpose(1, 2)


@size_program(
    cube,
    {"x": (Dim("b"), Dim("s"), None)},
    refused=("dim-range-violated",),
    repaired=({"b": 1, "s": 16},),
)
def positions_of_a_table(x):
    """A table of positions bounds the length."""
    table = torch.ones(16, 4)
    return x + table[: x.shape[1]]


@size_program(
    cube, {"x": (Dim("b"), Dim("s"), Dim("w"))}, refused=("dim-specialised",), repaired=({},)
)
def normalised_width(x):
    """A normalisation's shape is a number."""
    return F.layer_norm(x, (4,))


@size_program(
    cube,
    {"x": (Dim("b"), Dim("s"), Dim("w"))},
    refused=("dim-specialised", "dim-range-violated"),
    repaired=({},),
)
def convolved_channels(x):
    """The kernel's channels are the input's."""
    return F.conv1d(x, torch.ones(2, 5, 3))


@size_program(
    cube,
    {"x": (Dim("b"), Dim("s"), None)},
    refused=("dim-range-violated",),
    repaired=({"b": 1, "s": 5}, {"b": 7, "s": 600}),
)
def strided_convolution(x):
    """A kernel of five fits."""
    return F.conv1d(x.transpose(1, 2), torch.ones(2, 4, 5), stride=2)


@size_program(int_and_rows, {"x": (Dim("n"), None), "k": DYNAMIC}, partial=True)
def an_int_within_the_rows(x, k):
    """An index that callers give is one of the rows."""
    return x[:k].view(k, 4)


@size_program(
    int_and_rows,
    {"x": (Dim("n"), None), "k": Dim("k")},
    refused=("dim-range-violated",),
    repaired=({},),
)
def an_int_that_divides(x, k):
    """An int is asked for a limit."""
    return x * k if k < 5 else x


@size_program(matrix, {"x": (3 * Dim("t"), None)}, partial=True)
def derived_and_narrower(x):
    """A derived size with a limit of its own."""
    return x.view(-1, 3, 4)[1] + 1


@size_program(
    longer,
    {"x": (Dim("n", max=50),), "y": (Dim("n", max=50) + 1,)},
    refused=("dim-range-violated",),
    repaired=({},),
)
def derived_and_limited(x, y):
    """One more, and no more than ten."""
    assert y.shape[0] <= 10
    return x + y[1:]
