"""The conjugate bit: memory that holds the conjugate of its values, which no type tells.

The real and the imaginary part are views of the memory, and PyTorch's formulas for them hold where
it is not that of a conjugate; so they are kept as they are where it may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.aliasing import source_of
from monograph.capture.recording.operators import OPERATORS
from monograph.host.operator_types import OpOverload
from monograph.host.overloads import aten

if TYPE_CHECKING:
    from torch.fx.node import Node


PARTS: Final = frozenset({aten.real.default, aten.imag.default})


def is_conjugation(target: Any) -> bool:
    """Whether an operator may give a view that stands for the conjugate of what it views."""
    return target is aten._conj.default or target is aten.conj.default  # noqa: SLF001 - an operator's name


def may_be_conjugate(node: Node) -> bool:
    """Whether a complex value may be the conjugate of its memory; what comes from outside may."""
    while node.op == "call_function":
        target: Any = node.target
        if not isinstance(target, OpOverload) or is_conjugation(target):
            return True
        source = source_of(node)
        if source is None or target is aten.resolve_conj.default:
            return OPERATORS.of(target).is_custom
        node = source
    return True


__all__ = ["PARTS", "is_conjugation", "may_be_conjugate"]
