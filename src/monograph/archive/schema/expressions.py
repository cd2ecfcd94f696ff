"""Serialised size expressions: sympy's constructor calls, written, and read without sympy.

Law: what `ExpressionWriter` makes of an expression of ours, `ExpressionReader` makes the same value
of. Text is read by Python's own grammar and never run; before an operation is done, its result is
known to be small: so many terms, so many bits, so deep. Old files and conditions use operators
instead of calls; both are read.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any, Final

from monograph.archive.errors import Refused
from monograph.integers import (
    Expr,
    Real,
    Relation,
    all_of,
    any_of,
    call,
    ceil,
    declared_interval,
    eq,
    evaluate,
    floor,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    ne,
    negate,
    opaque,
    round_,
    terms,
    to_float,
    trunc,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_TEXT = 1 << 16
MOST_TERMS = 512
_SHORT = 4
MOST_BITS = 256
LARGEST_SHIFT = 64

# ---------------------------------------------------------------------------------------- writing
INTEGER_HEADS: Final = {
    "bit_and": "BitwiseFn_bitwise_and",
    "bit_or": "BitwiseFn_bitwise_or",
    "bit_xor": "BitwiseFn_bitwise_xor",
    "ceil": "CeilToInt",
    "floor": "FloorToInt",
    "lshift": "LShift",
    "pow": "PowByNatural",
    "round": "RoundToInt",
    "rshift": "RShift",
    "trunc": "TruncToInt",
}
FLOAT_HEADS: Final = {
    "add": "Add",
    "float": "ToFloat",
    "max": "Max",
    "min": "Min",
    "mul": "Mul",
    "pow": "FloatPow",
    "truediv": "FloatTrueDiv",
}
COMPARISON_HEADS: Final = {
    "eq": "Equality",
    "ge": "GreaterThan",
    "gt": "StrictGreaterThan",
    "ne": "Unequality",
}
FLOAT_INPUTS: Final = frozenset({"input", "unbacked"})
"""Kinds of Real that are a float from outside: their symbol stands for that float alone."""


class ExpressionWriter:
    """Writes expressions; `symbols` says how each is written, `Symbol('s0', integer=True)`.

    Its second argument says whether the symbol stands for a float.
    """

    __slots__ = ("_known", "symbols")

    def __init__(self, symbols: Callable[[Expr, bool], str]) -> None:
        self.symbols = symbols
        self._known: dict[Any, str] = {}

    def write(self, value: Any) -> str:
        """The text of an Expr, a Real, a Relation, or a constant among their operands."""
        if isinstance(value, Expr | Real | Relation):
            found = self._known.get(value)
            if found is None:
                found = self._known[value] = self._written(value)
            return found
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return f"Integer({value})"
        return f"Float({str(value)!r}, precision=53)"

    def _call(self, head: str, *args: Any) -> str:
        return f"{head}({', '.join([self.write(arg) for arg in args])})"

    def _written(self, value: Expr | Real | Relation) -> str:
        if isinstance(value, Relation):
            return self._relation(value)
        if isinstance(value, Real):
            return self._real(value)
        if value.kind == "sum":
            # Expressions keep the order in which their parts were first met; files keep another.
            parts = sorted([self._term(coefficient, atoms) for coefficient, atoms in terms(value)])
            return parts[0] if len(parts) == 1 else f"Add({', '.join(parts)})"
        if value.kind == "symbol":
            return self.symbols(value, False)
        if value.kind == "floordiv":
            return self._call("FloorDiv", *value.args)
        head = INTEGER_HEADS[value.name] if value.kind == "opaque" else value.kind.capitalize()
        return self._call(head, *value.args)

    def _term(self, coefficient: int, atoms: tuple[Expr, ...]) -> str:
        factors = [self.write(coefficient)] if coefficient != 1 or not atoms else []
        powers: list[str] = []
        for atom in dict.fromkeys(atoms):
            count = atoms.count(atom)
            shown = self.write(atom)
            powers.append(shown if count == 1 else f"Pow({shown}, Integer({count}))")
        factors += sorted(powers)
        return factors[0] if len(factors) == 1 else f"Mul({', '.join(factors)})"

    def _real(self, value: Real) -> str:
        if value.kind in FLOAT_INPUTS:
            (symbol,) = value.symbols
            return self.symbols(symbol, True)
        if value.kind == "ratio":
            n, d = value.args
            return self._call("ToFloat", n) if d == 1 else self._call("IntTrueDiv", n, d)
        if value.kind == "sub":
            left, right = [self.write(arg) for arg in value.args]
            return f"Add({left}, Mul(Integer(-1), {right}))"
        if value.kind == "neg":
            return f"Mul(Integer(-1), {self.write(value.args[0])})"
        head = FLOAT_HEADS.get(value.kind) or f"OpaqueUnaryFn_{value.kind}"
        return self._call(head, *value.args)

    def _relation(self, value: Relation) -> str:
        if value.kind in {"and", "or"}:
            return self._call(value.kind.capitalize(), *value.args)
        if value.kind == "opaque":
            shown = self._call(COMPARISON_HEADS[value.name], *value.sides)
            return shown if value.expected else f"Not({shown})"
        if value.kind == "eq" and (sides := _symbol_and_number(value.expr)) is not None:
            return self._call("Equality", *sides)
        return self._call(COMPARISON_HEADS[value.kind], value.expr, 0)


def _symbol_and_number(difference: Expr) -> tuple[Expr, int] | None:
    """The sides of an equation in which one symbol equals a number, as loaders know truths."""
    symbols = [atoms[0] for _, atoms in terms(difference) if len(atoms) == 1]
    if len(symbols) != 1 or symbols[0].kind != "symbol":
        return None
    number = symbols[0] - difference
    return (symbols[0], number) if isinstance(number, int) else None


# ---------------------------------------------------------------------------------------- reading
def chosen(condition: Any, one: Any, other: Any) -> Any:
    """`one` where the condition holds, else `other`: a sum, where it asks for a bit.

    Raises: Refused.
    """
    if isinstance(condition, bool):
        return one if condition else other
    is_equality = isinstance(condition, Relation) and condition.kind in {"eq", "ne"}
    symbols = tuple(condition.symbols) if is_equality else ()
    values = isinstance(one, int | Expr) and isinstance(other, int | Expr)
    if not values or len(symbols) != 1 or not _is_bit(symbols[0]):
        raise Refused("it has an expression that chooses by more than a bit")
    (bit,) = symbols
    at_zero, at_one = [
        one if (evaluate(condition.expr, {bit: value}) == 0) == (condition.kind == "eq") else other
        for value in (0, 1)
    ]
    return _added(at_zero, _multiplied(_added(at_one, -at_zero), bit))


def _is_bit(symbol: Expr) -> bool:
    within = declared_interval(symbol)
    return within.lower >= 0 and within.upper <= 1


def _cannot(text: object) -> Refused:
    shown = str(text)
    return Refused(f"{shown if len(shown) <= 80 else shown[:77] + '...'!r} is no expression")


def _size_of(value: Any) -> int:
    return len(value.parts) if isinstance(value, Expr) else 1


def _small(value: Any) -> Any:
    """Let a result pass if the next operation cannot make it large."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise Refused("it has an expression with a number of more than 256 bits")
    if isinstance(value, Expr):
        if len(value.parts) > MOST_TERMS:
            raise Refused("it has an expression with more than 512 terms")
        for monomial, coefficient in value.parts:
            if len(monomial) > LARGEST_SHIFT or coefficient.bit_length() > MOST_BITS:
                raise Refused("it has an expression with a power above 64")
    return value


