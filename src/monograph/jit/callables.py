"""Callables: which functions are operators of a graph, which fold, and which break it.

Whatever no table here names is a graph break.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import math
import operator
import random
import typing
from collections import Counter, OrderedDict, defaultdict, deque
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

import torch

from monograph.capture.code_policy import TORCH, is_entered
from monograph.host.execution_modes import MODE_SETTERS
from monograph.host.module_calls import CHECKING

__all__ = [
    "CLASS_QUESTIONS",
    "COMPUTING",
    "HOLDING",
    "LEAF_BUILTINS",
    "LEAVES",
    "METADATA_METHODS",
    "MODE_QUESTIONS",
    "TENSOR_ATTRIBUTES",
    "TENSOR_VALUES",
    "enters",
    "is_reading",
    "leaf_name",
]

_LEAKS: Final = frozenset(
    {
        *("item", "tolist", "numpy", "data_ptr", "storage", "untyped_storage", "backward"),
        *("is_nonzero", "equal", "allclose", "register_hook", "retain_grad", "share_memory_"),
        *("set_", "resize_", "resize_as_", "requires_grad_", "detach_", "__array__", "__dlpack__"),
        *(
            "__bool__",
            "__float__",
            "__int__",
            "__index__",
            "__complex__",
            "__len__",
            "__contains__",
        ),
        *("__deepcopy__", "__reduce_ex__", "__setstate__", "__repr__", "__format__", "__hash__"),
        *("__iter__", "_typed_storage", "storage_type", "pin_memory", "is_shared", "names"),
        *(
            "register_post_accumulate_grad_hook",
            "map_",
            "map2_",
            "apply_",
            "rename_",
            "refine_names",
        ),
        *(
            "is_set_to",
            "is_conj",
            "is_neg",
            "is_inference",
            "__cuda_array_interface__",
            "_make_subclass",
            "__array_wrap__",
            "record_stream",
        ),
        *("__dir__", "__rdiv__", "module_load", "new", "type", "__class__", "is_same_size"),
        *(
            "is_pinned",
            "reinforce",
            "sparse_resize_",
            "to_sparse",
            "to_mkldnn",
            "_values",
            "_indices",
        ),
        *("quantize_per_tensor", "rnn_tanh_cell_", "get_device", "has_names", "__dlpack_device__"),
        *("t_", "transpose_", "squeeze_", "unsqueeze_", "swapaxes_", "swapdims_", "as_strided_"),
        *("__setitem__", "result_type", "can_cast", "parameters_to_vector", "is_distributed"),
        "storage_offset",  # which nothing guards
    }
)
"""Functions of PyTorch whose results are no tensors, or that reach what no graph holds."""
METADATA_METHODS: Final = frozenset(
    {
        *("size", "dim", "stride", "is_contiguous", "numel", "nelement", "ndimension"),
        *("is_floating_point", "is_complex", "element_size", "is_signed"),
        *("__len__", "dense_dim", "sparse_dim"),
    }
)
"""Methods of tensors that fold: what they return is guarded."""
TENSOR_ATTRIBUTES: Final = frozenset(
    {
        *("shape", "dtype", "device", "ndim", "requires_grad", "layout", "is_cuda", "is_cpu"),
        *("is_sparse", "is_quantized", "is_meta", "itemsize", "nbytes", "is_nested", "is_mps"),
        *("is_mkldnn", "is_xla", "is_xpu", "is_sparse_csr"),
    }
)
TENSOR_VALUES: Final = frozenset({"T", "mT", "H", "mH", "real", "imag", "data"})
"""Attributes of tensors that are tensors."""
_FACTORIES: Final = (
    *("zeros", "ones", "full", "arange", "eye", "linspace", "logspace", "empty", "rand", "randn"),
    *("randint", "randperm", "tensor", "zeros_like", "ones_like", "full_like", "empty_like"),
    *("rand_like", "randn_like", "randint_like", "normal", "tril_indices", "triu_indices"),
    *("as_tensor", "scalar_tensor", "complex", "polar", "cartesian_prod", "block_diag"),
)


def _leaves() -> dict[int, tuple[str, Any]]:
    found: dict[int, tuple[str, Any]] = {}
    for space, functions in torch.overrides.get_overridable_functions().items():
        if space is not torch.Tensor and not hasattr(space, "__file__"):
            continue
        kind = "call_method" if space is torch.Tensor else "call_function"
        for function in functions:
            name = getattr(function, "__name__", "")
            if name and name not in _LEAKS and name not in METADATA_METHODS:
                found[id(function)] = (kind, function)
    for name in _FACTORIES:
        found[id(getattr(torch, name))] = ("call_function", getattr(torch, name))
    for setter in MODE_SETTERS:
        found[id(setter)] = ("call_function", setter)
    return found


LEAVES: Final = _leaves()
LEAVES.pop(id(torch.autocast), None)
"""Functions that are one node each: (kind of node, function), by identity."""
_C_SPACES: Final = (
    "torch",
    "torch._C._nn",
    "torch._C._linalg",
    "torch._C._fft",
    "torch._C._special",
)


def leaf_name(callee: Any) -> tuple[str, Any] | None:
    """The kind of node and target of a call, if the callee is an operator."""
    found = LEAVES.get(id(callee))
    if found is not None:
        kind, function = found
        return kind, function.__name__ if kind == "call_method" else function
    if type(callee) is BuiltinFunctionType:
        owner = callee.__self__
        if isinstance(owner, torch.Tensor):
            name = callee.__name__
            if name in _LEAKS or name in METADATA_METHODS or name.startswith("__"):
                return None
            return "call_method", name
        is_operator = callee.__module__ in _C_SPACES[1:] or _is_private_operator(callee)
        if is_operator and callee.__name__ not in _LEAKS:
            return "call_function", callee
    if isinstance(callee, type(torch.ops.aten.add.Tensor) | type(torch.ops.aten.add)):
        return "call_function", callee
    return None


def _is_private_operator(function: Any) -> bool:
    """Whether a function in C is an operator of torch whose name is not public."""
    owner, _, name = function.__qualname__.partition(".")
    is_private = owner == "_VariableFunctionsClass" and name.startswith("_")
    return is_private and getattr(torch, name, None) is function


def _functions(*names: str) -> list[Any]:
    return [getattr(builtins, name) for name in names]


_OPERATORS: Final = (
    *("lt", "le", "eq", "ne", "ge", "gt", "not_", "truth", "is_", "is_not", "abs", "add", "and_"),
    *("floordiv", "index", "inv", "invert", "lshift", "mod", "mul", "neg", "or_", "pos", "pow"),
    *("rshift", "sub", "truediv", "xor", "concat", "contains", "countOf", "getitem", "indexOf"),
)
LEAF_BUILTINS: Final = {
    id(each): each
    for each in (
        *_functions("sum", "abs", "pow", "divmod"),
        *(getattr(operator, name) for name in dir(operator) if not name.startswith("__")),
    )
    if type(each) is BuiltinFunctionType
}
"""Functions of Python that are operators where they are given tensors."""
for _name in (
    "truth",
    "not_",
    "is_",
    "is_not",
    "contains",
    "countOf",
    "indexOf",
    "length_hint",
    "index",
):
    LEAF_BUILTINS.pop(id(getattr(operator, _name)), None)

HOLDING: Final = {
    id(each)
    for each in (
        *_functions("list", "tuple", "dict", "zip", "enumerate", "reversed", "isinstance"),
        *_functions("issubclass", "type", "callable", "iter", "map", "filter", "getattr"),
        *_functions("slice", "object", "super", "hasattr"),
        *(functools.partial, OrderedDict, defaultdict, deque, object.__new__, tuple.__new__),
        *(functools.reduce, object.__init__, MethodType, operator.itemgetter),
    )
}
"""Functions that only look at, or keep, what they are given: tensors, too."""
COMPUTING: Final = {
    id(each)
    for each in (
        *_functions("len", "abs", "min", "max", "sum", "sorted", "int", "float", "bool", "str"),
        *_functions("round", "divmod", "pow", "range", "any", "all", "chr", "ord", "set"),
        *_functions("frozenset", "bytes", "complex", "hash", "repr", "format", "bin", "hex"),
        *(each for each in vars(math).values() if callable(each)),
        *(getattr(operator, name) for name in _OPERATORS),
        *(torch.Size, torch.device, torch.finfo, torch.iinfo),
    )
}
"""Functions of plain values that fold."""
CLASS_QUESTIONS: Final = {
    id(each)
    for each in (
        *(torch.is_tensor, torch.is_storage, torch.overrides.has_torch_function),
        *(torch.overrides.has_torch_function_unary, torch.overrides.has_torch_function_variadic),
    )
}
"""Functions that only the classes of tensors tell the answers of."""
MODE_QUESTIONS: Final = CLASS_QUESTIONS | {
    id(each)
    for each in (
        *(torch.is_grad_enabled, torch.get_default_dtype, torch.is_inference_mode_enabled),
        *(torch.is_autocast_enabled, torch.is_floating_point, torch.is_complex),
        *(torch.numel, torch.jit.is_scripting, torch.jit.is_tracing),
        *(
            torch.compiler.is_compiling,
            torch.compiler.is_exporting,
            torch.compiler.is_dynamo_compiling,
        ),
    )
}
_READING: Final[dict[type, frozenset[str]]] = {
    list: frozenset(
        {"copy", "count", "index", "__len__", "__getitem__", "__contains__", "__iter__"}
    ),
    tuple: frozenset({"count", "index", "__getitem__", "__len__", "__iter__"}),
    dict: frozenset({"get", "items", "keys", "values", "copy", "__getitem__", "__contains__"}),
    set: frozenset({"copy", "issubset", "issuperset", "union", "intersection", "difference"}),
    deque: frozenset({"copy", "count", "index"}),
}
_READING[OrderedDict] = _READING[dict]
_READING[defaultdict] = _READING[dict] - {"__getitem__"}
_READING[Counter] = _READING[defaultdict] - {"copy"}
_READING[frozenset] = _READING[set]


def is_reading(owner: Any, name: str) -> bool:
    """Whether a method of a plain container changes nothing."""
    return name in _READING.get(type(owner), ())


_ENTERED: Final = ("autograd/grad_mode.py", "nn/functional.py", "backends/mha/__init__.py")
"""Files of PyTorch whose functions are interpreted, but for those that are operators."""


_OF_SIGNATURES: Final = {
    each.fget
    for kind in (inspect.Signature, inspect.Parameter)
    for each in vars(kind).values()
    if isinstance(each, property)
}


def enters(function: FunctionType) -> bool:
    """Whether a function is interpreted."""
    file = function.__code__.co_filename
    if file == random.__file__:
        return False  # each call draws
    if file == dataclasses.__file__ or function is typing.cast or function in _OF_SIGNATURES:
        return True
    if function is CHECKING:
        return True
    if file.startswith(TORCH) and file.endswith(_ENTERED):
        return id(function) not in LEAVES
    name = function.__code__.co_name
    # What a `__getattribute__` answers is guarded by what it reads, also an installed package's.
    return is_entered(file, "" if name == "__getattribute__" else name)
