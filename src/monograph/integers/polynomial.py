"""A polynomial is a sorted tuple of (monomial, coefficient); a monomial is a sorted tuple of atoms.

Law: no coefficient is zero, monomials differ, and they come in the order of `rank`: higher degree
first, then lexicographic by the creation index of the atoms; the constant, (), is last.
So equal polynomials are equal tuples. Knows of an atom only its `index`.
"""

from collections.abc import Callable
from math import gcd
from typing import Protocol, TypeAlias, TypeVar

__all__ = [
    "Indexed",
    "Monomial",
    "Polynomial",
    "Rank",
    "add",
    "common_monomial",
    "content",
    "divide_exactly",
    "monomial_quotient",
    "multiply",
    "scale",
    "split_by_constant",
    "split_by_monomial",
]


class Indexed(Protocol):
    """An atom, as far as a polynomial cares."""

    @property
    def index(self) -> int:
        """The place of the atom in the order of creation."""
        ...


A = TypeVar("A", bound=Indexed)
Monomial: TypeAlias = tuple[A, ...]
Polynomial: TypeAlias = tuple[tuple[tuple[A, ...], int], ...]
SortKey: TypeAlias = tuple[int, tuple[int, ...]]


class Rank(dict[Monomial[A], SortKey]):
    """The sort key of each monomial, computed once.

    This is the graded lexicographic order, which multiplication preserves: m < n implies
    m*k < n*k. Long division rests on that.
    """

    __slots__ = ()

    def __missing__(self, monomial: Monomial[A]) -> SortKey:
        """Compute and keep the key."""
        key = self[monomial] = (-len(monomial), tuple([atom.index for atom in monomial]))
        return key


def _index(atom: Indexed) -> int:
    return atom.index


def add(p: Polynomial[A], q: Polynomial[A], factor: int, rank: Rank[A]) -> Polynomial[A]:
    """p + factor*q."""
    merged = dict(p)
    in_order = True
    for monomial, coefficient in q:
        before = merged.get(monomial)
        if before is None:
            merged[monomial] = factor * coefficient
            in_order = in_order and not monomial
        elif before + factor * coefficient:
            merged[monomial] = before + factor * coefficient
        else:
            del merged[monomial]
    if in_order:
        return tuple(merged.items())
    return _sorted(merged, rank.__getitem__)


def _sorted(terms: dict[Monomial[A], int], key: Callable[[Monomial[A]], SortKey]) -> Polynomial[A]:
    return tuple([(monomial, terms[monomial]) for monomial in sorted(terms, key=key)])


def scale(p: Polynomial[A], factor: int) -> Polynomial[A]:
    """factor*p, for a factor other than zero."""
    return tuple([(monomial, factor * coefficient) for monomial, coefficient in p])


def multiply(p: Polynomial[A], q: Polynomial[A], rank: Rank[A]) -> Polynomial[A]:
    """p * q."""
    result: dict[Monomial[A], int] = {}
    for left, c in p:
        for right, d in q:
            if not right:
                monomial = left
            elif not left or right[-1].index <= left[0].index:
                monomial = right + left
            elif left[-1].index <= right[0].index:
                monomial = left + right
            else:
                monomial = tuple(sorted(left + right, key=_index))
            result[monomial] = result.get(monomial, 0) + c * d
    if len(p) > 1 and len(q) > 1:
        result = {monomial: c for monomial, c in result.items() if c}
    return _sorted(result, rank.__getitem__)


def content(p: Polynomial[A]) -> int:
    """The greatest common divisor of the coefficients, the constant aside; 0 if there are none."""
    result = 0
    for monomial, coefficient in p:
        if monomial:
            result = gcd(result, coefficient)
            if result == 1:
                break
    return result


def common_monomial(p: Polynomial[A]) -> Monomial[A]:
    """The greatest monomial that divides every term."""
    common = p[0][0]
    for monomial, _ in p[1:]:
        rest = list(monomial)
        kept: list[A] = []
        for atom in common:
            if atom in rest:
                rest.remove(atom)
                kept.append(atom)
        common = tuple(kept)
        if not common:
            break
    return common


def monomial_quotient(m: Monomial[A], n: Monomial[A]) -> Monomial[A] | None:
    """m / n, or None where n does not divide m."""
    rest = list(m)
    for atom in n:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def split_by_constant(p: Polynomial[A], b: int) -> tuple[Polynomial[A], Polynomial[A]]:
    """(q, r) with p = b*q + r for b > 0, where r is the same for all p that agree modulo b.

    The constant of r is in [0, b). Other coefficients c have -b < 2*c <= b, so that -n stays -n:
    `-n // 4` is more often written than `3*n // 4`.
    """
    quotient: list[tuple[tuple[A, ...], int]] = []
    rest: list[tuple[tuple[A, ...], int]] = []
    for monomial, coefficient in p:
        cut, left = divmod(coefficient, b)
        if monomial and 2 * left > b:
            cut, left = cut + 1, left - b
        if cut:
            quotient.append((monomial, cut))
        if left:
            rest.append((monomial, left))
    return tuple(quotient), tuple(rest)


def split_by_monomial(
    p: Polynomial[A], divisor: Monomial[A], factor: int, rank: Rank[A]
) -> tuple[Polynomial[A], Polynomial[A]]:
    """(q, r) with p = factor*divisor*q + r, where q takes every term that divides exactly."""
    quotient: dict[Monomial[A], int] = {}
    rest: list[tuple[Monomial[A], int]] = []
    for monomial, coefficient in p:
        over = monomial_quotient(monomial, divisor)
        if over is None or coefficient % factor:
            rest.append((monomial, coefficient))
        else:
            quotient[over] = coefficient // factor
    return _sorted(quotient, rank.__getitem__), tuple(rest)


def divide_exactly(p: Polynomial[A], q: Polynomial[A], rank: Rank[A]) -> Polynomial[A] | None:
    """The polynomial k with p = q*k, or None where there is none.

    Long division by the leading term: because the order is preserved by multiplication, the
    leading term of p is that of q times that of k, so each step is forced.
    """
    quotient: dict[Monomial[A], int] = {}
    leading, factor = q[0]
    while p:
        monomial, coefficient = p[0]
        over = monomial_quotient(monomial, leading)
        if over is None or coefficient % factor:
            return None
        quotient[over] = coefficient // factor
        p = add(p, multiply(((over, coefficient // factor),), q, rank), -1, rank)
    return _sorted(quotient, rank.__getitem__)
