"""Row `structure`: how inputs are nested, and the values among them that are no tensors."""

import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils import _pytree as pytree

from tests.contract.registry import probe


class Mode(enum.Enum):
    """An option of a model."""

    SUM = 1
    MEAN = 2


Pair = namedtuple("Pair", "left right")
Other = namedtuple("Other", "left right")


@dataclass
class Batch:
    """Inputs as an object."""

    x: torch.Tensor
    scale: float = 1.0


pytree.register_dataclass(Batch, serialized_type_name="tests.contract.Batch")


def v(n=3):
    """Give a vector."""
    return torch.randn(n)


@probe(
    "structure",
    lambda: ({"a": v(), "b": v()},),
    agrees={"same order": lambda: ({"a": v(), "b": v()},)},
    calls={
        "other order": lambda: ({"b": v(), "a": v()},),
        "more keys": lambda: ({"a": v(), "b": v(), "c": v()},),
        "fewer keys": lambda: ({"a": v()},),
        "other key": lambda: ({"a": v(), "z": v()},),
        "ordered": lambda: (OrderedDict(b=v(), a=v()),),
    },
)
def order_of_keys(d):
    """The first key's value is subtracted from the last's."""
    values = list(d.values())
    return values[-1] - values[0] * 2


@probe(
    "structure",
    lambda: ({"a": v(), "b": v()},),
    calls={"other order": lambda: ({"b": v(), "a": v()},)},
)
def keys_returned(d):
    """What is returned has the keys in the order of the call."""
    return {key: value + 1 for key, value in d.items()}


@probe(
    "structure",
    lambda: ({"outer": {"a": v(), "b": v()}},),
    calls={"inner order": lambda: ({"outer": {"b": v(), "a": v()}},)},
)
def order_of_inner_keys(d):
    """As above, one level down."""
    return next(iter(d["outer"].values())) * 3


@probe(
    "structure",
    lambda: ({1: v(), 2: v()},),
    calls={
        "floats": lambda: ({1.0: v(), 2.0: v()},),
        "a bool": lambda: ({True: v(), 2: v()},),
        "texts": lambda: ({"1": v(), "2": v()},),
    },
)
def numbers_as_keys(d):
    """Equal keys of another type print otherwise and look up alike."""
    return [value * len(str(key)) for key, value in d.items()]


@probe(
    "structure",
    lambda: ([v(), v()],),
    calls={
        "three": lambda: ([v(), v(), v()],),
        "one": lambda: ([v()],),
        "none": lambda: ([],),
        "a tuple": lambda: ((v(), v()),),
        "a generator": lambda: ((x for x in [v(), v()]),),
        "nested": lambda: ([[v()], v()],),
    },
)
def length_of_a_list(xs):
    """The mean over the inputs."""
    return sum(xs) / len(xs)


@probe(
    "structure",
    lambda: ([v()],),
    calls={"a tuple": lambda: ((v(),),)},
)
def kind_of_container(xs):
    """A list takes another way than a tuple."""
    return xs[0] * (2 if isinstance(xs, list) else 3)


@probe(
    "structure",
    lambda: (Pair(v(), v()),),
    agrees={"same": lambda: (Pair(v(), v()),)},
    calls={
        "a tuple": lambda: ((v(), v()),),
        "another type": lambda: (Other(v(), v()),),
    },
)
def named_tuple(p):
    """Fields by name; a tuple has none."""
    return Pair(p.left - p.right, type(p).__name__ == "Pair" and p.left)


@probe(
    "structure",
    lambda: (Batch(v(), 2.0),),
    agrees={"same": lambda: (Batch(v(), 2.0),)},
    calls={"other scale": lambda: (Batch(v(), 3.0),)},
)
def dataclass_input(batch):
    """A registered dataclass with a plain field."""
    return batch.x * batch.scale


@probe(
    "structure",
    lambda: (v(), None),
    calls={"a tensor": lambda: (v(), v()), "a number": lambda: (v(), 1.0)},
)
def an_absent_mask(x, mask):
    """None takes another way."""
    return x if mask is None else x * mask


@probe(
    "structure",
    lambda: (v(), v()),
    calls={"none": lambda: (v(), None), "left out": lambda: (v(),)},
)
def a_present_mask(x, mask=None):
    """A tensor takes another way than the default."""
    return x * 2 if mask is None else x * mask


