"""Symbolic sizes as JSON: syntax trees that the page evaluates at the sizes a reader chooses.

A number is itself, the symbol number i is `"si"`, and an operation is `[operator, operand, ...]`:
`4*batch - 1` is `["-", ["*", 4, "s0"], 1]`. None stands for what a page cannot evaluate.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import SymbolNode, as_stated
from monograph.integers import (
    Expr,
    Real,
    Relation,
    declared_interval,
    python_source,
    relation_source,
    symbols,
)
from monograph.program.printing import dtype_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monograph.program import ExportedProgram

_OPERATORS: Final[dict[type, str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.USub: "neg",
    ast.Not: "not",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.And: "and",
    ast.Or: "or",
}
LARGEST: Final = 2**53
"""Numbers in a page are floats: an end of a range beyond this is none."""


class SizeTable:
    """The symbols and the expressions that the types of one program have."""

    def __init__(self, program: ExportedProgram) -> None:
        self._program = program
        self._sources: dict[Expr, str] = {}
        self.symbols: list[dict[str, Any]] = []
        self.expressions: dict[str, Any] = {}
        for symbol in program.contract.names:
            self.index(symbol)

    def index(self, symbol: Expr, facts: Any = None) -> int:
        """The number of a symbol, with its name, range and value in the example."""
        source = self._sources.get(symbol)
        if source is not None:
            return int(source[1:])
        self._sources[symbol] = f"s{len(self.symbols)}"
        contract = self._program.contract
        facts = facts or self._program.facts
        told = {s: (low, high) for s, low, high in contract.ranges}
        lower, upper = told.get(symbol) or [
            end if isinstance(end, int) else None for end in declared_interval(symbol)
        ]
        hint = None if facts is None else facts.hint_of(symbol)
        anonymous = None if facts is None else facts.source_of(symbol)
        self.symbols.append(
            {
                "name": contract.names.get(symbol) or anonymous or symbol.name,
                "lower": _bounded(lower),
                "upper": _bounded(upper),
                "value": hint if isinstance(hint, int) else max(_bounded(lower) or 0, 1),
                "backed": hint is not None,
            }
        )
        return len(self.symbols) - 1

    def size(self, size: Any) -> int | str:
        """A size in a document: a number, or the text of an expression in `expressions`."""
        if isinstance(size, int):
            return size
        shown = str(size)
        if shown not in self.expressions:
            node = getattr(size, "node", None)
            value = as_stated(size)
            facts = node.facts if isinstance(node, SymbolNode) else None
            self.expressions[shown] = self.tree(value, facts)
        return shown

    def tree(self, value: Any, facts: Any = None) -> Any:
        """The syntax tree of an expression or a relation, None where there is none."""
        if not isinstance(value, Expr | Real | Relation):
            return value if isinstance(value, int) else None
        for symbol in sorted(_symbols(value), key=lambda symbol: symbol.index):
            self.index(symbol, facts)
        source = (relation_source if isinstance(value, Relation) else python_source)(
            value,  # pyright: ignore[reportArgumentType] - each of its own kind
            self._sources,
        )
        return _tree(ast.parse(source, mode="eval").body)

    def symbols_of(self, value: Any) -> list[int]:
        """The numbers of the symbols in an expression or a relation."""
        return sorted(self.index(symbol) for symbol in _symbols(value))

    def types(self, value: Any) -> list[Any]:
        """The type of a node's value: `[dtype, sizes, bytes of an element]` for each tensor in it.

        A symbolic number is `["Sym", expression]`.
        """
        match value:
            case torch.Tensor():
                sizes = [self.size(size) for size in value.shape]
                return [[dtype_text(value.dtype), sizes, value.dtype.itemsize]]
            case torch.SymInt() | torch.SymFloat() | torch.SymBool():
                return [["Sym", self.size(value)]]
            case tuple() | list():
                return [found for each in value for found in self.types(each)]
            case _:
                return []


def _symbols(value: Any) -> Iterable[Expr]:
    return value.symbols if isinstance(value, Real | Relation) else symbols(value)


def _bounded(end: int | None) -> int | None:
    return None if end is None or abs(end) > LARGEST else end


def _tree(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float()):
            return node.value
        case ast.Name():
            return node.id
        case ast.UnaryOp(op=op, operand=operand):
            return _applied(_OPERATORS.get(type(op)), [operand])
        case ast.BinOp(left=left, op=op, right=right):
            return _applied(_OPERATORS.get(type(op)), [left, right])
        case ast.BoolOp(op=op, values=values):
            return _applied(_OPERATORS.get(type(op)), values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _applied(_OPERATORS.get(type(op)), [left, right])
        case ast.Call(func=ast.Name(id=name), args=args):
            return _applied(name, args)
        case _:
            return None


def _applied(operator: str | None, operands: list[ast.expr]) -> Any:
    trees = [_tree(each) for each in operands]
    return None if operator is None or None in trees else [operator, *trees]


__all__ = ["LARGEST", "SizeTable"]
