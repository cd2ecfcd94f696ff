"""Programs with values that are made outside of their inputs: literals, globals, closures."""

import math

import numpy as np
import torch
from torch import nn

from tests.programs.registry import program, variants


def one(n=4, m=5):
    """Give a matrix."""
    return (torch.randn(n, m),)


GLOBAL = torch.arange(5.0)
TABLE = [torch.ones(5), torch.full((5,), 2.0)]
SCALE = np.array([2.0, 3.0], dtype=np.float32)
LOOKUP = {"bias": torch.tensor(0.5)}

variants(
    one,
    {
        "literal": lambda x: x + torch.tensor(3.0),
        "literal_list": lambda x: x[:, :2] * torch.tensor([1.0, 2.0]),
        "literal_nested": lambda x: x[:2, :2] @ torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        "literal_int": lambda x: x * torch.tensor(2),
        "literal_bool": lambda x: x * torch.tensor(True),
        "literal_dtype": lambda x: x + torch.tensor([1], dtype=torch.float64),
        "literal_with_size": lambda x: torch.tensor([x.shape[0], 1]) + x.sum().long(),
        "literal_with_tensor": lambda x: torch.tensor([x.shape[0] * 2.0, 1.0]) + x[0, 0],
        "as_tensor": lambda x: x + torch.as_tensor(2.0),
        "from_numpy": lambda x: x[:, :2] * torch.from_numpy(SCALE),
        "tensor_of_numpy": lambda x: x[:, :2] * torch.tensor(SCALE),
        "as_tensor_of_numpy": lambda x: x[:, :2] * torch.as_tensor(SCALE),
        "numpy_number": lambda x: x * np.float32(1.5),
        "numpy_double": lambda x: x * np.float64(1.5),
        "numpy_int": lambda x: x * np.int64(2) + np.sqrt(4.0),
        "numpy_scalar_first": lambda x: x.mul(np.float64(2.0)).add(np.int32(1)),
        "numpy_size": lambda x: x.new_zeros(np.int64(2), 3),
        "numpy_prod": lambda x: x.reshape(int(np.prod(x.shape))) if False else x * 1,
        "global_tensor": lambda x: x[..., :1] + GLOBAL,
        "global_list": lambda x: x[..., :1] + TABLE[0] + TABLE[1],
        "global_dict": lambda x: x + LOOKUP["bias"],
        "zeros": lambda x: x + torch.zeros(1),
        "ones_like": lambda x: x + torch.ones_like(x),
        "full": lambda x: x + torch.full((1,), math.pi),
        "eye": lambda x: torch.eye(3) * x.sum(),
        "linspace": lambda x: torch.linspace(0, 1, 5)[:1] + x,
        "arange_float": lambda x: torch.arange(0, 1, 0.25)[:1] + x,
        "empty_filled": lambda x: torch.empty(2).fill_(3) * x.sum(),
        "new_tensor": lambda x: x.new_tensor([1.0, 2.0]) * x.sum(),
        "complex_literal": lambda x: (x * torch.tensor(1j)).imag,
        "tril_mask": lambda x: torch.tril(torch.ones(3, 3)) * x.sum(),
        "bool_of_constant": lambda x: x * 2 if torch.tensor(3.0) > 2 else x,
        "bool_of_computed": lambda x: x * 2 if (torch.arange(4).sum() * 2 == 12) else x,
        "item_of_constant": lambda x: x * torch.tensor([2.0, 3.0]).max().item(),
        "int_of_constant": lambda x: x[: int(torch.tensor(2))],
        "tolist_of_constant": lambda x: sum(x * f for f in torch.tensor([1.0, 2.0]).tolist()),
        "loop_over_constant": lambda x: sum(x * f for f in torch.tensor([1.0, 2.0])),
        "range_of_constant": lambda x: sum(x for _ in range(torch.tensor(3))),
        "size_of_constant": lambda x: x.new_zeros(int(torch.ones(3).sum())),
        "any_of_constant": lambda x: x + 1 if torch.zeros(3).any() else x - 1,
        "max_of_numbers": lambda x: x * max(torch.tensor(2.0), torch.tensor(3.0)),
        "constant_index_put": lambda x: torch.zeros(3).index_put_((torch.tensor([1]),), x[0, 0]),
        "default_dtype": lambda x: x.double() + torch.tensor(1.5),
        "infinity": lambda x: x.masked_fill(x > 0, float("-inf")),
        "negative_zero": lambda x: x * 0 + torch.tensor(-0.0),
        "nan": lambda x: torch.where(x > 0, x, torch.tensor(float("nan"))),
        "large_int": lambda x: x.sum().long() + torch.tensor(2**62),
        "arange_compare": lambda x: torch.arange(4)[None] <= torch.arange(4)[:, None],
        "only_constants": lambda x: torch.ones(3) * 2,
    },
)


