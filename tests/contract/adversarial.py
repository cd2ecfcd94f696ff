"""All rows: programs that try to get past the contract, each by what another kind of code asks."""

import collections
import dataclasses
import enum
import functools
import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m

LAID = {
    "transposed": lambda: (m(4, 3).T,),
    "gapped": lambda: (m(3, 8)[:, ::2],),
    "offset": lambda: (torch.randn(13)[1:].view(3, 4),),
    "leaf": lambda: (m().requires_grad_(),),
    "double": lambda: (m().double(),),
}


class Mode(enum.Enum):
    """What to do."""

    TWICE = "twice"
    THRICE = "thrice"


class Flag(enum.IntFlag):
    """How to do it."""

    A = 1
    B = 2


Pair = collections.namedtuple("Pair", "left right")


class Text(str):
    """A text of a class of its own."""

    __slots__ = ()


def values(*given):
    """Calls with a tensor and each of these."""
    return {repr(each): (lambda each=each: (v(), each)) for each in given}


@probe("structure", lambda: (v(), Mode.TWICE), calls=values(Mode.THRICE, "twice", None))
def enum_asked(x, mode):
    """An enum by identity."""
    return x * 2 if mode is Mode.TWICE else x * 3


@probe("structure", lambda: (v(), Flag.A), calls=values(Flag.B, Flag.A | Flag.B, 1))
def flag_asked(x, flag):
    """A flag by its bits."""
    return x * (2 if flag & Flag.A else 3) * int(flag)


@probe("structure", lambda: (v(), 0.0), calls=values(-0.0, math.nan, math.inf, 0, False, -1e-300))
def sign_of_a_zero(x, number):
    """A zero by its sign."""
    return x * math.copysign(2.0, number) + number


@probe("structure", lambda: (v(), math.nan), calls=values(-math.nan, 0.0, float("nan"), None))
def nan_asked(x, number):
    """What is not equal to itself."""
    return x * 2 if number != number else x * 3


@probe("structure", lambda: (v(), 1j), calls=values(-1j, complex(0.0, -1.0), complex(-0.0, 1.0), 1))
def complex_asked(x, number):
    """A complex number by the sign of its real part."""
    return x * math.copysign(2.0, number.real)


@probe("structure", lambda: (v(), "ab"), calls=values("AB", Text("ab"), b"ab", "a"))
def text_asked_closely(x, text):
    """A text by its class."""
    return x * (2 if type(text) is str else 3) * len(text)


@probe("structure", lambda: (v(), 2), calls=values(2.0, True, 2**70, -2))
def number_formatted(x, number):
    """A number by how it is written."""
    return x * {"2": 2.0, "2.0": 3.0, "True": 5.0}.get(f"{number}", 7.0)


@probe(
    "structure",
    lambda: (Pair(v(), v()),),
    calls={
        "tuple": lambda: ((v(), v()),),
        "list": lambda: ([v(), v()],),
        "other": lambda: (Pair(v(), v())._replace(left=v(4)),),
    },
)
def namedtuple_asked(pair):
    """A named tuple by its fields."""
    return pair.left * 2 + pair[1] if hasattr(pair, "left") else pair[0]


@probe(
    "structure",
    lambda: ({"a": v(), "b": v()},),
    calls={
        "order": lambda: ({"b": v(), "a": v()},),
        "ordered": lambda: (collections.OrderedDict(a=v(), b=v()),),
        "default": lambda: (collections.defaultdict(list, {"a": v(), "b": v()}),),
        "more": lambda: ({"a": v(), "b": v(), "c": v()},),
    },
)
def order_of_a_dict(d):
    """A dict by the order of its keys and its class."""
    last = 0
    for place, value in enumerate(d.values()):
        last = last + value * (place + 1)
    return last * (2 if type(d) is dict else 3)


def default(x, *, k=2.0, **more):
    """Keywords that are given or not."""
    return x * k * (1 + len(more))


@probe(
    "structure",
    lambda: (v(),),
    calls={
        "given": lambda: ((v(),), {"k": 2.0}),
        "other": lambda: ((v(),), {"k": 3.0}),
        "more": lambda: ((v(),), {"z": v()}),
    },
)
def keywords_by_default(x, *, k=2.0, **more):
    """A keyword that is given, or not."""
    return default(x, k=k, **more)


class Making(type):
    """A class of classes."""


@probe("constant", lambda: (v(),), agrees={"again": lambda: (v(),)})
def modules_of_classes_that_calls_make(x):
    """C looks at who calls it."""
    pair = collections.namedtuple("pair", "left right")
    made = (type("A", (), {}), Making("B", (), {}), pair, enum.Enum("C", "D"))
    names = [each.__module__ == __name__ for each in made]
    told = type("E", (), {"__module__": "elsewhere"}).__module__
    return x * sum(2**n for n, is_own in enumerate(names) if is_own) * len(told)


