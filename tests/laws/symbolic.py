"""Symbols in place of the sizes of a call, and tensors of other sizes in place of the symbols."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.layout import is_dense, stride_order, strides_in_order
from monograph.abstract.tensor_type import TensorType
from monograph.integers import Expr, Facts, evaluate
from monograph.integers import holds as relation_holds

if TYPE_CHECKING:
    from collections.abc import Callable

# How other sizes are made of the i-th symbol's hint. 0 and 1 are legal sizes too.
OTHER_SIZES: tuple[Callable[[int, int], int], ...] = (
    lambda _, hint: hint + 1,
    lambda i, hint: hint + 2 + i,
    lambda _, hint: hint * 2,
    lambda i, hint: 1 if i == 0 else hint,
    lambda _, __: 1,
    lambda i, hint: 0 if i == 0 else hint,
)


class Symbols:
    """Makes a symbol for each size of at least 2, with that size as its hint.

    `shared`: equal sizes get one symbol, and so do equal numbers where the schema takes a SymInt;
    otherwise each size of each tensor gets its own.
    """

    def __init__(self, facts: Facts, *, shared: bool) -> None:
        self.facts = facts
        self.shared = shared
        self.hints: dict[Any, int] = {}
        self._by_size: dict[int, Any] = {}

    def size(self, size: int) -> Any:
        """The symbol of a size, or the size."""
        if size < 2:
            return size
        if self.shared and size in self._by_size:
            return self._by_size[size]
        symbol = self.facts.symbol(f"s{len(self.hints)}", hint=size, lower=0)
        self.hints[symbol] = size
        self._by_size[size] = symbol
        return symbol

    def tensor(self, t: TensorType) -> TensorType:
        """The same type with symbolic sizes; a dense one stays dense in the same order."""
        shape = tuple(self.size(size) for size in t.shape)
        strides = t.strides
        if strides is not None and is_dense(t):
            strides = strides_in_order(shape, stride_order(t))
        return TensorType(shape, t.dtype, t.device, strides, t.offset, t.requires_grad)

    def arguments(self, func: Any, types: Any) -> Any:
        """Arguments of the rule with symbols in them."""
        args, kwargs = types
        made: dict[int, TensorType] = {}

        def tensors(value: Any) -> Any:
            if isinstance(value, TensorType):
                return made.setdefault(id(value), self.tensor(value))
            if isinstance(value, list | tuple):
                return type(value)(map(tensors, value))
            return value

        args = [tensors(value) for value in args]
        kwargs = {name: tensors(value) for name, value in kwargs.items()}
        if self.shared:
            names = size_arguments(func)
            order = [argument.name for argument in func._schema.arguments]
            args = [self.numbers(v) if n in names else v for n, v in zip(order, args, strict=False)]
            kwargs = {n: self.numbers(v) if n in names else v for n, v in kwargs.items()}
        return args, kwargs

    def numbers(self, value: Any) -> Any:
        """Sizes among the arguments become the symbol of a tensor's equal size."""
        if isinstance(value, list | tuple):
            return [self.numbers(item) for item in value]
        if isinstance(value, int) and not isinstance(value, bool):
            return self._by_size.get(value, value)
        return value


def size_arguments(func: Any) -> set[str]:
    """Names of the arguments where the schema takes symbolic integers."""
    found = re.findall(r"SymInt(?:\[\d*\])?\?? (\w+)", str(func._schema).partition(" -> ")[0])
    return set(found)


def holds(guard: Any, env: dict[Any, int]) -> bool:
    """Whether a guard is true at these sizes."""
    try:
        return relation_holds(guard.relation, env)
    except (KeyError, ZeroDivisionError):
        return False  # a symbol the rule made has no size yet


def instantiate(arguments: Any, env: dict[Any, int], max_elements: int) -> Any:
    """Real arguments of the given sizes, all zeros.

    Raises ValueError where they would be too large.
    """

    def real(value: Any) -> Any:
        if isinstance(value, TensorType):
            return _tensor(value, env, max_elements)
        if isinstance(value, list | tuple):
            return type(value)(map(real, value))
        return evaluate(value, env) if isinstance(value, Expr) else value

    args, kwargs = arguments
    return [real(value) for value in args], {name: real(value) for name, value in kwargs.items()}


def _tensor(t: TensorType, env: dict[Any, int], max_elements: int) -> torch.Tensor:
    shape = [_int(size, env) for size in t.shape]
    strides = [_int(step, env) for step in t.stride()]
    offset = _int(t.offset, env)
    reach = offset + 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    needed = offset if 0 in shape else reach
    if needed > max_elements:
        raise ValueError(needed)
    storage = torch.zeros(max(needed, 1), dtype=t.dtype, device=t.device)
    made = storage.as_strided(shape, strides, offset)
    return made.requires_grad_() if t.requires_grad else made


def _int(value: Any, env: dict[Any, int]) -> int:
    return evaluate(value, env) if isinstance(value, Expr) else value
