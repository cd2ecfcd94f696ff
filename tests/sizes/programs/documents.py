"""What PyTorch's tutorial and guide to export say of sizes, program by program.

Where the result differs from theirs, a comment says why ours is better.
"""

import dataclasses

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from monograph import AdditionalInputs, Dim, ShapesCollection
from tests.sizes.programs.registry import size_program

AUTO, DYNAMIC, STATIC = Dim.AUTO, Dim.DYNAMIC, Dim.STATIC
dx, dy, d1 = Dim("dx"), Dim("dy"), Dim("d1")


def toy(a=6, b=5, n=4, m=8, c=4, k=32):
    """Give w, x, y, z of the toy model."""
    return torch.randn(a, b), torch.randn(n), torch.randn(m, c), torch.randn(k)


EVERY = {"w": (AUTO, AUTO), "x": (AUTO,), "y": (AUTO, AUTO), "z": (AUTO,)}


@size_program(toy, None, refuses=({"m": 3, "k": 12}, {"a": 7}))
class DynamicModel(nn.Module):
    """By default a program is static."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(5, 3)

    def forward(self, w, x, y, z):
        x0 = x + y
        x1 = self.l(w)
        x2 = x0.flatten()
        x3 = x2 + z
        return x1, x3


# Better: the sizes 0 and 1 are in the range of every dimension, where theirs begin at 2.
@size_program(
    toy,
    EVERY,
    accepts=(
        {"a": 1},
        {"a": 0},
        {"m": 3, "k": 12},
        {"n": 7, "c": 7, "k": 56},
        {"m": 1, "k": 4},
        {"n": 1, "c": 1, "k": 8},
    ),
    refuses=({"k": 33}, {"n": 5}),
    specialised={"w.shape[1]": 5},
)
class DynamicModelAuto(DynamicModel):
    """The guards of the tutorial: w [a, 5], x [n], y [m, n], z [m*n]."""


@size_program(
    toy,
    {"w": (AUTO, DYNAMIC), "x": (AUTO,), "y": (AUTO, AUTO), "z": (AUTO,)},
    refused=("dim-specialised",),
    repaired=({"a": 9}, {"m": 3, "k": 12}),
)
class DynamicModelInsists(DynamicModel):
    """The weights fix a size that is declared dynamic."""


@size_program(
    toy,
    {"w": (AUTO, AUTO), "x": (STATIC,), "y": (AUTO, DYNAMIC), "z": (AUTO,)},
    refused=("dim-specialised",),
    repaired=({"a": 9}, {"m": 3, "k": 12}),
)
class ConflictingMarkers(DynamicModel):
    """One size is declared static on one side of a sum and dynamic on the other."""


@size_program(
    toy,
    EVERY,
    accepts=({"a": 9, "n": 7, "c": 7, "k": 56}, {"a": 512, "n": 510, "c": 510, "k": 4080}),
    refuses=(
        {"a": 7},
        {"a": 5, "n": 3, "c": 3, "k": 24},
        {"a": 513, "n": 511, "c": 511, "k": 4088},
    ),
    specialised={"w.shape[1]": 5},
)
class DynamicModelAsserts(nn.Module):
    """An assertion, a check and a condition are guards."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(5, 3)

    def forward(self, w, x, y, z):
        assert w.shape[0] <= 512
        torch._check(x.shape[0] >= 4)
        if w.shape[0] == x.shape[0] + 2:
            x0 = x + y
            x1 = self.l(w)
            x2 = x0.flatten()
            x3 = x2 + z
            return x1, x3
        return w


@size_program(
    lambda a=7, b=5, n=4, m=8, c=4, k=32: toy(a, b, n, m, c, k),
    EVERY,
    accepts=({"a": 9}, {"n": 7}, {"m": 1}, {"k": 0}),
    refuses=({"n": 3}, {"a": 6}, {"a": 513}),
)
class DynamicModelElse(DynamicModelAsserts):
    """The example chooses the branch."""


# Better: an example of size 1 leaves the dimension dynamic; theirs becomes the constant 1.
@size_program(
    lambda n=1: (torch.randn(n, 4),),
    {"input": (AUTO, STATIC)},
    accepts=({"n": 2}, {"n": 7}, {"n": 0}),
)
class ZeroOne(nn.Linear):
    """A Linear exported with a batch of one."""

    def __init__(self):
        super().__init__(4, 3)


@size_program(
    lambda dx=6, d1=4: (torch.randn(dx, d1), torch.randn(dx, d1)),
    {"x": (dx, d1), "y": (dy, d1)},
    refused=("dim-specialised", "dims-must-be-equal"),
    repaired=({"dx": 2}, {"dx": 9}),
)
def suggested_fixes(x, y):
    """`d1 = 4` and `dy = dx`."""
    w = x + y
    return w + torch.ones(4)


