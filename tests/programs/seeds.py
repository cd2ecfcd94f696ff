"""The programs of PyTorch's tutorial of and guide to export that need no control-flow operators.

What the documents declare about their sizes is tested in `test_seeds.py`; left out are programs of
other chapters (`torch.cond`, `map`, saving) and `x + id(x)`, which has no one right answer.
"""

import dataclasses

import torch
from torch import nn
from torch.utils import _pytree as pytree

from tests.programs.registry import program


@program(lambda b=8, f=100: (torch.randn(b, f), torch.randn(b, f)), accepts=({"b": 3},))
class MyModule(nn.Module):
    """Basic usage."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(100, 10)

    def forward(self, x, y):
        return nn.functional.relu(self.lin(x + y), inplace=True)


@program(lambda n=3: (torch.randn(n, 3),), refused="data-dependent-branch")
class Bad1(nn.Module):
    """A graph break there: data-dependent control flow."""

    def forward(self, x):
        if x.sum() > 0:
            return torch.sin(x)
        return torch.cos(x)


@program(lambda n=3: (torch.randn(n, 3),))
class Bad2(nn.Module):
    """A graph break there: tensor data written to through `.data`. Captured here."""

    def forward(self, x):
        x.data[0, 0] = 3
        return x


@program(
    lambda a=6, b=5, c=4, d=8: (
        torch.randn(a, b), torch.randn(c), torch.randn(d, c), torch.randn(c * d)
    ),
    accepts=({"a": 7}, {"c": 3}, {"d": 5}),
)  # fmt: skip
class DynamicModel(nn.Module):
    """The toy model of the chapter on dynamic shapes."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(5, 3)

    def forward(self, w, x, y, z):
        x0 = x + y
        x1 = self.l(w)
        x2 = x0.flatten()
        x3 = x2 + z
        return x1, x3


@program(
    lambda n=4, d=8, b=5: (
        torch.randn(n + 2, b), torch.randn(n), torch.randn(d, n), torch.randn(n * d)
    ),
    accepts=({"n": 9}, {"d": 5}),
)  # fmt: skip
class GuardedModel(nn.Module):
    """The same with an assertion, a check and a branch."""

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


@program(lambda n=1: (torch.randn(n, 4),), accepts=({"n": 2},))
class LinearOfOne(nn.Linear):
    """Specialised there because the example's size is 1; any size here."""

    def __init__(self):
        super().__init__(4, 3)


@program(lambda n=6, m=4: (torch.randn(n, m), torch.randn(n, m)), accepts=({"n": 3},))
class Violated(nn.Module):
    """The model of the chapter on constraint violations."""

    def forward(self, x, y):
        w = x + y
        return w + torch.ones(4)


@program(lambda: (torch.tensor(1), torch.tensor([2, 3])))
class ItemAndList(nn.Module):
    """Data-dependent values as results."""

    def forward(self, x, y):
        a = x.item()
        b = y.tolist()
        return [*b, a]


@program(lambda n=4: (torch.tensor(32), torch.randn(n)), refused="data-dependent-size")
class Unguarded(nn.Module):
    """A branch on a value nothing is known of."""

    def forward(self, x, y):
        a = x.item()
        if a // 2 >= 5:
            return y + 2
        return y * 5


@program(lambda n=4: (torch.tensor(32), torch.randn(n)))
class Checked(nn.Module):
    """The same, with what is needed to decide it."""

    def forward(self, x, y):
        a = x.item()
        torch._check(a >= 10)
        torch._check(a <= 60)
        if a // 2 >= 5:
            return y + 2
        return y * 5


@program(lambda n=60: (torch.tensor(32), torch.randn(n)))
class Indexed(nn.Module):
    """An index known at run time, without any check; the text says that this fails."""

    def forward(self, x, y):
        a = x.item()
        return y[a]


