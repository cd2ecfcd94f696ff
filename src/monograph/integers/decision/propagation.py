"""Learning turns a true relation into ranges, bindings, and facts that stay.

Law: afterwards `known` calls the relation true, and nothing is concluded that does not follow
from what was stated. A relation that is provably false raises `Contradiction`.
"""

import math
from collections import deque

from monograph.integers.decision.bounds import linear_in
from monograph.integers.decision.proving import known
from monograph.integers.expr import Expr, Int
from monograph.integers.interval import EVERYTHING, INFINITY, Bound, Interval, meet
from monograph.integers.knowledge import Contradiction, Knowledge, constant_part, variable_part
from monograph.integers.relation import Relation, Truth, any_of, eq, ge, le, ne
from monograph.integers.structure import replace_atom, substitute

__all__ = ["learn"]


def learn(k: Knowledge, r: Truth) -> None:
    """Take a relation for true, with all that follows from it. Raises `Contradiction`."""
    try:
        _learn(k, r)
    except ZeroDivisionError as error:
        raise Contradiction(f"{r!r} makes a divisor zero, or has one") from error


def _learn(k: Knowledge, r: Truth) -> None:
    todo: deque[Truth] = deque([r])
    while todo:
        stated = todo.popleft()
        if isinstance(stated, Relation) and stated.kind == "eq":
            _publish(k, stated.expr)
        resolved = k.resolve(stated)
        answer = known(k, resolved)
        if answer is False:
            raise Contradiction(f"{stated!r} contradicts what is known")
        if isinstance(resolved, Relation) and (answer is None or _is_worth_more(resolved)):
            todo.extend(_learn_one(k, resolved))


def _is_worth_more(r: Relation) -> bool:
    """Whether it is learnt even if provable: for a binding, or for the range of an atom."""
    return r.kind == "eq" or (r.kind == "ge" and len(variable_part(r.expr).parts) == 1)


def _learn_one(k: Knowledge, r: Relation) -> list[Truth]:
    match r.kind:
        case "and":
            return list(r.args)
        case "or":
            left = any_of(*[arg for arg in r.args if known(k, arg) is not False])
            return [left] if left is not r else _keep(k, r)
        case "eq":
            return _learn_equal(k, r)
        case "ge":
            return _learn_bound(k, r)
        case "ne":
            return _learn_apart(k, r)
        case "opaque":
            return _keep(k, r)


def _keep(k: Knowledge, r: Relation) -> list[Truth]:
    k.truths[r] = None
    _index_bound(k, r)
    k.changed()
    return []


def _index_bound(k: Knowledge, r: Relation) -> None:
    """Keep p >= -c for a fact p + c >= 0, and both directions for p + c == 0."""
    if r.kind in {"ge", "eq"}:
        for e in (r.expr,) if r.kind == "ge" else (r.expr, -r.expr):
            p = variable_part(e)
            k.at_least[p] = max(k.at_least.get(p, -constant_part(e)), -constant_part(e))


# Equalities


def _publish(k: Knowledge, e: Expr) -> None:
    """Solve e == 0 for a visible symbol.

    One with a hint is not replaced by one without; nor is one without by a later one, which is not
    there yet where the first is computed.
    """
    if not k.witnesses.isdisjoint(e.symbols):
        return
    visible = substitute(e, k.visible)
    solved = _solved(k, visible)
    if solved is None:
        return
    symbol, value = solved
    standing = k.precedence(symbol)
    later = [s for s in _symbols(value) if _is_later(k.precedence(s), standing)]
    if not later:
        _bind(k.visible, symbol, value)
        k.changed()