def _added(a: Any, b: Any) -> Any:
    return _small(a + b)


def _multiplied(a: Any, b: Any) -> Any:
    if _size_of(a) * _size_of(b) > MOST_TERMS:
        raise Refused("it has an expression with more than 512 terms")
    return _small(a * b)


def _power(a: Any, b: Any) -> Any:
    if isinstance(b, int) and isinstance(a, int | Expr):
        if not 0 <= b <= LARGEST_SHIFT:
            raise Refused("it has an expression with a power outside of 0 … 64")
        result: Any = 1
        for _ in range(b):
            result = _multiplied(result, a)
        return result
    if isinstance(b, float | Real) or isinstance(a, float | Real):
        return call("pow", a, b)
    return _opaque("pow", a, b)


def _opaque(name: str, *args: Any) -> Any:
    """An integer function that nothing is known of; what may grow has a small second operand."""
    if name in {"lshift", "pow", "rshift"}:
        within = declared_interval(args[1]) if isinstance(args[1], int | Expr) else None
        if within is None or within.lower < 0 or within.upper > LARGEST_SHIFT:
            raise Refused(f"it has an expression that needs {name} by more than 64")
    pool = next((arg.pool for arg in args if isinstance(arg, Expr)), None)
    if pool is None or any(isinstance(arg, float | Real) for arg in args):
        raise Refused(f"it has an expression that needs {name} of constants or floats")
    return opaque(pool, name, args)


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, float | Real) or isinstance(b, float | Real):
        return call("floordiv", a, b)
    return _small(a // b)


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, float | Real) or isinstance(b, float | Real):
        return call("mod", a, b)
    quotient = a // b
    return _added(a, -_multiplied(b, quotient))


