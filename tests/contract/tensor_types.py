"""Row `type`: rank, dtype, device, layout and class of tensor inputs."""

import numpy as np
import torch
from torch import nn

from tests.contract.registry import probe
from tests.contract.structures import v


def m(*shape):
    """Give a tensor of a shape."""
    return torch.randn(*(shape or (3, 4)))


@probe(
    "type",
    lambda: (v(),),
    calls={
        "double": lambda: (v().double(),),
        "half": lambda: (v().half(),),
        "bfloat16": lambda: (v().bfloat16(),),
        "int": lambda: (v().int(),),
        "bool": lambda: (v() > 0,),
        "complex": lambda: (v().to(torch.complex64),),
    },
)
def dtype_asked(x):
    """A branch on the dtype."""
    if x.dtype == torch.float32:
        return x * 2
    return x * 3


@probe(
    "type",
    lambda: (v().half(),),
    calls={"float": lambda: (v(),), "bfloat16": lambda: (v().bfloat16(),)},
)
def dtype_of_the_result(x):
    """Computes in float32 and comes back to the dtype of the input."""
    return (x.float() + 1).to(x.dtype), torch.finfo(x.dtype).max * torch.ones(1)


@probe(
    "type",
    lambda: (torch.randint(0, 5, (3,)),),
    calls={
        "int32": lambda: (torch.randint(0, 5, (3,), dtype=torch.int32),),
        "float": lambda: (torch.randint(0, 5, (3,)).float(),),
        "uint8": lambda: (torch.randint(0, 5, (3,), dtype=torch.uint8),),
    },
)
def integers_that_wrap(x):
    """Another integer type wraps elsewhere."""
    return x - 200, x / 2


@probe(
    "type",
    lambda: (m(),),
    calls={
        "a vector": lambda: (v(4),),
        "deeper": lambda: (m(2, 3, 4),),
        "a number": lambda: (torch.tensor(1.0),),
    },
)
def rank_asked(x):
    """A branch on the rank."""
    return x.sum(-1) if x.dim() == 2 else x.sum()


@probe(
    "type",
    lambda: (m(3, 3),),
    calls={"deeper": lambda: (m(3, 3, 3),), "a vector": lambda: (v(),)},
    shapes=lambda dim: {"x": {0: dim.AUTO, 1: dim.AUTO}},
)
def rank_of_a_varying_tensor(x):
    """The rank is fixed also where every size varies."""
    return x.transpose(0, -1) * x.dim()


@probe(
    "type",
    lambda: (m(),),
    calls={
        "sparse": lambda: (m().relu().to_sparse(),),
        "csr": lambda: (m().relu().to_sparse_csr(),),
    },
)
def layout_asked(x):
    """Sparse tensors take other operators."""
    return x * 2


@probe(
    "type",
    lambda: (m().relu().to_sparse(),),
    calls={"dense": lambda: (m().relu(),)},
    refused=("unsupported-layout",),
)
def sparse_example(x):
    """A sparse example."""
    return torch.sparse.sum(x) if x.is_sparse else x.sum()


@probe(
    "type",
    lambda: (v(),),
    calls={"meta": lambda: (v().to("meta"),)},
)
def device_asked(x):
    """A branch on the device."""
    return x * (2 if x.device.type == "cpu" else 3)


@probe(
    "type",
    lambda: (v(),),
    calls={
        "a parameter": lambda: (nn.Parameter(v()),),
        "numpy": lambda: (np.ones(3, np.float32),),
        "a list": lambda: ([1.0, 2.0, 3.0],),
        "a number": lambda: (2.0,),
    },
)
def class_of_the_input(x):
    """What is no tensor, and what is more than one."""
    return x * (2 if isinstance(x, nn.Parameter) else 3)


class Celsius(torch.Tensor):
    """A tensor with a class of its own, and an attribute."""


@probe(
    "type",
    lambda: (v(),),
    calls={"a subclass": lambda: (v().as_subclass(Celsius),)},
)
def a_subclass_at_the_call(x):
    """The class of a result follows the class of the input."""
    return x + 1, isinstance(x, Celsius)


@probe(
    "type",
    lambda: (torch.tensor(2.0),),
    calls={
        "a vector of one": lambda: (torch.tensor([2.0]),),
        "double": lambda: (torch.tensor(2.0, dtype=torch.float64),),
        "an int": lambda: (torch.tensor(2),),
    },
)
def a_number_in_a_tensor(x):
    """A tensor without dimensions does not raise the dtype of others."""
    return torch.ones(3) * x, torch.ones(2, dtype=torch.float16) * x


@probe(
    "type",
    lambda: (v(), v()),
    calls={
        "one double": lambda: (v().double(), v()),
        "other double": lambda: (v(), v().double()),
        "both": lambda: (v().double(), v().double()),
    },
)
def promotion_of_two(x, y):
    """The dtype of a sum."""
    return x + y, torch.result_type(x, y) == torch.float32


@probe(
    "type",
    lambda: (v(),),
    calls={"not a tensor": lambda: (None,), "double": lambda: (v().double(),)},
)
def an_input_that_is_not_used(x):
    """Nothing is computed from the input."""
    return torch.ones(2)


@probe(
    "type",
    lambda: (v(),),
    calls={"shorter": lambda: (v(2),), "deeper": lambda: (m(3, 1),)},
)
def only_the_dtype_matters(x):
    """The result is made of metadata alone."""
    return torch.zeros(x.shape, dtype=x.dtype), x.element_size(), x.itemsize, x.nbytes
