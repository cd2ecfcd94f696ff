"""Lazy messages of checks, read without calling them: eager calls one only on failure.

It is evaluated as far as that has no effect (see `bytecode.branches.pure_evaluation`): attributes
of tensors and of plain objects, items, arithmetic, f-strings. A number that only data tells stands
in the text under the name of where it comes from; the program adds its value when the check fails.
"""

from __future__ import annotations

import inspect
import operator
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbolic_text import SymbolicText
from monograph.abstract.symbols import SymbolNode
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.branches.pure_evaluation import Unsure, result_of
from monograph.integers import Expr, Real, Relation, relation_text, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OF_TENSORS: Final = frozenset({"device", "dtype", "ndim", "shape"})
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "//": operator.floordiv,
        "%": operator.mod,
    }
)
_CONVERSIONS: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {"": str, "s": str, "r": repr, "a": ascii}
)
_PLAIN = bool | int | float | str | None | torch.dtype | torch.device
_SYMBOLIC = torch.SymInt | torch.SymFloat | torch.SymBool


def text_of_message(message: Any) -> str:
    """What `lambda: f"{n} are too many"` says; "" where that cannot be told by looking."""
    if not isinstance(message, FunctionType) or message.__code__.co_argcount:
        return ""
    try:
        result = result_of(message, _InMessages())
    except Unsure:
        return ""
    if type(result) is SymbolicText:
        return result.shown(names=True)
    return result if isinstance(result, str) else ""


class _InMessages:
    """What values mean in messages (see `pure_evaluation.Meaning`)."""

    def truth(self, value: Any) -> bool:
        """A message that depends on a condition is not read."""
        del value
        raise Unsure

    def call(self, callee: Any, args: list[Any]) -> Any:
        """Nothing is called."""
        del callee, args
        raise Unsure

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute, where no code of the user's answers."""
        if isinstance(owner, torch.Tensor):
            if name not in _OF_TENSORS:
                raise Unsure
            return getattr(owner, name)
        found = inspect.getattr_static(owner, name)
        if hasattr(found, "__get__"):
            raise Unsure
        return found

    def item(self, owner: Any, key: Any) -> Any:
        """An item of a builtin container."""
        if type(owner) not in {dict, list, tuple, torch.Size} or not isinstance(key, int | str):
            raise Unsure
        return owner[key]

    def operate(self, symbol: str, left: Any, right: Any) -> Any:
        """Arithmetic on numbers."""
        numbers = int | float | torch.SymInt | torch.SymFloat
        if not (isinstance(left, numbers) and isinstance(right, numbers)):
            raise Unsure
        return _OPERATORS[symbol](left, right)

    def formatted(self, value: Any, conversion: str, spec: str) -> str:
        """One field of an f-string."""
        return _shown(value, conversion, spec)


def _shown(value: Any, conversion: str, spec: str) -> str:
    """A value in a text; numbers that are not known yet, and tensors, by what they are."""
    if isinstance(value, _SYMBOLIC):
        return _name(value)
    if type(value) is SymbolicText:
        return value.shown(names=True)
    if isinstance(value, torch.Size | list | tuple):
        shown = [_shown(each, "", "") for each in value]
        return f"{type(value).__name__}({', '.join(shown)})" if shown else "()"
    if isinstance(value, AbstractTensor):
        t = value.tensor_type
        sizes = ", ".join([_shown(size, "", "") for size in value.shape])
        return f"tensor({str(t.dtype).removeprefix('torch.')}[{sizes}])"
    if not isinstance(value, _PLAIN):
        raise Unsure
    return format(_CONVERSIONS[conversion](value) if conversion else value, spec)


def _name(number: Any) -> str:
    node = number.node
    if not isinstance(node, SymbolNode):
        return str(number)
    value, facts = node.settled(), node.facts
    names = {s: facts.source_of(s) or s.name for s in facts.symbols}
    if isinstance(value, Relation):
        return relation_text(value, names)
    return text(value, names) if isinstance(value, Expr | Real) else str(value)


__all__ = ["text_of_message"]