def _extreme(name: str) -> Callable[..., Any]:
    choose = maximum if name == "max" else minimum

    def extreme(a: Any, b: Any) -> Any:
        if isinstance(a, float | Real) or isinstance(b, float | Real):
            return call(name, a, b)
        return choose(a, b)

    return extreme


def _folded(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def fold(first: Any, *others: Any) -> Any:
        for other in others:
            first = function(first, other)
        return first

    return fold


def _halved(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """By halves, which takes fewer steps; floats one after the other, as they were computed."""
    in_turn = _folded(function)

    def fold(*values: Any) -> Any:
        if len(values) < _SHORT or any(isinstance(each, float | Real) for each in values):
            return in_turn(*values)
        middle = len(values) // 2
        return function(fold(*values[:middle]), fold(*values[middle:]))

    return fold


def _numbers(values: list[Any]) -> list[Any]:
    for value in values:
        if isinstance(value, bool | Relation):
            raise Refused("it has an expression that counts with truth values")
    return values


def _is_minus_one(product: ast.Call) -> bool:
    match product.args:
        case [
            ast.Call(
                func=ast.Name(id="Integer"),
                args=[ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))],
            ),
            _,
        ]:
            return True
        case _:
            return False


def _itself(x: Any) -> Any:
    return x


def _exact_division(a: Any, b: Any) -> Any:
    return _divided(a, b)


