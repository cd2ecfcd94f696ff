"""Affine elements (scalar evolution): integer tensors whose elements count along their dimensions.

`torch.arange(n)[None] + 1` has the element `1 + j` at `[i, j]`: a start, and a step for each
dimension. So differences of neighbours are known where the elements are not, and models that ask
whether positions count up are answered for all sizes. Law: as for value ranges, whenever the
program runs and the tensor has an element, as long as nothing wrote to its storage.

Adding one: a function under `@_affine_of`, named as the operators are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
from torch.fx.node import Node

from monograph.abstract.dims import wrap_dim
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, eq, ge, known, le

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.integers import Int

_LARGEST, _FARTHEST = 1 << 20, 1 << 40
"""A step and a start, so that no element of a tensor that fits in memory leaves 64 bits."""
_MOST_NODES = 32


class Affine(NamedTuple):
    """Elements that are `start` and `step` times the index, summed over the dimensions."""

    start: Int | None
    """None where nobody knows."""
    steps: tuple[int, ...]


class _Elements:
    """One walk from a node to what its elements come from."""

    def __init__(self) -> None:
        self._left = _MOST_NODES

    def of(self, node: Any) -> Affine | None:
        """What an argument's elements are, a number's too; None where nobody knows."""
        value = node.meta.get("val") if isinstance(node, Node) else node
        if not isinstance(value, AbstractTensor):
            number = to_python(value)
            return Affine(number, ()) if type(number) is int or isinstance(number, Expr) else None
        self._left -= 1
        is_whole = value.tensor_type.dtype == torch.int64 and not value.storage_root.n_writes
        rule = _KNOWN.get(name_of(node)) if is_whole and self._left >= 0 else None
        found = None if rule is None else rule(self, node)
        if found is None or any(abs(step) > _LARGEST for step in found.steps):
            return None
        is_far = type(found.start) is int and abs(found.start) > _FARTHEST
        return Affine(None, found.steps) if is_far else found


def affine(node: Node) -> Affine | None:
    """What a node's elements are, where they are affine."""
    return _Elements().of(node)


def difference(one: Any, other: Any) -> int | None:
    """By how much each element of one is greater than the other's, where that is one number."""
    walk = _Elements()
    found = _sum(walk.of(one), walk.of(other), -1, _rank(one, other), _shapes(one, other))
    if found is None or any(found.steps):
        return None
    return found.start if type(found.start) is int else None


_KNOWN: Final[dict[str, Callable[[_Elements, Node], Affine | None]]] = {}


def _affine_of(*names: str) -> Any:
    """Let the function below say what the elements are that these operators make."""

    def enter(rule: Callable[[_Elements, Node], Affine | None]) -> Any:
        _KNOWN.update(dict.fromkeys(names, rule))
        return rule

    return enter


# --- made of numbers -----------------------------------------------------------------------------


@_affine_of("arange")
def _range(walk: _Elements, node: Node) -> Affine | None:
    ends = [walk.of(arg) for arg in node.args]
    if not ends or any(each is None for each in ends):
        return None
    numbers = [each.start for each in ends if each is not None]
    start, step = numbers[0] if numbers[1:] else 0, numbers[2] if numbers[2:] else 1
    return Affine(start, (step,)) if type(step) is int else None


@_affine_of("zeros", "zeros_like", "new_zeros")
def _zeros(walk: _Elements, node: Node) -> Affine:
    del walk
    return _constant(0, node)


@_affine_of("ones", "ones_like", "new_ones")
def _ones(walk: _Elements, node: Node) -> Affine:
    del walk
    return _constant(1, node)


@_affine_of("full", "full_like", "new_full")
def _full(walk: _Elements, node: Node) -> Affine | None:
    value = walk.of(node.args[-1])
    return None if value is None else _constant(value.start, node)


# --- arithmetic ----------------------------------------------------------------------------------


@_affine_of("add", "sub")
def _added(walk: _Elements, node: Node) -> Affine | None:
    if node.kwargs or len(node.args) != 2:
        return None
    one, other = node.args
    sign = 1 if name_of(node) == "add" else -1
    return _sum(walk.of(one), walk.of(other), sign, len(shape_of(node)), _shapes(one, other))


