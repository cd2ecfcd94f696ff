"""Solving finds the values of symbols from the sizes that were observed.

Law: every observed expression has its observed value under the result, or `Contradiction` is
raised. Only linear equations with one symbol still unknown are solved; the others are checked.
"""

from collections.abc import Sequence

from monograph.integers.expr import Expr, Int
from monograph.integers.knowledge import Contradiction
from monograph.integers.structure import evaluate, substitute, symbols

__all__ = ["solution_order", "solve"]


def solution_order(exprs: Sequence[Int]) -> list[tuple[Expr, int, int, Int]]:
    """How to find each symbol: (symbol, index, coefficient, offset), in this order.

    `symbol == (value of exprs[index] - offset) / coefficient`, exactly, where `offset` uses only
    symbols found before. Equations that need no division are preferred. A symbol that no linear
    equation determines is left out.

    >>> from monograph.integers import Facts
    >>> facts = Facts()
    >>> n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=4)
    >>> solution_order([2 * n + m, n, 7])
    [(n, 1, 1, 0), (m, 0, 1, 2*n)]
    """
    found: dict[Expr, None] = {}
    order: list[tuple[Expr, int, int, Int]] = []
    while True:
        steps = [
            (symbol, index, coefficient, offset)
            for index, e in enumerate(exprs)
            for symbol, coefficient, offset in _unknown(e, found)
        ]
        if not steps:
            return order
        best = min(steps, key=lambda step: (abs(step[2]) != 1, step[3] != 0, step[1]))
        order.append(best)
        found[best[0]] = None


def _unknown(e: Int, found: dict[Expr, None]) -> list[tuple[Expr, int, Int]]:
    """(x, c, rest) with e = c*x + rest, where x is the one symbol not found yet."""
    if not isinstance(e, Expr):
        return []
    unknown = [symbol for symbol in e.symbols if symbol not in found]
    if len(unknown) != 1:
        return []
    symbol = unknown[0]
    coefficient = dict(e.parts).get((symbol,), 0)
    rest = e - coefficient * symbol
    return [(symbol, coefficient, rest)] if coefficient and symbol not in symbols(rest) else []


def _value(e: Int, env: dict[Expr, int]) -> Int | None:
    try:
        return substitute(e, env)
    except ZeroDivisionError:
        return None


def solve(observed: Sequence[tuple[Int, int]]) -> dict[Expr, int]:
    """The values of the symbols, given what expressions were observed to be.

    Raises `Contradiction` where no integers fit, or an expression cannot be checked because
    nothing determines a symbol in it.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> solve([(2 * n + 1, 7), (n * n, 9)])
    {n: 3}
    """
    env: dict[Expr, int] = {}
    for symbol, index, coefficient, offset in solution_order([e for e, _ in observed]):
        value, remainder = divmod(observed[index][1] - evaluate(offset, env), coefficient)
        if remainder:
            raise Contradiction(f"no integer {symbol!r} makes {observed[index][0]!r} the observed")
        env[symbol] = value
    for e, value in observed:
        if _value(e, env) != value:
            raise Contradiction(f"{e!r} was observed to be {value}, which does not fit {env!r}")
    return env