NUMBER_HEADS: Final[Mapping[str, Callable[..., Any]]] = {
    "Add": _halved(_added),
    "CeilDiv": lambda a, b: _small(-_divided(-a, b)),
    "CeilToInt": ceil,
    "CleanDiv": _exact_division,
    "FloatPow": lambda a, b: call("pow", a, b),
    "FloatTrueDiv": lambda a, b: call("truediv", a, b),
    "FloorDiv": _divided,
    "FloorToInt": floor,
    "Identity": _itself,
    "IntTrueDiv": lambda a, b: call("truediv", a, b),
    "LShift": lambda a, b: _opaque("lshift", a, b),
    "Max": _halved(_extreme("max")),
    "Min": _halved(_extreme("min")),
    "Mod": _remainder,
    "ModularIndexing": lambda a, b, c: _remainder(_divided(a, b), c),
    "Mul": _folded(_multiplied),
    "Pow": _power,
    "PowByNatural": _power,
    "PythonMod": _remainder,
    "RShift": lambda a, b: _opaque("rshift", a, b),
    "RoundToInt": round_,
    "ToFloat": to_float,
    "TruncToFloat": lambda a: to_float(trunc(a)),
    "TruncToInt": trunc,
    "max": _halved(_extreme("max")),
    "min": _halved(_extreme("min")),
    **{
        head: lambda a, b, name=name: _opaque(name, a, b)
        for name, head in INTEGER_HEADS.items()
        if head.startswith("Bitwise")
    },
}
TRUTH_HEADS: Final[Mapping[str, Callable[..., Any]]] = {
    "And": all_of,
    "Eq": eq,
    "Equality": eq,
    "Ge": ge,
    "GreaterThan": ge,
    "Gt": gt,
    "Le": le,
    "LessThan": le,
    "Lt": lt,
    "Ne": ne,
    "Not": negate,
    "Or": any_of,
    "StrictGreaterThan": gt,
    "StrictLessThan": lt,
    "Unequality": ne,
}
OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: _added,
    ast.Div: lambda a, b: call("truediv", a, b),
    ast.FloorDiv: _divided,
    ast.Mod: _remainder,
    ast.Mult: _multiplied,
    ast.Pow: _power,
    ast.Sub: lambda a, b: _added(a, -b),
}
COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: eq,
    ast.Gt: gt,
    ast.GtE: ge,
    ast.Lt: lt,
    ast.LtE: le,
    ast.NotEq: ne,
}
QUALIFIED: Final = {
    "ceil": "CeilToInt",
    "floor": "FloorToInt",
    "sym_float": "ToFloat",
    "sym_int": "TruncToInt",
    "sym_max": "Max",
    "sym_min": "Min",
    "trunc": "TruncToInt",
}
"""Functions of `torch` and `math` as conditions call them, and what calls the same here."""
CONSTANTS: Final = {
    "true": True,
    "false": False,
    "oo": math.inf,
    "int_oo": math.inf,
    "nan": math.nan,
}
OPAQUE_PREFIX: Final = "OpaqueUnaryFn_"


