"""The programs of PyTorch's own tutorial and guide to export, as they are written there."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.registry import program


@program(lambda b=8, f=100: (torch.randn(b, f), torch.randn(b, f)), accepts=({"b": 3},))
class TutorialBasics(nn.Module):
    """Basic usage."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(100, 10)

    def forward(self, x, y):
        return F.relu(self.lin(x + y), inplace=True)


@program(lambda n=3: (torch.randn(n, 3),), refused="data-dependent-branch")
class Bad1(nn.Module):
    """Graph breaks: data-dependent control flow."""

    def forward(self, x):
        if x.sum() > 0:
            return torch.sin(x)
        return torch.cos(x)


@program(lambda n=3: (torch.randn(n, 3),), refused="value-read")
class Bad2(nn.Module):
    """Graph breaks: accessing tensor data with `.data` is fine, `.numpy()` is not."""

    def forward(self, x):
        x.data[0, 0] = 3
        return x + torch.from_numpy(x.numpy())


@program(lambda n=3: (torch.randn(n, 3),))
class TensorData(nn.Module):
    """`.data` written to, which the tutorial calls a graph break, is captured."""

    def forward(self, x):
        x.data[0, 0] = 3
        return x


@program(lambda n=3: (torch.randn(n, 3),))
class Bad3(nn.Module):
    """Graph breaks: calling `id` on a tensor, which the tutorial calls unsupported."""

    def forward(self, x):
        x = x + 1
        return x + (id(x) == id(x))


@program(lambda n=3: (torch.randn(n, 3),))
class NonStrict(nn.Module):
    """A context manager of the user's own, which strict mode does not take."""

    class ContextManager:
        def __init__(self):
            self.count = 0

        def __enter__(self):
            self.count += 1

        def __exit__(self, *exception):
            self.count -= 1

    def forward(self, x):
        with NonStrict.ContextManager():
            return x.sin() + x.cos()


@program(lambda b=8: (torch.randn(b, 100), torch.randn(b, 100)))
class DynamicBasics(nn.Module):
    """A branch on a size at the head of dynamic shapes."""

    def forward(self, x, y):
        if x.shape[0] > 5:
            return x + 1, y
        return x - 1, y


@program(lambda n=3, m=4: (torch.randn(n, m), torch.randn(n, m)))
class TwoInputs(nn.Module):
    """Sizes that turn out equal."""

    def forward(self, x, y):
        return x + y


@program(lambda a=4, b=5, c=5, d=4: (torch.randn(a, b), torch.randn(c, d)), accepts=({"a": 7},))
class DynamicFour(nn.Module):
    """Some sizes tied, some free."""

    def forward(self, x, y):
        return x @ y


@program(lambda n=4, k=6: (torch.randn(n), torch.randn(n + 1)) if k else (), accepts=({"n": 7},))
class DerivedSizes(nn.Module):
    """`y` is one longer than `x`."""

    def forward(self, x, y):
        return x + y[1:]


@program(lambda b=4, s=8: (torch.randn(b, s, 16), torch.randn(b, s, 16)), accepts=({"b": 2},))
class ComplexDims(nn.Module):
    """Reshaping by sizes."""

    def forward(self, x, y):
        z = torch.cat([x, y], dim=1)
        return z.view(z.shape[0], 2, -1, 16).sum(1)


@program(lambda n=6: (torch.randn(n, 4), torch.tensor(3)))
class ItemFull(nn.Module):
    """A data-dependent value in arithmetic."""

    def forward(self, x, y):
        return x + y.item()


@program(lambda n=6: (torch.tensor(n), torch.randn(60)))
class DataDependentSlice(nn.Module):
    """A value checked, then used as a size."""

    def forward(self, x, y):
        a = x.item()
        torch._check(a >= 0)
        torch._check(a <= y.shape[0])
        return y[:a]


@program(lambda n=6: (torch.tensor(n), torch.randn(60, 3)))
class DataDependentNarrow(nn.Module):
    """The tutorial's data-dependent example: narrow, then a branch on the checked value."""

    def forward(self, x, y):
        a = x.item()
        torch._check(a > 2)
        torch._check(a <= 60)
        if a > 1:
            return y.narrow(0, 0, a)
        return y


@program(lambda n=3: (torch.randn(n, 3),), refused="data-dependent-size")
class Undecided(nn.Module):
    """A branch on a value nothing is known of."""

    def forward(self, x):
        u = x.argmax().item()
        if u // 2 * 2 == u:
            return x
        return -x


@program(lambda b=2: (torch.randn(b, 1, 3, 3),))
class ConvBatchNorm(nn.Module):
    """Lowering: convolution and batch norm in training."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 1, 1)
        self.bn = nn.BatchNorm2d(3)

    def forward(self, x):
        return (self.bn(self.conv(x)),)


@program(lambda b=8: (torch.randn(b, 3),))
class BufferExample(nn.Module):
    """A buffer updated in place, and a constant."""

    def __init__(self):
        super().__init__()
        self.register_buffer("buf", torch.ones(3))
        self.constant = torch.tensor(4.0)
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, x):
        self.buf.add_(1)
        return (x + self.weight) * self.buf.sum() + self.constant


@program(lambda b=8: ((torch.randn(b, 3),), {"flag": True}))
class ConstantInputs(nn.Module):
    """An int or a bool given as input is a constant of the program."""

    def forward(self, x, const=1, times=2, flag=False):
        for _ in range(times):
            x = x + const
        return x if flag else -x


@program(lambda b=8, h=16: (torch.randn(b, h), torch.randn(b, h)), accepts=({"b": 3},))
class ManyStatements(nn.Module):
    """Python containers, closures and comprehensions are unrolled."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.scales = {"x": 1.0, "y": 2.0}

    def forward(self, x, y):
        named = {"x": x, "y": y}
        named = {key: value * self.scales[key] for key, value in named.items()}
        z = named["x"] + named["y"]
        for i, layer in enumerate(self.layers):
            z = layer(z) if i % 2 else torch.relu(layer(z))
        return {"z": z, "n": len(self.layers)}
