"""Programs with structured inputs and outputs."""

import enum
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils import _pytree as pytree

from tests.programs.registry import program


class Mode(enum.Enum):
    """A choice."""

    SUM = 1
    MEAN = 2


class Level(enum.IntEnum):
    """A choice that is a number."""

    LOW = 1
    HIGH = 3


Pair = namedtuple("Pair", ["left", "right"])


@dataclass
class Batch:
    """A registered dataclass."""

    x: torch.Tensor
    scale: float = 2.0
    extra: torch.Tensor | None = None


pytree.register_dataclass(Batch, serialized_type_name="tests.programs.Batch")


def t(*sizes):
    """Give a tensor."""
    return torch.randn(*sizes)


@program(lambda n=4, m=5: ((t(n, m), t(n, m)),))
def tuple_input(pair):
    """A tuple."""
    return pair[0] + pair[1]


@program(lambda n=4, m=5: ([t(n, m), t(n, m), t(n, m)],))
def list_input(items):
    """A list, looped over."""
    return torch.stack(items).sum(0), len(items)


@program(lambda n=4: ({"b": t(n), "a": t(n)},))
def dict_input(d):
    """A dict, whose order is that of insertion."""
    return [value * i for i, value in enumerate(d.values(), 1)], list(d)


@program(lambda n=4: (OrderedDict([("z", t(n)), ("a", t(n))]),))
def ordered_dict_input(d):
    """An ordered dict."""
    return torch.cat(list(d.values()))


@program(lambda n=4: (Pair(t(n), (t(n), t(n))),))
def namedtuple_input(pair):
    """A named tuple with a tuple inside."""
    return pair.left + pair.right[0], Pair(pair.right[1], pair.left * 2)


@program(lambda n=4: (Batch(t(n), 3.0, t(n)),))
def dataclass_input(batch):
    """A registered dataclass, in and out."""
    return Batch(batch.x * batch.scale + batch.extra, batch.scale, None)


@program(lambda n=4: (Batch(t(n)),))
def dataclass_without_extra(batch):
    """A dataclass with None inside."""
    return batch.x if batch.extra is None else batch.extra


@program(lambda n=4: (t(n), None))
def none_input(x, y):
    """None is a value of its own."""
    return x if y is None else x + y


@program(lambda n=4: (t(n), 3))
def int_input(x, k):
    """An int is fixed."""
    return x * k, k


@program(lambda n=4: (t(n), 2.5, True, "mean", 1 + 2j))
def plain_inputs(x, f, flag, how, z):
    """Floats, bools, texts and complex numbers are fixed."""
    return (getattr(x, how)() if flag else x) * f, f, flag, how, z


@program(lambda n=4: (t(n), torch.float64, torch.device("cpu")))
def dtype_and_device_inputs(x, dtype, device):
    """Dtypes and devices are fixed."""
    return x.to(device=device, dtype=dtype)


@program(lambda n=4: (t(n), Mode.MEAN, Level.HIGH))
def enum_inputs(x, mode, level):
    """Members of enums are fixed."""
    y = x.mean() if mode is Mode.MEAN else x.sum()
    return y * level


@program(lambda n=4: (t(n), t(n), t(n)))
def star_args(*xs):
    """`*args`."""
    return sum(xs), len(xs)


@program(lambda n=4: (t(n), t(n), t(n)))
def name_and_star_args(x, *rest):
    """A name, then `*args`."""
    return x + rest[0] * rest[1]


@program(lambda n=4: ((t(n),), {"b": t(n), "a": t(n)}))
def star_kwargs(x, **options):
    """`**kwargs`, whose order user code sees."""
    return [x * i + value for i, value in enumerate(options.values())], list(options)


@program(lambda n=4: ((t(n),), {"scale": 2.0, "y": t(n)}))
def keyword_only(x, *, y, scale=1.0, bias=None):
    """Keyword-only parameters with defaults."""
    return x * scale + y if bias is None else bias


@program(lambda n=4: (t(n),))
def defaults(x, y=None, k=3, *rest, flag=False, **options):
    """Everything left at its default."""
    return x * k if y is None and not rest and not flag and not options else x


@program(lambda n=4: ((t(n), t(n)), {"z": {"deep": [t(n), (t(n),)]}}))
def nested(x, y, z):
    """Structures within structures."""
    return {"out": [x + z["deep"][0], (y * z["deep"][1][0],)], "x": x}


