"""PyTorch's formulas for operators in terms of simpler ones, and what it calls core operators."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch._C import DispatchKey
from torch._decomp import _core_aten_decompositions_post_autograd, global_decomposition_table

from monograph.host.dispatch import has_kernel
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def core_formulas() -> dict[Any, Callable[..., Any]]:
    """Formulas that lead to core ATen, by overload.

    `torch._decomp._core_aten_decompositions_post_autograd`: the public `default_decompositions`
    belongs to torch.export. Importing it costs nothing, `import torch` does.
    """
    return dict(_core_aten_decompositions_post_autograd())


def is_composite(overload: OpOverload) -> bool:
    """Whether calling the operator only calls others (`CompositeImplicitAutograd`).

    Remembered for PyTorch's own: those of users may get a kernel later.
    """
    found = _COMPOSITE.get(overload)
    if found is None:
        found = _looks_composite(overload)
        if overload.namespace == "aten":
            _COMPOSITE[overload] = found
    return found


_COMPOSITE: dict[Any, bool] = {}


def _looks_composite(overload: OpOverload) -> bool:
    return DispatchKey.CompositeImplicitAutograd in overload.py_kernels or has_kernel(
        overload, "CompositeImplicitAutograd"
    )


def composite_formula(overload: OpOverload) -> Callable[..., Any]:
    """What a composite operator calls (`OpOverload.decompose`)."""
    return overload.decompose


def composite_operators() -> list[OpOverload]:
    """All composite operators (`_dispatch_get_registrations_for_dispatch_key`).

    Those written in Python have their body beside a formula.
    """
    names = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
    found: list[OpOverload] = []
    for qualified in sorted(names):
        home, _, name = qualified.partition("::")
        packet_name, _, overload_name = name.partition(".")
        packet = getattr(getattr(torch.ops, home), packet_name, None)
        overload = getattr(packet, overload_name or "default", None)
        if overload is not None:
            found.append(overload)
    in_python = (
        each
        for each in global_decomposition_table["post_autograd"]
        if isinstance(each, OpOverload) and DispatchKey.CompositeImplicitAutograd in each.py_kernels
    )
    return [*found, *in_python]


def is_core(overload: OpOverload) -> bool:
    """Whether PyTorch tags the operator as core ATen."""
    return torch.Tag.core in overload.tags


def is_question(overload: OpOverload) -> bool:
    """Whether the operator is asked for a size, a stride or the like, and computes no tensor."""
    return overload.namespace == "aten" and overload.name().startswith("aten::sym_")


def is_view(overload: OpOverload) -> bool:
    """Whether every result shares its argument's storage, whatever the layout (`is_view`)."""
    return overload.is_view