@probe(
    "structure",
    lambda: (v(),),
    agrees={"by name": lambda: ((), {"x": v()})},
    calls={
        "default given": lambda: (v(), 2),
        "default by name": lambda: ((v(),), {"k": 2}),
        "other value": lambda: (v(), 3),
        "other value by name": lambda: ((v(),), {"k": 3}),
    },
)
def a_default_argument(x, k=2):
    """The default is a value like any other."""
    return x * k


@probe(
    "structure",
    lambda: (v(), v(), v()),
    calls={"two": lambda: (v(), v()), "four": lambda: (v(), v(), v(), v())},
)
def any_number_of_arguments(*xs):
    """How many there are is consulted."""
    return sum(xs) * len(xs)


@probe(
    "structure",
    lambda: ((v(),), {"a": v(), "b": v()}),
    calls={
        "other order": lambda: ((v(),), {"b": v(), "a": v()}),
        "other names": lambda: ((v(),), {"a": v(), "c": v()}),
        "more": lambda: ((v(),), {"a": v(), "b": v(), "c": v()}),
    },
)
def any_keywords(x, **more):
    """The order of keywords is that of the call."""
    return [x - value for value in more.values()], x * len(",".join(more))


@probe(
    "structure",
    lambda: (v(), 3),
    calls={
        "four": lambda: (v(), 4),
        "a float": lambda: (v(), 3.0),
        "a tensor": lambda: (v(), torch.tensor(3)),
        "zero": lambda: (v(), 0),
    },
)
def an_int(x, k):
    """An int decides how often."""
    for _ in range(int(k)):
        x = x * 2
    return x, k


@probe(
    "structure",
    lambda: (v(), 1),
    calls={"true": lambda: (v(), True), "a float": lambda: (v(), 1.0)},
)
def one_or_true(x, k):
    """1 == True == 1.0, and they are not the same."""
    return x * k, str(k), isinstance(k, bool)


@probe(
    "structure",
    lambda: (v(), True),
    calls={"false": lambda: (v(), False), "one": lambda: (v(), 1), "none": lambda: (v(), None)},
)
def a_flag(x, flag):
    """A bool chooses."""
    return x.relu() if flag is True else x


@probe(
    "structure",
    lambda: (v(), 0.5),
    calls={
        "another": lambda: (v(), 0.25),
        "nearly": lambda: (v(), 0.5 + 2**-53),
        "nan": lambda: (v(), float("nan")),
        "infinite": lambda: (v(), float("inf")),
    },
)
def a_float(x, p):
    """A float is multiplied with."""
    return x * p


@probe(
    "structure",
    lambda: (v(), 0.0),
    calls={"minus zero": lambda: (v(), -0.0), "an int": lambda: (v(), 0)},
)
def zero_has_a_sign(x, p):
    """0.0 == -0.0, and dividing by them differs."""
    return x / torch.full((3,), p), x * p, p


@probe(
    "structure",
    lambda: (v(), float("nan")),
    agrees={"another nan": lambda: (v(), float("nan"))},
    calls={"a number": lambda: (v(), 1.0)},
)
def nan_is_nan(x, p):
    """NaN is not equal to itself, and is the same input."""
    return x + p if p != p else x


@probe(
    "structure",
    lambda: (v(), "sum"),
    calls={
        "mean": lambda: (v(), "mean"),
        "bytes": lambda: (v(), b"sum"),
        "an enum": lambda: (v(), Mode.SUM),
    },
)
def a_text(x, how):
    """A text chooses."""
    return x.sum() if how == "sum" else x.mean()


@probe(
    "structure",
    lambda: (v(), Mode.SUM),
    agrees={"same": lambda: (v(), Mode.SUM)},
    calls={"mean": lambda: (v(), Mode.MEAN), "its value": lambda: (v(), 1)},
)
def an_enum(x, how):
    """An enum chooses."""
    return x.sum() if how is Mode.SUM else x.mean()


@probe(
    "structure",
    lambda: (v(), torch.float64),
    calls={"half": lambda: (v(), torch.float16), "none": lambda: (v(), None)},
)
def a_dtype(x, dtype):
    """A dtype is a value too."""
    return x.to(dtype)


@probe(
    "structure",
    lambda: (v(), torch.device("cpu")),
    calls={"a text": lambda: (v(), "cpu"), "another": lambda: (v(), torch.device("meta"))},
)
def a_device(x, device):
    """A device is a value too."""
    return x.to(device) * len(str(device))


