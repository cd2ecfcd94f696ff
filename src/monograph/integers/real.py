"""A Real is a float-valued expression over integer expressions, what `torch.SymFloat` wraps.

Law: its value is, bit for bit, the one Python computes with floats for the same operations, a zero
with its sign. Two forms:

- *ratio*: an integer expression n over a constant d > 0, standing for the float nearest to n/d.
  Kept only where |n| and d are below `EXACT`, so that conversions are exact and one rounding
  happened at most; then floor, ceil and comparisons can be read off n and d. It is never -0.0.
- any other `kind`: a tree of operations, which `evaluate_real` replays in the same order. At its
  ends is `input`, a float that callers give: its argument is a symbol that occurs nowhere else, and
  stands for that float wherever values are put for symbols.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from monograph.integers.expr import INTEGER_FUNCTIONS, Expr, Int, declared_interval
from monograph.integers.floats import FLOAT_FUNCTIONS
from monograph.integers.interval import EVERYTHING, INFINITY, Interval
from monograph.integers.magnitude import EXACT, magnitude
from monograph.integers.pool import opaque
from monograph.integers.structure import evaluate, maximum, minimum, substitute

__all__ = [
    "Number",
    "Real",
    "call",
    "ceil",
    "evaluate_real",
    "floor",
    "ratio_of",
    "round_",
    "sqrt",
    "substitute_real",
    "to_float",
    "trunc",
]

Number: TypeAlias = "Real | Expr | int | float"


class Real:
    """A float-valued expression that is not a constant. Made by `to_float` and arithmetic.

    `kind` is "ratio" with `args` (n: Expr, d: int), or a key of `FLOAT_FUNCTIONS`; `depth` is how
    many operations follow one another.
    Interned, so equal means the same object.

    >>> from monograph.integers import Facts, text
    >>> n = Facts().symbol("n", hint=3)
    >>> text(floor(to_float(n) * 0.5)), text(trunc(to_float(n) * 2.0 + 1))
    ('n//2', '2*n + 1')
    """

    __slots__ = ("args", "depth", "kind", "pool", "symbols")

    def __init__(self, kind: str, args: "tuple[Number, ...]") -> None:
        self.kind = kind
        self.args = args
        held = [arg for arg in args if not isinstance(arg, int | float)]
        self.depth: int = 1 + max([arg.depth for arg in held if isinstance(arg, Real)], default=0)
        self.pool = held[0].pool
        self.symbols: frozenset[Expr] = frozenset[Expr]().union(*[arg.symbols for arg in held])

    def evaluate(self, env: Mapping[Expr, int]) -> float:
        """See `evaluate_real`."""
        return evaluate_real(self, env)

    def substitute(self, env: Mapping[Expr, Int]) -> "Real | float":
        """See `substitute_real`."""
        return substitute_real(self, env)

    def rounded(self, name: str) -> Int:
        """See `floor`, `ceil`, `round_` and `trunc`."""
        return _ROUND[name](self)

    def __add__(self, other: Number) -> "Real | float":
        """Sum of floats."""
        return _add(self, other)

    def __radd__(self, other: Number) -> "Real | float":
        """Sum of floats."""
        return _add(other, self)

    def __sub__(self, other: Number) -> "Real | float":
        """Difference of floats."""
        return _subtract(self, other)

    def __rsub__(self, other: Number) -> "Real | float":
        """Difference of floats."""
        return _subtract(other, self)

    def __mul__(self, other: Number) -> "Real | float":
        """Product of floats."""
        return _multiply(self, other)

    def __rmul__(self, other: Number) -> "Real | float":
        """Product of floats."""
        return _multiply(other, self)

    def __truediv__(self, other: Number) -> "Real | float":
        """Quotient of floats."""
        return _divide(self, other)

    def __rtruediv__(self, other: Number) -> "Real | float":
        """Quotient of floats."""
        return _divide(other, self)

    def __floordiv__(self, other: Number) -> "Real | float":
        """Quotient of floats rounded down, as a float."""
        return call("floordiv", self, other)

    def __rfloordiv__(self, other: Number) -> "Real | float":
        """Quotient of floats rounded down, as a float."""
        return call("floordiv", other, self)

    def __mod__(self, other: Number) -> "Real | float":
        """Remainder of floats."""
        return call("mod", self, other)

    def __rmod__(self, other: Number) -> "Real | float":
        """Remainder of floats."""
        return call("mod", other, self)

    def __pow__(self, other: Number) -> "Real | float":
        """Power of floats."""
        return call("pow", self, other)

    def __rpow__(self, other: Number) -> "Real | float":
        """Power of floats."""
        return call("pow", other, self)

    def __neg__(self) -> "Real | float":
        """Negation."""
        pair = _exact_pair(self, rounded=True)
        if pair is None or _may_be_zero(pair[0]):
            return _node("neg", (self,))
        return _or_node(_ratio(-pair[0], pair[1]), "neg", self)

    def __abs__(self) -> "Real | float":
        """Distance from zero."""
        pair = _exact_pair(self, rounded=True)
        if pair is None:
            return _node("abs", (self,))
        return _or_node(_ratio(maximum(pair[0], -pair[0]), pair[1]), "abs", self)

    def __bool__(self) -> bool:
        """Refuse: whether it is zero depends on values nobody has yet."""
        raise TypeError("a Real has no truth value; ask `known(ne(r, 0.0))` or `decide(...)`")

    def __copy__(self) -> "Real":
        """Itself: an interned value is its own copy."""
        return self

    def __deepcopy__(self, memo: object) -> "Real":
        """Itself: an interned value is its own copy."""
        return self

    def __repr__(self) -> str:
        """Write the tree; `text` prints it for people."""
        return f"{self.kind}({', '.join(map(repr, self.args))})"


def _node(kind: str, args: tuple[Number, ...]) -> Real:
    # A float is told apart by its digits and its type: 1 == 1.0 and 0.0 == -0.0.
    key = ("real", kind, *[(float, repr(a)) if isinstance(a, float) else a for a in args])
    pool = next(arg for arg in args if isinstance(arg, Expr | Real)).pool
    found = pool.memo.get(key)
    if not isinstance(found, Real):
        found = pool.memo[key] = Real(kind, args)
    return found


def _ratio(n: Int, d: int) -> Real | float | None:
    """Make the float nearest to n/d, in lowest terms; None where n or d may be too large."""
    if not isinstance(n, Expr):
        return n / d
    common = d
    for _, coefficient in n.parts:
        common = math.gcd(common, coefficient)
    n, d = n // common, d // common
    if d >= EXACT or magnitude(n) >= EXACT:
        return None
    return _node("ratio", (n, d))


def _or_node(made: Real | float | None, kind: str, x: Real | Expr) -> Real | float:
    return _node(kind, (x,)) if made is None else made


def to_float(e: Int) -> Real | float:
    """The float nearest to an integer, as `float(e)`.

    >>> to_float(3)
    3.0
    """
    if not isinstance(e, Expr):
        return float(e)
    return _or_node(_ratio(e, 1), "float", e)


def ratio_of(x: Number) -> tuple[Int, int] | None:
    """(n, d) where the value is the float nearest to n/d, within the limits of a ratio.

    >>> ratio_of(0.75), ratio_of(float("inf"))
    ((3, 4), None)
    """
    pair = _exact_pair(x, rounded=True)
    if pair is not None or not isinstance(x, Real):
        return pair
    # What is no ratio for the sake of a zero's sign alone.
    if x.kind == "neg":
        inner = ratio_of(x.args[0])
        return inner and (-inner[0], inner[1])
    made = _value(x.kind, *x.args) if x.kind in {"mul", "truediv"} else None
    return None if made is None else _exact_pair(made, rounded=True)


def _value(kind: str, x: Number, y: Number) -> Real | float | None:
    """The ratio that a product or a quotient is, whatever the sign of a zero; None: it is none."""
    p, q = _exact_pair(x, rounded=False), _exact_pair(y, rounded=False)
    if not p or not q:
        return None
    if kind == "mul":
        return _exactly(p[0] * q[0], p[1] * q[1])
    if not isinstance(q[0], int) or not q[0]:
        return None
    # Both are exact, so their float quotient is the exact one rounded once: a ratio.
    n, d = p[0] * q[1], p[1] * q[0]
    return _ratio(n, d) if d > 0 else _ratio(-n, -d)


def _may_be_zero(n: Int) -> bool:
    within = declared_interval(n)
    return within.lower <= 0 <= within.upper


def _may_be_negative(n: Int) -> bool:
    return declared_interval(n).lower < 0


def _exact_pair(x: Number, *, rounded: bool) -> tuple[Int, int] | None:
    """(n, d) with x = n/d: exactly (d a power of two) or, if `rounded`, after one rounding."""
    if isinstance(x, float):
        if not math.isfinite(x) or (not x and math.copysign(1, x) < 0):
            return None
        n, d = x.as_integer_ratio()
        return (n, d) if abs(n) < EXACT and d < EXACT else None
    if isinstance(x, int | Expr):
        return (x, 1) if magnitude(x) < EXACT else None
    if x.kind != "ratio":
        return None
    n, d = x.args
    if not isinstance(n, int | Expr) or not isinstance(d, int):
        return None
    return (n, d) if rounded or not d & (d - 1) else None


def _as_float(x: Number) -> Real | float:
    return to_float(x) if isinstance(x, int | Expr) else x


def _exactly(n: Int, d: int) -> Real | float | None:
    """n/d if the float is exactly that."""
    made = _ratio(n, d)
    return made if made is None or _exact_pair(made, rounded=False) else None


def _add(x: Number, y: Number) -> Real | float:
    p, q = _exact_pair(x, rounded=False), _exact_pair(y, rounded=False)
    if p and q:
        made = _exactly(p[0] * q[1] + q[0] * p[1], p[1] * q[1])
        if made is not None:
            return made
    return _call("add", x, y)


def _subtract(x: Number, y: Number) -> Real | float:
    p, q = _exact_pair(x, rounded=False), _exact_pair(y, rounded=False)
    if p and q:
        made = _exactly(p[0] * q[1] - q[0] * p[1], p[1] * q[1])
        if made is not None:
            return made
    return _call("sub", x, y)


def _multiply(x: Number, y: Number) -> Real | float:
    made = _value("mul", x, y)
    return _call("mul", x, y) if made is None or _loses_sign(x, y) else made


def _divide(x: Number, y: Number) -> Real | float:
    made = _value("truediv", x, y)
    return _call("truediv", x, y) if made is None or _loses_sign(x, y) else made


def _loses_sign(x: Number, y: Number) -> bool:
    """Whether the product or quotient may be -0.0, which no ratio is."""
    p, q = _exact_pair(x, rounded=False), _exact_pair(y, rounded=False)
    if not p or not q:
        return False
    a, b = p[0], q[0]
    return (_may_be_zero(a) and _may_be_negative(b)) or (_may_be_zero(b) and _may_be_negative(a))


def _call(name: str, *args: Number) -> Real | float:
    operands = tuple([_as_float(arg) for arg in args])
    if all(isinstance(arg, float) for arg in operands):
        return FLOAT_FUNCTIONS[name](*operands)
    return _node(name, operands)


def call(name: str, *args: Number) -> Real | float:
    """The float function `name`, a key of `FLOAT_FUNCTIONS`; integers become floats first.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> call("log", n), call("exp", 0), call("add", n, 1)
    (log(ratio(n, 1)), 1.0, ratio(n + 1, 1))
    """
    if name not in FLOAT_FUNCTIONS:
        raise KeyError(f"no float function {name!r}; there are {sorted(FLOAT_FUNCTIONS)}")
    operation = _OPERATORS.get(name)
    return operation(*args) if operation else _call(name, *args)


def sqrt(x: Number) -> Real | float:
    """The square root.

    >>> sqrt(16)
    4.0
    """
    return call("sqrt", x)


def evaluate_real(r: Number, env: Mapping[Expr, int]) -> float:
    """The float Python computes where each symbol has the value in `env`.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> evaluate_real(to_float(n) / 3 + 0.5, {n: 1}) == 1 / 3 + 0.5
    True
    """
    if isinstance(r, int | float):
        return r
    if isinstance(r, Expr):
        return evaluate(r, env)
    values = [evaluate_real(arg, env) for arg in r.args]
    if r.kind == "ratio":
        return values[0] / values[1]
    return FLOAT_FUNCTIONS[r.kind](*values)


def substitute_real(r: Real | float, env: Mapping[Expr, Int]) -> Real | float:
    """Put the expression in `env` for each symbol it has one for.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> substitute_real(to_float(n) / 2, {n: 3})
    1.5

    Raises: ZeroDivisionError (there is no value: of `log(n)` where n is 0, too).
    """
    if not isinstance(r, Real) or r.symbols.isdisjoint(env):
        return r
    args: list[Number] = []
    for arg in r.args:
        if isinstance(arg, Expr):
            args.append(substitute(arg, env))
        else:
            args.append(substitute_real(arg, env) if isinstance(arg, Real) else arg)
    if r.kind == "ratio":
        n, d = args
        return _divide(n, d)
    try:
        return call(r.kind, *args)
    except (ValueError, OverflowError) as error:
        raise ZeroDivisionError(str(error)) from error


def _negate(x: Number) -> Real | float:
    return -_as_float(x)


def _absolute(x: Number) -> Real | float:
    return abs(_as_float(x))


def _input(x: Number) -> Real | float:
    return _node("input", (x,)) if isinstance(x, Expr) else _as_float(x)


_OPERATORS: Final[Mapping[str, Callable[..., Real | float]]] = MappingProxyType(
    {
        "abs": _absolute,
        "add": _add,
        "float": _as_float,
        "input": _input,
        "mul": _multiply,
        "neg": _negate,
        "sub": _subtract,
        "truediv": _divide,
    }
)


def _rounded_quotient(r: Number) -> tuple[Int, Int] | None:
    """(a, b) where r is the float nearest to a/b and rounding it to an integer rounds a/b."""
    pair = ratio_of(r)
    if pair is None and isinstance(r, Real) and r.kind == "truediv":
        p, q = [_exact_pair(arg, rounded=False) for arg in r.args]
        if p and q:
            a, b = p[0] * q[1], q[0] * p[1]
            # Both sides of n1/d1 / (n2/d2) are exact; the quotient is rounded once.
            return (a, b) if magnitude(a) < EXACT and magnitude(b) < EXACT else None
    return pair


def floor(r: Number) -> Int:
    """The greatest integer below or at a float, as `math.floor`.

    >>> floor(2.5), floor(-2.5)
    (2, -3)
    """
    quotient = _rounded_quotient(r)
    return quotient[0] // quotient[1] if quotient else _opaque_rounding("floor", r)


def ceil(r: Number) -> Int:
    """The smallest integer above or at a float, as `math.ceil`.

    >>> ceil(2.5), ceil(-2.5)
    (3, -2)
    """
    quotient = _rounded_quotient(r)
    return -(-quotient[0] // quotient[1]) if quotient else _opaque_rounding("ceil", r)


def trunc(r: Number) -> Int:
    """Round a float towards zero, as `int`.

    >>> trunc(2.5), trunc(-2.5)
    (2, -2)
    """
    quotient = _rounded_quotient(r)
    if quotient is None or not isinstance(quotient[1], int):
        return _opaque_rounding("trunc", r)
    n, d = quotient
    # n = max(n, 0) + min(n, 0), and one of the two is zero.
    return maximum(n, 0) // d - (-minimum(n, 0)) // d


def round_(r: Number) -> Int:
    """Round a float to the nearest integer, ties to the even one, as `round`.

    >>> round_(2.5), round_(3.5)
    (2, 4)
    """
    pair = ratio_of(r)
    if pair is None or pair[1] % 2 == 0:
        return _opaque_rounding("round", r)
    # With d odd there are no ties: round(n/d) = floor((2*n + d) / (2*d)).
    n, d = pair
    return (2 * n + d) // (2 * d)


_ROUND: Final[Mapping[str, Callable[[Number], Int]]] = MappingProxyType(
    {"ceil": ceil, "floor": floor, "round": round_, "trunc": trunc}
)


def _opaque_rounding(name: str, r: Number) -> Int:
    if isinstance(r, int | Expr):
        return r
    if isinstance(r, float):
        return INTEGER_FUNCTIONS[name](r)
    lower, upper = _bounds(r)
    within = Interval(
        INTEGER_FUNCTIONS[name](lower) if math.isfinite(lower) else -INFINITY,
        INTEGER_FUNCTIONS[name](upper) if math.isfinite(upper) else INFINITY,
    )
    return opaque(r.pool, name, (r,), EVERYTHING if within == EVERYTHING else within)


def _bounds(r: Number) -> tuple[float, float]:
    """Floats between which the value lies, or infinities.

    Rounding is monotone, so the same float operation on the ends bounds the rounded results.
    """
    if isinstance(r, int | float):
        return (r, r)
    if isinstance(r, Expr):
        within = declared_interval(r)
        return (within.lower, within.upper)
    ends = [_bounds(arg) for arg in r.args]
    try:
        match r.kind:
            case "ratio" | "truediv" if ends[1][0] > 0:
                corners = [x / y for x in ends[0] for y in ends[1]]
            case "float" | "sqrt":
                corners = [FLOAT_FUNCTIONS[r.kind](x) for x in ends[0]]
            case "add" | "mul" | "sub":
                corners = [FLOAT_FUNCTIONS[r.kind](x, y) for x in ends[0] for y in ends[1]]
            case _:
                corners = []
    except (OverflowError, ValueError):
        corners = []
    if not corners or any(math.isnan(corner) for corner in corners):
        return (-INFINITY, INFINITY)
    return (min(corners), max(corners))
