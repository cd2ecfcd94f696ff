"""Knowledge is what has been learnt about the atoms: ranges, equalities, and facts that stay.

Law: everything in it is true of every input the program accepts. An equality that can be solved
for a symbol is a *binding*, applied before any question is looked at; bindings are idempotent
(no bound symbol occurs in a bound value). `n % 8 == 3` binds n to 8*t + 3, where the *witness* t
is a symbol of our own; so there are two sets of bindings: `bindings` with witnesses, for
questions, and `visible` without, for what people and programs read.
"""

from collections.abc import Callable

from monograph.integers.decision.bounds import bound
from monograph.integers.expr import Expr, Int
from monograph.integers.interval import Interval
from monograph.integers.pool import Pool
from monograph.integers.relation import Relation, Truth, substitute_relation
from monograph.integers.structure import maximum, minimum, replace_atom, substitute

__all__ = ["Contradiction", "Knowledge", "constant_part", "variable_part"]


class Contradiction(ValueError):  # noqa: N818  # it is one, whoever is in error
    """Two things stated cannot both be true."""


class Knowledge:
    """The state that learning changes and proving reads."""

    __slots__ = (
        "answers",
        "at_least",
        "bindings",
        "doubts",
        "fuel",
        "intervals",
        "is_empty",
        "pool",
        "precedence",
        "proofs",
        "ranges",
        "signs",
        "simplified",
        "truths",
        "visible",
        "witnesses",
    )

    def __init__(self, pool: Pool, precedence: Callable[[Expr], tuple[int, ...]]) -> None:
        self.pool = pool
        # Of two symbols that are equal, the one with the greater precedence is replaced.
        self.precedence = precedence
        self.is_empty = True
        # Learnt ranges of symbols and of other atoms, at least as tight as the declared ones.
        self.ranges: dict[Expr, Interval] = {}
        self.bindings: dict[Expr, Int] = {}
        self.visible: dict[Expr, Int] = {}
        self.witnesses: set[Expr] = set()
        # Facts that are neither a range nor a binding; and, of those, p >= at_least[p].
        self.truths: dict[Relation, None] = {}
        self.at_least: dict[Expr, int] = {}
        # What the second opinion proved, which stays proved; and what it could not, so far.
        self.proofs: dict[Relation, bool] = {}
        self.doubts: set[Relation] = set()
        # How many more steps the question at hand may take.
        self.fuel = 0
        # Valid until something new is learnt.
        self.intervals: dict[Expr, Interval] = {}
        self.answers: dict[Relation, bool | None] = {}
        # By how deep a proof may nest and how many facts it may chain: what is, or is not, >= 0.
        self.signs: dict[tuple[Expr, int, int], bool] = {}
        self.simplified: dict[Expr, Int] = {}

    def copy(self, precedence: Callable[[Expr], tuple[int, ...]]) -> "Knowledge":
        """The same knowledge, which can learn by itself from here on."""
        copied = object.__new__(Knowledge)
        copied.pool = self.pool
        copied.precedence = precedence
        copied.is_empty = self.is_empty
        copied.ranges = {**self.ranges}
        copied.bindings = {**self.bindings}
        copied.visible = {**self.visible}
        copied.witnesses = {*self.witnesses}
        copied.truths = {**self.truths}
        copied.at_least = {**self.at_least}
        copied.proofs = {**self.proofs}
        copied.doubts = set()
        copied.fuel = 0
        copied.intervals, copied.answers, copied.signs, copied.simplified = {}, {}, {}, {}
        return copied

    def changed(self) -> None:
        """Forget the conclusions drawn so far: more may follow now."""
        self.is_empty = False
        self.intervals.clear()
        self.answers.clear()
        self.signs.clear()
        self.simplified.clear()
        self.doubts.clear()

    def resolve(self, r: Truth) -> Truth:
        """Rewrite a relation by what is known to be equal. Raises ZeroDivisionError."""
        return substitute_relation(r, self.bindings) if self.bindings else r

    def interval(self, e: Int) -> Interval:
        """Bounds of an expression."""
        if not isinstance(e, Expr):
            return Interval(e, e)
        result = bound(e, self.ranges, self.intervals)
        if self.at_least:
            offset = constant_part(e)
            variable = variable_part(e)
            lower = self.at_least.get(variable)
            if lower is not None:
                result = Interval(max(result.lower, lower + offset), result.upper)
            upper = self.at_least.get(-variable)
            if upper is not None:
                result = Interval(result.lower, min(result.upper, offset - upper))
        return result

    def is_positive(self, e: Int) -> bool:
        """Whether it is known to be above zero."""
        return self.interval(e).lower > 0

    def simplify(self, e: Int) -> Int:
        """Put earlier symbols for later ones they equal, and cancel divisors known positive."""
        if self.is_empty or not isinstance(e, Expr):
            return e
        found = self.simplified.get(e)
        if found is None:
            try:
                found = substitute(e, self.visible)
                if isinstance(found, Expr):
                    found = self.refined(found)
            except ZeroDivisionError:
                # It has no value any more; that is for whoever evaluates it to meet.
                found = e
            self.simplified[e] = found
        return found

    def refined(self, e: Expr) -> Int:
        """Cancel divisors known positive, and drop operands of extremes that cannot win."""
        atoms = {
            atom: None for m, _ in e.parts for atom in m if atom.kind not in {"symbol", "opaque"}
        }
        result: Int = e
        for atom in atoms:
            better = self._refined_atom(atom)
            if better is not atom:
                result = replace_atom(result, atom, better)
        return result

    def _refined_atom(self, atom: Expr) -> Int:
        within = self.interval(atom)
        if within.is_point and isinstance(within.lower, int) and self._divides(atom):
            return within.lower
        args = [self.refined(arg) if isinstance(arg, Expr) else arg for arg in atom.int_args]
        if atom.kind == "floordiv":
            return self.pool.floordiv(args[0], args[1], self.is_positive)
        kept: list[Int] = []
        sign = 1 if atom.kind == "max" else -1
        for new in args:
            if not any(self.interval(sign * (old - new)).lower >= 0 for old in kept):
                kept = [old for old in kept if self.interval(sign * (new - old)).lower < 0]
                kept.append(new)
        result = kept[0]
        for arg in kept[1:]:
            result = maximum(result, arg) if sign > 0 else minimum(result, arg)
        return result

    def _divides(self, atom: Expr) -> bool:
        """Whether its divisor, if it is a quotient, cannot be zero (else it may have no value)."""
        return atom.kind != "floordiv" or 0 not in self.interval(atom.int_args[1])


def constant_part(e: Expr) -> int:
    """The constant of a sum."""
    monomial, coefficient = e.parts[-1]
    return 0 if monomial else coefficient


def variable_part(e: Expr) -> Expr:
    """Leave the constant of a sum away."""
    if e.parts[-1][0]:
        return e
    rest = e.pool.make(e.parts[:-1])
    assert isinstance(rest, Expr), "an Expr is not constant"
    return rest
