"""The facts in force: the one ambient value, and the questions rules ask of it.

Law: `known` looks and records nothing; `require` proves, records or refuses. An example chooses a
side here alone, and never without a guard: `decide` answers questions of user code, `choose` and
`fixed` those that an operator asks itself.
Read by: rules (`known`, `require`, `choose`, `fixed`, `fresh`), capture (`decide`, `use`).
"""

from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics import MonographError, problem
from monograph.integers.expr import SPOKEN, Expr, Int
from monograph.integers.facts import NEVER, Contradiction, Facts
from monograph.integers.printing import relation_text
from monograph.integers.real import Real
from monograph.integers.relation import Truth, eq, ne, negate, relation_symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "active",
    "choose",
    "decide",
    "fixed",
    "fresh",
    "has_facts",
    "in_force",
    "is_data_dependent",
    "known",
    "left_open",
    "plain_value",
    "prove",
    "require",
    "simplify",
    "use",
]

_ACTIVE: Final[ContextVar[Facts]] = ContextVar("monograph_facts")


def active() -> Facts:
    """The facts in force.

    >>> facts = Facts()
    >>> with use(facts):
    ...     active() is facts
    True
    """
    try:
        return _ACTIVE.get()
    except LookupError:
        raise LookupError("no Facts are in force here; wrap the call in `use(facts)`") from None


def has_facts() -> bool:
    """Whether any facts are in force, to which questions can be put.

    >>> has_facts()
    False
    """
    return _ACTIVE.get(None) is not None


def in_force(facts: Facts) -> bool:
    """Whether these are the facts in force, or those that a branch in force began with.

    >>> facts = Facts()
    >>> in_force(facts)
    False
    >>> with use(facts.branch()):
    ...     in_force(facts)
    True
    """
    now = _ACTIVE.get(None)
    while now is not None and now is not facts:
        now = now.outer
    return now is not None


