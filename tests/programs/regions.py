"""Programs with `no_grad`, `autocast` and their relatives, whose effect must survive capture."""

import functools

import torch
from torch import nn

from tests.programs.registry import program


def one(n=4, m=5):
    """Give a matrix."""
    return (torch.randn(n, m),)


def scaled(n=4, m=5):
    """Give a matrix with positive elements."""
    return (torch.rand(n, m) + 0.5,)


@program(one)
def no_grad_block(x):
    """The part inside gets no gradient."""
    with torch.no_grad():
        scale = x.abs().mean() + 1
    return x * scale


@program(one)
def no_grad_value_used_after(x):
    """Several values leave the region, one is used inside as well."""
    with torch.no_grad():
        a = x * 2
        b = a + x
        c = (a * b).sum()
    return a + b * x, c


@program(one)
def no_grad_nothing_leaves(x):
    """The region computes what nobody uses."""
    with torch.no_grad():
        x.sum()
    return x * 2


@program(one)
def no_grad_returned(x):
    """An output comes from inside."""
    with torch.no_grad():
        y = x * 2
    return y, x * 3


@program(one)
def enable_inside_no_grad(x):
    """Nested regions that disagree."""
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
            with torch.no_grad():
                c = x * 4
            d = b * c
        e = a * d
    return a, b, c, d, e, x * e


@program(one)
def set_grad_enabled_flag(x):
    """`set_grad_enabled` as a context manager."""
    with torch.set_grad_enabled(False):
        a = x * 2
    with torch.set_grad_enabled(True):
        b = x * a
    return b


@program(one)
def set_grad_enabled_function(x):
    """`set_grad_enabled` as a function, put back by hand."""
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    a = x * 2
    torch.set_grad_enabled(before)
    return x * a


@program(one)
def inference_mode_block(x):
    """`inference_mode` records no gradients."""
    with torch.inference_mode():
        a = (x * 2).sum().item() if False else x.detach().shape[1]
    return x * a


@torch.no_grad()
def decorated(x):
    """A function under a decorator."""
    return x.abs().amax() + 1


@program(one)
def no_grad_decorator(x):
    """A decorated function in the middle."""
    return x / decorated(x)


@program(one)
class NoGradForward(nn.Module):
    """A whole forward under the decorator."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), 1.5))

    @torch.no_grad()
    def forward(self, x):
        return x.sum() * self.weight


@program(one)
class PartFrozen(nn.Module):
    """One layer under no_grad: its parameters get no gradient, the input's path goes around."""

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(3, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        y = x.sum() * torch.ones(1, 3)
        with torch.no_grad():
            features = self.frozen(y)
        return self.head(features + y)


@program(one)
def in_place_inside(x):
    """A value from outside is written inside a region."""
    y = x.clone()
    with torch.no_grad():
        y.mul_(2)
        y[0] = 1
    return y * x


@program(one)
def in_place_on_view_inside(x):
    """A view made outside is written inside, and read outside."""
    y = x.clone()
    row = y[0]
    with torch.no_grad():
        row.add_(1)
        other = y[1:]
    other.mul_(2)
    return y, row


@program(one)
class BufferInside(nn.Module):
    """A buffer is written inside a region."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()))
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        with torch.no_grad():
            self.total.add_(x.sum())
            self.n = self.n + 1
        return x - self.total / self.n


@program(one)
def input_written_inside(x):
    """The input itself is written inside."""
    with torch.no_grad():
        x.mul_(2)
        x[:, 0] = 0
    return x + 1


@program(one)
def many_regions(x):
    """Regions one after the other, in a loop."""
    for _ in range(3):
        with torch.no_grad():
            mean = x.mean()
        x = x - mean
    return x


@program(one)
def detach_and_requires_grad(x):
    """`detach` and `requires_grad_` in forward."""
    y = x.detach()
    z = (x * 2).detach() * x
    return y * 1, z, x.data * 3


@program(one)
def detached_in_place(x):
    """`detach_()` on an intermediate."""
    y = x * 2
    y.detach_()
    return y * x


@program(one)
def sizes_from_a_region(x):
    """Sizes computed inside are used outside."""
    with torch.no_grad():
        n = x.shape[0] * 2
        y = torch.arange(n)
    return y + n, x.sum()


@program(one)
def autocast_block(x):
    """Products inside run in bfloat16."""
    w = torch.ones(x.shape[1], 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        z = y.float().exp()
    return y, z, x @ w


@program(one)
def autocast_nested(x):
    """Autocast switched off inside autocast."""
    w = torch.ones(x.shape[1], 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ w
        with torch.autocast("cpu", enabled=False):
            b = x @ w
        c = a + b
    return a, b, c


@program(one)
class AutocastLayers(nn.Module):
    """Layers under autocast: parameters are cast, gradients arrive in their own dtype."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        y = x.sum() * torch.ones(1, 3) + torch.arange(3.0)
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            y = self.second(torch.relu(self.first(y)))
        return y.float()


@program(one)
class AutocastForward(nn.Module):
    """A forward decorated with autocast."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def forward(self, x):
        return self.layer(x.sum() * torch.ones(1, 3))


@program(one)
def autocast_and_no_grad(x):
    """Both kinds of region, in both orders."""
    w = torch.ones(x.shape[1], 3)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        a = x @ w
    with torch.no_grad():
        b = x @ w
        with torch.autocast("cpu", dtype=torch.bfloat16):
            c = x @ w
    return a, b, c, x * c.sum()


@program(one)
def region_in_a_helper(x):
    """A context manager of the user's own around one of torch's."""

    @functools.lru_cache
    def dtype():
        return torch.bfloat16

    def product(a, b):
        with torch.autocast("cpu", dtype=dtype()):
            return a @ b

    return product(x, torch.ones(x.shape[1], 2)).float() + x.sum()


@program(one)
def exception_leaves_a_region(x):
    """An exception caught outside leaves the region."""
    try:
        with torch.no_grad():
            y = x * 2
            raise KeyError("out")
    except KeyError:
        pass
    return x * y


@program(one)
def branch_on_grad_mode(x):
    """User code that asks for the mode."""
    with torch.no_grad():
        a = x * 2 if torch.is_grad_enabled() else x * 3
    return a + x


@program(scaled)
def gradient_reversal_like(x):
    """A straight-through estimator."""
    return x + (x.round() - x).detach()