@probe(
    "structure",
    lambda: (v(6), (2, 3)),
    calls={
        "another": lambda: (v(6), (3, 2)),
        "a list": lambda: (v(6), [2, 3]),
        "a size": lambda: (v(6), torch.Size([2, 3])),
    },
)
def a_shape(x, shape):
    """Numbers in a tuple."""
    return x.view(shape), isinstance(shape, torch.Size)


@probe(
    "structure",
    lambda: (v(6), slice(0, 2)),
    calls={"further": lambda: (v(6), slice(2, 4)), "a range": lambda: (v(6), range(2))},
)
def a_slice(x, part):
    """A slice is a value too."""
    return x[part] * 2


@probe(
    "structure",
    lambda: (v(), 1 + 2j),
    calls={
        "another": lambda: (v(), 1 - 2j),
        "minus zero": lambda: (v(), complex(1, -0.0)),
        "a float": lambda: (v(), 1.0),
    },
)
def a_complex_number(x, z):
    """A complex number is multiplied with."""
    return x * z


@probe(
    "structure",
    lambda: ({"x": v(), "k": {"deep": [2, None, "a"]}},),
    calls={
        "other number": lambda: ({"x": v(), "k": {"deep": [3, None, "a"]}},),
        "not none": lambda: ({"x": v(), "k": {"deep": [2, 0, "a"]}},),
        "other text": lambda: ({"x": v(), "k": {"deep": [2, None, "b"]}},),
        "emptier": lambda: ({"x": v(), "k": {"deep": []}},),
    },
)
def values_deep_inside(d):
    """Plain values deep inside the inputs."""
    number, nothing, text = d["k"]["deep"]
    return d["x"] * number * (1 if nothing is None else 5) * ord(text)


@probe(
    "structure",
    lambda: ([], {"a": ()}, v()),
    calls={"not empty": lambda: ([v()], {"a": ()}, v()), "keys": lambda: ([], {}, v())},
)
def empty_containers(xs, d, x):
    """Nothing is a structure too."""
    return x * (2 if xs else 3) * (5 if d else 7)


@probe(
    "structure",
    lambda: (v(), 10**30),
    calls={"another": lambda: (v(), 10**30 + 1)},
)
def an_int_without_end(x, k):
    """An int beyond 64 bits."""
    return x * (k % 7)


@probe(
    "structure",
    lambda: (v(), 4),
    agrees={"five": lambda: (v(), 5), "two": lambda: (v(), 2)},
    calls={
        "one": lambda: (v(), 1),
        "zero": lambda: (v(), 0),
        "negative": lambda: (v(), -2),
        "a float": lambda: (v(), 4.0),
        "true": lambda: (v(), True),
    },
    shapes=lambda dim: (None, dim.DYNAMIC),
)
def an_int_that_varies(x, k):
    """An int declared dynamic becomes a symbol."""
    return x * k, torch.full((k,), 1.0 + k), k


@probe(
    "structure",
    lambda: ([v(), 1, {"k": v()}],),
    calls={"swapped": lambda: ([1, v(), {"k": v()}],)},
)
def tensors_and_numbers_by_place(xs):
    """Where the tensors stand is part of the structure."""
    return xs[0] * xs[1], xs[2]["k"]


class KeywordOnly(nn.Module):
    """Registered below, under another example each."""

    def forward(self, x, *, scale=2.0, bias=None):
        """Scale and shift."""
        y = x * scale
        return y if bias is None else y + bias


@probe(
    "structure",
    lambda: ((v(),), {"scale": 3.0}),
    calls={
        "default": lambda: (v(),),
        "bias": lambda: ((v(),), {"scale": 3.0, "bias": v()}),
        "other": lambda: ((v(),), {"scale": 4.0}),
        "bias none": lambda: ((v(),), {"scale": 3.0, "bias": None}),
    },
)
class KeywordGiven(KeywordOnly):
    """Exported with one keyword."""


@probe(
    "structure",
    lambda: ((v(),), {"scale": 3.0, "bias": v()}),
    calls={"swapped": lambda: ((v(),), {"bias": v(), "scale": 3.0}), "none": lambda: (v(),)},
)
class KeywordsGiven(KeywordOnly):
    """Exported with both keywords; their order does not matter, and need not be refused."""
