"""Operators whose sizes are bound to one another, or follow a formula."""

import torch
import torch.nn.functional as F
from torch import nn

from monograph import Dim
from tests.sizes.programs.registry import size_program

AUTO, DYNAMIC = Dim.AUTO, Dim.DYNAMIC


def matrix(n=6, m=4):
    """Give a matrix."""
    return (torch.randn(n, m),)


BOTH = {"x": (Dim("n"), Dim("m"))}


@size_program(
    lambda n=6, m=4, k=4: (torch.randn(n, m), torch.randn(k)),
    {"x": (Dim("n"), Dim("m")), "y": (Dim("k"),)},
    refused=("dims-must-be-equal",),
    repaired=({"n": 3, "m": 5, "k": 5},),
)
def broadcast_declared_apart(x, y):
    """A row is added to a matrix."""
    return x + y


@size_program(
    lambda n=6, k=1: (torch.randn(n, 4), torch.randn(k, 4)),
    {"x": (Dim("n"), None), "y": (1, None)},
    accepts=({"n": 1}, {"n": 0}),
    refuses=({"k": 6},),
)
def broadcast_of_one(x, y):
    """A size that is declared to be 1 broadcasts."""
    return x + y


@size_program(
    lambda n=6, m=4, k=4, p=3: (torch.randn(n, m), torch.randn(k, p)),
    {"x": (Dim("n"), Dim("m")), "y": (Dim("m"), Dim("p"))},
    accepts=({"n": 1, "m": 1, "k": 1, "p": 1}, {"m": 0, "k": 0}, {"p": 0}),
    refuses=({"k": 5},),
)
def matmul(x, y):
    """The inner sizes have one name."""
    return x @ y


@size_program(
    lambda b=2, c=2, n=3, m=4, k=4, p=5: (torch.randn(b, n, m), torch.randn(c, k, p)),
    {"x": tuple(Dim(n) for n in "bnm"), "y": tuple(Dim(n) for n in "ckp")},
    refused=("dims-must-be-equal", "dims-must-be-equal"),
    repaired=({"b": 3, "c": 3, "m": 2, "k": 2},),
)
def bmm_declared_apart(x, y):
    """Two pairs of sizes are one."""
    return torch.bmm(x, y)


