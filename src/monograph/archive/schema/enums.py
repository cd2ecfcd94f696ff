# table: the numbers and names that stand for torch's constants in a file.
"""Enumerations of the schema: dtypes, layouts, memory formats and operators in a file.

The numbers are those of the published schema, which are not the ones torch uses in memory.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import aliasing_of
from monograph.archive.errors import Refused
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import (
    HigherOrderOperator,
    OpOverload,
    find_higher_order,
    find_overload,
    is_dispatched,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

DTYPES: Final[Mapping[torch.dtype, int]] = {
    torch.uint8: 1,
    torch.int8: 2,
    torch.int16: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.float16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.complex32: 9,
    torch.complex64: 10,
    torch.complex128: 11,
    torch.bool: 12,
    torch.bfloat16: 13,
    torch.uint16: 28,
    torch.float8_e4m3fn: 29,
    torch.float8_e5m2: 30,
    torch.float8_e4m3fnuz: 31,
    torch.float8_e5m2fnuz: 32,
    torch.float8_e8m0fnu: 33,
    torch.uint32: 34,
    torch.uint64: 35,
}
LAYOUTS: Final[Mapping[torch.layout, int]] = {
    torch.sparse_coo: 1,
    torch.sparse_csr: 2,
    torch.sparse_csc: 3,
    torch.sparse_bsr: 4,
    torch.sparse_bsc: 5,
    torch.strided: 7,
}
MEMORY_FORMATS: Final[Mapping[torch.memory_format, int]] = {
    torch.contiguous_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
    torch.preserve_format: 4,
}
DTYPE_OF: Final = {number: dtype for dtype, number in DTYPES.items()}
LAYOUT_OF: Final = {number: layout for layout, number in LAYOUTS.items()}
MEMORY_FORMAT_OF: Final = {number: memory for memory, number in MEMORY_FORMATS.items()}

ARITHMETIC: Final = (
    "abs",
    "add",
    "and_",
    "eq",
    "floordiv",
    "ge",
    "gt",
    "invert",
    "le",
    "lshift",
    "lt",
    "mod",
    "mul",
    "ne",
    "neg",
    "not_",
    "or_",
    "pos",
    "pow",
    "rshift",
    "sub",
    "truediv",
    "xor",
)

ROUNDING: Final = ("ceil", "floor", "trunc")

OF_FLOATS: Final = (
    *("acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "log", "log10", "log2", "sin"),
    *("sinh", "tan", "tanh"),
)
"""Functions of `math` that torch.export's reader does not let through."""

FUNCTIONS: Final[Mapping[str, Any]] = {
    **{f"_operator.{name}": getattr(operator, name) for name in ARITHMETIC},
    **{f"math.{name}": getattr(math, name) for name in (*ROUNDING, *OF_FLOATS)},
    "builtins.round": round,
    **{
        f"torch.{name}": getattr(torch, name)
        for name in ["sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sum"]
    },
    "torch.sym_sqrt": torch.sym_sqrt,
    "torch._sym_sqrt": torch.sym_sqrt,
}
"""Arithmetic of sizes: the only plain functions that a program may call."""

FUNCTION_NAMES: Final = {function: name for name, function in FUNCTIONS.items()}

REGION_OPERATORS: Final = frozenset(
    {
        "associative_scan",
        "cond",
        "flex_attention",
        "invoke_subgraph",
        "map_impl",
        "scan",
        "while_loop",
        "with_effects",
        "wrap_with_autocast",
        "wrap_with_set_grad_enabled",
    }
)
"""Higher-order operators that run graphs which the same file holds, and nothing else."""

FORBIDDEN_OPERATORS: Final = frozenset({"aten.from_file", "aten.save"})
"""Operators with tensors that reach outside of those they are given."""
FORBIDDEN_NAMESPACES: Final = frozenset(
    {
        *("_native", "_test", "c10d", "debug_mode_ops", "debugprims", "export", "inductor"),
        *("inductor_prims", "onnx", "prim", "profiler", "rngprims", "static_runtime", "symm_mem"),
    }
)
HARMLESS: Final = frozenset(
    {
        *("aten._assert_async", "aten._assert_scalar", "aten._assert_tensor_metadata"),
        *("aten.sym_constrain_range", "aten.sym_constrain_range_for_size"),
        *("aten.can_cast", "aten.promote_types", "aten.result_type"),
    }
)
"""Operators that do nothing but raise, or tell a dtype, although no tensor comes of them."""


def operator_name(target: Any) -> str:
    """How a node's function is called in a file.

    Raises: Refused.
    """
    if isinstance(target, OpOverload):
        return f"torch.ops.{target}"
    if isinstance(target, HigherOrderOperator):
        return f"torch.ops.higher_order.{target}"
    try:
        return FUNCTION_NAMES[target]
    except (KeyError, TypeError):
        raise Refused(f"the graph calls {target}, which no file can name") from None


def find_operator(name: str) -> Any:
    """The function of this name: looked up among operators, never imported.

    Raises: Refused.
    """
    found = FUNCTIONS.get(name)
    if found is not None:
        return found
    parts = name.split(".")
    if parts[:2] != ["torch", "ops"] or not all(part.isidentifier() for part in parts):
        raise Refused(f"it calls {_shown(name)}, which is no operator", "archive-unsafe")
    if parts[2:3] == ["higher_order"] and len(parts) == 4:
        return _higher_order(parts[3])
    if len(parts) != 5 or parts[2].startswith("__"):
        raise Refused(f"it calls {_shown(name)}, which is no operator", "archive-unsafe")
    _, _, namespace, packet, overload = parts
    if f"{namespace}.{packet}" in FORBIDDEN_OPERATORS or namespace in FORBIDDEN_NAMESPACES:
        raise Refused(f"it calls {name}, which reaches beyond its tensors", "archive-unsafe")
    found = find_overload(namespace, packet, overload)
    if found is None:
        raise Refused(name, "archive-unknown-operator")
    if namespace == "aten" and not _is_contained(found, f"{namespace}.{packet}"):
        raise Refused(f"it calls {name}, which reaches beyond its tensors", "archive-unsafe")
    return found


def _is_contained(target: OpOverload, name: str) -> bool:
    """Whether PyTorch's own operator does nothing but compute its results and write arguments.

    Its schema says so: it is about tensors, and has a result or an argument that it writes.
    """
    if not is_dispatched(target) or name in HARMLESS:
        return name in HARMLESS
    schema, written = schema_of(target), aliasing_of(target).written
    types = [str(each.type) for each in (*schema.arguments, *schema.returns)]
    return bool(schema.returns or written) and any("Tensor" in each for each in types)


def _higher_order(name: str) -> Any:
    found = find_higher_order(name) if name in REGION_OPERATORS else None
    if found is None:
        raise Refused(f"torch.ops.higher_order.{name}", "archive-unknown-operator")
    return found


def _shown(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:77]}...")


__all__ = [
    "DTYPES",
    "DTYPE_OF",
    "FUNCTIONS",
    "LAYOUTS",
    "LAYOUT_OF",
    "MEMORY_FORMATS",
    "MEMORY_FORMAT_OF",
    "find_operator",
    "operator_name",
]
