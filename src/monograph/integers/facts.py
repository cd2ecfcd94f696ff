"""Facts: the symbols of one capture and everything known about them.

Law: `known` answers only what follows from what was declared and assumed; `guards` and
`assertions` are what the program has to check so that the assumptions hold, in the order they
were made (a later one may lean on an earlier one, e.g. for a divisor that is not zero).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType, MappingProxyType
from typing import Final, Protocol, cast

from monograph.integers.decision.propagation import learn
from monograph.integers.decision.proving import known
from monograph.integers.decision.smt import is_nonlinear, smt_answer
from monograph.integers.events import (
    Event,
    Narrowed,
    Origin,
    Replaced,
    Standing,
    Stated,
    SymbolMade,
)
from monograph.integers.expr import Expr, Int
from monograph.integers.interval import INFINITY, Interval, meet
from monograph.integers.knowledge import Contradiction, Knowledge
from monograph.integers.pool import Pool
from monograph.integers.real import Real, call
from monograph.integers.relation import Relation, Truth, eq, ge, holds, le
from monograph.integers.structure import evaluate, substitute

__all__ = ["NEVER", "Contradiction", "Example", "Facts", "Guard", "Origin", "ViewsInDoubt"]

NEVER: Final[Truth] = False
"""A premise that never holds: with it among those of a run, no other sizes run alike."""

_ANONYMOUS = re.compile(r"[a-z]\d+")


def _nowhere() -> Origin:
    return None


@dataclass(frozen=True, slots=True)
class Guard:
    """A relation that somebody stated, and where."""

    relation: Relation
    origin: Origin


@dataclass(frozen=True, slots=True)
class _Symbol:
    hint: int | None
    source: str


class Example(Protocol):
    """What holds for the example inputs, also of values that depend on data."""

    def truth_of(self, r: Relation, refusal: Exception) -> bool:
        """Whether the relation holds, which is assumed from now on. Raises the refusal."""
        ...

    def value_of(
        self, number: Expr | Real | Relation, refuse: Callable[[float | None], Exception]
    ) -> float:
        """The number, which is assumed to be that from now on; `refuse` makes the refusal."""
        ...


@dataclass(slots=True)
class ViewsInDoubt:
    """How often sizes that may be others made a view of a copy; whether no guard holds to that."""

    n_met: int = 0
    are_open: bool = False


class Facts:
    """What is known about the symbols of one capture.

    >>> from monograph.integers import eq, ge, text
    >>> facts = Facts()
    >>> n, m = facts.symbol("n", hint=6), facts.symbol("m", hint=12)
    >>> facts.known(ge(n, 0)), facts.known(ge(n, 4))
    (True, None)
    >>> facts.assume(eq(m, 2 * n))
    >>> text(facts.simplify(m + 1)), facts.known(eq(m % 2, 0))
    ('2*n + 1', True)
    """

    __slots__ = (
        "_hints",
        "_known_hints",
        "_symbols",
        "_unbacked",
        "assertions",
        "example",
        "float_inputs",
        "guards",
        "knowledge",
        "listener",
        "locate",
        "named",
        "outer",
        "outside",
        "overlook",
        "pool",
        "prefers_general",
        "premises",
        "rewritten",
        "rounded",
        "runs_plainly",
        "shortened",
        "spoken",
        "stated",
        "views_in_doubt",
        "within_branch",
    )

    def __init__(self, pool: Pool | None = None) -> None:
        self.pool = Pool() if pool is None else pool
        self._symbols: dict[Expr, _Symbol] = {}
        self._unbacked: set[Expr] = set()
        self._hints: dict[Expr, int] = {}
        self._known_hints: dict[Expr, int] = {}
        self.float_inputs: set[Expr] = set()
        # How messages call symbols that users did not name.
        self.spoken: dict[Expr, str] = {}
        # The symbols that stand for what numbers out of data make, by those.
        self.named: dict[tuple[Int, ...], Expr] = {}
        self.knowledge = Knowledge(self.pool, self._precedence)
        self.locate: Callable[[], Origin] = _nowhere
        # Symbols that no program computes, and what refuses to use one, or tells a draft its value.
        self.outside: dict[Expr, Callable[[], float]] = {}
        # What else may answer where user code asks for the truth of a number: (the question, the
        # number, the frame that asks) -> the answer, or None if it must be decided.
        self.overlook: Callable[[Truth, object, FrameType | None], bool | None] | None = None
        # The facts that these began with, and whether they hold in one branch of a program only:
        # there is nothing that inputs must satisfy then, as the branch may not be taken.
        self.outer: Facts | None = None
        self.within_branch = False
        # Told of the integer that a float is rounded to, at which Python raises where that is NaN.
        self.rounded: Callable[[Expr], None] | None = None
        # Gives a long number out of data a symbol, for what the program computes here.
        self.shortened: Callable[[Expr | Real], Expr | Real] | None = None
        # What decides whether `reshape` gives a view, where only the example tells that it does.
        self.views_in_doubt: ViewsInDoubt | None = None
        # Whether Python itself runs user code, where nobody keeps numbers symbolic in `int`, `len`.
        self.runs_plainly = False
        # Whether code that has a general answer shall take it where nothing is known, rather than
        # the example's answer with a guard.
        self.prefers_general = False
        # Told of every event, for logs; None costs nothing.
        self.listener: Callable[[Event], None] | None = None
        # Asked, instead of refusing, for what only data tells, where an export goes on after that.
        self.example: Example | None = None
        # Everything assumed, whoever has to check it; then what inputs must satisfy; then what
        # the program asserts while it runs, because it is about values born there.
        self.stated: list[Guard] = []
        self.guards: list[Guard] = []
        self.assertions: list[Guard] = []
        # What was answered or stated since somebody put these here, and what `simplify` made of
        # expressions: a run that is told the same does the same. `NEVER` among them stands for a
        # refusal: whoever caught it went on by the example.
        self.premises: dict[Truth, bool] = {}
        self.rewritten: dict[Expr, Int] = {}

    def copy(self) -> "Facts":
        """The same facts about the same symbols; what either learns from here on is its own.

        >>> from monograph.integers import ge
        >>> facts = Facts()
        >>> n = facts.symbol("n", hint=6)
        >>> later = facts.copy()
        >>> later.guard(ge(n, 4))
        >>> facts.known(ge(n, 3)), later.known(ge(n, 3))
        (None, True)
        """
        # Written out, for a capture copies its facts twice at each condition.
        copied = object.__new__(Facts)
        copied.pool = self.pool
        copied._symbols = {**self._symbols}
        copied._unbacked = {*self._unbacked}
        copied._hints = {**self._hints}
        copied._known_hints = {**self._known_hints}
        copied.float_inputs = {*self.float_inputs}
        copied.outside = self.outside
        copied.spoken = {**self.spoken}
        copied.named = {**self.named}
        copied.knowledge = self.knowledge.copy(copied._precedence)
        copied.locate = _nowhere
        copied.listener = copied.overlook = copied.example = None
        copied.rounded = copied.shortened = None
        copied.prefers_general = False
        copied.outer = self.outer
        copied.within_branch = self.within_branch
        copied.runs_plainly = self.runs_plainly
        copied.views_in_doubt = self.views_in_doubt
        copied.stated = [*self.stated]
        copied.guards = [*self.guards]
        copied.assertions = [*self.assertions]
        copied.premises = {**self.premises}
        copied.rewritten = {**self.rewritten}
        return copied

    def branch(self) -> "Facts":
        """The same facts, for one branch of the program: what it learns is checked where it runs.

        >>> from monograph.integers import ge
        >>> facts = Facts()
        >>> n = facts.symbol("n", hint=6)
        >>> inside = facts.branch()
        >>> inside.guard(ge(n, 4))
        >>> [len(each) for each in (facts.guards, inside.guards, inside.assertions)]
        [0, 0, 1]
        """
        copied = self.copy()
        copied.outer = self
        copied.within_branch = True
        copied.locate, copied.rounded = self.locate, self.rounded
        copied.shortened = self.shortened
        return copied

    def take_symbols(self, branch: "Facts") -> None:
        """Know the symbols that were made elsewhere: that they are, and nothing about them."""
        theirs = branch._symbols  # noqa: SLF001  (of the same class)
        if not theirs.keys() <= self._symbols.keys():
            for symbol, known in theirs.items():
                if symbol not in self._symbols:
                    self._symbols[symbol] = _Symbol(None, known.source)
                    self._unbacked.add(symbol)
        if branch.spoken:
            self.spoken.update(branch.spoken)

    def symbol(
        self,
        name: str,
        *,
        hint: int | None,
        lower: int | None = 0,
        upper: int | None = None,
        source: str = "",
    ) -> Expr:
        """Make a new symbol in [lower, upper] (None: unbounded); without a hint it is unbacked."""
        within = Interval(
            -INFINITY if lower is None else lower, INFINITY if upper is None else upper
        )
        if within.is_empty:
            raise Contradiction(f"no integer {name} is in [{lower}, {upper}]")
        made = self.pool.symbol(name, within)
        self._symbols[made] = _Symbol(hint, source)
        if hint is None:
            self._unbacked.add(made)
            self.pool.unbacked.add(made)
        else:
            self._hints[made] = hint
            if source and _ANONYMOUS.fullmatch(name):
                self.spoken[made] = source
        if self.listener is not None:
            self.listener(SymbolMade(made, hint, source, within, self.locate()))
        if within.is_point:
            self.assume(eq(made, int(within.lower)))
        return made

    def float_input(self, name: str, *, hint: float, source: str = "") -> Real:
        """Make a float that callers give; its symbol stands for nothing but this float.

        >>> from monograph.integers import gt, relation_text
        >>> facts = Facts()
        >>> scale = facts.float_input("scale", hint=0.5)
        >>> facts.known(gt(scale, 0.25)), facts.hint_of_relation(gt(scale, 0.25))
        (None, True)
        """
        made = self.symbol(name, hint=0, lower=None, source=source)
        # The symbol is seen under `input` alone, which takes its value as it is.
        self._hints[made] = cast("int", hint)
        self.float_inputs.add(made)
        real = call("input", made)
        assert isinstance(real, Real), "a symbol is no constant"
        return real

    def _precedence(self, symbol: Expr) -> tuple[int, ...]:
        if symbol not in self._symbols:
            return (2, 0, symbol.index)
        anonymous = _ANONYMOUS.fullmatch(symbol.name) is not None
        return (int(symbol in self._unbacked), int(anonymous), symbol.index)

    @property
    def symbols(self) -> tuple[Expr, ...]:
        """All symbols in the order they were made."""
        return tuple(self._symbols)

    @property
    def hints(self) -> Mapping[Expr, int]:
        """The hints of all backed symbols."""
        return MappingProxyType(self._hints)

    @property
    def replacements(self) -> Mapping[Expr, Int]:
        """Symbols that equal something simpler, which `simplify` puts for them."""
        return MappingProxyType(self.knowledge.visible)

    @property
    def sizes_leaned_on(self) -> tuple[Expr, ...]:
        """Symbols some float was exact for only because a size is below `SIZE_LIMIT`."""
        return tuple(self.pool.leaned_on)

    def lean_on(self, symbols: Iterable[Expr]) -> None:
        """Some float is exact for these only because sizes are below `SIZE_LIMIT`."""
        self.pool.leaned_on.update(dict.fromkeys(symbols))

    @property
    def has_unbacked(self) -> bool:
        """Whether any symbol has no hint."""
        return bool(self._unbacked)

    def source_of(self, symbol: Expr) -> str:
        """What the maker of a symbol said it comes from."""
        return self._symbols[symbol].source

    def is_unbacked(self, e: Int) -> bool:
        """Whether it depends on a symbol without a hint."""
        return isinstance(e, Expr) and not self._unbacked.isdisjoint(e.symbols)

    def depends_on_data(self, e: Int) -> bool:
        """Whether a symbol without a hint is left in it once what is known is put in."""
        return self.is_unbacked(e) and self.is_unbacked(self.simplify(e))

    def hint_of(self, e: Int) -> int | None:
        """The value at the hints; None where a symbol has none."""
        if not isinstance(e, Expr):
            return e
        found = self._known_hints.get(e)
        if found is None:
            backed = self.simplify(e) if self.is_unbacked(e) else e
            if self.is_unbacked(backed):
                return None
            found = self._known_hints[e] = evaluate(backed, self._hints)
        return found

    def hint_of_relation(self, r: Truth) -> bool | None:
        """Whether a relation holds at the hints; None where a symbol has none."""
        if not isinstance(r, Relation):
            return r
        unbacked = r.symbols & self._unbacked
        if not unbacked:
            return holds(r, self._hints)
        hints = {symbol: self.hint_of(symbol) for symbol in unbacked}
        given = {symbol: hint for symbol, hint in hints.items() if hint is not None}
        return holds(r, {**self._hints, **given}) if len(given) == len(hints) else None

    def interval(self, e: Int) -> Interval:
        """Bounds of an expression."""
        found = self._interval(e)
        for end, bounds in ((found.lower, ge), (found.upper, le)):
            if isinstance(end, int):
                self.premises[bounds(e, end)] = True
        return found

    def _interval(self, e: Int) -> Interval:
        k = self.knowledge
        own = k.interval(e)
        if not k.bindings:
            return own
        try:
            resolved = substitute(e, k.bindings)
        except ZeroDivisionError:
            return own
        return own if resolved is e else meet(own, k.interval(resolved))

    def range_of(self, symbol: Expr) -> Interval:
        """Bounds of a symbol."""
        return self.interval(symbol)

    def simplify(self, e: Int) -> Int:
        """Apply the equalities that were learnt."""
        simpler = self.knowledge.simplify(e)
        if simpler is not e and isinstance(e, Expr):
            self.rewritten[e] = simpler
        return simpler

    def known(self, r: Truth) -> bool | None:
        """Whether a relation holds: True or False if that is provable, else None."""
        answer = known(self.knowledge, r)
        if answer is not None:
            self.premises[r] = answer
        return answer

    def prove(self, r: Truth) -> bool | None:
        """Try harder than `known` where that pays: where no example may answer, or not linear."""
        answer = self.known(r)
        if answer is not None or not isinstance(r, Relation):
            return answer
        if self.is_backed(r) and not is_nonlinear(r):
            return None
        answer = smt_answer(self.knowledge, self._hints, r)
        if answer is not None:
            self.premises[r] = answer
        return answer

    def is_backed(self, r: Relation) -> bool:
        """Whether no symbol in it lacks a hint."""
        return self._unbacked.isdisjoint(r.symbols)

    def assume(self, r: Truth, origin: Origin = None) -> None:
        """Take a relation for true from now on. Raises `Contradiction`."""
        self._state(r, "fact", origin)

    def guard(self, r: Truth) -> None:
        """Assume a relation, and have the inputs checked for it; in a branch, the branch."""
        if self.within_branch:
            self._record(self.assertions, "assertion", r)
        else:
            self._record(self.guards, "guard", r)

    def assert_at_run(self, r: Truth) -> None:
        """Assume a relation, and have the running program check it."""
        if self.prove(r) is False:
            raise Contradiction(f"{r!r} contradicts what is known")
        self._record(self.assertions, "assertion", r)

    def restate(self, guards: Sequence[Guard], instead: Mapping[Relation, Truth]) -> None:
        """Take these guards for those made so far, and learn all anew, some relations changed."""
        changed = [(instead.get(made.relation, made.relation), made.origin) for made in self.stated]
        said = {made.relation for made in self.stated}
        changed += [(made.relation, made.origin) for made in guards if made.relation not in said]
        self.stated = [Guard(r, origin) for r, origin in changed if isinstance(r, Relation)]
        self.guards[:] = guards
        self.knowledge = Knowledge(self.pool, self._precedence)
        for made in self.stated:
            learn(self.knowledge, made.relation)

    def _record(self, into: list[Guard], standing: Standing, r: Truth) -> None:
        origin = self.locate()
        self._state(r, standing, origin)
        if isinstance(r, Relation) and all(r is not made.relation for made in into):
            into.append(Guard(r, origin))

    def _state(self, r: Truth, standing: Standing, origin: Origin) -> None:
        if isinstance(r, Relation):
            self.stated.append(Guard(r, origin))
            self.premises[r] = True
        if self.listener is None:
            learn(self.knowledge, r)
        else:
            self._state_aloud(self.listener, r, standing, origin)

    def _state_aloud(
        self, tell: Callable[[Event], None], r: Truth, standing: Standing, origin: Origin
    ) -> None:
        """Tell of the relation, then of what it changed."""
        if isinstance(r, Relation):
            tell(Stated(r, standing, origin))
        ranges = {symbol: self._interval(symbol) for symbol in self._symbols}
        replaced = dict(self.knowledge.visible)
        learn(self.knowledge, r)
        for symbol, value in self.knowledge.visible.items():
            if replaced.get(symbol) is not value and replaced.get(symbol) != value:
                tell(Replaced(symbol, value, origin))
        for symbol, before in ranges.items():
            after = self._interval(symbol)
            if after != before:
                tell(Narrowed(symbol, before, after, origin))