def same_twice(n=4):
    """Give one tensor twice."""
    x = t(n)
    return (x, x)


@program(same_twice)
def one_tensor_twice(x, y):
    """The same tensor under two names, only read."""
    return x + y, x is y if False else x * 2


@program(lambda n=4: (t(n), t(n)))
def unused_input(x, y):
    """An input nobody uses."""
    return x * 2


@program(lambda n=4: (t(n), {"a": t(n), "b": None}, []))
def empty_containers(x, d, empty):
    """Empty containers in and out."""
    return {"x": x, "none": d["b"], "empty": [], "tuple": (), "dict": {}}


@program(lambda: ())
def no_inputs():
    """Nothing comes in."""
    return torch.arange(3) * 2


# ---------------------------------------------------------------------------------------- outputs
@program(lambda n=4: (t(n),))
def input_returned(x):
    """The input is returned as it is."""
    return x


@program(lambda n=4: (t(n), t(n)))
def inputs_returned_swapped(x, y):
    """Inputs change places."""
    return y, x, y


@program(lambda n=4: (t(n),))
def nothing_returned(x):
    """No result at all."""
    x.add_(1)


@program(lambda n=4: (t(n),))
def constants_returned(x):
    """Numbers, text and None beside a tensor."""
    return 1, 2.5, "text", None, True, x * 1, torch.float32, float("nan")


@program(lambda n=4, m=5: (t(n, m),))
def sizes_returned(x):
    """Sizes are results like any other."""
    return x.shape[0], x.shape, x.numel(), x.size(-1) * 2, tuple(x.shape), x.stride()


@program(lambda n=4, m=5: (t(n, m),))
def comparison_returned(x):
    """A question about sizes as a result, not asked."""
    return x.shape[0] + 1, float(x.shape[0]) / 2, x.dim(), len(x)


@program(lambda n=4: (t(n),))
def dict_returned(x):
    """A dict, in the order in which it was made."""
    return {"z": x + 1, "a": x + 2, 3: x + 3}


@program(lambda n=4: (t(n),))
def generator_consumed(x):
    """Comprehensions and generators."""
    return [x * i for i in range(3)], tuple(x + i for i in range(2)), {i: x - i for i in (1, 2)}


@program(lambda n=4: (t(n),), refused="unsupported-output", placeless=True)
def object_returned(x):
    """An object nobody registered."""
    return object()


@program(lambda n=4: (t(n),), refused="unsupported-output", placeless=True)
def set_returned(x):
    """A set has no order."""
    return {x}


@program(lambda n=4: (t(n),), refused="unsupported-output", placeless=True)
def dict_that_makes_values_returned(x):
    """What it makes for a missing key would be of the capture."""
    return {"found": [defaultdict(lambda: x * 2, a=x)]}


@program(lambda n=4: (t(n), {1, 2}), refused="unsupported-input", placeless=True)
def set_input(x, s):
    """A set has no order."""
    return x * len(s)


@program(lambda n=4: (t(n), lambda v: v), refused="unsupported-input", placeless=True)
def function_input(x, f):
    """A function is no value to compare."""
    return f(x)


@program(lambda n=4: (t(n), torch.tensor(2.0), torch.tensor([1, 0]), torch.tensor(True)))
def dtypes_of_inputs(x, scalar, ints, flag):
    """Tensors of other dtypes, 0-dim ones among them."""
    return x * scalar, ints + 1, flag & True, torch.where(flag, x, -x)


@program(lambda n=4, m=6: (t(m, n).T, t(n, m)[:, ::2], t(1, m).expand(n, m)))
def strided_inputs(x, y, z):
    """Inputs that are not contiguous."""
    return x * 2, y + 1, z.sum(0), x.contiguous(), y.reshape(-1)


@program(lambda n=4, m=6: (t(2, 3, n, m).to(memory_format=torch.channels_last),))
def channels_last_input(x):
    """A memory format goes through elementwise operators."""
    return x * 2, x.contiguous(), torch.relu(x).sum(1)


@program(lambda n=4: (t(n, 0),))
def empty_input(x):
    """A tensor without elements."""
    return x.sum(1), x.shape[1]


@program(lambda n=4: (t(n).requires_grad_(),), gradients=False)
def input_with_grad(x):
    """An input that needs a gradient."""
    return x * 2, x.detach() + 1


@program(lambda n=4: (nn.Parameter(t(n)),), gradients=False)
def parameter_input(x):
    """A parameter as an input."""
    return x * 2
