"""A Relation is a question about integers in normal form; equal means the same object.

Law: `kind` is "eq" (expr == 0), "ne" (expr != 0), "ge" (expr >= 0), "and", "or" (of `args`), or
"opaque" (a comparison of floats, replayed). The coefficients of expr have no common divisor, and
for "eq" and "ne" the first is positive. A relation that is always true or false is a bool.
"""

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Literal, NoReturn, TypeAlias

from monograph.integers.expr import Expr, Int, Ring
from monograph.integers.magnitude import EXACT, magnitude
from monograph.integers.polynomial import Polynomial, content
from monograph.integers.real import (
    Number,
    Real,
    evaluate_real,
    ratio_of,
    substitute_real,
)
from monograph.integers.structure import evaluate, substitute

__all__ = [
    "COMPARISONS",
    "Relation",
    "RelationKind",
    "Truth",
    "all_of",
    "any_of",
    "eq",
    "ge",
    "gt",
    "holds",
    "le",
    "lt",
    "ne",
    "negate",
    "relation_symbols",
    "substitute_relation",
]

RelationKind: TypeAlias = Literal["eq", "ne", "ge", "and", "or", "opaque"]

COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {"eq": operator.eq, "ge": operator.ge, "gt": operator.gt, "ne": operator.ne}
)
"""What an opaque relation compares its two sides with."""


class Relation:
    """A relation that depends on symbols. Made by `eq`, `ge`, ..., never directly.

    `expr` is the expression of "eq", "ne" and "ge"; `args` the relations of "and" and "or".
    "opaque" says that `COMPARISONS[name]` of `sides` is `expected`: with NaN about, not(a < b) is
    something else than a >= b. `negation` is kept by `negate`.
    """

    __slots__ = ("_expr", "args", "expected", "kind", "name", "negation", "sides", "symbols")

    def __init__(
        self,
        kind: RelationKind,
        expr: Expr | None = None,
        args: "tuple[Relation, ...]" = (),
        opaque: tuple[str, tuple[Number, Number], bool] | None = None,
    ) -> None:
        self.kind: RelationKind = kind
        self._expr = expr
        self.args = args
        self.name, sides, self.expected = opaque or ("", (), True)
        self.sides: tuple[Number, ...] = sides
        self.negation: Relation | None = None
        held = [expr] if expr is not None else [*args, *self.sides]
        self.symbols: frozenset[Expr] = frozenset[Expr]().union(
            *[x.symbols for x in held if not isinstance(x, int | float)]
        )

    @property
    def expr(self) -> Expr:
        """The expression that is compared to zero."""
        if self._expr is None:
            raise TypeError(f"a relation of kind {self.kind!r} compares no expression to zero")
        return self._expr

    def __bool__(self) -> NoReturn:
        """Refuse: whether it holds depends on values nobody has yet."""
        raise TypeError("a Relation has no truth value; ask `known(r)` or `decide(r)`")

    def __copy__(self) -> "Relation":
        """Itself: an interned value is its own copy."""
        return self

    def __deepcopy__(self, memo: object) -> "Relation":
        """Itself: an interned value is its own copy."""
        return self

    def __repr__(self) -> str:
        """Write the normal form; `relation_text` prints it for people."""
        if self.kind == "opaque":
            return f"({self.name}{self.sides!r}) is {self.expected}"
        if self.args:
            return f"({f' {self.kind} '.join(map(repr, self.args))})"
        return f"({self._expr!r} {_SIGN[self.kind]} 0)"


Truth: TypeAlias = Relation | bool

_SIGN: Final = MappingProxyType({"eq": "==", "ne": "!=", "ge": ">="})


def _interned(pool: Ring, key: tuple[object, ...], make: Callable[[], Relation]) -> Relation:
    found = pool.memo.get(key)
    if not isinstance(found, Relation):
        found = pool.memo[key] = make()
    return found


def _zero_test(kind: Literal["eq", "ne"], difference: Int) -> Truth:
    if not isinstance(difference, Expr):
        return (difference == 0) == (kind == "eq")
    memo = difference.pool.memo
    key = (kind, difference)
    found = memo.get(key)
    if found is None:
        found = memo[key] = _new_zero_test(kind, difference)
    return found  # pyright: ignore[reportReturnType]  # the memo is shared by several types


