"""The laws of `integers`, against brute force: Python computing the same with plain ints.

A law draws Python source, such as `max(a, b) // 3 - a`, and runs it twice: on expressions and on
ints. Whatever is then asked of the expression must agree with the ints.
"""

import itertools
import math
import operator
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.integers import (
    Contradiction,
    Expr,
    Facts,
    Int,
    Relation,
    all_of,
    any_of,
    call,
    ceil,
    ceildiv,
    eq,
    evaluate,
    evaluate_namespace,
    evaluate_real,
    floor,
    ge,
    gt,
    holds,
    le,
    lt,
    maximum,
    minimum,
    ne,
    negate,
    parse,
    parse_real,
    parse_relation,
    python_source,
    relation_source,
    relation_text,
    round_,
    solve,
    substitute,
    substitute_relation,
    symbols,
    text,
    to_float,
    trunc,
)

SYMBOLIC = MappingProxyType(
    {
        "all_of": all_of,
        "any_of": any_of,
        "ceildiv": ceildiv,
        "eq": eq,
        "ge": ge,
        "gt": gt,
        "le": le,
        "lt": lt,
        "max": maximum,
        "min": minimum,
        "ne": ne,
        "negate": negate,
    }
)
CONCRETE = MappingProxyType(
    {
        "all_of": lambda *rs: all(rs),
        "any_of": lambda *rs: any(rs),
        "ceildiv": lambda a, b: -(-a // b),
        "eq": operator.eq,
        "ge": operator.ge,
        "gt": operator.gt,
        "le": operator.le,
        "lt": operator.lt,
        "max": max,
        "min": min,
        "ne": operator.ne,
        "negate": operator.not_,
    }
)


def on_exprs(source: str, names: Mapping[str, object]) -> object:
    """What the source computes on expressions."""
    return eval(source, {**SYMBOLIC, **names})  # our own generated source


def on_ints(source: str, names: tuple[str, ...]) -> Callable[..., int | None]:
    """What the source computes on ints, as a function of these names; None for x // 0."""
    compute: Callable[..., int] = eval(f"lambda {', '.join(names)}: {source}", dict(CONCRETE))

    def guarded(*values: int) -> int | None:
        try:
            return compute(*values)
        except ZeroDivisionError:
            return None

    return guarded


def integer_source(rng: random.Random, names: tuple[str, ...], depth: int) -> str:
    """Draw the source of an integer expression."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(names) if rng.random() < 0.7 else str(rng.randint(-4, 9))
    left = integer_source(rng, names, depth - 1)
    right = integer_source(rng, names, depth - 1)
    constant = str(rng.choice([1, 2, 2, 3, 4, 4, 6, 8, -2, -3]))
    return rng.choice(
        [
            f"({left} + {right})",
            f"({left} + {right})",
            f"({left} - {right})",
            f"({left} * {right})",
            f"({left} * {constant})",
            f"({left} // {constant})",
            f"({left} % {constant})",
            f"({left} // {right})",
            f"({left} % {right})",
            f"max({left}, {right})",
            f"min({left}, {right})",
            f"ceildiv({left}, {constant})",
            f"(-{left})",
        ]
    )


def relation_of(rng: random.Random, names: tuple[str, ...], depth: int) -> str:
    """Draw the source of a relation."""
    kind = rng.random()
    if kind < 0.1:
        combine = rng.choice(["all_of", "any_of"])
        return f"{combine}({relation_of(rng, names, depth)}, {relation_of(rng, names, depth)})"
    if kind < 0.15:
        return f"negate({relation_of(rng, names, depth)})"
    left = integer_source(rng, names, rng.randint(0, depth))
    if kind < 0.3:
        return f"eq({left} % {rng.choice([2, 3, 4, 8])}, {rng.choice([0, 0, 1])})"
    right = integer_source(rng, names, rng.randint(0, depth))
    compare = rng.choice(["eq", "ge", "ge", "gt", "le", "lt", "ne"])
    return f"{compare}({left}, {right})"


@dataclass(frozen=True, slots=True)
class World:
    """Symbols with ranges, and all values of them that are looked at."""

    facts: Facts
    names: tuple[str, ...]
    symbols: tuple[Expr, ...]
    values: tuple[tuple[int, ...], ...]

    @property
    def by_name(self) -> dict[str, Int]:
        """The symbols by their names."""
        return dict(zip(self.names, self.symbols, strict=True))

    def envs(self) -> Iterator[dict[Expr, int]]:
        """Every assignment."""
        for values in self.values:
            yield dict(zip(self.symbols, values, strict=True))


def world(rng: random.Random) -> World:
    """Draw two or three symbols with ranges."""
    facts = Facts()
    names = ("a", "b", "c")[: rng.choice([2, 2, 2, 3])]
    span = 12 if len(names) == 2 else 6
    made: list[Expr] = []
    columns: list[range] = []
    for name in names:
        lower = rng.choice([None, -3, 0, 0, 0, 0, 1, 1, 2])
        upper = rng.choice([None, None, None, 4, 7])
        start = -5 if lower is None else lower
        stop = start + span if upper is None else min(upper, start + span)
        columns.append(range(start, stop + 1))
        made.append(facts.symbol(name, hint=rng.choice(columns[-1]), lower=lower, upper=upper))
    return World(facts, names, tuple(made), tuple(itertools.product(*columns)))


SEEDS = st.integers(0, 2**63)


@given(SEEDS)
@settings(max_examples=1000, deadline=None)
def test_normal_form_keeps_the_value(seed: int) -> None:
    """What is computed on expressions evaluates to what is computed on ints."""
    rng = random.Random(seed)
    here = world(rng)
    source = integer_source(rng, here.names, 4)
    expected = on_ints(source, here.names)
    try:
        e = on_exprs(source, here.by_name)
    except ZeroDivisionError:
        return
    assert isinstance(e, int | Expr)
    for values, env in zip(here.values, here.envs(), strict=True):
        value = expected(*values)
        if value is not None:
            assert evaluate(e, env) == value, (source, env)


@given(SEEDS)
@settings(max_examples=500, deadline=None)
def test_equal_means_the_same_object(seed: int) -> None:
    """Ring laws hold as identities of objects."""
    rng = random.Random(seed)
    here = world(rng)
    x, y, z = (_drawn(rng, here) for _ in range(3))
    assert x + y is y + x or x + y == y + x
    assert (x + y) + z == x + (y + z)
    assert (x * y) * z == x * (y * z)
    assert x * (y + z) == x * y + x * z
    assert (x - y) + y == x
    assert -(x - y) == y - x
    assert maximum(x, y) == maximum(y, x)
    n = rng.randint(1, 9)
    assert (n * x + y) // n == x + y // n
    linear = sum((rng.randint(-9, 9) * symbol for symbol in here.symbols), rng.randint(-9, 9))
    assert (linear // 2) // n == linear // (2 * n)
    # Halves are the exception: (n + 1)//2 and n - n//2 are both common, and left as they are.
    assert n % 2 == 0 or ceildiv(linear, n) == -(-linear // n)
    assert here.facts.known(eq(ceildiv(linear, n), -(-linear // n)))
    assert (x % n) == x - n * (x // n)
    assert (x % n) // n == 0
    assert (x % n) % n == x % n


def _drawn(rng: random.Random, here: World, depth: int = 3) -> Int:
    for _ in range(100):
        try:
            e = on_exprs(integer_source(rng, here.names, depth), here.by_name)
        except ZeroDivisionError:
            continue
        assert isinstance(e, int | Expr)
        return e
    return 1


@given(SEEDS)
@settings(max_examples=500, deadline=None)
def test_substitution_commutes_with_evaluation(seed: int) -> None:
    """Evaluating what was substituted is evaluating with the substituted values."""
    rng = random.Random(seed)
    here = world(rng)
    e, value = _drawn(rng, here, 4), _drawn(rng, here, 2)
    symbol = here.symbols[0]
    declared = here.facts.pool.declared[symbol]
    try:
        replaced = substitute(e, {symbol: value})
    except ZeroDivisionError:
        return
    for env in itertools.islice(here.envs(), 60):
        try:
            inner = evaluate(value, env)
            expected = evaluate(e, {**env, symbol: inner})
        except ZeroDivisionError:
            continue
        if inner in declared:
            assert evaluate(replaced, env) == expected


@given(SEEDS)
@settings(max_examples=500, deadline=None)
def test_interval_contains_every_value(seed: int) -> None:
    """No value of an expression lies outside its interval."""
    rng = random.Random(seed)
    here = world(rng)
    e = _drawn(rng, here, 4)
    within = here.facts.interval(e)
    for env in here.envs():
        try:
            assert evaluate(e, env) in within
        except ZeroDivisionError:
            continue


@given(SEEDS)
@settings(max_examples=1000, deadline=None)
def test_print_and_parse_round_trip(seed: int) -> None:
    """What is printed is read back as the same object."""
    rng = random.Random(seed)
    here = world(rng)
    e = _drawn(rng, here, 4)
    assert parse(text(e), here.by_name) is e or parse(text(e), here.by_name) == e
    paths = {symbol: f"x[{i}].shape[{i}]" for i, symbol in enumerate(here.symbols)}
    assert parse(text(e, paths), {path: symbol for symbol, path in paths.items()}) == e
    try:
        r = on_exprs(relation_of(rng, here.names, 3), here.by_name)
    except ZeroDivisionError:
        return
    assert isinstance(r, Relation | bool)
    assert parse_relation(relation_text(r), here.by_name) is r


@given(SEEDS)
@settings(max_examples=500, deadline=None)
def test_source_computes_the_value(seed: int) -> None:
    """The Python source of an expression or relation computes its value."""
    rng = random.Random(seed)
    here = world(rng)
    e = _drawn(rng, here, 4)
    names = dict(zip(here.symbols, here.names, strict=True))
    r = _drawn_relation(rng, here, 3)
    for env in itertools.islice(here.envs(), 20):
        values = {names[symbol]: value for symbol, value in env.items()}
        for source, expected in (
            (python_source(e, names), lambda env=env: evaluate(e, env)),
            (relation_source(r, names), lambda env=env: holds(r, env)),
        ):
            try:
                value = expected()
            except ZeroDivisionError:
                continue
            try:
                found = eval(source, {**evaluate_namespace(), **values})
            except ZeroDivisionError:
                assert value is False  # a relation without a value does not hold
            else:
                assert found == value


def _drawn_relation(rng: random.Random, here: World, depth: int) -> Relation | bool:
    for _ in range(100):
        try:
            r = on_exprs(relation_of(rng, here.names, depth), here.by_name)
        except ZeroDivisionError:
            continue
        assert isinstance(r, Relation | bool)
        return r
    return True


@given(SEEDS)
@settings(max_examples=500, deadline=None)
def test_relations_mean_what_they_say(seed: int) -> None:
    """A normalised relation, its negation, and its substitution have the truth of the source."""
    rng = random.Random(seed)
    here = world(rng)
    source = relation_of(rng, here.names, 3)
    expected = on_ints(source, here.names)
    try:
        r = on_exprs(source, here.by_name)
    except ZeroDivisionError:
        return
    assert isinstance(r, Relation | bool)
    for values, env in zip(here.values, here.envs(), strict=True):
        truth = expected(*values)
        if truth is not None:
            assert holds(r, env) == truth
            assert holds(negate(r), env) != truth
            assert substitute_relation(r, dict(env)) is truth


def falsify_known(seed: int, questions: int = 10) -> tuple[int, int]:
    """Look for a wrong answer of `known`; returns (questions asked, questions answered)."""
    rng = random.Random(seed)
    here = world(rng)
    kept = _assumed(rng, here)
    answered = 0
    for _ in range(questions):
        source = relation_of(rng, here.names, rng.choice([1, 2, 2, 3]))
        try:
            r = on_exprs(source, here.by_name)
        except ZeroDivisionError:
            continue
        assert isinstance(r, Relation | bool)
        answer = here.facts.known(r)
        if answer is None:
            continue
        answered += isinstance(r, Relation)
        truth = on_ints(source, here.names)
        stated = [guard.relation for guard in here.facts.stated]
        for values in kept:
            assert truth(*values) in {answer, None}, (source, answer, values, stated)
    for e in [*here.symbols, _drawn(rng, here)]:
        within, simple = here.facts.interval(e), here.facts.simplify(e)
        for values in kept:
            env = dict(zip(here.symbols, values, strict=True))
            try:
                value = evaluate(e, env)
            except ZeroDivisionError:
                continue
            assert value in within, (e, within, values)
            assert evaluate(simple, env) == value, (e, simple, values)
    return questions, answered


def _assumed(rng: random.Random, here: World) -> list[tuple[int, ...]]:
    """Assume relations that hold at the hints; returns the values that satisfy all of them."""
    kept = list(here.values)
    hints = tuple(here.facts.hints[symbol] for symbol in here.symbols)
    for _ in range(rng.randint(0, 4)):
        source = relation_of(rng, here.names, rng.choice([1, 1, 2]))
        truth = on_ints(source, here.names)
        at_hints = truth(*hints)
        if at_hints is None:
            continue
        if not at_hints:
            source = f"negate({source})"
        try:
            r = on_exprs(source, here.by_name)
        except ZeroDivisionError:
            continue
        assert isinstance(r, Relation | bool)
        here.facts.assume(r)
        # An assumption is a guard of the program: where it cannot be computed, it does not hold.
        kept = [values for values in kept if truth(*values) is at_hints]
        assert here.facts.known(r) is not False
    return kept


@pytest.mark.parametrize("block", range(10))
def test_known_is_never_wrong(block: int) -> None:
    """Whatever `known` answers holds for all values that satisfy the assumptions."""
    answered = 0
    for seed in range(block * 100, block * 100 + 100):
        answered += falsify_known(seed)[1]
    assert answered > 200, "too few answers to mean anything"


FLOAT_SOURCES = st.recursive(
    st.sampled_from(["to_float(a)", "to_float(a)", "to_float(b)", "to_float(a * b)"])
    | st.sampled_from(["0.5", "0.1", "2.0", "3", "1.5", "0.25", "7"]),
    lambda inner: (
        st.builds(
            "({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "+", "*"]), inner
        )
        | st.builds("abs({})".format, inner)
        | st.builds("(-{})".format, inner)
        | st.builds("to_float(floor({}))".format, inner)
    ),
    max_leaves=6,
)
FLOAT_NAMES = MappingProxyType(
    {
        "ceil": ceil,
        "floor": floor,
        "round": round_,
        "sqrt": lambda x: call("sqrt", x),
        "to_float": to_float,
        "trunc": trunc,
    }
)
INT_NAMES = MappingProxyType(
    {
        "ceil": math.ceil,
        "floor": math.floor,
        "round": round,
        "sqrt": math.sqrt,
        "to_float": float,
        "trunc": math.trunc,
    }
)
LARGE = st.integers(0, 20) | st.integers(0, 2**44 - 1) | st.sampled_from([2**43, 2**44 - 1])


@given(FLOAT_SOURCES, LARGE, LARGE, st.sampled_from(["floor", "ceil", "round", "trunc"]))
@settings(max_examples=2000, deadline=None)
def test_reals_replay_floats(source: str, a: int, b: int, rounding: str) -> None:
    """A Real has bit for bit the value floats have, and so do its roundings and comparisons."""
    facts = Facts()
    n, m = facts.symbol("a", hint=a), facts.symbol("b", hint=b)
    env = {n: a, m: b}
    try:
        value: float = eval(source, {**INT_NAMES, "a": a, "b": b})
        whole: int = INT_NAMES[rounding](value)
    except (ZeroDivisionError, OverflowError, ValueError):
        return
    try:
        made = eval(source, {**FLOAT_NAMES, "a": n, "b": m})
        rounded = FLOAT_NAMES[rounding](made)
    except ZeroDivisionError:
        return
    assert evaluate_real(made, env) == value
    assert evaluate(rounded, env) == whole
    assert whole in facts.interval(rounded)
    for compare in (eq, ne, lt, le, gt, ge):
        for other in (whole, value, 0.1, 3):
            r = compare(made, other)
            assert holds(r, env) is CONCRETE[compare.__name__](value, other)
            assert holds(negate(r), env) is not holds(r, env)
    names = {"a": n, "b": m}
    assert evaluate_real(parse_real(text(made), names), env) == value
    assert parse(text(rounded), names) == rounded
    substituted = substitute(rounded, env)
    assert substituted == whole


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), SEEDS)
@settings(max_examples=300, deadline=None)
def test_solve_finds_the_values(values: list[int], seed: int) -> None:
    """Symbols are found again from what expressions of them were observed to be."""
    rng = random.Random(seed)
    facts = Facts()
    made = [facts.symbol(f"n{i}", hint=value) for i, value in enumerate(values)]
    env = dict(zip(made, values, strict=True))
    exprs: list[Int] = [rng.choice([1, 2, 3]) * symbol + rng.randint(0, 3) for symbol in made]
    exprs += [made[0] * made[1], made[0] // 2, 5]
    rng.shuffle(exprs)
    observed = [(e, evaluate(e, env)) for e in exprs]
    assert solve(observed) == env
    with pytest.raises(Contradiction):
        solve([*observed, (made[0] + made[1], values[0] + values[1] + 1)])
    assert symbols(exprs[0]) <= set(made)