def _is_later(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one > other if other[0] else one[0] > 0


def _symbols(e: Int) -> frozenset[Expr]:
    return e.symbols if isinstance(e, Expr) else frozenset()


def _solved(k: Knowledge, e: Int) -> tuple[Expr, Int] | None:
    """(x, value) such that e == 0 iff x == value, for the symbol of the greatest precedence."""
    if not isinstance(e, Expr):
        return None
    alone = {m[0]: c for m, c in e.parts if len(m) == 1 and m[0].kind == "symbol" and abs(c) == 1}
    for symbol in sorted(alone, key=k.precedence, reverse=True):
        # c*x + rest == 0 iff x == -c*rest, for c = 1 or -1 and x not in rest.
        rest = e - alone[symbol] * symbol
        if symbol not in _symbols(rest):
            return symbol, -alone[symbol] * rest
    return None


def _bind(bindings: dict[Expr, Int], symbol: Expr, value: Int) -> None:
    single: dict[Expr, Int] = {symbol: value}
    for other, held in bindings.items():
        bindings[other] = substitute(held, single)
    bindings[symbol] = value


def _learn_equal(k: Knowledge, r: Relation) -> list[Truth]:
    solved = _solved(k, r.expr) or _parametrised(k, r.expr)
    if solved is None:
        steps = _on_a_line(k, r.expr)
        if steps:
            return steps
        return [*_keep(k, r), *_of_operands(k, r.expr), *_of_operands(k, -r.expr)]
    return _learn_binding(k, *solved)


def _learn_binding(k: Knowledge, symbol: Expr, value: Int) -> list[Truth]:
    single: dict[Expr, Int] = {symbol: value}
    touched = [r for r in k.truths if symbol in r.symbols]
    atoms = [atom for atom in k.ranges if symbol in atom.symbols]
    followers: list[Truth] = [*touched]
    for atom in atoms:
        within = k.ranges[atom] if atom.kind == "symbol" else k.ranges.pop(atom)
        followers.extend(_within(substitute(atom, single), within))
    declared = k.pool.declared.get(symbol)
    if declared is not None and symbol not in k.ranges:
        followers.extend(_within(value, declared))
    for r in touched:
        del k.truths[r]
    _bind(k.bindings, symbol, value)
    k.at_least.clear()
    for r in k.truths:
        _index_bound(k, r)
    k.changed()
    return followers


def _within(e: Int, interval: Interval) -> list[Truth]:
    found: list[Truth] = []
    if isinstance(interval.lower, int):
        found.append(ge(e, interval.lower))
    if isinstance(interval.upper, int):
        found.append(le(e, interval.upper))
    return found


def _parametrised(k: Knowledge, e: Expr) -> tuple[Expr, Int] | None:
    """Solve a - b*floor(a / b) == c for a symbol of a, with the quotient as a new symbol t.

    Whenever e == 0 holds, the symbol has the returned value for t = floor(a / b). The binding is
    made only if conversely the quotient of that value is t again, so that nothing is lost.
    """
    quotients = {atom: None for m, _ in e.parts for atom in m if atom.kind == "floordiv"}
    for quotient in quotients:
        within = k.interval(quotient)
        witness = k.pool.symbol(f"<quotient {len(k.pool.declared)}>", EVERYTHING)
        k.witnesses.add(witness)
        solved = _solved(k, replace_atom(e, quotient, witness))
        if solved is None or solved[0] in k.witnesses:
            continue
        symbol, value = solved
        if substitute(quotient, {symbol: value}) is witness:
            k.ranges[witness] = within
            return symbol, value
    return None


def _on_a_line(k: Knowledge, e: Expr) -> list[Truth]:
    """a*x + b*y + c == 0 of whole x and y: x == x0 + b*t and y == y0 - a*t, for a new symbol t.

    Every t gives a solution, and every solution has its t.
    """
    if len(e.symbols) != 2 or not all(len(m) < 2 for m, _ in e.parts):
        return []
    if any(m and m[0].kind != "symbol" for m, _ in e.parts):
        return []
    (x, a), (y, b) = [(m[0], coefficient) for m, coefficient in e.parts if m]
    c = constant_part(e)
    if not k.witnesses.isdisjoint((x, y)) or math.gcd(a, b) != 1:
        # With a divisor that c does not have, nothing solves it; that one is for proving to see.
        return []
    step = abs(b)
    x0 = -c * pow(a, -1, step) % step
    y0 = -(a * x0 + c) // b
    t = k.pool.symbol(f"<quotient {len(k.pool.declared)}>", EVERYTHING)
    k.witnesses.add(t)
    return [eq(x, x0 + step * t), eq(y, y0 - a * (step // b) * t)]


# Inequalities


def _learn_bound(k: Knowledge, r: Relation) -> list[Truth]:
    e = r.expr
    variable, offset = variable_part(e), constant_part(e)
    if len(variable.parts) == 1:
        monomial, coefficient = variable.parts[0]
        # The content is 1, so a single coefficient is 1 or -1.
        if len(monomial) == 1:
            within = Interval(-offset, INFINITY) if coefficient > 0 else Interval(-INFINITY, offset)
            return _narrow(k, monomial[0], within)
        if r not in k.truths:
            _keep(k, r)
        if coefficient > 0 > offset and all(k.interval(atom).lower >= 0 for atom in monomial):
            # A positive product of factors that are not negative has none that is zero.
            return [ge(atom, 1) for atom in dict.fromkeys(monomial)]
        return []
    _keep(k, r)
    return [*_propagated(k, e), *_of_operands(k, e)]


def _propagated(k: Knowledge, e: Expr) -> list[Truth]:
    """Bounds of single symbols: c*x + rest >= 0 gives c*x >= -(upper bound of rest)."""
    found: list[Truth] = []
    for monomial, coefficient in e.parts:
        if len(monomial) == 1 and monomial[0].kind == "symbol":
            most = k.interval(e - coefficient * monomial[0]).upper
            if isinstance(most, int):
                found.append(ge(coefficient * monomial[0] + most, 0))
    return found


def _of_operands(k: Knowledge, e: Expr) -> list[Truth]:
    """n*min(x, y) + rest >= 0 with n >= 0 says it of both operands; so does n <= 0 of max."""
    extremes = {atom: None for m, _ in e.parts for atom in m if atom.kind in {"max", "min"}}
    for atom in extremes:
        factor, rest = linear_in(e, atom)
        if factor is not None:
            sign = k.interval(factor)
            if sign.lower >= 0 if atom.kind == "min" else sign.upper <= 0:
                return [ge(factor * x + rest, 0) for x in atom.int_args]
    return []


def _narrow(k: Knowledge, atom: Expr, within: Interval) -> list[Truth]:
    if atom.kind == "floordiv":
        a, b = atom.int_args
        if isinstance(b, int):
            # b > 0: floor(a / b) >= n iff a >= b*n; floor(a / b) <= n iff a <= b*n + b - 1.
            return _within(a, Interval(_times(within.lower, b, 0), _times(within.upper, b, b - 1)))
    found: list[Truth] = []
    if atom.kind == "max" and isinstance(within.upper, int):
        found.extend([le(arg, within.upper) for arg in atom.int_args])
    if atom.kind == "min" and isinstance(within.lower, int):
        found.extend([ge(arg, within.lower) for arg in atom.int_args])
    before = k.interval(atom)
    after = meet(before, within)
    if after.is_empty:
        raise Contradiction(f"{atom!r} cannot be in both {tuple(before)} and {tuple(within)}")
    if after == before:
        return found
    k.ranges[atom] = after
    k.changed()
    if after.is_point and isinstance(after.lower, int) and atom.kind == "symbol":
        if atom not in k.witnesses:
            _bind(k.visible, atom, after.lower)
        return [*found, *_learn_binding(k, atom, after.lower)]
    # A tighter range may decide a disjunct, or meet a value that is excluded.
    waiting = [r for r in k.truths if r.kind in {"ne", "or"} and atom in r.symbols]
    for r in waiting:
        del k.truths[r]
    return [*found, *waiting]


def _times(end: Bound, b: int, offset: int) -> Bound:
    return end * b + offset if isinstance(end, int) else end


def _learn_apart(k: Knowledge, r: Relation) -> list[Truth]:
    variable, offset = variable_part(r.expr), constant_part(r.expr)
    if len(variable.parts) != 1:
        return _keep(k, r)
    # The content is 1 and the first coefficient positive, so the only one is 1.
    (atom, *others), _ = variable.parts[0]
    if others:
        _keep(k, r)
        # A product is not zero iff none of its factors is.
        return [] if offset else [ne(factor, 0) for factor in dict.fromkeys((atom, *others))]
    lower, upper = k.interval(atom)
    if lower == -offset:
        return [ge(atom, 1 - offset)]
    if upper == -offset:
        return [le(atom, -offset - 1)]
    return _keep(k, r)
