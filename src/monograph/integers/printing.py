"""Expressions and relations as text: for people (`text`) and as Python source (`python_source`).

Law: `parse(text(e), {name: symbol})` is e again, and the source evaluates to `evaluate(e, env)`.
Remainders are recognised: n - 8*(n//8) prints as `n % 8`.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from monograph.integers.expr import INTEGER_FUNCTIONS, SPOKEN, Argument, Expr, Int
from monograph.integers.floats import FLOAT_FUNCTIONS
from monograph.integers.polynomial import Monomial
from monograph.integers.real import Number, Real
from monograph.integers.relation import Relation, Truth

__all__ = [
    "evaluate_namespace",
    "python_source",
    "relation_source",
    "relation_text",
    "text",
]

# How tightly an operator binds, as in Python.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(9)

_INFIX: Final = MappingProxyType(
    {
        "add": ("+", _SUM),
        "floordiv": ("//", _PRODUCT),
        "mod": ("%", _PRODUCT),
        "mul": ("*", _PRODUCT),
        "sub": ("-", _SUM),
        "truediv": ("/", _PRODUCT),
    }
)
_AS_GIVEN: Final = frozenset({"input", "unbacked"})
"""Floats that a symbol stands for as it is."""
_COMPARES: Final = MappingProxyType({"eq": "==", "ge": ">=", "gt": ">", "le": "<=", "ne": "!="})
_INVERSE: Final = MappingProxyType({"eq": "==", "ge": "<=", "ne": "!="})


class _Printer:
    """Writes one expression; knows what symbols are called."""

    __slots__ = ("names",)

    def __init__(self, names: Mapping[Expr, str]) -> None:
        self.names = names

    def integer(self, e: Int, tightness: int) -> str:
        """An expression, in brackets where it binds looser than `tightness`."""
        if not isinstance(e, Expr):
            return _bracketed(str(e), _UNARY if e < 0 else _ATOM, tightness)
        if e.kind != "sum":
            return self.atom(e, tightness)
        pieces = self.pieces(e)
        if len(pieces) == 1 and pieces[0][0] > 0:
            return _bracketed(_term(*pieces[0]), _PRODUCT, tightness)
        return _bracketed(_sum(pieces), _SUM, tightness)

    def atom(self, e: Expr, tightness: int) -> str:
        """An atom."""
        if e.kind == "symbol":
            return self.names.get(e, e.name)
        if e.kind == "floordiv":
            a, b = e.int_args
            quotient = f"{self.integer(a, _PRODUCT)}//{self.integer(b, _UNARY)}"
            return _bracketed(quotient, _PRODUCT, tightness)
        return f"{e.name or e.kind}({', '.join([self.number(arg, _OR) for arg in e.args])})"

    def number(self, x: Int | Argument | float, tightness: int) -> str:
        """An integer, a float, or a float-valued expression."""
        if isinstance(x, Real):
            return self.real(x, tightness)
        if isinstance(x, float):
            shown = repr(x) if math.isfinite(x) else f"float('{x}')"
            return _bracketed(shown, _UNARY if shown[0] == "-" else _ATOM, tightness)
        assert isinstance(x, Expr | int), "an argument is an integer or a Real"
        return self.integer(x, tightness)

    def real(self, r: Real, tightness: int) -> str:
        """A float-valued expression."""
        if r.kind == "ratio":
            n, d = r.args
            if d == 1:
                return f"float({self.number(n, _OR)})"
            quotient = f"{self.number(n, _PRODUCT)} / {self.number(d, _UNARY)}"
            return _bracketed(quotient, _PRODUCT, tightness)
        if r.kind in _INFIX:
            sign, level = _INFIX[r.kind]
            left, right = r.args
            shown = f"{self.number(left, level)} {sign} {self.number(right, level + 1)}"
            return _bracketed(shown, level, tightness)
        if r.kind == "neg":
            return _bracketed(f"-{self.number(r.args[0], _UNARY)}", _UNARY, tightness)
        if r.kind == "pow":
            left, right = r.args
            shown = f"{self.number(left, _ATOM)} ** {self.number(right, _UNARY)}"
            return _bracketed(shown, _POWER, tightness)
        if r.kind in _AS_GIVEN and isinstance(r.args[0], Expr):
            name = self.names.get(r.args[0], r.args[0].name)
            if name != r.args[0].name:  # where it comes from, which is a float there
                return name
        return f"{r.kind}({', '.join([self.number(arg, _OR) for arg in r.args])})"

    def pieces(self, e: Expr) -> list[tuple[int, str]]:
        """Write a sum as (coefficient, product) with remainders recognised; "" is the constant."""
        remainders: list[tuple[int, str]] = []
        rest: Int = e
        for monomial, _ in e.parts:
            if len(monomial) == 1 and monomial[0].kind == "floordiv" and isinstance(rest, Expr):
                found = _remainder(rest, monomial[0])
                if found is not None:
                    times, rest = found
                    a, b = monomial[0].int_args
                    shown = f"{self.integer(a, _PRODUCT)} % {self.integer(b, _UNARY)}"
                    remainders.append((times, shown if times == 1 else f"({shown})"))
        parts = rest.parts if isinstance(rest, Expr) else (((), rest),) if rest else ()
        plain = [(c, self.product(m)) for m, c in parts if m]
        constant = [(c, "") for m, c in parts if not m]
        return [*plain, *remainders, *constant]

    def product(self, monomial: Monomial[Expr]) -> str:
        """Write a product of atoms, repeated ones as powers."""
        factors: list[str] = []
        for atom in dict.fromkeys(monomial):
            times = monomial.count(atom)
            if times > 1:
                factors.append(f"{self.atom(atom, _ATOM)}**{times}")
            else:
                # a*b//c would be (a*b)//c.
                factors.append(self.atom(atom, _UNARY if len(monomial) > 1 else _PRODUCT))
        return "*".join(factors)

    def relation(self, r: Relation, tightness: int) -> str:
        """A relation."""
        if r.kind == "opaque":
            left, right = r.sides
            shown = f"{self.number(left, _SUM)} {_COMPARES[r.name]} {self.number(right, _SUM)}"
            if r.expected:
                return _bracketed(shown, _COMPARE, tightness)
            return _bracketed(f"not {shown}", _NOT, tightness)
        if r.args:
            level = _AND if r.kind == "and" else _OR
            shown = f" {r.kind} ".join([self.relation(arg, level + 1) for arg in r.args])
            return _bracketed(shown, level, tightness)
        return _bracketed(self.comparison(r), _COMPARE, tightness)

    def comparison(self, r: Relation) -> str:
        """Move what is negative to the other side of the comparison with zero."""
        pieces = self.pieces(r.expr)
        left = [piece for piece in pieces if piece[0] > 0]
        right = [(-c, shown) for c, shown in pieces if c < 0]
        if any(not shown for _, shown in left) and any(shown for _, shown in right):
            # 16 >= n reads n <= 16; m + 1 == n reads n == m + 1.
            return f"{_sum(right)} {_INVERSE[r.kind]} {_sum(left)}"
        if r.kind == "ge" and len(right) > 1 and right[-1] == (1, ""):
            return f"{_sum(left)} > {_sum(right[:-1])}"
        return f"{_sum(left)} {_COMPARES[r.kind]} {_sum(right)}"


def _remainder(e: Expr, quotient: Expr) -> tuple[int, Int] | None:
    """(times, rest) with e = times*(a - b*floor(a / b)) + rest, where that is shorter."""
    a, b = quotient.int_args
    factor = dict(e.parts).get((quotient,), 0)
    if not isinstance(b, int) or not factor or factor % b:
        return None
    times = -factor // b
    rest = e - times * (a - b * quotient)
    left = len(rest.parts) if isinstance(rest, Expr) else int(rest != 0)
    return (times, rest) if left + 1 < len(e.parts) else None


def _bracketed(shown: str, level: int, tightness: int) -> str:
    return f"({shown})" if level < tightness else shown


def _term(coefficient: int, shown: str) -> str:
    if not shown:
        return str(coefficient)
    if coefficient == 1:
        return shown
    # 4*n//2 would be (4*n)//2.
    return f"{coefficient}*({shown})" if "//" in _outside(shown) else f"{coefficient}*{shown}"


def _outside(shown: str) -> str:
    """What of a product is not in brackets."""
    depth, kept = 0, ""
    for character in shown:
        depth += (character == "(") - (character == ")")
        kept += "" if depth else character
    return kept


def _sum(pieces: list[tuple[int, str]]) -> str:
    result = ""
    for coefficient, shown in pieces:
        sign = "-" if coefficient < 0 else "+"
        term = _term(abs(coefficient), shown)
        if result:
            result += f" {sign} {term}"
        else:
            result = f"-{term}" if sign == "-" and "//" not in _outside(term) else term
            if sign == "-" and "//" in _outside(term):
                result = f"-({term})"
    return result or "0"


def text(e: Number, names: Mapping[Expr, str] | None = None) -> str:
    """An expression for people; a symbol is called by `names`, else by its own name.

    Without `names`, by those of the facts in force, which know where an anonymous one comes from.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> text((n + 3) // 4 * n - 1), text(n % 8, {n: "x.shape[0]"})
    ('n*((n + 3)//4) - 1', 'x.shape[0] % 8')
    """
    return _Printer(SPOKEN.get() if names is None else names).number(e, _OR)


def relation_text(r: Truth, names: Mapping[Expr, str] | None = None) -> str:
    """A relation for people.

    >>> from monograph.integers import Facts, eq, le
    >>> n = Facts().symbol("n", hint=3)
    >>> relation_text(le(n, 16)), relation_text(eq(n % 8, 0))
    ('n <= 16', 'n % 8 == 0')
    """
    return (
        _Printer(SPOKEN.get() if names is None else names).relation(r, _OR)
        if isinstance(r, Relation)
        else str(r)
    )


def python_source(e: Number, names: Mapping[Expr, str]) -> str:
    """Python source of an expression, to be run with `evaluate_namespace()`.

    >>> from monograph.integers import Facts, maximum
    >>> n = Facts().symbol("n", hint=3)
    >>> python_source(maximum(n - 1, 0), {n: "sizes[0]"})
    'max(sizes[0] - 1, 0)'
    """
    return text(e, names)


def relation_source(r: Truth, names: Mapping[Expr, str]) -> str:
    """Python source of a relation, to be run with `evaluate_namespace()`.

    >>> from monograph.integers import Facts, ne
    >>> n = Facts().symbol("n", hint=3)
    >>> relation_source(ne(n, 4), {n: "sizes[0]"})
    'sizes[0] != 4'
    """
    return relation_text(r, names)


def evaluate_namespace() -> dict[str, Callable[..., object]]:
    """The functions that `python_source` calls, by name.

    >>> evaluate_namespace()["floor"](2.5)
    2
    """
    return {**FLOAT_FUNCTIONS, **INTEGER_FUNCTIONS, "max": max, "min": min}