@size_program(
    lambda dx=6: (torch.randn(dx, 4), torch.randn(dx, 4)),
    {"x": (dx, None), "y": (dx, None)},
    accepts=({"dx": 1}, {"dx": 0}, {"dx": 9}),
)
def suggested_fixes_applied(x, y):
    """What the tutorial suggests, exported."""
    w = x + y
    return w + torch.ones(4)


@size_program(
    lambda dx=4, dh=512: (torch.randn(dx, 3), torch.randn(2 * dx, dh)),
    {
        "x": (Dim("dx", min=4, max=256), None),
        "y": (2 * Dim("dx", min=4, max=256), Dim("dh", max=512)),
    },
    accepts=({"dx": 256, "dh": 1}, {"dx": 5, "dh": 3}),
    refuses=({"dx": 3}, {"dx": 257}, {"dh": 513}),
)
def named_dims(x, y):
    """Ranges, and a size that is twice another."""
    return torch.cat([x, x]).sum(1) + y.sum(1)


@size_program(
    lambda dx=4, k=8: (torch.randn(dx, 3), torch.randn(k, 2)),
    {"x": (Dim("dx", min=4, max=256), None), "y": (2 * Dim("dx", min=4, max=256), None)},
    accepts=({"dx": 256, "k": 512}, {"dx": 5, "k": 10}),
    refuses=({"dx": 5}, {"k": 10}, {"dx": 3, "k": 6}),
)
def derived_dim_is_checked(x, y):
    """`y` must be twice as long, though the program would not need it."""
    return x.sum(1), y.sum(1)


@size_program(
    lambda dx=6, dh=4: (torch.randn(dx, 3), torch.randn(2 * dx, dh)),
    {"x": (dx, None), "y": (dx * 2, Dim("dh", max=512))},
    refused=("dim-specialised",),
    repaired=({"dx": 9},),
)
def asserted_independence_fails(x, y):
    """`dh` turns out static."""
    return torch.cat([x, x]).sum(1)[:, None] * (y + torch.ones(4))


@size_program(
    lambda dx=6, n=12: (torch.randn(dx, 3), torch.randn(n, 3)),
    {"x": (Dim("dx"), None), "y": (Dim("n"), None)},
    refused=("relation-not-declared",),
    repaired=({"dx": 5, "n": 10},),
)
def asserted_relation_fails(x, y):
    """`y` turns out twice as long."""
    return torch.cat([x, x]) + y


@size_program(
    lambda t0=4, t1=3, n=16: (torch.randn(t0, 4), torch.randn(t1, 3), n, False),
    {"tensor_0": (AUTO, None), "tensor_1": None, "int_val": None, "bool_val": None},
    accepts=({"t0": 1}, {"t0": 9}),
    refuses=({"t1": 4}, {"n": 15}),
)
def mixed_specification(tensor_0, tensor_1, int_val, bool_val):
    """Hints, None and constants in one declaration."""
    return tensor_0 * int_val, tensor_1 if bool_val else -tensor_1


@size_program(
    lambda n=6: (torch.randn(n, 4),),
    {"x": (5, None)},
    refused=("spec-static-size-differs",),
    placeless=True,
)
def static_int_differs(x):
    """An int in a declaration is checked against the example."""
    return x + 1


class Branches(nn.Module):
    """The guide's module of two branches."""

    def __init__(self):
        super().__init__()
        self.branch1 = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
        self.branch2 = nn.Sequential(nn.Linear(128, 64), nn.ReLU())
        self.buffer = torch.ones(32)

    def forward(self, x1, x2):
        out1 = self.branch1(x1)
        out2 = self.branch2(x2)
        return (out1 + self.buffer, out2)


def two_batches(batch=32, other=32):
    """Give x1 and x2."""
    return torch.randn(batch, 64), torch.randn(other, 128)


@size_program(two_batches, None, refuses=({"batch": 64, "other": 64}, {"batch": 64}))
class GuideStatic(Branches):
    """Without a declaration every size is fixed."""


@size_program(
    two_batches,
    {"x1": {0: Dim("batch")}, "x2": {0: Dim("batch")}},
    accepts=({"batch": 64, "other": 64}, {"batch": 1, "other": 1}, {"batch": 0, "other": 0}),
    refuses=({"batch": 64},),
)
class GuideBatch(Branches):
    """One name is one size."""


@size_program(
    two_batches,
    {"x1": (DYNAMIC, None), "x2": (DYNAMIC(min=4, max=64), None)},
    accepts=({"batch": 1}, {"batch": 64, "other": 5}, {"other": 64}),
    refuses=({"other": 65}, {"other": 3}),
)
class GuideHints(Branches):
    """Hints leave sizes apart; their ranges hold."""


@size_program(
    two_batches,
    {"x1": (DYNAMIC, DYNAMIC), "x2": (DYNAMIC, DYNAMIC)},
    refused=("dim-specialised", "dim-specialised"),
    repaired=({"batch": 3, "other": 5},),
)
class GuideHintsTooMany(Branches):
    """DYNAMIC refuses to become a constant."""