@size_program(
    matrix, {"x": (Dim("n"), Dim("m"))}, refused=("dim-specialised",), repaired=({"n": 1}, {"n": 9})
)
class LinearFeatures(nn.Module):
    """The weight has the number of features."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(x)


@size_program(
    lambda n=6, m=4: (torch.randn(n, 3), torch.randn(m, 3)),
    {"x": (Dim("n"), None), "y": (Dim("m"), None)},
    accepts=({"n": 0}, {"m": 1}, {"n": 0, "m": 0}, {"n": 9, "m": 9}),
)
def concatenate(x, y):
    """The sum of two sizes."""
    return torch.cat([x, y, x[:1]]).softmax(1)


@size_program(
    lambda n=6, m=4, k=10: (torch.randn(n, 3), torch.randn(m, 3), torch.randn(k)),
    "past: n, _; new: m, _; mask: kv; kv == n + m",
    accepts=({"n": 9, "m": 1, "k": 10}, {"n": 0, "m": 1, "k": 1}),
    refuses=({"k": 11},),
    partial=True,
)
def cache_and_mask(past, new, mask):
    """Keys are the past ones and the new ones."""
    keys = torch.cat([past, new])
    return (new @ keys.T + mask).softmax(-1) @ keys


@size_program(
    lambda n=6, m=4, k=10: (torch.randn(n, 3), torch.randn(m, 3), torch.randn(k)),
    {"past": (Dim("n"), None), "new": (Dim("m"), None), "mask": (Dim("kv"),)},
    refused=("relation-not-declared",),
    repaired=({"n": 9, "m": 1, "k": 10},),
)
def cache_undeclared(past, new, mask):
    """The mask is declared free."""
    keys = torch.cat([past, new])
    return (new @ keys.T + mask).softmax(-1) @ keys


@size_program(
    lambda n=6, m=8: matrix(n, m),
    {"x": (AUTO, None)},
    accepts=({"n": 9}, {"n": 3}),
    refuses=({"n": 7},),
)
def view_rows_of_three(x):
    """A constant and -1."""
    return x.view(-1, 3, x.shape[1]).sum(1)


@size_program(matrix, BOTH, accepts=({"n": 3, "m": 8}, {"n": 2}), refuses=({"n": 5},), partial=True)
def reshape_needs_a_multiple(x):
    """The number of elements is a multiple of 8."""
    return x.reshape(-1, 8)


@size_program(matrix, BOTH, accepts=({"n": 1}, {"m": 1}), refuses=({"n": 0, "m": 5},))
def reshape_and_back(x):
    """Nothing but that there is an element."""
    return x.reshape(-1).reshape(x.shape[0], -1) if x.numel() else x


@size_program(matrix, BOTH, accepts=({"n": 1}, {"m": 1}, {"n": 1, "m": 1}))
def reshape_by_sizes(x):
    """Sizes merged, then split as they were."""
    return x.reshape(x.shape[0] * x.shape[1]).view(x.shape)


@size_program(
    matrix,
    BOTH,
    accepts=({"n": 1, "m": 1}, {"n": 11}, {"n": 0}),
)
def slices_of_sizes(x):
    """Halves and tails."""
    half = x.shape[0] // 2
    return x[:half], x[half:], x[:, -2:], x[1:-1], x[::2]


@size_program(
    matrix, {"x": (AUTO, None)}, accepts=({"n": 5}, {"n": 9}), refuses=({"n": 4}, {"n": 2})
)
def chunks(x):
    """As many chunks as the example has."""
    first, second, third = x.chunk(3)
    return first.sum(0) + second.sum(0) * third.sum(0)


@size_program(
    matrix, {"x": (Dim("n"), None)}, refused=("dim-range-violated",), repaired=({"n": 5}, {"n": 6})
)
def split_count(x):
    """Two pieces of at most four."""
    first, second = x.split(4)
    return first.sum(0) + second.sum(0)


@size_program(lambda n=0, m=4: matrix(n, m), BOTH, accepts=({"n": 6}, {"n": 1}, {"m": 0}, {"m": 1}))
def split_by_its_own_size(x):
    """One part, also of nothing."""
    return x.split(x.shape[0])[0], x.split(x.shape[1], 1)[0]


@size_program(
    lambda h=16, w=12: (torch.randn(2, 3, h, w),),
    {"image": (None, None, Dim("h", min=6, max=64), Dim("w", min=6, max=64))},
    accepts=({"h": 6, "w": 6}, {"h": 64, "w": 7}, {"h": 17}),
    refuses=({"h": 5}, {"w": 65}),
)
class Convolutions(nn.Module):
    """Formulas of strides, dilations and ceilings."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.second = nn.Conv2d(4, 4, 2, dilation=2)

    def forward(self, image):
        x = F.max_pool2d(self.first(image), 2, stride=1, padding=1, ceil_mode=True)
        return F.avg_pool2d(self.second(x), 2, ceil_mode=True)


@size_program(
    lambda h=16: (torch.randn(2, 3, h),),
    {"signal": (None, None, Dim("h"))},
    refused=("dim-range-violated",),
    repaired=({"h": 5}, {"h": 31}),
)
def kernel_wider_than_the_range(signal):
    """A kernel of five wants five."""
    return F.conv1d(signal, signal.new_ones(2, 3, 5))


@size_program(
    lambda h=8: (torch.randn(1, 2, h),),
    {"x": (None, None, Dim("h", max=40))},
    accepts=({"h": 40}, {"h": 1}, {"h": 9}),
    refuses=({"h": 41},),
)
def pad_to_a_multiple(x):
    """Padded to a multiple of four, then folded."""
    extra = -x.shape[2] % 4
    return F.pad(x, (0, extra)).view(1, 2, -1, 4).sum(-1)


@size_program(matrix, BOTH, accepts=({"n": 1}, {"n": 0}, {"m": 1}))
def expand_rows(x):
    """Expanded to a size."""
    return x.sum(0).expand(x.shape) + x


@size_program(
    lambda n=6, m=4: (torch.randn(n, m), torch.tensor([3, 1, 0])),
    {"x": (AUTO, None), "lengths": None},
    accepts=({"n": 1}, {"n": 0}, {"n": 9}),
)
def length_mask(x, lengths):
    """Positions below a length."""
    mask = torch.arange(x.shape[0]) < lengths[:, None]
    return torch.where(mask[..., None], x, 0.0)


