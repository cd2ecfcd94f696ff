"""Row `constant`: what a program reads besides its inputs is what it was at the export."""

import functools

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrizations

from tests.contract.registry import Call, probe
from tests.contract.structures import Mode, v
from tests.contract.tensor_types import m

SCALE = 2.0
TABLE = torch.arange(3.0)
WEIGHTS = {"a": [torch.ones(3), 3]}


def vec():
    """Give a vector."""
    return (v(),)


THREE_TIMES = {"thrice": Call(vec, times=3)}


@probe("constant", vec, agrees=THREE_TIMES)
def globals_read(x):
    """Numbers and tensors of the file."""
    return x * SCALE + TABLE + WEIGHTS["a"][0] * WEIGHTS["a"][1]


def _with_cell(scale, table):
    def closure(x):
        """Numbers and tensors of a closure."""
        return x * scale + table

    return closure


probe("constant", vec, agrees=THREE_TIMES)(_with_cell(3.0, torch.ones(3)))


@probe("constant", vec, agrees=THREE_TIMES)
def defaults_read(x, scale=2.5, table=torch.full((3,), 2.0)):  # noqa: B008
    """A tensor as a default argument."""
    return x * scale + table


@probe("constant", vec, agrees=THREE_TIMES)
class PlainAttributes(nn.Module):
    """Attributes of every plain kind."""

    kind = "class"

    def __init__(self):
        super().__init__()
        self.scale = -0.0
        self.missing = float("nan")
        self.mode = Mode.MEAN
        self.sizes = [1, 2, 3]
        self.named = {"b": 1.0, "a": 2.0}
        self.shape = torch.Size([3])
        self.dtype = torch.float64
        self.array = np.arange(3.0)
        self.number = np.float32(1.5)

    def forward(self, x):
        y = x * self.scale + len(self.kind)
        y = y + next(iter(self.named.values())) * sum(self.sizes)
        y = y.view(self.shape).to(self.dtype) + torch.from_numpy(self.array) * float(self.number)
        return y if self.mode is Mode.MEAN else x, torch.full((2,), self.scale), self.missing


@probe("constant", vec, agrees=THREE_TIMES)
class TensorAttribute(nn.Module):
    """Tensors that are neither parameters nor buffers."""

    def __init__(self):
        super().__init__()
        self.table = torch.randn(3)
        self.tables = [torch.randn(3), {"a": torch.randn(3)}]

    def forward(self, x):
        return x + self.table + self.tables[0] * self.tables[1]["a"], self.table


@probe("constant", vec, agrees=THREE_TIMES)
class Tied(nn.Module):
    """One parameter under two names, one submodule in two places."""

    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 3)
        self.two = nn.Linear(3, 3)
        self.two.weight = self.one.weight
        self.again = self.one

    def forward(self, x):
        return self.two(self.again(self.one(x)))


@probe("constant", vec, agrees=THREE_TIMES)
class ViewsOfOneParameter(nn.Module):
    """Two buffers that share a storage, one of which is written to."""

    def __init__(self):
        super().__init__()
        table = torch.zeros(4)
        self.register_buffer("all", table)
        self.register_buffer("part", table[:3])

    def forward(self, x):
        self.part.add_(1)
        return x + self.all[:3]


@probe("constant", vec, agrees=THREE_TIMES)
class NotPersistent(nn.Module):
    """A buffer that is not saved, and one that is None."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(3), persistent=False)
        self.register_buffer("nothing", None)
        self.register_parameter("bias", None)

    def forward(self, x):
        y = x + self.table
        return y if self.nothing is None and self.bias is None else x


@probe("constant", vec, agrees=THREE_TIMES)
class Containers(nn.Module):
    """Parameters and modules in torch's containers."""

    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([torch.randn(3), torch.randn(3)])
        self.named = nn.ParameterDict({"a": torch.randn(3)})
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])
        self.chosen = nn.ModuleDict({"relu": nn.ReLU()})

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.chosen["relu"](x) * self.weights[0] + self.weights[-1] * self.named["a"]


@probe("constant", vec, agrees=THREE_TIMES)
class Parametrised(nn.Module):
    """A weight that is computed whenever it is read."""

    def __init__(self):
        super().__init__()
        self.layer = parametrizations.weight_norm(nn.Linear(3, 3))

    def forward(self, x):
        return self.layer(x)