class use:  # noqa: N801  # reads as a verb: `with use(facts):`
    """Put facts in force for the duration of a `with` block.

    >>> with use(Facts()) as facts:
    ...     n = facts.symbol("n", hint=3)
    """

    __slots__ = ("_facts", "_spoken", "_token")

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._token: Token[Facts] | None = None
        self._spoken: Token[Mapping[Expr, str]] | None = None

    def __enter__(self) -> Facts:
        """Put them in force."""
        self._token = _ACTIVE.set(self._facts)
        self._spoken = SPOKEN.set(self._facts.spoken)
        return self._facts

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put back the ones before."""
        if self._token is not None:
            _ACTIVE.reset(self._token)
        if self._spoken is not None:
            SPOKEN.reset(self._spoken)


def known(r: Truth) -> bool | None:
    """Whether a relation is proved by the facts in force: True, False, or None. Records nothing.

    >>> from monograph.integers import ge
    >>> with use(Facts()) as facts:
    ...     n = facts.symbol("n", hint=3)
    ...     known(ge(n, 0)), known(ge(n, 4)), known(ge(5, 4))
    (True, None, True)
    """
    if r is True or r is False:
        return r
    return active().known(r)


def is_data_dependent(r: Truth) -> bool:
    """Whether no example has a side of a relation: an unbacked symbol is in it.

    >>> from monograph.integers import ge
    >>> with use(Facts()) as facts:
    ...     n, u = facts.symbol("n", hint=3), facts.symbol("u", hint=None)
    ...     is_data_dependent(ge(n, 4)), is_data_dependent(ge(u, 4))
    (False, True)
    """
    return active().hint_of_relation(r) is None


def prove(r: Truth) -> bool | None:
    """As `known`, but tries harder: the fast engine, then z3 where that pays. Records nothing.

    >>> from monograph.integers import le
    >>> with use(Facts()) as facts:
    ...     u = facts.symbol("u", hint=None)
    ...     facts.assume(le(u * u - 3 * u, 10))
    ...     known(le(u, 5)), prove(le(u, 5)), prove(le(u, 4))
    (None, True, None)
    """
    if r is True or r is False:
        return r
    return active().prove(r)


def require(r: Truth, name: str, **facts: Any) -> None:
    """Prove a relation, or make it a condition of the program, or refuse with `problem(name)`.

    Raises: the diagnostic `name`, filled with `facts`.

    >>> from monograph.integers import ge, relation_text
    >>> with use(Facts()) as known_here:
    ...     n = known_here.symbol("n", hint=5)
    ...     require(ge(n, 4), "sizes-disagree")
    ...     [relation_text(guard.relation) for guard in known_here.guards]
    ['n >= 4']
    """
    if r is True:
        return
    if r is False:
        raise problem(name, **facts)
    here = active()
    # An example against it decides, unless the facts exclude the example.
    answer = here.prove(r)
    if answer:
        return
    example = None if answer is False else here.hint_of_relation(r)
    if answer is False or example is False:
        here.premises[NEVER] = True
        raise problem(name, **facts)
    try:
        if example is None:
            here.assert_at_run(r)
        else:
            here.guard(r)
    except Contradiction as error:
        here.premises[NEVER] = True
        raise problem(name, **facts) from error


def decide(r: Truth) -> bool:
    """Answer a question of user code: as proved, else as it is for the example, with a guard.

    Raises: data-dependent-size.

    >>> from monograph.integers import ge, relation_text
    >>> with use(Facts()) as facts:
    ...     n = facts.symbol("n", hint=3)
    ...     decide(ge(n, 4)), [relation_text(guard.relation) for guard in facts.guards]
    (False, ['n <= 3'])
    """
    if r is True or r is False:
        return r
    here = active()
    answer = here.prove(r)
    if answer is not None:
        return answer
    example = here.hint_of_relation(r)
    if example is None:
        here.premises[NEVER] = True
        _refuse_outside(here, relation_symbols(r))
        refusal = _undecidable(here, r)
        if here.example is None:
            raise refusal
        return here.example.truth_of(r, refusal)
    here.guard(r if example else negate(r))
    return example


def choose(*cases: Truth | tuple[Truth, ...], name: str = "", **facts: Any) -> int | None:
    """Which case of an operator a program takes: the first that the example is in, by a guard.

    A case is a relation, or several that hold together. None, and no guard, where the example is in
    none of them or data decides. `name` and `facts` say what is wrong if the guard cannot hold.

    Raises: the diagnostic `name`, or data-dependent-size.

    >>> from monograph.integers import ge, lt, relation_text
    >>> with use(Facts()) as facts:
    ...     n, u = facts.symbol("n", hint=3), facts.symbol("u", hint=None)
    ...     choose(ge(n, 4), lt(n, 4)), choose(ge(u, 4), lt(u, 4))
    ...     [relation_text(guard.relation) for guard in facts.guards]
    (1, None)
    ['n <= 3']
    """
    here = active()
    for at, case in enumerate(cases):
        relations = case if isinstance(case, tuple) else (case,)
        if all(here.hint_of_relation(r) for r in relations):
            for r in relations:
                given = facts or {"question": relation_text(r), "size": "a size"}
                require(r, name or "data-dependent-size", **given)
            return at
    return None


def left_open(r: Truth) -> bool:
    """Whether an operator that does one thing where this holds and another elsewhere does either.

    That is where the example alone says that it holds, in a run that leaves views open.
    """
    doubt = active().views_in_doubt
    if doubt is None or not active().hint_of_relation(r):
        return False
    doubt.n_met += 1
    return doubt.are_open


def fixed(
    number: Int, state: "Callable[[int], None]", refuse: "Callable[[float | None], MonographError]"
) -> int:
    """A number that a program is made for: the only one possible, else the example's.

    `state` requires what the program rests on then; `refuse` is as for `plain_value`.

    >>> from monograph.integers import eq, relation_text
    >>> with use(Facts()) as facts:
    ...     n = facts.symbol("n", hint=3)
    ...     count = fixed(n, lambda k: require(eq(n, k), "undecided-size"), lambda _: TypeError())
    ...     count, [relation_text(guard.relation) for guard in facts.guards]
    (3, ['n == 3'])
    """
    if isinstance(number, int):
        return number
    found = active().hint_of(number)
    if found is None:
        lower, upper = active().interval(number)
        found = int(lower if lower == upper else plain_value(number, refuse))
    state(found)
    return found


def plain_value(number: Expr | Real, refuse: "Callable[[float | None], MonographError]") -> float:
    """What a number is that only data tells: the example's, where an export goes on; else refused.

    `refuse` makes the refusal, given what the number is for the example if that is known.
    """
    _refuse_outside(active(), number.symbols)
    example = active().example
    if example is None:
        refusal = refuse(None)
        refusal.is_asked = True
        raise refusal
    return example.value_of(number, refuse)


def _refuse_outside(here: Facts, symbols: "Iterable[Expr]") -> None:
    """Nothing rests on what no program computes, such as a clock."""
    for symbol in symbols:
        if symbol in here.outside:
            here.outside[symbol]()


def _undecidable(here: Facts, r: Truth) -> MonographError:
    names = {symbol: here.source_of(symbol) or symbol.name for symbol in here.symbols}
    unbacked = [s for s in here.symbols if here.is_unbacked(s) and s in relation_symbols(r)]
    if len(unbacked) == 1 and r in {eq(unbacked[0], 1), ne(unbacked[0], 1)}:
        span = here.interval(unbacked[0])
        if (span.lower, span.upper) == (0, 1):  # the item of a tensor of truths
            return problem("data-dependent-branch", condition=names[unbacked[0]])
    return problem(
        "data-dependent-size",
        question=relation_text(r, names),
        size=", ".join([names[symbol] for symbol in unbacked]),
        negation=relation_text(negate(r), names),
    )


def fresh(label: str, lower: int | None = 0, upper: int | None = None) -> Expr:
    """An unknown integer that the program computes from data, with nothing known but its range.

    >>> with use(Facts()) as facts:
    ...     fresh("mask.sum().item()", 0, 16), facts.source_of(facts.symbols[0])
    (u0, 'mask.sum().item()')
    """
    here = active()
    number = sum(here.is_unbacked(symbol) for symbol in here.symbols)
    while here.pool.has_symbol(f"u{number}"):  # also one that another copy of the facts made
        number += 1
    return here.symbol(f"u{number}", hint=None, lower=lower, upper=upper, source=label)


def simplify(e: Int) -> Int:
    """Apply the equalities that are in force.

    >>> simplify(3)
    3
    """
    return active().simplify(e) if isinstance(e, Expr) else e
