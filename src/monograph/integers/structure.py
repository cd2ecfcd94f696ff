"""What an expression is made of: reading it, evaluating it, putting other things for its symbols.

Law: evaluate(substitute(e, {s: x}), env) == evaluate(e, {**env, s: evaluate(x, env)}).
"""

import math
from collections.abc import Iterable, Mapping
from itertools import product as pairs

from monograph.integers.expr import INTEGER_FUNCTIONS, Argument, Expr, Int
from monograph.integers.interval import EVERYTHING
from monograph.integers.pool import opaque

__all__ = [
    "ceildiv",
    "divisors",
    "evaluate",
    "halved",
    "is_symbol",
    "maximum",
    "minimum",
    "product",
    "replace_atom",
    "substitute",
    "symbols",
    "terms",
    "total",
]


def maximum(a: Int, b: Int) -> Int:
    """The greater of two.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> maximum(n, n + 1) is n + 1, maximum(2, 3)
    (True, 3)
    """
    if isinstance(a, Expr):
        return a.pool.extreme("max", a, b)
    return b.pool.extreme("max", a, b) if isinstance(b, Expr) else max(a, b)


def minimum(a: Int, b: Int) -> Int:
    """The smaller of two.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> minimum(n, n + 1) is n, minimum(2, 3)
    (True, 2)
    """
    if isinstance(a, Expr):
        return a.pool.extreme("min", a, b)
    return b.pool.extreme("min", a, b) if isinstance(b, Expr) else min(a, b)


def product(factors: Iterable[Int]) -> Int:
    """The product of all; 1 of none.

    >>> from monograph.integers import Facts, text
    >>> n = Facts().symbol("n", hint=3)
    >>> text(product([2, n, n])), product([])
    ('2*n**2', 1)
    """
    result: Int = 1
    for factor in factors:
        result = result * factor
    return result


def halved(number: Int) -> Int:
    """The same, where a quotient by `2m` that rounds up is two that round down, as often as it is.

    Law (Hermite): `(t + m)//(2*m) == t//m - t//(2*m)`.

    >>> from monograph.integers import Facts, text
    >>> n = Facts().symbol("n", hint=3)
    >>> text(halved((n + 1) // 2)), text(halved((n + 2) // 4))
    ('n - n//2', 'n//2 - n//4')
    """
    if not isinstance(number, Expr):
        return number
    return total([c * product(map(_halved, monomial)) for monomial, c in number.parts])


