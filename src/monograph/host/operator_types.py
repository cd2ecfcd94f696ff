"""The classes of operators, which have no public name."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket


def find_higher_order(name: str) -> Any:
    """`torch.ops.higher_order.<name>`, None if there is none (`_HigherOrderNamespace`)."""
    return getattr(torch.ops.higher_order, name, None)


def find_overload(namespace: str, name: str, overload: str) -> OpOverload | None:
    """`torch.ops.<namespace>.<name>.<overload>`, None if there is none; nothing is loaded."""
    packet = getattr(getattr(torch.ops, namespace), name, None)
    found = getattr(packet, overload, None) if isinstance(packet, OpOverloadPacket) else None
    return found if isinstance(found, OpOverload) else None


def is_dispatched(op: OpOverload) -> bool:
    """Whether the dispatcher has it: TorchScript has others, which set modes and seeds, or print.

    Needs `torch._C._dispatch_has_kernel`, `OpOverload.name`.
    """
    return torch._C._dispatch_has_kernel(op.name())


def overload_of(op: Any) -> OpOverload:
    """The overload of what `torch.library.custom_op` returns, of a packet, or itself.

    Raises: TypeError. Needs `CustomOpDef._opoverload`.
    """
    if isinstance(op, OpOverloadPacket):
        op = op.default if "default" in op.overloads() else getattr(op, op.overloads()[0])
    found = getattr(op, "_opoverload", op)
    if not isinstance(found, OpOverload):
        raise TypeError(f"an operator is expected, not a {type(op).__name__}")
    return found


__all__ = [
    "HigherOrderOperator",
    "OpOverload",
    "find_higher_order",
    "find_overload",
    "is_dispatched",
    "overload_of",
]