@probe("layout", lambda: (m(),), calls=LAID)
def numpy_asked_of_a_constant(x):
    """NumPy is asked of what is constant."""
    shape = torch.ones(2, 3).numpy().shape
    return x * shape[0]


@probe("data", lambda: (m(),), calls=LAID)
def numpy_bridge(x):
    """NumPy is given the memory of an input."""
    return torch.from_numpy(x.detach().numpy() * 2)


@probe("layout", lambda: (m(),), calls=LAID)
def strides_of_a_result(x):
    """What a result's layout decides, where the input's decides that."""
    y = x.relu().sigmoid()
    return y * y.stride(0)


@probe("layout", lambda: (m(2, 3, 4, 4),), calls={
    "channels last": lambda: (m(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),),
    "cut": lambda: (m(2, 3, 4, 8)[..., :4],),
})  # fmt: skip
def memory_format_asked_closely(x):
    """A memory format that is asked and kept."""
    suggested = x.is_contiguous(memory_format=torch.channels_last)
    y = F.avg_pool2d(x, 2)
    return y * (2 if suggested else 3), torch.empty_like(y).stride()[0] * x


@probe("layout", lambda: (m(),), calls=LAID)
def copied_deeply(x):
    """A deep copy of a tensor that is computed."""
    import copy  # noqa: PLC0415  as users do

    y = copy.deepcopy(x.detach())
    y.add_(1)
    return x * 2, y


@probe("overlap", lambda: (m(), m()), calls={
    "same": lambda: (lambda x: (x, x))(m()),
    "view": lambda: (lambda x: (x, x[:]))(m()),
    "transposed": lambda: (lambda x: (x, x.T.contiguous().T))(m()),
}, refused=("outside-read",))  # fmt: skip
def identity_of_inputs(x, y):
    """Whether two inputs are one."""
    return x * 2 if x is y else x + y


@probe("overlap", lambda: (m(), m()), calls={
    "same": lambda: (lambda x: (x, x))(m()),
    "view": lambda: (lambda x: (x, x[:2]))(m()),
    "rows": lambda: (lambda x: (x[:3], x[2:]))(m(5, 4)),
})  # fmt: skip
def views_written(x, y):
    """A view of one input is written to, and the other read."""
    x[:1].mul_(3)
    return y.sum(0), x.view(-1)


WAYS = {
    "bfloat16": Call(lambda: (m(),), under=lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
    "no grad": Call(lambda: (m().requires_grad_(),), under=torch.no_grad),
    "inference": Call(lambda: (m(),), under=torch.inference_mode),
    "meta": Call(lambda: (m(),), under=lambda: torch.device("meta")),
}


@probe("mode", lambda: (m(),), calls=WAYS)
def dtype_of_a_product(x):
    """What a product is made of, and what is made of its dtype."""
    y = x @ x.T
    return y.to(x.dtype) + torch.ones(3, dtype=y.dtype), y.new_tensor([1.5, 2.5, 3.5]) * y


@probe("mode", lambda: (m(),), calls=WAYS)
def made_of_nothing(x):
    """Tensors on the default device."""
    return x + torch.arange(4), torch.linspace(0, 1, 4) * 2, torch.tensor(2.0) * x


@probe("mode", lambda: (m(),), calls=WAYS)
def precision_asked(x):
    """Switches of the process."""
    precise = torch.get_float32_matmul_precision() == "highest"
    return x * (2 if precise and not torch.backends.cudnn.deterministic else 3)


@probe("mode", lambda: (m(),), agrees={"again": lambda: (m(),)}, calls=WAYS)
def drawn_in_order(x):
    """Random numbers of PyTorch are drawn in eager's order."""
    first = torch.rand_like(x)
    second = F.dropout(x, 0.5, training=True)
    return first + torch.randn(3, 1), second, torch.randperm(4)


@dataclasses.dataclass
class Settings:
    """What is not an input."""

    scale: float = 2.0


SETTINGS = Settings()


@functools.cache
def remembered(name):
    """A function that is remembered."""
    return {"a": 2.0}.get(name, 3.0)


@probe("constant", lambda: (v(),), agrees={"again": lambda: (v(),)})
class Attributes(nn.Module):
    """Attributes, cached functions, properties and partial functions."""

    def __init__(self):
        super().__init__()
        self.settings = SETTINGS
        self.act = functools.partial(F.leaky_relu, negative_slope=0.3)
        self.table = {("a", 1): 2.0}

    @property
    def twice(self):
        """Twice the scale."""
        return self.settings.scale * 2

    def forward(self, x):
        return self.act(x) * self.twice * remembered("a") * self.table["a", 1]