def _new_zero_test(kind: Literal["eq", "ne"], e: Expr) -> Truth:
    divisor = content(e.parts)
    parts = e.parts
    if not parts[-1][0] and parts[-1][1] % divisor:
        # g*q + c == 0 has no solution in integers where g does not divide c.
        return kind == "ne"
    if parts[0][1] < 0:
        divisor = -divisor
    normal = _made(e.pool, tuple([(m, c // divisor) for m, c in parts]))
    return _interned(e.pool, ("relation", kind, normal), lambda: Relation(kind, normal))


def _made(pool: Ring, parts: Polynomial[Expr]) -> Expr:
    made = pool.make(parts)
    assert isinstance(made, Expr), "dividing by a constant leaves the atoms"
    return made


def _at_least_zero(e: Int) -> Truth:
    if not isinstance(e, Expr):
        return e >= 0
    memo = e.pool.memo
    key = ("ge", e)
    found = memo.get(key)
    if found is None:
        divisor = content(e.parts)
        # g*q + c >= 0 iff q >= -c/g iff q + floor(c / g) >= 0, for integers q.
        parts = [(m, c // divisor) for m, c in e.parts if m or c >= divisor or c < 0]
        normal = _made(e.pool, tuple(parts))
        found = memo[key] = _interned(
            e.pool, ("relation", "ge", normal), lambda: Relation("ge", normal)
        )
    return found  # pyright: ignore[reportReturnType]  # the memo is shared by several types


def eq(a: Number, b: Number) -> Truth:
    """a == b.

    >>> from monograph.integers import Facts, relation_text
    >>> n = Facts().symbol("n", hint=3)
    >>> eq(2 * n, 2 * n), eq(2 * n, 7), relation_text(eq(2 * n, 8))
    (True, False, 'n == 4')
    """
    if a is b and not isinstance(a, float | Real):
        return True
    if isinstance(a, float | Real) or isinstance(b, float | Real):
        return _compare("eq", a, b)
    return _zero_test("eq", a - b)


def ne(a: Number, b: Number) -> Truth:
    """a != b.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> ne(2 * n, 2 * n), ne(2 * n, 7)
    (False, True)
    """
    if a is b and not isinstance(a, float | Real):
        return False
    if isinstance(a, float | Real) or isinstance(b, float | Real):
        return _compare("ne", a, b)
    return _zero_test("ne", a - b)


def ge(a: Number, b: Number) -> Truth:
    """a >= b.

    >>> from monograph.integers import Facts, relation_text
    >>> n = Facts().symbol("n", hint=3)
    >>> ge(n + 1, n), relation_text(ge(2 * n, 5))
    (True, 'n >= 3')
    """
    if isinstance(a, float | Real) or isinstance(b, float | Real):
        return _compare("ge", a, b)
    return _at_least_zero(a - b)


def gt(a: Number, b: Number) -> Truth:
    """a > b.

    >>> from monograph.integers import Facts, relation_text
    >>> n = Facts().symbol("n", hint=3)
    >>> gt(n, n), relation_text(gt(2 * n, 5))
    (False, 'n >= 3')
    """
    if isinstance(a, float | Real) or isinstance(b, float | Real):
        return _compare("gt", a, b)
    return _at_least_zero(a - b - 1)


def le(a: Number, b: Number) -> Truth:
    """a <= b.

    >>> le(2, 3)
    True
    """
    return ge(b, a)


def lt(a: Number, b: Number) -> Truth:
    """a < b.

    >>> lt(2, 3)
    True
    """
    return gt(b, a)


def _compare(name: Literal["eq", "ne", "ge", "gt"], a: Number, b: Number) -> Truth:
    """Compare floats: by their exact ratios where rounding cannot matter, else by replaying."""
    if isinstance(a, int | float) and isinstance(b, int | float):
        return COMPARISONS[name](a, b)
    p, q = ratio_of(a), ratio_of(b)
    if p and q:
        # n1/d1 and n2/d2, if different, differ by at least 1/(d1*d2), and rounding moves them by
        # at most (|n1|/d1 + |n2|/d2) * 2**-53: less, given |n1|*d2 + |n2|*d1 < 2**53.
        left, right = p[0] * q[1], q[0] * p[1]
        if magnitude(left) < EXACT and magnitude(right) < EXACT:
            return _EXACTLY[name](left, right)
    return _opaque(name, (a, b), expected=True)


_EXACTLY: Final[Mapping[str, Callable[[Int, Int], Truth]]] = MappingProxyType(
    {"eq": eq, "ge": ge, "gt": gt, "ne": ne}
)


def _opaque(name: str, sides: tuple[Number, Number], *, expected: bool) -> Truth:
    left, right = sides
    if isinstance(left, int | float) and isinstance(right, int | float):
        return COMPARISONS[name](left, right) is expected
    pool = next(side.pool for side in sides if isinstance(side, Expr | Real))
    shown = [(float, repr(side)) if isinstance(side, float) else side for side in sides]
    return _interned(
        pool,
        ("relation", "opaque", name, *shown, expected),
        lambda: Relation("opaque", opaque=(name, sides, expected)),
    )


def negate(r: Truth) -> Truth:
    """The relation that holds exactly where `r` does not.

    >>> from monograph.integers import Facts, relation_text
    >>> n = Facts().symbol("n", hint=3)
    >>> relation_text(negate(ge(n, 4))), negate(True)
    ('n <= 3', False)
    """
    if not isinstance(r, Relation):
        return not r
    found = r.negation
    if found is None:
        found = _negation(r)
        assert isinstance(found, Relation), "what is undecided has an undecided negation"
        r.negation, found.negation = found, r
    return found


def _negation(r: Relation) -> Truth:
    match r.kind:
        case "eq":
            return _zero_test("ne", r.expr)
        case "ne":
            return _zero_test("eq", r.expr)
        case "ge":
            return _at_least_zero(-r.expr - 1)
        case "and":
            return any_of(*[negate(arg) for arg in r.args])
        case "or":
            return all_of(*[negate(arg) for arg in r.args])
        case "opaque":
            left, right = r.sides
            return _opaque(r.name, (left, right), expected=not r.expected)


def all_of(*relations: Truth) -> Truth:
    """All hold.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> all_of(), all_of(True, ge(n, 4)) is ge(n, 4), all_of(eq(n, 4), ne(n, 4))
    (True, True, False)
    """
    return _combined("and", relations)


def any_of(*relations: Truth) -> Truth:
    """At least one holds.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> any_of(), any_of(False, ge(n, 4)) is ge(n, 4), any_of(eq(n, 4), ne(n, 4))
    (False, True, True)
    """
    return _combined("or", relations)


def _combined(kind: Literal["and", "or"], relations: tuple[Truth, ...]) -> Truth:
    neutral = kind == "and"
    kept: dict[Relation, None] = {}
    for r in relations:
        if not isinstance(r, Relation):
            if r is not neutral:
                return not neutral
        elif r.kind == kind:
            kept.update(dict.fromkeys(r.args))
        else:
            kept[r] = None
    if any(negate(r) in kept for r in kept):
        return not neutral
    if len(kept) < 2:
        return next(iter(kept), neutral)
    args = tuple(kept)
    pool = next(iter(args[0].symbols)).pool
    return _interned(pool, ("relation", kind, args), lambda: Relation(kind, args=args))


def relation_symbols(r: Truth) -> frozenset[Expr]:
    """The symbols a relation depends on.

    >>> relation_symbols(True)
    frozenset()
    """
    return r.symbols if isinstance(r, Relation) else frozenset()


def holds(r: Truth, env: Mapping[Expr, int]) -> bool:
    """Whether it holds where each symbol has the value in `env`; without a value it does not.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> holds(any_of(eq(n, 4), ge(n, 9)), {n: 4}), holds(ge(12 // n, 0), {n: 0})
    (True, False)
    """
    try:
        return _holds(r, env)
    except (ArithmeticError, ValueError):
        return False


def _holds(r: Truth, env: Mapping[Expr, int]) -> bool:
    if not isinstance(r, Relation):
        return r
    match r.kind:
        case "eq":
            return evaluate(r.expr, env) == 0
        case "ne":
            return evaluate(r.expr, env) != 0
        case "ge":
            return evaluate(r.expr, env) >= 0
        case "and":
            return all(_holds(arg, env) for arg in r.args)
        case "or":
            return any(_holds(arg, env) for arg in r.args)
        case "opaque":
            left, right = (evaluate_real(side, env) for side in r.sides)
            return COMPARISONS[r.name](left, right) is r.expected


def substitute_relation(r: Truth, env: Mapping[Expr, Int]) -> Truth:
    """Put the expression in `env` for each symbol it has one for.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> substitute_relation(ge(n, 4), {n: 5})
    True
    """
    if not isinstance(r, Relation) or r.symbols.isdisjoint(env):
        return r
    match r.kind:
        case "eq" | "ne":
            return _zero_test(r.kind, substitute(r.expr, env))
        case "ge":
            return _at_least_zero(substitute(r.expr, env))
        case "and" | "or":
            return _combined(r.kind, tuple([substitute_relation(arg, env) for arg in r.args]))
        case "opaque":
            return _compare_again(r, env)


def _compare_again(r: Relation, env: Mapping[Expr, Int]) -> Truth:
    left, right = [
        substitute(side, env) if isinstance(side, int | Expr) else substitute_real(side, env)
        for side in r.sides
    ]
    again = _compare(r.name, left, right)  # pyright: ignore[reportArgumentType]  # set by _compare
    return again if r.expected else negate(again)
