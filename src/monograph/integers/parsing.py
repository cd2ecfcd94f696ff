"""Text back into expressions and relations: Python's own grammar, read and never run.

Law: `parse(text(e), names)` is e, where `names` maps what the text calls a symbol to the symbol.
"""

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from monograph.integers.expr import INTEGER_FUNCTIONS, Expr, Int
from monograph.integers.floats import FLOAT_FUNCTIONS
from monograph.integers.pool import opaque
from monograph.integers.real import Number, Real, call, ceil, floor, round_, trunc
from monograph.integers.relation import (
    Truth,
    all_of,
    any_of,
    eq,
    ge,
    gt,
    le,
    lt,
    ne,
    negate,
)
from monograph.integers.structure import maximum, minimum

__all__ = ["parse", "parse_real", "parse_relation"]

Names: TypeAlias = Mapping[str, Int]

_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[Number, Number], Truth]]] = MappingProxyType(
    {ast.Eq: eq, ast.NotEq: ne, ast.Lt: lt, ast.LtE: le, ast.Gt: gt, ast.GtE: ge}
)
_ROUND: Final[Mapping[str, Callable[[Number], Int]]] = MappingProxyType(
    {"ceil": ceil, "floor": floor, "round": round_, "trunc": trunc}
)


def parse(text: str, names: Names) -> Int:
    """Read an integer expression.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> parse("max(n, 2)*n + 1", {"n": n}), parse("x.shape[0] // 2", {"x.shape[0]": n}) is n // 2
    (n*max(n, 2) + 1, True)
    """
    read = parse_real(text, names)
    if isinstance(read, int | Expr):
        return read
    raise _not_understood(text)


def parse_real(text: str, names: Names) -> Number:
    """Read an expression that may be a float.

    >>> parse_real("1 / 2", {})
    0.5
    """
    return _number(_tree(text), names)


def parse_relation(text: str, names: Names) -> Truth:
    """Read a relation.

    >>> from monograph.integers import Facts, ge
    >>> n = Facts().symbol("n", hint=3)
    >>> parse_relation("n >= 4 or n == 0", {"n": n}) is any_of(ge(n, 4), eq(n, 0))
    True
    """
    return _relation(_tree(text), names)


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise _not_understood(text) from error


def _not_understood(text: str) -> ValueError:
    return ValueError(f"this is no expression of sizes: {text}")


def _relation(node: ast.expr, names: Names) -> Truth:
    match node:
        case ast.Constant(value=bool(value)):
            return value
        case ast.Compare(left=left, ops=ops, comparators=others):
            operands = [_number(operand, names) for operand in (left, *others)]
            pairs = zip(operands, operands[1:], ops, strict=False)
            return all_of(*[_compare(op, a, b) for a, b, op in pairs])
        case ast.BoolOp(op=ast.And(), values=values):
            return all_of(*[_relation(value, names) for value in values])
        case ast.BoolOp(op=ast.Or(), values=values):
            return any_of(*[_relation(value, names) for value in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negate(_relation(operand, names))
        case _:
            raise _not_understood(ast.unparse(node))


def _compare(op: ast.cmpop, a: Number, b: Number) -> Truth:
    compare = _COMPARE.get(type(op))
    if compare is None:
        raise _not_understood(ast.dump(op))
    return compare(a, b)


def _number(node: ast.expr, names: Names) -> Number:
    named = names.get(ast.unparse(node)) if not isinstance(node, ast.Constant) else None
    if named is not None:
        return named
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Constant(value=float(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, names)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(node, op, _number(left, names), _number(right, names))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(value))]):
            return float(value)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _called(node, name, [_number(arg, names) for arg in args])
        case _:
            raise _not_understood(ast.unparse(node))


_REAL_OPERATORS: Final[Mapping[type[ast.operator], str]] = MappingProxyType(
    {
        ast.Add: "add",
        ast.FloorDiv: "floordiv",
        ast.Mod: "mod",
        ast.Mult: "mul",
        ast.Pow: "pow",
        ast.Sub: "sub",
    }
)


def _binary(node: ast.expr, op: ast.operator, a: Number, b: Number) -> Number:
    if isinstance(op, ast.Div):
        return call("truediv", a, b)
    if type(op) not in _REAL_OPERATORS:
        raise _not_understood(ast.unparse(node))
    if isinstance(a, float | Real) or isinstance(b, float | Real):
        return call(_REAL_OPERATORS[type(op)], a, b)
    return _integer_binary(node, op, a, b)


def _integer_binary(node: ast.expr, op: ast.operator, a: Int, b: Int) -> Int:
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv():
            return a // b
        case ast.Mod():
            return a % b
        case ast.Pow() if isinstance(b, int) and 0 <= b < 64:
            return a**b
        case _:
            raise _not_understood(ast.unparse(node))


def _called(node: ast.expr, name: str, args: list[Number]) -> Number:
    if name in {"max", "min"}:
        return _extreme(name, args)
    if name in _ROUND and len(args) == 1:
        return _ROUND[name](args[0])
    if name in INTEGER_FUNCTIONS and not any(isinstance(arg, float | Real) for arg in args):
        pool = next((arg.pool for arg in args if isinstance(arg, Expr)), None)
        if pool is not None:
            return opaque(pool, name, tuple(args))
        return INTEGER_FUNCTIONS[name](*args)
    if name in FLOAT_FUNCTIONS:
        return call(name, *args)
    raise _not_understood(ast.unparse(node))


def _extreme(name: str, args: list[Number]) -> Number:
    result = args[0]
    for arg in args[1:]:
        if isinstance(result, float | Real) or isinstance(arg, float | Real):
            result = call(name, result, arg)
        else:
            result = maximum(result, arg) if name == "max" else minimum(result, arg)
    return result
