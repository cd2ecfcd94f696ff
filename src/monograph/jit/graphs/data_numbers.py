"""Unbacked numbers: what `item()`, random numbers and clocks give, as values of the graph.

Arithmetic of them and operators that take them are nodes. Where Python asks what such a number is,
the graph ends.
"""

from __future__ import annotations

import math
import operator
import random
import time
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from monograph.bytecode.evaluation.special_methods import lookup
from monograph.jit.graphs.arrays import array_leaf
from monograph.jit.graphs.sizes import SYMBOLIC

if TYPE_CHECKING:
    from monograph.jit.recording import SegmentRecorder

__all__ = ["COUNTING", "KEEPING_SHAPES", "MAKING_MEMORY", "draws", "eager_leaf", "takes_number"]

_RANDOM: Final[Any] = getattr(random.random, "__self__", None)
_NUMPY: Final[Any] = getattr(np.random.rand, "__self__", None)
"""The generators behind the functions of `random` and of `numpy.random`."""
_DRAWING: Final = {
    id(_RANDOM): frozenset(
        {
            *("random", "randint", "randrange", "uniform", "gauss", "normalvariate", "choice"),
            *("getrandbits", "expovariate", "betavariate", "triangular"),
        }
    ),
    id(_NUMPY): frozenset({"rand", "randn", "random", "random_sample", "uniform", "normal"}),
}
_CLOCKS: Final = (
    *(time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns),
    *(time.process_time, time.process_time_ns, time.time, time.time_ns),
)
_OF_NUMBERS: Final = (int, float, round, abs)
KEEPING_SHAPES: Final = frozenset(
    {
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
        *(operator.mod, operator.pow, operator.lt, operator.le, operator.gt, operator.ge),
        *(operator.eq, operator.ne, operator.neg, operator.iadd, operator.isub, operator.imul),
        *(operator.itruediv, torch.add, torch.sub, torch.mul, torch.div, torch.clamp),
        *("add", "sub", "mul", "div", "clamp", "add_", "sub_", "mul_", "div_", "fill_"),
        *("masked_fill", torch.masked_fill, torch.full_like),
    }
)
"""Operators whose result's shape depends on no number that they are given."""


MAKING_MEMORY: Final = frozenset(
    {
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul),
        *(torch.matmul, torch.cat, torch.zeros, torch.ones, torch.empty, torch.full),
        *(torch.nn.functional.linear, torch.nn.functional.batch_norm, torch.conv1d),
        *(torch.conv2d, torch.conv3d, torch.nn.functional.layer_norm),
        *(torch.nn.functional.group_norm, torch.nn.functional.gelu, torch.clone, "clone"),
        *(torch.zeros_like, torch.ones_like, torch.full_like, torch.empty_like),
        *("new_zeros", "new_ones", "new_full", "new_empty"),
    }
)
"""Operators whose result is in memory of its own, whatever they are given."""
COUNTING: Final = frozenset(
    {
        *("nonzero", "masked_select", "unique", operator.getitem),
        *(torch.nonzero, torch.masked_select, torch.unique),
    }
)
"""Operators whose result's shape depends on data, but not its rank."""


def eager_leaf(
    segment: SegmentRecorder, callee: Any, args: list[Any], kwargs: dict[str, Any]
) -> tuple[str, Any, int] | None:
    """The kind and target of the node that a call becomes which only Python can run, if it is one.

    The third part is how many of the arguments the target has of its own.
    """
    if not segment.takes_numbers:
        return None
    if type(callee) is FunctionType and callee is not torch.autograd.grad:
        return _drawing(segment, callee, args, kwargs) if args and args[0] is _RANDOM else None
    is_tensor = len(args) == 1 and isinstance(args[0], torch.Tensor)
    is_converted = callee in (int, float) and is_tensor
    if callee is torch.autograd.grad or (callee is id and is_tensor):
        return "call_function", callee, 0
    if is_converted and _is_number(args[0]):
        return "call_function", callee, 0
    if type(callee) in (BuiltinFunctionType, MethodDescriptorType) and callee.__name__ == "item":
        tensors = [getattr(callee, "__self__", None), *args][-1:]
        is_number = isinstance(tensors[0], torch.Tensor) and _is_number(tensors[0])
        return ("call_method", "item", 0) if is_number and not kwargs else None
    if callee in _CLOCKS and not args:
        return "call_function", callee, 0
    return array_leaf(callee, args, kwargs) or _drawing(segment, callee, args, kwargs)


def _is_number(tensor: torch.Tensor) -> bool:
    return tensor.numel() == 1 and tensor.dtype is not torch.bool and not tensor.is_complex()


def _drawing(
    segment: SegmentRecorder, callee: Any, args: list[Any], kwargs: dict[str, Any]
) -> tuple[str, Any, int] | None:
    owner = getattr(callee, "__self__", None)
    name = getattr(callee, "__name__", "")
    n_own = 0
    is_method = bool(args) and (args[0] is _RANDOM or args[0] is _NUMPY)
    if owner is None and is_method and lookup(type(args[0]), name) is callee:
        owner, n_own = args[0], 1
    if name not in _DRAWING.get(id(owner), ()) or kwargs:
        return None
    if not _gives_a_number(name, args[n_own:], is_numpy=owner is _NUMPY):
        return None
    guards = segment.guards
    if not guards.is_known(owner):
        return None
    guards.check(
        f"{guards.names[id(owner)]} is not {guards.constant(owner)}", f"what draws `{name}`", owner
    )
    return "call_function", getattr(owner, name), n_own


def _gives_a_number(name: str, given: list[Any], *, is_numpy: bool) -> bool:
    """Whether a function of `random` or `numpy.random` gives a number, always of one type."""
    if name == "choice":
        items: Any = given[0] if given and type(given[0]) in (list, tuple) else ()
        return {type(each) for each in items} in ({int}, {float})
    if is_numpy and len(given) > (2 if name in ("uniform", "normal") else 0):
        return False
    return all(type(each) in (int, float) for each in given)


def draws(target: Any) -> bool:
    """Whether a function draws random numbers of Python or NumPy."""
    return id(getattr(target, "__self__", None)) in _DRAWING


def takes_number(callee: Any, args: list[Any]) -> bool:
    """Whether a call computes a number from one that depends on data."""
    if not args or type(args[0]) not in SYMBOLIC or not args[0].is_data:
        return False
    if callee is round:
        return len(args) == 1 or (len(args) == 2 and type(args[1]) is int)
    return len(args) == 1 and (callee in _OF_NUMBERS or callee in (math.sqrt, math.exp, math.log))