@program(one)
def literal_mutated(x):
    """A literal is made anew by every call, so writing to it does not leak into the next."""
    total = torch.tensor(0.0)
    for row in (x, x * 2):
        total += row.sum()
    counts = torch.tensor([0, 0])
    counts[1] += 2
    counts.add_(1)
    return total, counts


@program(one)
def literal_returned(x):
    """A literal returned is new in every call."""
    return torch.tensor([1.0, 2.0]), x


@program(one)
def literal_requires_grad(x):
    """A literal that needs a gradient of its own."""
    w = torch.tensor([2.0], requires_grad=True)
    return x * w.detach()


@program(one)
def literal_mutated_then_asked(x):
    """The value of a literal that was written to is no constant."""
    t = torch.tensor(1.0)
    t += 1
    return x * t


@program(one)
def constant_from_numpy_array(x):
    """An array computed by numpy."""
    window = np.hanning(5).astype(np.float32)
    return x[..., :1] * torch.from_numpy(window)


@program(one)
class AttributeConstants(nn.Module):
    """Plain attributes: a tensor, a list, a tuple, a dict, numbers, text."""

    def __init__(self):
        super().__init__()
        self.plain = torch.arange(5.0)
        self.many = [torch.ones(5), torch.full((5,), 2.0)]
        self.pair = (torch.tensor(1.0), 2)
        self.named = {"a": torch.tensor(3.0), "b": [torch.tensor(4.0)]}
        self.eps = 1e-5
        self.mode = "sum"
        self.shape = torch.Size([1, 5])

    def forward(self, x):
        y = x[..., :1] + self.plain + self.many[1] + self.pair[0] * self.pair[1]
        y = y + self.named["a"] + self.named["b"][0] + self.eps
        return getattr(y, self.mode)() + torch.zeros(self.shape)


@program(one)
class SharedConstant(nn.Module):
    """One tensor under two attributes, and as a view."""

    def __init__(self):
        super().__init__()
        self.table = torch.arange(10.0)
        self.same = self.table
        self.part = self.table[:5]

    def forward(self, x):
        return x[..., :1] + self.table[5:] + self.same[:5] + self.part


@program(one)
class ConstantParameterOutside(nn.Module):
    """A parameter that is no attribute of a module: held by a list."""

    def __init__(self):
        super().__init__()
        self.hidden = [nn.Parameter(torch.full((5,), 2.0))]

    def forward(self, x):
        return x[..., :1] * self.hidden[0]


@program(one)
class ModuleOutside(nn.Module):
    """A module that is no submodule: held by a list."""

    def __init__(self):
        super().__init__()
        self.hidden = [nn.Linear(3, 2)]

    def forward(self, x):
        return self.hidden[0](x.sum() * torch.ones(3))


def _closure():
    offset = torch.tensor(7.0)
    factor = 3

    def closure_constant(x):
        return (x + offset) * factor

    return closure_constant


program(one)(_closure())


@program(one)
class ReturnsState(nn.Module):
    """Parameters, buffers and constants returned as they are."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("buffer", torch.zeros(2))

    def forward(self, x):
        return self.weight, self.buffer, self.weight[0], x


@program(one)
class SharedWeights(nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 3)
        self.two = nn.Linear(3, 3)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(self.one(x.sum() * torch.ones(1, 3)))


@program(one)
class ModuleTwice(nn.Module):
    """One module called twice, and held under two names."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.again = self.layer
        self.stack = nn.ModuleList([self.layer, nn.ReLU()])

    def forward(self, x):
        y = x.sum() * torch.ones(1, 3)
        for layer in self.stack:
            y = layer(y)
        return self.again(self.layer(y))


@program(one)
class ParameterContainers(nn.Module):
    """Lists and dicts of parameters and modules."""

    def __init__(self):
        super().__init__()
        self.list = nn.ParameterList([nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1) * 2)])
        self.dict = nn.ParameterDict({"a": nn.Parameter(torch.ones(1) * 3)})
        self.layers = nn.ModuleDict({"act": nn.Tanh(), "lin": nn.Linear(1, 1)})

    def forward(self, x):
        y = x.sum() * self.list[0] + self.list[1] * self.dict["a"]
        for layer in self.layers.values():
            y = layer(y)
        return y


@program(one)
class HookedModule(nn.Module):
    """Forward hooks and pre-hooks take part."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Identity()
        self.layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        self.layer.register_forward_hook(lambda module, args, result: result + 1)

    def forward(self, x):
        return self.layer(x)