class ExpressionReader:
    """Reads expressions; `symbol` gives the value of a name, `path` that of an input's size."""

    __slots__ = ("_known", "path", "symbol")

    def __init__(
        self, symbol: Callable[[str], Any], path: Callable[[str], Any] | None = None
    ) -> None:
        self.symbol = symbol
        self.path = path
        self._known: dict[str, Any] = {}

    def number(self, text: str) -> Any:
        """An integer or float expression.

        Raises: Refused.
        """
        found = self.value(text)
        if isinstance(found, bool | Relation):
            raise _cannot(text)
        return found

    def integer(self, text: str) -> Any:
        """An integer expression.

        Raises: Refused.
        """
        found = self.value(text)
        if isinstance(found, bool) or not isinstance(found, int | Expr):
            raise _cannot(text)
        return found

    def truth(self, text: str) -> Any:
        """A relation, or a bool.

        Raises: Refused.
        """
        found = self.value(text)
        if not isinstance(found, bool | Relation):
            raise _cannot(text)
        return found

    def value(self, text: str) -> Any:
        """Whatever the text says.

        Raises: Refused.
        """
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._parsed(text)
        return found

    def _parsed(self, text: str) -> Any:
        if len(text) > LONGEST_TEXT:
            raise Refused(f"it has an expression of more than {LONGEST_TEXT} characters")
        try:
            return self._read(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, TypeError, ValueError, ArithmeticError, MemoryError):
            raise _cannot(text) from None

    def _read(self, node: ast.expr) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=head)):
                return self._called(head, node)
            case ast.Constant(value=bool() | int() | float() as value):
                return _small(value)
            case ast.Name(id=name):
                return CONSTANTS[name] if name in CONSTANTS else self.symbol(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](*_numbers([self._read(left), self._read(right)]))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._read(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return negate(self._read(operand))
            case _:
                return self._compound(node)

    def _compound(self, node: ast.expr) -> Any:
        match node:
            case ast.BoolOp(op=op, values=values):
                join = all_of if isinstance(op, ast.And) else any_of
                return join(*[self._read(value) for value in values])
            case ast.Compare(left=left, ops=ops, comparators=others):
                operands = [self._read(operand) for operand in (left, *others)]
                pairs = zip(ops, operands, operands[1:], strict=False)
                return all_of(*[COMPARISONS[type(op)](a, b) for op, a, b in pairs])
            case ast.Call(  # a function of sympy's that has only a name
                func=ast.Call(func=ast.Name(id="Function"), args=[ast.Constant(value=str(head))]),
            ) if head.startswith(OPAQUE_PREFIX):
                return self._called(head, node)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="torch" | "math"), attr=name), args=args
            ) if name in QUALIFIED:
                return NUMBER_HEADS[QUALIFIED[name]](*[self._read(arg) for arg in args])
            case _ if self.path is not None:
                return self.path(ast.unparse(node))
            case _:
                raise _cannot(ast.unparse(node))

    def _called(self, head: str, node: ast.Call) -> Any:
        if head in {"Symbol", "Integer", "Float", "Rational"}:
            return self._atom(head, node)
        if node.keywords:
            raise _cannot(ast.unparse(node))
        if head == "Piecewise":
            return self._chosen(node)
        args = [self._read(arg) for arg in node.args]
        function = NUMBER_HEADS.get(head) or TRUTH_HEADS.get(head)
        if function is not None:
            if head in {"And", "Or", "Not"}:
                return function(*args)
            if head == "ToFloat":
                args = [chosen(a, 1, 0) if isinstance(a, bool | Relation) else a for a in args]
            if head in {"Add", "Mul"} and any(isinstance(arg, Real) for arg in args):
                found = self._signed(head, node, _numbers(args))
                if found is not None:
                    return found
            return function(*_numbers(args))
        if head.startswith(OPAQUE_PREFIX):
            return call(head.removeprefix(OPAQUE_PREFIX), *args)
        raise _cannot(ast.unparse(node))

    def _chosen(self, node: ast.Call) -> Any:
        """One of two numbers by a bool of the data, which stands as a symbol that is 0 or 1."""
        match node.args:
            case [
                ast.Call(func=ast.Name(id="ExprCondPair"), args=[one, condition]),
                ast.Call(func=ast.Name(id="ExprCondPair"), args=[other, ast.Name(id="true")]),
            ]:
                return chosen(
                    self._read(condition), *_numbers([self._read(one), self._read(other)])
                )
            case _:
                raise _cannot(ast.unparse(node))

    def _signed(self, head: str, node: ast.Call, args: list[Any]) -> Any:
        """A difference or a negation of floats, which are written as sums and products."""
        if head == "Mul":
            return -args[1] if _is_minus_one(node) and len(args) == 2 else None
        match node.args:
            case [_, ast.Call(func=ast.Name(id="Mul"), args=[_, last]) as product] if _is_minus_one(
                product
            ):
                return args[0] - self._read(last)
            case _:
                return None

    def _atom(self, head: str, node: ast.Call) -> Any:
        match head, node.args:
            case "Symbol", [ast.Constant(value=str(name))]:
                return self.symbol(name)
            case "Integer", [argument]:
                return _small(self._read(argument))
            case "Float", [ast.Constant(value=str(text)), *_]:
                return float(text)
            case "Rational", [numerator, denominator]:
                return self._read(numerator) / self._read(denominator)
            case _:
                raise _cannot(ast.unparse(node))


__all__ = ["FLOAT_INPUTS", "ExpressionReader", "ExpressionWriter"]
