"""Torch's higher-order operators, those that call functions, by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from torch._C import DispatchKey
from torch._higher_order_ops.associative_scan import associative_scan_op
from torch._higher_order_ops.base_hop import BaseHOP, FunctionWithNoFreeVars
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.flex_attention import (
    _permute_strides,
    flex_attention,
    math_attention,
)
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.invoke_subgraph import invoke_subgraph
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan_op
from torch._higher_order_ops.strict_mode import strict_mode_op
from torch._higher_order_ops.while_loop import while_loop_op

if TYPE_CHECKING:
    import torch

COND: Final[Any] = cond_op
MAP: Final[Any] = map_impl
WHILE_LOOP: Final[Any] = while_loop_op
SCAN: Final[Any] = scan_op
ASSOCIATIVE_SCAN: Final[Any] = associative_scan_op

FLEX_ATTENTION: Final[Any] = flex_attention

COMPILE_REGIONS: Final = (
    importlib.import_module("torch._higher_order_ops.invoke_subgraph"),
    "invoke_subgraph_placeholder",
)
"""What `torch.compiler.nested_compile_region` calls with a function and its arguments."""


def attention_of_scores(query: torch.Tensor, *args: Any) -> tuple[Any, ...]:
    """What `flex_attention` computes in eager code, by operators: its scores are a tensor.

    The result lies in memory as the query does. Torch 2.15 would ask a shape environment of its own
    how, so it is told numbers in the order of the strides.
    """
    out, *others = math_attention(query, *args)
    strides = query.stride()
    order = sorted(range(len(strides)), key=strides.__getitem__, reverse=True)[::-1]
    return (_permute_strides(out, tuple(order.index(dim) for dim in range(len(order)))), *others)


ASSOCIATIVE_SCANS: Final[Any] = importlib.import_module("torch._higher_order_ops.associative_scan")
generic_associative_scan: Final[Any] = ASSOCIATIVE_SCANS.generic_associative_scan
"""(operator, leaves, additional_inputs=...): pairs of neighbours, then pairs of these."""


TRANSFORMED: Final = DispatchKey.FuncTorchDynamicLayerFrontMode
"""The dispatch key of calls inside of transforms of `torch.func`, which answer first."""


def eager_call(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The Python function that eager code calls for an operator, or None, and what it gives it.

    Operators that only call what they are given ask first that no mode is active, so that function
    stands for them (`FunctionWithNoFreeVars.fn`). Others have a kernel (`py_kernels`).
    """
    if isinstance(op, BaseHOP):
        function = args[0].fn if isinstance(args[0], FunctionWithNoFreeVars) else args[0]
        return function, args[1:], {}
    if op is hints_wrapper:
        return args[0], tuple(args[1]), args[2]
    if op is strict_mode_op:
        return args[0], tuple(args[1]), {}
    if op is invoke_subgraph:
        return args[0], args[2:], {}
    return op.py_kernels.get(DispatchKey.CompositeExplicitAutograd), args, kwargs


def unvectorised(function: Any) -> Any:
    """The function that `torch.vmap` made this of, None if it is not found.

    While compiling, `vmap` leaves no `__wrapped__`; its closure holds the function.
    """
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return next((cell.cell_contents for name, cell in cells if name == "func"), None)


__all__ = [
    "ASSOCIATIVE_SCAN",
    "ASSOCIATIVE_SCANS",
    "COMPILE_REGIONS",
    "COND",
    "FLEX_ATTENTION",
    "MAP",
    "SCAN",
    "TRANSFORMED",
    "WHILE_LOOP",
    "attention_of_scores",
    "eager_call",
    "generic_associative_scan",
    "unvectorised",
]