@probe("constant", vec, agrees=THREE_TIMES)
class Spectral(nn.Module):
    """Power iteration changes buffers in training."""

    def __init__(self):
        super().__init__()
        self.layer = parametrizations.spectral_norm(nn.Linear(3, 3))

    def forward(self, x):
        return self.layer(x)


@probe("constant", vec, agrees=THREE_TIMES)
class Computed(nn.Module):
    """Properties, `__getattr__`, a cached property."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    @property
    def twice(self):
        """The weight, doubled."""
        return self.weight * 2

    @functools.cached_property
    def offset(self):
        """A number that is worked out once."""
        return 5.0

    def forward(self, x):
        return x * self.twice + self.offset


@probe("constant", vec, agrees=THREE_TIMES)
class Hooked(nn.Module):
    """Hooks before and after."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        self.layer.register_forward_hook(lambda module, args, result: result + args[0])

    def forward(self, x):
        return self.layer(x)


@probe("constant", vec, agrees=THREE_TIMES)
class Partial(nn.Module):
    """A function with bound arguments as an attribute."""

    def __init__(self):
        super().__init__()
        self.function = functools.partial(torch.add, alpha=3)

    def forward(self, x):
        return self.function(x, x * 2)


@probe("constant", vec, agrees=THREE_TIMES)
class UnregisteredModules(nn.Module):
    """Modules in a plain list have parameters all the same."""

    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3)]

    def forward(self, x):
        return self.layers[0](x)


@probe("constant", vec, agrees=THREE_TIMES)
def tensors_made_of_data(x):
    """Constants made within the call come anew with each call."""
    y = torch.tensor([1.0, 2.0, 3.0])
    y.add_(1)
    z = torch.from_numpy(np.ones(3, np.float32))
    return x + y + z, y, torch.tensor(5)


@probe("constant", vec, agrees=THREE_TIMES)
class ConstantReturned(nn.Module):
    """A constant comes back, and the caller may write to it."""

    def __init__(self):
        super().__init__()
        self.table = torch.zeros(3)

    def forward(self, x):
        return self.table, x + self.table


@probe("constant", vec, calls=THREE_TIMES, refused=("mutated-constant",))
class ConstantWritten(nn.Module):
    """A constant is written to."""

    def __init__(self):
        super().__init__()
        self.table = torch.zeros(3)

    def forward(self, x):
        self.table.add_(1)
        return x + self.table


def table_reset(_):
    """Give the table of the file the values it had at first."""
    TABLE.copy_(torch.arange(3.0))


@probe(
    "constant",
    Call(vec, before=table_reset),
    calls={"thrice": Call(vec, before=table_reset, times=3)},
    refused=("mutated-constant",),
)
def global_tensor_written(x):
    """A tensor of the file is written to."""
    TABLE.add_(1)
    return x + TABLE


@probe(
    "constant",
    vec,
    agrees=THREE_TIMES,
    calls={
        "weights replaced": Call(
            vec, before=lambda x: x.load_state_dict({"layer.weight": torch.ones(3, 3)})
        ),
    },
)
class WeightsLoaded(nn.Module):
    """Other weights are loaded into the program and into the module alike."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3, bias=False)

    def forward(self, x):
        return self.layer(x)


@probe(
    "constant",
    vec,
    calls={
        "weights of zero": Call(
            vec, before=lambda x: x.load_state_dict({"weight": torch.zeros(3)})
        ),
    },
    refused=("data-dependent-branch",),
)
class WeightsAsked(nn.Module):
    """A branch on the data of a parameter: it is data, not a constant."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * 2 if self.weight.sum() > 0 else x * 3


@probe("constant", vec, agrees=THREE_TIMES)
class ConstantAsked(nn.Module):
    """A branch on the data of a plain tensor attribute, which is a constant of the program."""

    def __init__(self):
        super().__init__()
        self.sizes = torch.tensor([1, 2])

    def forward(self, x):
        return x * (2 if self.sizes.sum() > 2 else 3) * self.sizes[1].item()


@probe("constant", lambda: (m(4, 3),), agrees={"twice": Call(lambda: (m(4, 3),), times=2)})
class Lazy(nn.Module):
    """Loops, dictionaries and sorting over attributes decide the graph."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleDict({f"b{i}": nn.Linear(3, 3) for i in (2, 0, 1)})

    def forward(self, x):
        for name in sorted(self.blocks):
            x = self.blocks[name](x)
        return x