def _halved(atom: Expr) -> Int:
    if atom.kind != "floordiv":
        return atom
    above, below = atom.int_args
    if not isinstance(below, int) or below < 2 or below % 2 or not isinstance(above, Expr):
        return atom
    half, (monomial, constant) = below // 2, above.parts[-1]
    if monomial or constant % below < half:
        return atom
    rest = above - half
    return halved(rest // half) - rest // below


def total(summands: Iterable[Int]) -> Int:
    """The sum of all; 0 of none.

    >>> from monograph.integers import Facts, text
    >>> n = Facts().symbol("n", hint=3)
    >>> text(total([2, n, n])), total([])
    ('2*n + 2', 0)

    What is cut at one place adds up to what was cut.

    >>> total([maximum(n - 1, 0), minimum(n, 1)]) is n
    True
    """
    result: Int = 0
    for summand in summands:
        result = result + summand
    return _joined(result) if isinstance(result, Expr) else result


def _joined(e: Expr) -> Int:
    """Write p + s for max(p, q) + min(r, s) where p - q == r - s, and so for each such pair."""
    atoms = [(c, m[0]) for m, c in e.parts if len(m) == 1 and len(m[0].args) == 2]
    greater = [(c, atom) for c, atom in atoms if atom.kind == "max"]
    smaller = [(c, atom) for c, atom in atoms if atom.kind == "min"]
    for (c, one), (d, other) in pairs(greater, smaller):
        (p, q), ends = one.int_args, other.int_args
        for r, s in (ends, ends[::-1]):
            if c == d and p - q == r - s:
                joined = e + c * (p + s - one - other)
                return _joined(joined) if isinstance(joined, Expr) else joined
    return e


def ceildiv(a: Int, b: Int) -> Int:
    """The quotient rounded up.

    >>> ceildiv(7, 2), ceildiv(-7, 2)
    (4, -3)
    """
    # For b > 0, ceil(a / b) = floor((a + b - 1) / b), which prints better than -(-a // b).
    if isinstance(b, int) and b > 0:
        return (a + (b - 1)) // b
    return -(-a // b)


def symbols(e: Int) -> frozenset[Expr]:
    """The symbols an expression depends on.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> symbols(2 * n + 1) == {n}, symbols(7)
    (True, frozenset())
    """
    return e.symbols if isinstance(e, Expr) else frozenset()


def is_symbol(e: object) -> bool:
    """Whether it is a symbol and nothing else.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> is_symbol(n), is_symbol(n + 1), is_symbol(3)
    (True, False, False)
    """
    return isinstance(e, Expr) and e.kind == "symbol"


def terms(e: Int) -> tuple[tuple[int, tuple[Expr, ...]], ...]:
    """The sum as (coefficient, atoms): e is the sum of coefficient * product of atoms.

    An atom that occurs squared is listed twice; the constant has no atoms and comes last.
    An atom is an `Expr` whose `kind` is "symbol", "floordiv", "max", "min" or "opaque". Its `args`
    are the two operands of `floordiv`, the two or more of `max` and `min`, or the arguments
    (Int, Real or float) of the opaque function `name` (a key of `INTEGER_FUNCTIONS`).

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> terms(2 * n * n + n // 4 - 1)
    ((2, (n, n)), (1, (n//4,)), (-1, ()))
    """
    if isinstance(e, Expr):
        return tuple([(coefficient, monomial) for monomial, coefficient in e.parts])
    return ((e, ()),) if e else ()


def divisors(e: Int) -> list[Expr]:
    """What is divided by anywhere in it, except constants, which are never zero.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> divisors(n // 2 + 7 // n)
    [n]
    """
    found: dict[Expr, None] = {}
    for atom in _atoms(e):
        if atom.kind in {"symbol", "opaque"}:
            continue
        for arg in atom.int_args:
            found.update(dict.fromkeys(divisors(arg)))
        if atom.kind == "floordiv" and isinstance(atom.int_args[1], Expr):
            found[atom.int_args[1]] = None
    return list(found)


def _atoms(e: Int) -> dict[Expr, None]:
    if not isinstance(e, Expr):
        return {}
    return {atom: None for monomial, _ in e.parts for atom in monomial}


def evaluate(e: Int, env: Mapping[Expr, int]) -> int:
    """The value of an expression where each symbol has the value in `env`.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> evaluate(n * n // 2, {n: 5})
    12
    """
    if not isinstance(e, Expr):
        return e
    if e.kind == "symbol":
        return env[e]
    if e.kind == "sum":
        result = 0
        for monomial, coefficient in e.parts:
            term = coefficient
            for atom in monomial:
                term *= env[atom] if atom.kind == "symbol" else evaluate(atom, env)
            result += term
        return result
    if e.kind == "opaque":
        return INTEGER_FUNCTIONS[e.name](*[_evaluate_argument(arg, env) for arg in e.args])
    values = [evaluate(arg, env) for arg in e.int_args]
    match e.kind:
        case "floordiv":
            return values[0] // values[1]
        case "max":
            return max(values)
        case "min":
            return min(values)


def _evaluate_argument(arg: Int | Argument | float, env: Mapping[Expr, int]) -> float:
    if isinstance(arg, int | float):
        return arg
    return evaluate(arg, env) if isinstance(arg, Expr) else arg.evaluate(env)


def substitute(e: Int, env: Mapping[Expr, Int]) -> Int:
    """Put the expression in `env` for each symbol it has one for, all at once.

    The expressions may be of other facts, if `env` has one for every symbol.

    >>> from monograph.integers import Facts
    >>> facts = Facts()
    >>> n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=6)
    >>> substitute(n + m, {n: m, m: 1}) is m + 1
    True
    """
    if not isinstance(e, Expr) or e.symbols.isdisjoint(env):
        return e
    return _replace(e, env, {})


def replace_atom(e: Int, atom: Expr, value: Int) -> Int:
    """Put `value` for every occurrence of an atom, symbol or not.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> replace_atom(n // 2 + n, n // 2, 1) is n + 1
    True
    """
    return _replace(e, {atom: value}, {}) if isinstance(e, Expr) else e


def _replace(e: Expr, env: Mapping[Expr, Int], done: dict[Expr, Int]) -> Int:
    found = done.get(e)
    if found is not None:
        return found
    if e in env:
        result: Int = env[e]
    elif e.kind == "symbol":
        result = e
    elif e.kind == "sum":
        result = 0
        for monomial, coefficient in e.parts:
            term: Int = coefficient
            for atom in monomial:
                term = _replace(atom, env, done) * term
            result = result + term
    else:
        result = _rebuild(e, env, done)
    done[e] = result
    return result


def _rebuild(e: Expr, env: Mapping[Expr, Int], done: dict[Expr, Int]) -> Int:
    if e.kind == "opaque":
        return _rebuild_opaque(e, env, done)
    args = [_replace(arg, env, done) if isinstance(arg, Expr) else arg for arg in e.int_args]
    if e.kind == "floordiv":
        return args[0] // args[1]
    result = args[0]
    for arg in args[1:]:
        result = maximum(result, arg) if e.kind == "max" else minimum(result, arg)
    return result


def _rebuild_opaque(e: Expr, env: Mapping[Expr, Int], done: dict[Expr, Int]) -> Int:
    args: list[Int | Argument | float] = []
    for arg in e.args:
        if isinstance(arg, Expr):
            args.append(_replace(arg, env, done))
        elif isinstance(arg, int | float):
            args.append(arg)
        else:
            args.append(arg.substitute(env))
    first = args[0]
    if not isinstance(first, Expr | int | float):
        return first.rounded(e.name)
    if isinstance(first, float) and not math.isfinite(first):
        raise ValueError(f"{e.name} of {first} is not an integer")
    pool = next((arg.pool for arg in args if isinstance(arg, Expr)), e.pool)
    return opaque(pool, e.name, tuple(args), e.pool.declared.get(e) or EVERYTHING)