@_affine_of("mul")
def _multiplied(walk: _Elements, node: Node) -> Affine | None:
    """By a number."""
    found, by = walk.of(node.args[0]), node.args[1]
    if found is None or type(by) is not int:
        return None
    start = found.start * by if type(found.start) is int else None
    return Affine(start, tuple(step * by for step in found.steps))


@_affine_of("cumsum")
def _summed(walk: _Elements, node: Node) -> Affine | None:
    """Of a number that stands everywhere."""
    found, dim = walk.of(node.args[0]), node.args[1]
    if found is None or type(found.start) is not int or any(found.steps) or node.kwargs:
        return None
    steps = list(found.steps)
    steps[wrap_dim(dim, len(steps))] = found.start  # pyright: ignore[reportArgumentType] - a dim
    return Affine(found.start, tuple(steps))


@_affine_of("diff")
def _differences(walk: _Elements, node: Node) -> Affine | None:
    """Of neighbours: the step."""
    given: dict[str, Any] = dict(
        zip(("x", "n", "dim", "prepend", "append"), node.args, strict=False)
    )
    given |= node.kwargs
    if given.get("n", 1) != 1:
        return None
    parts = [given[each] for each in ("prepend", "x", "append") if given.get(each) is not None]
    dim = wrap_dim(given.get("dim", -1), len(shape_of(node)))
    joined = _joined(walk, parts, dim)
    return None if joined is None else _constant(joined.steps[dim], node)


# --- elements of the source ----------------------------------------------------------------------


