"""Result merge (phi): what two branches of an operator return becomes one result.

Law: the merged type says of a result what is true whichever branch made it. Sizes that differ
become one size that is known when the program runs; structure, dtype, device, rank and the order of
elements in memory must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor, with_requires_grad
from monograph.abstract.tensor_type import TensorType
from monograph.capture.control_flow.region import label_of, made_at
from monograph.diagnostics import Cause, problem
from monograph.host.trees import pytree
from monograph.integers import Expr, Relation, eq, fresh, known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.capture.control_flow.region import Region
    from monograph.capture.recording.recorder import Recorder
    from monograph.diagnostics import Frame, MonographError
    from monograph.integers import Facts, Int, Interval

SIDES: Final = ("when it is true", "when it is false")
_SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclass(frozen=True, slots=True)
class Merged:
    """One leaf of a result: a constant of both branches, or what the operator returns.

    `values` are what each region returns for it; `type` is a `TensorType` or an unknown integer.
    """

    constant: Any = None
    values: tuple[Any, ...] = ()
    type: Any = None


def merge(regions: Sequence[Region]) -> tuple[list[Merged], Any]:
    """The leaves of the two regions' results as one, and the structure they have.

    Raises: branches-disagree.
    """
    left, right = regions
    flat = [pytree.tree_flatten(region.result) for region in regions]
    (lefts, spec), (rights, other) = flat
    if spec != other:
        raise _disagree(
            regions, "structure", ResultName(""), (_shown(left), left), (_shown(right), right)
        )
    return merge_leaves(regions, lefts, rights), spec


def merge_leaves(
    regions: Sequence[Region], lefts: Sequence[Any], rights: Sequence[Any]
) -> list[Merged]:
    """What the two regions return, as one, leaf by leaf.

    Raises: branches-disagree.
    """
    return [
        _merge_leaf(regions, a, b, f"result {i}" if len(lefts) > 1 else "")
        for i, (a, b) in enumerate(zip(lefts, rights, strict=True))
    ]


def _shown(region: Region) -> str:
    flat, spec = pytree.tree_flatten(region.result)
    if spec.is_leaf():
        return "None" if region.result is None else "one value"
    return f"a {type(region.result).__name__} of {len(flat)}"


def _merge_leaf(regions: Sequence[Region], a: Any, b: Any, which: str) -> Merged:
    recorder = regions[0].recorder
    tensors = isinstance(a, torch.Tensor), isinstance(b, torch.Tensor)
    if tensors == (True, True):
        return Merged(values=(a, b), type=None)
    if tensors == (False, False):
        one, other = to_python(a), to_python(b)
        if type(one) is type(other) and _is_equal(one, other):
            return Merged(constant=a)
        if all(type(each) is int or isinstance(each, Expr) for each in (one, other)):
            facts = [region.facts for region in regions]
            return Merged(values=(a, b), type=_either(facts, one, other, recorder))
    raise _disagree(regions, "value", ResultName(which), (_described(a), a), (_described(b), b))


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, Expr) and isinstance(other, Expr):
        return known(eq(one, other)) is True
    return not isinstance(one, Relation) and bool(one == other)


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "a tensor"
    return "a number of the program" if isinstance(value, _SYMBOLIC) else f"`{value!r}`"


@dataclass(frozen=True, slots=True)
class ResultName:
    """What messages call a result, and the lines that made it on either side, where it is known."""

    name: str
    lines: Callable[[], Sequence[tuple[Frame, ...]]] | None = None


def merge_types(
    regions: Sequence[Region], values: Sequence[AbstractTensor], which: ResultName
) -> TensorType:
    """The type of a tensor that the first or the second region makes.

    Raises: branches-disagree.
    """
    a, b = values[0].tensor_type, values[1].tensor_type
    for what, one, other in (
        ("dtype", a.dtype, b.dtype),
        ("device", a.device, b.device),
        ("rank", a.rank, b.rank),
    ):
        if one != other:
            raise _disagree(regions, what, which, (str(one), values[0]), (str(other), values[1]))
    facts = [region.facts for region in regions]
    recorder = regions[0].recorder
    shape = tuple([_either(facts, m, n, recorder) for m, n in zip(a.shape, b.shape, strict=True)])
    strides = None
    if a.strides is not None or b.strides is not None:
        lies = [_agreed(facts, *pair) for pair in zip(a.stride(), b.stride(), strict=True)]
        if None in lies or not _is_equal(a.offset, b.offset):
            sides = [
                (f"strides {t.stride()}", value) for t, value in zip((a, b), values, strict=True)
            ]
            raise _disagree(regions, "layout", which, *sides)
        strides = tuple([each for each in lies if each is not None])
    merged = TensorType(shape, a.dtype, a.device, strides, a.offset if strides else 0)
    return with_requires_grad(merged, a.requires_grad or b.requires_grad)


def _either(facts: Sequence[Facts], one: Int, other: Int, recorder: Recorder) -> Int:
    """The number, if it is one; else an unknown one that is somewhere between the two."""
    agreed = _agreed(facts, one, other)
    if agreed is not None:
        return agreed
    spans = [each.interval(n) for each, n in zip(facts, (one, other), strict=True)]
    lower = min((span.lower for span in spans), key=float)
    upper = max((span.upper for span in spans), key=float)
    return fresh(label_of(recorder), _end(lower), _end(upper))


def _agreed(facts: Sequence[Facts], one: Int, other: Int) -> Int | None:
    """The number of both sides, which may be that of one because of what holds on the other.

    Or one that is rounded up on the side where it is no multiple: `n` or `n + k - n % k`.
    """
    if one is other or known(eq(one, other)):
        return one
    for of_side, number in zip(facts, (other, one), strict=True):
        if of_side.prove(eq(one, other)) is True:
            return number
    for start, end in ((other, one), (one, other)):
        for k in _divisors(end - start):
            number = start + (end - start) % k
            sides = zip(facts, (one, other), strict=True)
            if all(of_side.prove(eq(number, own)) for of_side, own in sides):
                return number
    return None


def _divisors(number: Int) -> list[int]:
    """The numbers that something in it is divided by."""
    parts = number.parts if isinstance(number, Expr) else ()
    quotients = [atom for monomial, _ in parts for atom in monomial if atom.kind == "floordiv"]
    return [k for each in quotients for k in each.int_args[1:] if isinstance(k, int)]


def _end(end: Interval | Any) -> int | None:
    return end if isinstance(end, int) else None


def _disagree(
    regions: Sequence[Region],
    what: str,
    which: ResultName,
    left: tuple[str, Any],
    right: tuple[str, Any],
) -> MonographError:
    lines = () if which.lines is None else which.lines()
    if not all(lines) or not lines:
        lines = [
            made_at(each[1], region) for region, each in zip(regions, (left, right), strict=True)
        ]
    causes = [
        Cause(at, f"{shown}, {side}")
        for at, (shown, _), side in zip(lines, (left, right), SIDES, strict=True)
    ]
    return problem(
        "branches-disagree",
        operator=regions[0].operator,
        what=what,
        result=which.name,
        left=left[0],
        right=right[0],
        causes=causes,
    )


__all__ = ["SIDES", "Merged", "ResultName", "merge", "merge_leaves", "merge_types"]
