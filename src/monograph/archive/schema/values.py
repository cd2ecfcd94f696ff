"""Serialised value types: tensors without data, and numbers that depend on sizes.

Law: a value read has sizes, strides and offset that are integers or expressions of symbols the file
declares, a dtype and a device that exist, and as many strides as sizes. What it says is believed;
the contract and the operators check it again at run time.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.flags import described
from monograph.abstract.layout import contiguous_strides
from monograph.abstract.symbols import SymbolNode, to_python
from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import TensorType
from monograph.archive.errors import Refused
from monograph.archive.schema.enums import DTYPE_OF, DTYPES, LAYOUT_OF
from monograph.archive.schema.expressions import FLOAT_INPUTS, ExpressionReader, ExpressionWriter
from monograph.archive.schema.json_fields import (
    boolean,
    integer,
    listed,
    mapping,
    only_key,
    small,
    text,
)
from monograph.diagnostics import problem
from monograph.integers import Expr, Real, Relation, substitute_relation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from torch.fx.node import Node

    from monograph.abstract.layout import LayoutQuestion
    from monograph.integers import Facts

Json = dict[str, Any]
LARGEST = (1 << 63) - 1
MOST_DIMS = 64


# ---------------------------------------------------------------------------------------- writing
class ValueWriter:
    """Writes the types of values; equal types are written once and shared."""

    __slots__ = ("_metas", "expressions", "facts")

    def __init__(self, facts: Facts, expressions: ExpressionWriter) -> None:
        self.facts = facts
        self.expressions = expressions
        self._metas: dict[Any, Json] = {}

    def tensor(self, t: TensorType) -> Json:
        """The meta of a tensor of this type."""
        found = self._metas.get(t.key)
        if found is None:
            found = self._metas[t.key] = {
                "dtype": dtype_code(t.dtype),
                "sizes": [self.sym_int(size) for size in t.shape],
                "requires_grad": t.requires_grad,
                "device": device_json(t.device),
                "strides": [self.sym_int(stride) for stride in t.stride()],
                "storage_offset": self.sym_int(t.offset),
                "layout": 7,
            }
        return found

    def sym_int(self, value: Any) -> Json:
        """An integer, or an expression with its value in the example."""
        if isinstance(value, Expr):
            value = self.facts.simplify(value)
        if not isinstance(value, Expr):
            return {"as_int": small(value)}
        hint = self.facts.hint_of(value)
        return self._expression(value, None if hint is None else {"as_int": hint})

    def sym_float(self, value: Any) -> Json:
        """A float, or an expression with its value in the example."""
        if not isinstance(value, Real):
            return {"as_float": float_json(value)}
        found = ((symbol, self.facts.hint_of(symbol)) for symbol in value.symbols)
        hints = {symbol: hint for symbol, hint in found if hint is not None}
        is_open = value.kind == "unbacked" or len(hints) < len(value.symbols)
        hint = None if is_open else {"as_float": float_json(value.evaluate(hints))}
        return self._expression(value, hint)

    def sym_bool(self, value: Any) -> Json:
        """A truth value, or a relation."""
        value = self.in_file(value)
        if not isinstance(value, Relation):
            return {"as_bool": bool(value)}
        return self._expression(value, None)

    def in_file(self, relation: Any) -> Any:
        """A relation without the symbols that are known to equal something else.

        No value in the file need have such a symbol as its size, so no reader could bind it.
        """
        if not isinstance(relation, Relation):
            return relation
        known = self.facts.replacements
        unbound = {s: known[s] for s in relation.symbols if s in known}
        return substitute_relation(relation, unbound) if unbound else relation

    def _expression(self, value: Any, hint: Json | None) -> Json:
        return {"as_expr": {"expr_str": self.expressions.write(value), "hint": hint}}


def dtype_code(dtype: torch.dtype) -> int:
    """The number of a dtype.

    Raises: Refused.
    """
    found = DTYPES.get(dtype)
    if found is None:
        raise Refused(f"a tensor is of {dtype}, which has no number in files")
    return found


def device_json(device: torch.device) -> Json:
    """A device by type and index."""
    return {"type": device.type, "index": device.index}


def float_json(value: float) -> Any:
    """A float; what JSON has no digits for is a string."""
    if value != value:  # noqa: PLR0124  (NaN is the only number unlike itself)
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


# ---------------------------------------------------------------------------------------- reading
class LoadedValues:
    """Stands where a capture's recorder stood: it knows the facts, and refuses to compute."""

    __slots__ = ("facts",)
    tells_users = False

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise problem("leaked-tensor", op="a value of a program that was loaded")

    call = item = truth = getitem = setitem = read_data = set_requires_grad = _refuse
    access_memory = memory_behind = _refuse

    def layout_asked(self, tensor: AbstractTensor, question: LayoutQuestion) -> None:
        """Anybody may look at the strides of a finished program."""

    def dtype_asked(self, tensor: AbstractTensor) -> None:
        """Anybody may look at the dtypes of a finished program."""

    def text_asked(self, tensor: AbstractTensor) -> None:
        """Anybody may read a finished program."""

    def asked(self, tensor: AbstractTensor, question: str) -> bool:
        """Anybody may look at the flags of a finished program."""
        return described(tensor, question)