@size_program(
    two_batches,
    {"x1": (AUTO, AUTO), "x2": (AUTO, AUTO)},
    accepts=({"batch": 1}, {"batch": 64, "other": 5}),
    specialised={"x1.shape[1]": 64, "x2.shape[1]": 128},
)
class GuideBestEffort(Branches):
    """AUTO takes what the model gives."""


def _collected(args):
    inputs, dim, shapes = args[0], Dim("dim"), ShapesCollection()
    shapes[inputs["x"]] = (dim, dim + 1, 8)
    shapes[inputs["others"][0]] = {0: dim * 2}
    return shapes


@size_program(
    lambda dim=3, k=6: (
        {"x": torch.randn(dim, dim + 1, 8), "others": [torch.randn(k), torch.randn(6)]},
    ),
    _collected,
    accepts=({"dim": 5, "k": 10}, {"dim": 1, "k": 2}, {"dim": 0, "k": 0}),
    refuses=({"dim": 5}, {"k": 8}),
)
def shapes_collection(inp):
    """Declared tensor by tensor."""
    x = inp["x"] * 1
    y = inp["others"][0] * 2
    z = inp["others"][1] * 3
    return x, y, z


@dataclasses.dataclass
class Mixture:
    """The guide's input: a bool, an int, a float, a tensor."""

    b: bool
    i: int
    f: float
    t: Tensor


pytree.register_dataclass(Mixture)


def _mixture(n=3, i=3):
    return (Mixture(b=True, i=i, f=3.0, t=torch.ones(n)),)


def _added(_):
    more = AdditionalInputs()
    more.add(_mixture(3, 3))
    more.add(_mixture(4, 4))
    return more


@size_program(_mixture, _added, accepts=({"n": 7, "i": 2}, {"n": 1}, {"i": -5}, {"n": 0}))
def additional_inputs(d):
    """What differs between the inputs is dynamic: a size and an int."""
    return d.i + d.f + d.t


@size_program(
    lambda n=4, m=6: (torch.randn(n, m),),
    lambda _: _wider(),
    accepts=({"n": 9}, {"n": 1}),
    refuses=({"m": 5},),
)
def additional_inputs_differ_in_one(x):
    """Only what differs."""
    return x.softmax(0) * x.shape[0]


def _wider():
    more = AdditionalInputs()
    more.add((torch.randn(9, 6),))
    return more


# --- the page about debugging -------------------------------------------------------------------


@size_program(
    lambda batch=4, seq=6: (torch.randn(batch, seq),),
    {"x": {0: Dim("batch", min=1, max=1024), 1: Dim("seq", min=1, max=512)}},
    accepts=({"batch": 1, "seq": 1}, {"batch": 1024, "seq": 512}, {"batch": 1, "seq": 512}),
    refuses=({"batch": 0}, {"batch": 1025}, {"seq": 0}, {"seq": 513}),
)
def debugging_ranges(x):
    """The page's ranges, from 1 on."""
    return torch.softmax(x, -1) + x.mean(0)


@size_program(
    lambda batch=32, m=4: (torch.randn(batch, m),),
    {"x": (Dim("batch"), None)},
    refused=("relation-not-declared",),
    repaired=({"batch": 8}, {"batch": 64}),
)
def debugging_hardcoded(x):
    """Bad: the number of rows is written down, so other numbers have to share it."""
    return x.view(32, -1)


@size_program(
    lambda batch=32, m=4: (torch.randn(batch, m),),
    {"x": (Dim("batch"), None)},
    accepts=({"batch": 1}, {"batch": 7}),
)
def debugging_minus_one(x):
    """Good: the batch is asked for."""
    return x.view(x.size(0), -1)


@size_program(
    lambda batch=32, m=4: (torch.randn(batch, m),),
    {"x": (Dim("batch"), None)},
    refused=("dim-range-violated",),
    repaired=({"batch": 11}, {"batch": 600}),
)
def debugging_indexing(x):
    """Bad: what is returned depends on a size."""
    if x.size(0) > 10:
        return x[:10]
    return x


@size_program(
    lambda batch=32, m=4: (torch.randn(batch, m),),
    {"x": (Dim("batch"), None)},
    accepts=({"batch": 1}, {"batch": 10}, {"batch": 600}),
)
def debugging_clamped(x):
    """Good: a slice ends where the tensor does."""
    return x[:10] + 1


@size_program(
    lambda batch=32, m=4: (torch.randn(batch, m),),
    {"x": (Dim("batch"), None)},
    accepts=({"batch": 1}, {"batch": 10}, {"batch": 600}),
)
def debugging_clamp(x):
    """Good: the page's own, with the number computed by the program."""
    n = torch.clamp(torch.tensor(x.size(0)), max=10)
    return x[:n]