@_affine_of("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "to", "_to_copy")
def _same(walk: _Elements, node: Node) -> Affine | None:
    return walk.of(node.args[0])


@_affine_of("unsqueeze", "squeeze", "view", "reshape", "flatten", "view_as")
def _reshaped(walk: _Elements, node: Node) -> Affine | None:
    """Where dimensions of one come and go."""
    found, source, made = walk.of(node.args[0]), shape_of(node.args[0]), shape_of(node)
    if found is None:
        return None
    steps = [step for step, size in zip(found.steps, source, strict=True) if size != 1]
    if not any(steps):
        return _constant(found.start, node)
    if [size for size in source if size != 1] != [size for size in made if size != 1]:
        return None
    left = iter(steps)
    return Affine(found.start, tuple(0 if size == 1 else next(left) for size in made))


@_affine_of("expand", "expand_as")
def _expanded(walk: _Elements, node: Node) -> Affine | None:
    found = walk.of(node.args[0])
    return found and _fit(found, shape_of(node.args[0]), len(shape_of(node)), shape_of(node))


@_affine_of("select")
def _selected(walk: _Elements, node: Node) -> Affine | None:
    found, dim, at = walk.of(node.args[0]), node.args[1], walk.of(node.args[2])
    if found is None or at is None or at.start is None:
        return None
    dim = wrap_dim(dim, len(found.steps))  # pyright: ignore[reportArgumentType] - a dim
    is_last = known(ge(at.start, 0)) is False
    if not is_last and known(ge(at.start, 0)) is not True:
        return None
    index = at.start + shape_of(node.args[0])[dim] if is_last else at.start
    start = None if found.start is None else found.start + index * found.steps[dim]
    return Affine(start, (*found.steps[:dim], *found.steps[dim + 1 :]))


@_affine_of("slice", "narrow")
def _sliced(walk: _Elements, node: Node) -> Affine | None:
    found, *rest = walk.of(node.args[0]), *node.args[1:]
    if found is None:
        return None
    dim = wrap_dim(rest[0] if rest else 0, len(found.steps))  # pyright: ignore[reportArgumentType] - a dim
    first = walk.of(rest[1]) if len(rest) > 1 and rest[1] is not None else Affine(0, ())
    stride = rest[3] if len(rest) > 3 else 1
    if first is None or first.start is None or type(stride) is not int:
        return None
    start = None
    if found.start is not None and known(ge(first.start, 0)) is True:
        start = found.start + first.start * found.steps[dim]
    return Affine(start, _with_step(found.steps, dim, found.steps[dim] * stride))


@_affine_of("cat", "concat")
def _concatenated(walk: _Elements, node: Node) -> Affine | None:
    parts: Any = node.args[0]
    dim: Any = node.args[1] if len(node.args) > 1 else 0
    return _joined(walk, parts, wrap_dim(dim, len(shape_of(node))))


def _joined(walk: _Elements, parts: Sequence[Any], dim: int) -> Affine | None:
    """One after the other along a dimension, where each goes on as the one before it began.

    A first part of one element at most may be none: then the start is not known.
    """
    found = [walk.of(each) for each in parts]
    sizes = [shape_of(each)[dim] for each in parts if shape_of(each)[dim:]]
    if len(sizes) < len(parts) or any(each is None for each in found):
        return None
    known_parts = [each for each in found if each is not None]
    if len(sizes) == 2 and sizes == [1, 1]:
        return _pair(known_parts[0], known_parts[1], dim)
    ones = [known(le(size, 1)) is True for size in sizes]
    steps = {each.steps for each, one in zip(known_parts, ones, strict=True) if not one}
    if len(steps) > 1 or any(ones[1:]):
        return None
    first, rest = known_parts[0], known_parts[1:]
    if not rest:
        return first
    (shape,) = steps
    if _with_step(first.steps, dim, 0) != _with_step(shape, dim, 0):
        return None
    for before, after, size in zip(known_parts, rest, sizes, strict=False):
        length = 1 if size is sizes[0] and ones[0] else size
        if before.start is None or after.start is None:
            return None
        if known(eq(before.start + length * shape[dim], after.start)) is not True:
            return None
    return Affine(first.start if known(ge(sizes[0], 1)) is True else None, shape)


def _pair(one: Affine, other: Affine, dim: int) -> Affine | None:
    """Two parts of one element each."""
    if one.start is None or other.start is None or one.steps != other.steps:
        return None
    step = other.start - one.start
    return Affine(one.start, _with_step(one.steps, dim, step)) if type(step) is int else None


def _with_step(steps: tuple[int, ...], dim: int, step: int) -> tuple[int, ...]:
    return (*steps[:dim], step, *steps[dim + 1 :])


# --- shapes --------------------------------------------------------------------------------------


def _sum(
    one: Affine | None,
    other: Affine | None,
    sign: int,
    rank: int,
    shapes: tuple[Sequence[Int], Sequence[Int]],
) -> Affine | None:
    if one is None or other is None:
        return None
    a, b = (_fit(each, shape, rank) for each, shape in zip((one, other), shapes, strict=True))
    if a is None or b is None or not _match(*shapes):
        return None
    start = None if a.start is None or b.start is None else a.start + sign * b.start
    return Affine(start, tuple(x + sign * y for x, y in zip(a.steps, b.steps, strict=True)))


def _fit(
    found: Affine, shape: Sequence[Int], rank: int, to: Sequence[Int] | None = None
) -> Affine | None:
    """With as many dimensions, those of one repeated; None where others may be."""
    steps = [0 if size == 1 else step for size, step in zip(shape, found.steps, strict=True)]
    if to is not None and not _match(shape, to):
        return None
    return Affine(found.start, (*[0] * (rank - len(steps)), *steps))


def _match(one: Sequence[Int], other: Sequence[Int]) -> bool:
    """Whether no dimension is repeated but those that surely are of one."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(a == 1 or b == 1 or known(eq(a, b)) is True for a, b in pairs)


def _shapes(one: Any, other: Any) -> tuple[Sequence[Int], Sequence[Int]]:
    return shape_of(one), shape_of(other)


def _rank(one: Any, other: Any) -> int:
    return max(len(shape_of(one)), len(shape_of(other)))


def _constant(start: Int | None, node: Node) -> Affine:
    return Affine(start, (0,) * len(shape_of(node)))


def shape_of(node: Any) -> Sequence[Int]:
    """The sizes of an argument; a number has none."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    return value.tensor_type.shape if isinstance(value, AbstractTensor) else ()


def name_of(node: Node) -> str:
    """The name of the operator that a node calls, without its overload."""
    target = node.target
    return target.overloadpacket.__name__ if isinstance(target, OpOverload) else ""


__all__ = ["Affine", "affine", "difference", "name_of", "shape_of"]
