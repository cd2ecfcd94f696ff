"""NumPy within a graph: functions and methods of arrays are nodes, and so are scalars of NumPy.

Arrays are inputs and values of the graph as tensors are. The functions are NumPy's own.
"""

from __future__ import annotations

import operator
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any, Final

import numpy as np
import torch

__all__ = [
    "ARRAY_FACTS",
    "ARRAY_VALUES",
    "array_condition",
    "array_leaf",
    "has_arrays",
    "has_counted",
    "is_array",
    "writes_array",
]

_KINDS: Final = "biufc"
_PLAIN: Final = frozenset(
    {torch.nn.Parameter, int, float, bool, str, type(None), list, tuple, dict}
)
ARRAY_VALUES: Final = frozenset({"T", "real", "imag"})
"""Attributes of arrays that are arrays."""
ARRAY_FACTS: Final = frozenset({"dtype", "shape", "ndim", "size", "nbytes", "itemsize"})
"""Attributes of arrays that do not tell data."""
_FUNCTIONS: Final = {
    id(getattr(np, name))
    for name in (
        *("cumsum", "cumprod", "mean", "sum", "prod", "std", "var", "min", "max", "amin", "amax"),
        *("argmin", "argmax", "argsort", "sort", "clip", "where", "concatenate", "stack"),
        *("vstack", "hstack", "reshape", "transpose", "expand_dims", "squeeze", "ravel", "dot"),
        *("matmul", "einsum", "tensordot", "linspace", "arange", "zeros", "ones", "full", "eye"),
        *("zeros_like", "ones_like", "full_like", "count_nonzero", "nonzero", "median"),
        *("percentile", "quantile", "round", "around", "array", "asarray", "ascontiguousarray"),
        *("flip", "roll", "tile", "repeat", "unique", "diff", "outer", "interp", "searchsorted"),
        *("bincount", "isin", "any", "all", "pad", "moveaxis", "swapaxes", "take", "trace"),
        *("flatnonzero", "argwhere", "broadcast_to", "nan_to_num", "tril", "triu"),
    )
}
_METHODS: Final = frozenset(
    {
        *("mean", "sum", "prod", "std", "var", "min", "max", "argmin", "argmax", "argsort"),
        *("cumsum", "cumprod", "astype", "copy", "reshape", "transpose", "ravel", "flatten"),
        *("squeeze", "swapaxes", "clip", "round", "dot", "any", "all", "nonzero", "repeat"),
        *("take", "trace", "diagonal", "item"),
    }
)
_COUNTING: Final = frozenset(
    {
        *("nonzero", "repeat", np.nonzero, np.repeat, np.unique, np.bincount, np.flatnonzero),
        *(np.argwhere, np.where),
    }
)
"""Those whose result's shape depends on data."""
_IN_PLACE: Final = frozenset(
    {
        *(operator.setitem, operator.iadd, operator.isub, operator.imul, operator.itruediv),
        *(operator.ifloordiv, operator.imod, operator.ipow, operator.iand, operator.ior),
        *(operator.ixor, operator.ilshift, operator.irshift, operator.imatmul),
    }
)


def is_array(value: Any) -> bool:
    """Whether a value is an array of numbers, or a scalar of NumPy."""
    kind = type(value)
    if kind is torch.Tensor or kind in _PLAIN:
        return False
    return (kind is np.ndarray or issubclass(kind, np.generic)) and value.dtype.kind in _KINDS


def has_arrays(values: Any) -> bool:
    """Whether arrays are among values, or in lists and tuples of them."""
    for each in values:
        if type(each) in (list, tuple):
            if has_arrays(each):
                return True
        elif is_array(each):
            return True
    return False


def array_leaf(callee: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[str, Any, int] | None:
    """The kind and target of the node that a call of NumPy becomes, or one that takes arrays."""
    if "out" in kwargs or "where" in kwargs:
        return None
    if type(callee) in (BuiltinFunctionType, MethodDescriptorType):
        return _method_leaf(callee, args)
    is_ufunc = type(callee) is np.ufunc and len(args) == callee.nin
    is_scalar = isinstance(callee, type) and issubclass(callee, np.generic)
    if is_ufunc or id(callee) in _FUNCTIONS or (is_scalar and args):
        return "call_function", callee, 0
    if callee in (int, float) and len(args) == 1 and is_array(args[0]) and args[0].size == 1:
        return ("call_function", callee, 0) if args[0].dtype.kind in "iuf" else None
    return None


def _method_leaf(callee: Any, args: list[Any]) -> tuple[str, Any, int] | None:
    name = callee.__name__
    owner: Any = getattr(callee, "__self__", None)
    if type(callee) is MethodDescriptorType and args:
        owner = args[0]
    if callee is torch.from_numpy or (callee in (abs, sum, pow) and has_arrays(args)):
        return "call_function", callee, 0
    if isinstance(owner, torch.Tensor):
        return ("call_method", name, 0) if name == "numpy" else None
    if id(callee) in _FUNCTIONS:
        return "call_function", callee, 0
    if not is_array(owner) or name not in _METHODS:
        return None
    if name == "item" and (owner.dtype.kind not in "iuf" or owner.size != 1):
        return None
    return "call_method", name, 0


def writes_array(target: Any, args: Any) -> bool:
    """Whether an operator writes to an array."""
    return target in _IN_PLACE and type(args[0]) is np.ndarray


def has_counted(target: Any, args: Any) -> bool:
    """Whether the shape of what NumPy gives depends on data."""
    if target is operator.getitem:
        keys = args[1] if type(args[1]) is tuple else (args[1],)
        return any(is_array(each) and each.dtype.kind == "b" for each in keys)
    return target in _COUNTING


def array_condition(name: str, array: Any, constant: Any) -> str:
    """The condition under which what is read is an array of another kind."""
    parts = [f"type({name}) is not {constant(type(array))}"]
    if type(array) is np.ndarray:
        parts += [f"{name}.{each} != {constant(getattr(array, each))}" for each in _FACTS]
        parts.append(f"{name}.flags.writeable is not {array.flags.writeable}")
    return " or ".join(parts)


_FACTS: Final = ("dtype", "shape", "strides")