@size_program(
    lambda n=6, m=4, k=24: (torch.randn(n, m), torch.randn(k)),
    {"x": (Dim("n"), Dim("m")), "y": (Dim("k"),)},
    refused=("relation-not-declared",),
    repaired=({"n": 3, "m": 5, "k": 15},),
)
def flatten_and_add(x, y):
    """A product of two sizes, declared free."""
    return x.flatten() + y


@size_program(
    lambda n=6, m=4, k=24: (torch.randn(n, m), torch.randn(k)),
    "x: n, m; y: k; k == n*m",
    accepts=({"n": 3, "m": 5, "k": 15}, {"n": 1, "m": 1, "k": 1}, {"n": 0, "k": 0}),
    refuses=({"k": 25},),
    partial=True,
)
def flatten_and_add_declared(x, y):
    """The product is declared."""
    return x.flatten() + y


@size_program(
    lambda b=2, s=5, t=5: (torch.randn(b, s, 8), torch.ones(b, t, dtype=torch.bool)),
    {"x": (Dim("b"), Dim("s"), None), "mask": (Dim("b"), Dim("s"))},
    accepts=({"b": 1}, {"s": 1, "t": 1}, {"b": 7, "s": 3, "t": 3}),
    refuses=({"t": 6},),
)
def masked_attention(x, mask):
    """Scores of every position with every other."""
    heads = x.view(x.shape[0], -1, 2, 4).transpose(1, 2)
    both = mask[:, None, None, :] & mask[:, None, :, None]
    return F.scaled_dot_product_attention(heads, heads, heads, both).transpose(1, 2).flatten(2)


@size_program(
    lambda b=1, h=8, w=6: (torch.randn(b, 3, h, w),),
    {"x": (Dim("b"), None, Dim("h", min=1), Dim("w", min=1))},
    accepts=({"b": 3}, {"h": 1, "w": 1}, {"h": 11}),
)
def interpolate_by_a_scale(x):
    """Sizes times one and a half, rounded down."""
    return F.interpolate(x, scale_factor=2.0) + F.interpolate(
        x, size=(x.shape[2] * 2, x.shape[3] * 2)
    )


@size_program(
    lambda n=9: (torch.randn(n),),
    {"x": (AUTO,)},
    accepts=({"n": 4}, {"n": 10}),
    refuses=({"n": 3},),
)
def windows(x):
    """Overlapping windows of four."""
    return x.unfold(0, 4, 2).mean(1)


@size_program(matrix, BOTH, accepts=({"n": 1}, {"n": 0}, {"m": 1}))
def repeat_by_a_size(x):
    """As often as there are rows."""
    return x.repeat(2, x.shape[0]), x.repeat_interleave(3, 0)


@size_program(
    lambda b=2, i=3, j=4, k=4: (torch.randn(b, i, j), torch.randn(k, i)),
    {"x": (Dim("b"), Dim("i"), Dim("j")), "y": (Dim("j"), Dim("i"))},
    accepts=({"b": 1}, {"i": 1}, {"j": 1, "k": 1}, {"b": 0}),
    refuses=({"k": 5},),
)
def contraction(x, y):
    """Two names are summed over."""
    return torch.einsum("bij,ji->b", x, y)


@size_program(
    lambda n=6, m=4, k=3: (torch.randn(n, m), torch.zeros(k, m, dtype=torch.int64)),
    {"x": (Dim("n", min=1), Dim("m")), "index": (Dim("k"), Dim("m"))},
    accepts=({"n": 1}, {"k": 9}, {"k": 0}, {"m": 1}),
)
def gather_rows(x, index):
    """As many as there are indices."""
    return x.gather(0, index)


@size_program(
    lambda b=2, s=5: (torch.randint(0, 10, (b, s)),),
    {"ids": (Dim("b"), Dim("s", max=16))},
    accepts=({"b": 1, "s": 1}, {"s": 16}, {"b": 0}, {"s": 0}),
    refuses=({"s": 17},),
)
class Positions(nn.Module):
    """The first rows of a table of positions."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(10, 4)
        self.positions = nn.Embedding(16, 4)

    def forward(self, ids):
        return self.tokens(ids) + self.positions.weight[: ids.shape[1]]


@size_program(
    lambda b=2, s=5: (torch.randint(0, 10, (b, s)),),
    {"ids": (Dim("b"), Dim("s"))},
    refused=("dim-range-violated",),
    repaired=({"b": 1, "s": 1}, {"s": 16}),
)
class PositionsUnbounded(Positions):
    """The table has an end; the declared range has none."""
