"""Whether integers can satisfy several relations at once, asked of z3.

Law: "no" is a proof. The translation only ever widens what is possible: symbols and opaque atoms
range over their intervals, a comparison of floats is either true or false, and a relation holds
only where it has a value (Python's, which raises where a divisor is zero). So what has no solution
here has none there; "cannot tell" counts as possible.

Why a context for each question: terms are numbered by context, and the search follows the numbers,
so the answer depends on the question alone and not on those asked before. It costs 0.5 ms.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from monograph.integers.expr import Expr, Int
from monograph.integers.interval import Interval
from monograph.integers.knowledge import Knowledge
from monograph.integers.relation import Relation
from monograph.integers.structure import divisors

__all__ = ["are_contradictory"]

# Steps of z3, about 20 ms: where it proves anything about sizes it takes a tenth of them. The clock
# is there for steps that take long; it is not deterministic, hence far from the usual, and from
# what a busy machine makes of it.
_STEPS: Final = 100_000
_TIMEOUT_MS: Final = 1_000

# z3 annotates `a + b` with every sort there is, its tactics and probes included.
_Term: TypeAlias = Any


def are_contradictory(k: Knowledge, relations: Iterable[Relation]) -> bool:
    """Whether no values within the ranges of the atoms satisfy all relations.

    >>> from monograph.integers import Facts, eq
    >>> facts = Facts()
    >>> n = facts.symbol("n", hint=3)
    >>> are_contradictory(facts.knowledge, [eq(n * n, 5)])
    True
    """
    # Why here: importing it takes 0.1 s, which most captures need not spend.
    import z3  # noqa: PLC0415

    try:
        terms = _Terms(k, z3)
        solver = z3.SimpleSolver(ctx=terms.context)
        solver.set("rlimit", _STEPS)
        solver.set("timeout", _TIMEOUT_MS)
        # Leave the interrupt key to Python.
        solver.set("ctrl_c", False)
        solver.add(*[terms.relation(r) for r in relations])
        solver.add(*terms.laws)
        return solver.check() == z3.unsat
    except z3.Z3Exception:
        return False


class _Terms:
    """Writes expressions as terms of z3, and the laws of the constants that stand for atoms."""

    __slots__ = ("_atoms", "_floats", "_z3", "context", "k", "laws")

    def __init__(self, k: Knowledge, z3: Any) -> None:
        self._z3 = z3
        self.k = k
        self.context = self._z3.Context()
        self.laws: list[_Term] = []
        self._atoms: dict[Expr, _Term] = {}
        self._floats: dict[tuple[object, ...], _Term] = {}

    def relation(self, r: Relation) -> _Term:
        """A relation, together with its having a value."""
        match r.kind:
            case "and":
                return self._z3.And(*[self.relation(arg) for arg in r.args])
            case "or":
                return self._z3.Or(*[self.relation(arg) for arg in r.args])
            case "opaque":
                return self._float_comparison(r)
            case "eq":
                compared = self._integer(r.expr) == 0
            case "ne":
                compared = self._integer(r.expr) != 0
            case "ge":
                compared = self._integer(r.expr) >= 0
        zero = [b for b in divisors(r.expr) if 0 in self.k.interval(b)]
        return self._z3.And(compared, *[self._integer(b) != 0 for b in zero]) if zero else compared

    def _float_comparison(self, r: Relation) -> _Term:
        key = (r.name, *r.sides)
        if key not in self._floats:
            self._floats[key] = self._z3.FreshBool("f", self.context)
        return self._floats[key] if r.expected else self._z3.Not(self._floats[key])

    def _integer(self, e: Int) -> _Term:
        if not isinstance(e, Expr):
            return self._z3.IntVal(e, self.context)
        if e.kind != "sum":
            return self._atom(e)
        return self._z3.Sum([self._term(c, [self._atom(atom) for atom in m]) for m, c in e.parts])

    def _term(self, coefficient: int, atoms: list[_Term]) -> _Term:
        constant = self._z3.IntVal(coefficient, self.context)
        if not atoms:
            return constant
        return self._z3.Product(atoms if coefficient == 1 else [constant, *atoms])

    def _atom(self, e: Expr) -> _Term:
        found = self._atoms.get(e)
        if found is None:
            found = self._atoms[e] = self._new_atom(e)
        return found

    def _new_atom(self, e: Expr) -> _Term:
        if e.kind == "floordiv":
            return self._quotient(e, *e.int_args)
        if e.kind in {"max", "min"}:
            result, *others = [self._integer(arg) for arg in e.int_args]
            for other in others:
                wins = result >= other if e.kind == "max" else result <= other
                result = self._z3.If(wins, result, other)
            return result
        # By number: z3 reads names, and no two atoms share one.
        made = self._z3.Int(f"x{e.index}", self.context)
        self.laws.extend(_within(made, self.k.interval(e)))
        return made

    def _quotient(self, e: Expr, a: Int, b: Int) -> _Term:
        """floor(a / b), which for b > 0 is z3's own division."""
        above = self._integer(a)
        if isinstance(b, int):
            # The normal form keeps constant divisors positive.
            return above / b
        below = self._integer(b)
        made = self._z3.Int(f"x{e.index}", self.context)
        exact = below * made
        # b > 0: b*q <= a < b*q + b; b < 0: b*q >= a > b*q + b; b = 0: no value.
        positive = self._z3.And(exact <= above, above < exact + below)
        negative = self._z3.And(exact >= above, above > exact + below)
        bounds = _within(made, self.k.interval(e))
        sign = self.k.interval(b)
        if sign.lower > 0:
            self.laws.extend([positive, *bounds])
        elif sign.upper < 0:
            self.laws.extend([negative, *bounds])
        else:
            sides = (
                self._z3.And(below > 0, positive, *bounds),
                self._z3.And(below < 0, negative, *bounds),
            )
            self.laws.append(self._z3.Or(below == 0, *sides))
        return made


def _within(term: _Term, interval: Interval) -> list[_Term]:
    found: list[_Term] = []
    if isinstance(interval.lower, int):
        found.append(term >= interval.lower)
    if isinstance(interval.upper, int):
        found.append(term <= interval.upper)
    return found
