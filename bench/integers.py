"""Measure arithmetic and questions on sizes beside sympy, which does the same for torch.export.

    python -m bench.integers [--rounds N] [--append]

Processor microseconds for one operation, medians. Each is done on many triples of new symbols, for
the first time and then again: both sides remember results, and a capture meets either case.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import sympy

from bench.results import Results
from monograph.integers import Expr, Facts, eq, ge, maximum

N_TRIPLES = 100
COLUMNS = ("operation", "ours", "sympy", "ratio", "ours again", "sympy again", "ratio again")


@dataclass(frozen=True, slots=True)
class Triple:
    """Three sizes of at least 1, the third known to be twice the first, and a sum of them."""

    n: Expr | sympy.Symbol
    m: Expr | sympy.Symbol
    k: Expr | sympy.Symbol
    total: Expr | sympy.Expr
    facts: Facts | None = None


def ours_of() -> Triple:
    """Make our symbols."""
    facts = Facts()
    n, m, k = (facts.symbol(name, hint=4, lower=1) for name in ("n", "m", "k"))
    total = n * m + 2 * k + 3
    facts.assume(eq(k, 2 * n))
    return Triple(n, m, k, total, facts)


def theirs_of() -> Triple:
    """Make sympy's symbols; dummies, because equal names would be equal symbols."""
    n, m, k = (sympy.Dummy(name, integer=True, positive=True) for name in ("n", "m", "k"))
    return Triple(n, m, k, n * m + 2 * k + 3)


OPERATIONS: Mapping[str, tuple[Callable[[Triple], object], Callable[[Triple], object]]]
OPERATIONS = MappingProxyType(
    {
        "n + 1": (lambda t: t.n + 1, lambda t: t.n + 1),
        "total + n*m": (lambda t: t.total + t.n * t.m, lambda t: t.total + t.n * t.m),
        "n * m * 4": (lambda t: t.n * t.m * 4, lambda t: t.n * t.m * 4),
        "total * n, expanded": (lambda t: t.total * t.n, lambda t: sympy.expand(t.total * t.n)),
        "(n + 3) // 4": (lambda t: (t.n + 3) // 4, lambda t: (t.n + 3) // 4),
        "n * m // m": (lambda t: t.n * t.m // t.m, lambda t: t.n * t.m // t.m),
        "(4*n + 2*m) % 2": (lambda t: (4 * t.n + 2 * t.m) % 2, lambda t: (4 * t.n + 2 * t.m) % 2),
        "max(n, m)": (lambda t: maximum(t.n, t.m), lambda t: sympy.Max(t.n, t.m)),
        "n*(m + 1) == n*m + n": (
            lambda t: eq(t.n * (t.m + 1), t.n * t.m + t.n),
            lambda t: sympy.expand(t.n * (t.m + 1)) == sympy.expand(t.n * t.m + t.n),
        ),
        "total, given k == 2*n": (
            lambda t: t.facts.simplify(t.total),
            lambda t: t.total.xreplace({t.k: 2 * t.n}),
        ),
        "n >= 1": (lambda t: t.facts.known(ge(t.n, 1)), lambda t: sympy.Ge(t.n, 1)),
        "n*m >= m": (
            lambda t: t.facts.known(ge(t.n * t.m, t.m)),
            lambda t: sympy.factor(t.n * t.m - t.m).is_nonnegative,
        ),
        "total == 0": (
            lambda t: t.facts.known(eq(t.total, 0)),
            lambda t: sympy.Eq(t.total, 0),
        ),
    }
)


def microseconds(
    operation: Callable[[Triple], object], triples: Iterable[Triple]
) -> tuple[float, float]:
    """Give what one operation takes, the first time and the second."""
    taken: list[float] = []
    for _ in range(2):
        start = time.process_time()
        for triple in triples:
            operation(triple)
        taken.append(1e6 * (time.process_time() - start) / N_TRIPLES)
    return taken[0], taken[1]


def measure(name: str, rounds: int) -> tuple[str, ...]:
    """Alternate the two, new symbols each time; give a row."""
    ours, theirs = OPERATIONS[name]
    taken: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    gc.disable()
    for _ in range(rounds):
        sympy.core.cache.clear_cache()
        for kept, operation, make in zip(taken, (ours, theirs), (ours_of, theirs_of), strict=True):
            kept.append(microseconds(operation, [make() for _ in range(N_TRIPLES)]))
        gc.collect()
    gc.enable()
    row: list[str] = []
    for turn in range(2):
        mine, other = (statistics.median(pair[turn] for pair in kept) for kept in taken)
        row += [f"{mine:.2f}", f"{other:.2f}", f"{other / mine:.0f}x"]
    return (name, *row)


def main() -> None:
    """Measure every operation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    results = Results(
        "Symbolic integers beside sympy, microseconds an operation",
        COLUMNS,
        notes=(f"sympy {sympy.__version__}; the first time on new symbols, and again.",),
    )
    for name in OPERATIONS:
        results.rows.append(measure(name, options.rounds))
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