class ValueReader:
    """Reads the types of values; equal ones are decoded once."""

    __slots__ = ("_types", "expressions", "facts", "recorder")

    def __init__(self, facts: Facts, expressions: ExpressionReader) -> None:
        self.facts = facts
        self.expressions = expressions
        self.recorder: Any = LoadedValues(facts)
        self._types: dict[Any, TensorType] = {}

    def tensor(self, meta: Json, node: Node | None) -> AbstractTensor:
        """The abstract tensor of a meta."""
        return make_tensor(self.tensor_type(meta), node, self.recorder)

    def tensor_type(self, meta: Json) -> TensorType:
        """The type a meta describes.

        Raises: Refused.
        """
        key = repr(meta)
        found = self._types.get(key)
        if found is None:
            found = self._types[key] = self._tensor_type(meta)
        return found

    def _tensor_type(self, meta: Json) -> TensorType:
        mapping(meta)
        shape = tuple([self.sym_int(each, 0) for each in listed(meta["sizes"])])
        strides = tuple([self.sym_int(each, 0) for each in listed(meta["strides"])])
        if len(shape) != len(strides) or len(shape) > MOST_DIMS:
            raise Refused(f"a tensor has {len(shape)} sizes and {len(strides)} strides")
        if layout_of(meta) is not torch.strided:
            raise Refused("a value is a tensor that is not strided")
        return TensorType(
            shape,
            dtype_of(meta["dtype"]),
            device_of(meta["device"]),
            None if strides == contiguous_strides(shape) else strides,
            self.sym_int(meta.get("storage_offset", {"as_int": 0}), 0),
            boolean(meta["requires_grad"]),
        )

    def sym_int(self, value: Json, lower: int | None = None) -> Any:
        """An integer, or an expression.

        Raises: Refused.
        """
        key, inner = only_key(value)
        if key == "as_expr":
            return self.expressions.integer(text(mapping(inner)["expr_str"]))
        if key != "as_int":
            raise Refused(f"a size is {key!r}")
        return integer(inner, lower)

    def number(self, kind: str, value: Json) -> Any:
        """What user code saw: a SymInt, SymFloat or SymBool, or a constant.

        Raises: Refused.
        """
        key, inner = only_key(value)
        if key == "as_expr":
            source = text(mapping(inner)["expr_str"])
            if kind == "int":
                return self._sym(self.expressions.integer(source), int)
            if kind == "float":
                found = self.expressions.number(source)
                return self._sym(found, float) if isinstance(found, Real) else float(found)
            return self._sym(self.expressions.truth(source), bool)
        if key != f"as_{kind}":
            raise Refused(f"a number of kind {kind} is {key!r}")
        readers = {"int": integer, "float": float_of, "bool": boolean}
        return readers[kind](inner)

    def _sym(self, value: Any, kind: type) -> Any:
        if not isinstance(value, Expr | Real | Relation):
            return value
        wrap = {int: torch.SymInt, float: torch.SymFloat, bool: torch.SymBool}[kind]
        return wrap(SymbolNode(value, kind, self.facts))


def dtype_of(code: Any) -> torch.dtype:
    """The dtype of a number.

    Raises: Refused.
    """
    found = DTYPE_OF.get(integer(code))
    if found is None:
        raise Refused(f"{code} is the number of no dtype")
    return found


def layout_of(meta: Mapping[str, Any]) -> torch.layout:
    """The layout a meta names.

    Raises: Refused.
    """
    found = LAYOUT_OF.get(integer(meta.get("layout", 7)))
    if found is None:
        raise Refused(f"{meta['layout']} is the number of no layout")
    return found


DEVICES = frozenset({"cpu", "cuda", "meta", "mps", "xpu"})
"""Kinds that torch knows by itself; it imports modules for others."""


def device_of(value: Any) -> torch.device:
    """The device of a type and an index.

    Raises: Refused.
    """
    kind = text(mapping(value)["type"])
    if kind not in DEVICES and f"torch.{kind}" not in sys.modules:
        raise Refused(f"{kind[:40]!r} is no kind of device")
    index = value.get("index")
    return torch.device(kind) if index is None else torch.device(kind, integer(index, 0, 127))


def float_of(value: Any) -> float:
    """A float: a number, or one of the strings for what JSON has no digits for.

    Raises: Refused.
    """
    if value in ("Infinity", "-Infinity", "NaN"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(f"{str(value)[:40]!r} is no float")
    return float(value)


def plain_value(value: Any) -> Any:
    """What a node's value is to a file: the expression behind a symbolic number, settled."""
    return to_python(value) if isinstance(value, SYMBOLIC) else value


SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)

__all__ = [
    "FLOAT_INPUTS",
    "SYMBOLIC",
    "Json",
    "ValueReader",
    "ValueWriter",
    "device_json",
    "device_of",
    "dtype_code",
    "dtype_of",
    "float_json",
    "float_of",
    "layout_of",
    "plain_value",
]