@program(lambda n=60: (torch.tensor(32), torch.randn(n)))
class IndexedAfterChecks(nn.Module):
    """An index known at run time, its range stated."""

    def forward(self, x, y):
        a = x.item()
        torch._check(a >= 0)
        torch._check(a < y.shape[0])
        return y[a]


@program(lambda n=60: (torch.tensor(32), torch.randn(n)), refused="specialized-value")
class RangeOfItem(nn.Module):
    """`range` and `int` of a value known at run time."""

    def forward(self, x, y):
        a = x.item()
        b = torch.cat([y for y in range(a)], dim=0)  # noqa: C416  (as written there)
        return b + int(a)


@program(lambda n=60: (torch.tensor(32), torch.randn(n)))
class RepeatedByItem(nn.Module):
    """The rewrite: a repetition."""

    def forward(self, x, y):
        a = x.item()
        b = y.unsqueeze(0).repeat(a, 1)
        return b + a


@torch.library.custom_op("monograph_tests::custom_relu", mutates_args={})
def custom_relu(x: torch.Tensor) -> torch.Tensor:
    """Stand for the tutorial's custom operator."""
    return torch.relu(x)


@custom_relu.register_fake
def _custom_relu_meta(x):
    return torch.empty_like(x)


@program(lambda n=3: (torch.randn(n, 3),))
class CustomOpExample(nn.Module):
    """A custom operator with a fake kernel."""

    def forward(self, x):
        x = torch.sin(x)
        x = torch.ops.monograph_tests.custom_relu(x)
        return torch.cos(x)


@program(lambda n=3: (torch.randn(1, 1, n, n),))
class DecompExample(nn.Module):
    """Convolution and batch norm in training."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 1, 1)
        self.bn = nn.BatchNorm2d(3)

    def forward(self, x):
        x = self.conv(x)
        x = self.bn(x)
        return (x,)


@program(lambda n=10, m=10: (torch.randn(n, m), torch.randn(n, m)))
class Mod(nn.Module):
    """The guide's first program."""

    def forward(self, x, y):
        a = torch.sin(x)
        b = torch.cos(y)
        return a + b


@program(lambda n=24: ((torch.randn(1, 3, n, n),), {"constant": torch.ones(1, 16, n, n)}))
class ConvReluPool(nn.Module):
    """The guide's second program, with a keyword-only argument (on smaller images)."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(in_channels=3, out_channels=16, kernel_size=3, padding=1)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(kernel_size=3)

    def forward(self, x, *, constant=None):
        a = self.conv(x)
        a.add_(constant)
        return self.maxpool(self.relu(a))


@program(lambda b=32: (torch.randn(b, 64), torch.randn(b, 128)), accepts=({"b": 64}, {"b": 2}))
class TwoBranches(nn.Module):
    """The guide's model with two branches and a plain tensor attribute."""

    def __init__(self):
        super().__init__()
        self.branch1 = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
        self.branch2 = nn.Sequential(nn.Linear(128, 64), nn.ReLU())
        self.buffer = torch.ones(32)

    def forward(self, x1, x2):
        out1 = self.branch1(x1)
        out2 = self.branch2(x2)
        return (out1 + self.buffer, out2)


@program(
    lambda n=3: (
        {"x": torch.randn(n, n + 1, 8), "others": [torch.randn(2 * n), torch.randn(2 * n)]},
    )
)
class Collected(nn.Module):
    """The model of the chapter on ShapesCollection."""

    def forward(self, inp):
        x = inp["x"] * 1
        y = inp["others"][0] * 2
        z = inp["others"][1] * 3
        return x, y, z


@dataclasses.dataclass
class D:
    """The dataclass of the chapter on AdditionalInputs."""

    b: bool
    i: int
    f: float
    t: torch.Tensor


pytree.register_dataclass(D, serialized_type_name="tests.programs.seeds.D")


@program(lambda n=3: (D(True, 3, 3.0, torch.ones(n)),))
class OfDataclass(nn.Module):
    """Numbers and a tensor in a dataclass."""

    def forward(self, d):
        return d.i + d.f + d.t
