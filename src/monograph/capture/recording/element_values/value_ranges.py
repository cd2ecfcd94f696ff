"""Value ranges: what the graph says of the integers in a tensor, such as that an index fits.

Law: whenever the program runs and the tensor has an element, each element is within the bounds. The
bounds follow from the operators that made the tensor, as long as nothing wrote to its storage; they
are true without a check. None is no bound; truths are 0 and 1.

Adding one: a function under `@bounds_of`, named as the operators are.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
from torch.fx.node import Node

from monograph.abstract.dims import wrap_dim
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.recording.element_values.affine_elements import (
    affine,
    difference,
    name_of,
    shape_of,
)
from monograph.capture.recording.nonzero_counts import COUNTING
from monograph.host.dispatch import without_modes
from monograph.integers import Expr, ge, known, le, lt, maximum, minimum, product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.recording.recorder import Recorder
    from monograph.host.operator_types import OpOverload
    from monograph.integers import Int, Truth

_MOST_STEPS = 64
_SMALL = 1 << 20
"""Sums of as many numbers up to this as a tensor can hold stay within 64 bits."""


class Bounds(NamedTuple):
    """The least and the greatest that an element may be."""

    lower: Int | None
    upper: Int | None


UNKNOWN: Final = Bounds(None, None)
_UNDECIDED, _TRUE, _FALSE = Bounds(0, 1), Bounds(1, 1), Bounds(0, 0)
"""Of truths."""


def bounds(recorder: Recorder, tensor: AbstractTensor) -> Bounds:
    """The bounds of a tensor's elements."""
    if tensor.storage_root.n_writes or tensor.node is None:
        return _of_dtype(tensor.tensor_type.dtype)
    return _Search(recorder).of(tensor.node)


def state_bounds(recorder: Recorder, tensor: AbstractTensor, number: Expr) -> None:
    """What is said of a tensor's elements is true of the number read out of it."""
    facts = recorder.facts
    lower, upper = bounds(recorder, tensor)
    if lower is not None:
        facts.assume(ge(number, lower), facts.locate())
    if upper is not None:
        facts.assume(le(number, upper), facts.locate())


def limit_size(
    recorder: Recorder, overload: OpOverload, args: tuple[Any, ...], made: Sequence[Expr]
) -> None:
    """What is known of the number that an operator made: a mask has as many places each time.

    `bincount` makes as many bins as the greatest element says, or the least number asked for.
    """
    mask = COUNTING.get(id(overload))
    if mask is not None:
        recorder.counts.found(mask(args), made)
    if overload is not torch.ops.aten.bincount.default:
        return
    upper = bounds(recorder, recorder.abstract(args[0])).upper
    if upper is None or not made:
        return
    least = to_python(args[2]) if len(args) > 2 else 0
    recorder.facts.assume(le(made[-1], maximum(upper + 1, least)), recorder.facts.locate())


class _Search:
    """One walk from a node to what its numbers come from."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._steps = 0

    def of(self, node: Any) -> Bounds:
        """The bounds of a node's elements, or of the number that an argument is."""
        if not isinstance(node, Node):
            return Bounds(node, node) if type(node) is int else UNKNOWN
        value = node.meta.get("val")
        if not isinstance(value, AbstractTensor):
            number = to_python(value)
            return Bounds(number, number) if isinstance(number, int | Expr) else UNKNOWN
        dtype = value.tensor_type.dtype
        widest = _of_dtype(dtype)
        self._steps += 1
        if dtype.is_floating_point or dtype.is_complex or value.storage_root.n_writes:
            return widest
        if self._steps > _MOST_STEPS:
            return widest
        found = self._of_tensor(node)
        if not _is_within(found, widest):
            return widest
        return Bounds(
            widest.lower if found.lower is None else found.lower,
            widest.upper if found.upper is None else found.upper,
        )

    def _of_tensor(self, node: Node) -> Bounds:
        if node.op == "placeholder":
            return _of_constant(self._recorder.constant_value(node))
        if node.target is operator.getitem:
            source, at = node.args
            assert isinstance(source, Node), "parts are taken of what a node made"
            assert isinstance(at, int), "results are numbered"
            rule = _PARTS.get((name_of(source), at)) or _PARTS.get((name_of(source), None))
            return rule(self, source) if rule else UNKNOWN
        rule = _KNOWN.get(name_of(node))
        found = rule(self, node) if rule else UNKNOWN
        return (_of_affine(node) or UNKNOWN) if found is UNKNOWN else found

    def any_of(self, nodes: Iterable[Any]) -> Bounds:
        """Bounds of what may come from each of these."""
        each = [self.of(node) for node in nodes]
        lower, upper = each[0] if each else UNKNOWN
        for other in each[1:]:
            lower = None if lower is None or other.lower is None else minimum(lower, other.lower)
            upper = None if upper is None or other.upper is None else maximum(upper, other.upper)
        return Bounds(lower, upper)


_OF_TWO: Final = (torch.ops.aten.max.other, torch.ops.aten.min.other)
_KNOWN: Final[dict[str, Callable[[_Search, Node], Bounds]]] = {}
_PARTS: Final[dict[tuple[str, int | None], Callable[[_Search, Node], Bounds]]] = {}
"""By the operator that made several results, and which of them; None for all."""


def _bounds_of(*names: str, parts: tuple[int | None, ...] = ()) -> Any:
    """Let the function below say the bounds of what these operators make."""

    def enter(rule: Callable[[_Search, Node], Bounds]) -> Callable[[_Search, Node], Bounds]:
        for name in names:
            _KNOWN.setdefault(name, rule)
            for part in parts:
                _PARTS[name, part] = rule
        return rule

    return enter


# --- elements of the source ----------------------------------------------------------------------


@_bounds_of("maximum", "minimum")
def _greater(search: _Search, node: Node) -> Bounds:
    return search.any_of(node.args)


@_bounds_of("unbind", "split", "split_with_sizes", "chunk", "tensor_split", parts=(None,))
@_bounds_of("topk", "sort", "kthvalue", "max", "min", "median", "mode", "cummax", parts=(0,))
@_bounds_of("_unique2", "unique_dim", "unique_consecutive", parts=(0,))
@_bounds_of(
    *("alias", "amax", "amin", "clone", "contiguous", "detach", "diagonal", "expand", "expand_as"),
    *("flatten", "flip", "gather", "index", "index_select", "lift_fresh_copy", "masked_select"),
    *("movedim", "narrow", "permute", "repeat", "reshape", "roll", "select", "slice", "squeeze"),
    *("t", "take", "tile", "transpose", "unfold", "unsqueeze", "view", "view_as", "cummin"),
)
def _chosen(search: _Search, node: Node) -> Bounds:
    if node.target in _OF_TWO:
        return search.any_of(node.args)
    return search.of(node.args[0])


@_bounds_of("to", "_to_copy", "type_as")
def _cast(search: _Search, node: Node) -> Bounds:
    """Integers that fit are what they were."""
    found, widest = search.of(node.args[0]), _of_dtype(_type(node).dtype)
    source = _type(node.args[0]).dtype
    if source.is_floating_point or source.is_complex:
        return UNKNOWN
    return found if _is_within(found, widest) else UNKNOWN


@_bounds_of("cat", "stack", "concat")
def _joined(search: _Search, node: Node) -> Bounds:
    tensors: Any = node.args[0]
    return search.any_of(tensors)


@_bounds_of("where")
def _either(search: _Search, node: Node) -> Bounds:
    return search.any_of(node.args[1:3]) if len(node.args) == 3 else UNKNOWN


@_bounds_of("masked_fill")
def _filled(search: _Search, node: Node) -> Bounds:
    return search.any_of((node.args[0], node.args[2]))


# --- positions and counts ------------------------------------------------------------------------


@_bounds_of("topk", "sort", "kthvalue", "max", "min", "median", "mode", "cummax", parts=(1,))
@_bounds_of("argmax", "argmin", "argsort")
def _position(search: _Search, node: Node) -> Bounds:
    del search
    x = _type(node.args[0])
    name = name_of(node)
    at = {"topk": 2, "kthvalue": 2, "argsort": 1, "sort": 1}.get(name, 1)
    dim: Any = node.args[at] if len(node.args) > at else None
    if dim is None and name not in {"argmax", "argmin"}:
        dim = -1
    if isinstance(dim, bool) or node.kwargs:
        return Bounds(0, _last(product(x.shape)))
    return Bounds(0, _last(product(x.shape) if dim is None else _size(x, dim)))


@_bounds_of("nonzero", "argwhere")
def _place(search: _Search, node: Node) -> Bounds:
    del search
    greatest: Int = 0
    for size in _type(node.args[0]).shape:
        greatest = maximum(greatest, size)
    return Bounds(0, _last(greatest))


@_bounds_of("nonzero_numpy", "where", parts=(None,))
def _places(search: _Search, node: Node) -> Bounds:
    return _place(search, node)


@_bounds_of("sum", "cumsum")
def _summed(search: _Search, node: Node) -> Bounds:
    """So many numbers within bounds around 0."""
    found = _small(search.of(node.args[0]))
    if _type(node).dtype != torch.int64 or found is None:
        return UNKNOWN
    lower, upper = found
    x = _type(node.args[0])
    dims: Any = node.args[1] if len(node.args) > 1 else None
    dims = [dims] if isinstance(dims, int) else dims or range(len(x.shape))
    count = product(_size(x, dim) for dim in dims)
    return Bounds(min(lower, 0) * count, max(upper, 0) * count)


@_bounds_of("count_nonzero", "bincount")
def _counted(search: _Search, node: Node) -> Bounds:
    del search
    if _type(node).dtype != torch.int64:
        return UNKNOWN
    return Bounds(0, product(_type(node.args[0]).shape))


@_bounds_of("searchsorted", "bucketize")
def _sought(search: _Search, node: Node) -> Bounds:
    del search
    sequence = node.args[0 if name_of(node) == "searchsorted" else 1]
    return Bounds(0, _type(sequence).shape[-1])


# --- made of numbers -----------------------------------------------------------------------------


@_bounds_of("arange")
def _range(search: _Search, node: Node) -> Bounds:
    ends = [search.of(arg).lower for arg in node.args]
    if any(end is None for end in ends) or len(ends) > 2:
        return UNKNOWN
    start, end = ends if len(ends) == 2 else (0, ends[0])
    return Bounds(start, None if end is None or start is None else maximum(end - 1, start))


@_bounds_of("zeros", "zeros_like", "new_zeros")
def _zero(search: _Search, node: Node) -> Bounds:
    del search, node
    return Bounds(0, 0)


@_bounds_of("ones", "ones_like", "new_ones")
def _one(search: _Search, node: Node) -> Bounds:
    del search, node
    return Bounds(1, 1)


@_bounds_of("full", "full_like", "scalar_tensor", "new_full")
def _constant(search: _Search, node: Node) -> Bounds:
    return search.of(node.args[0 if name_of(node) == "scalar_tensor" else -1])


@_bounds_of("one_hot")
def _mark(search: _Search, node: Node) -> Bounds:
    del search, node
    return Bounds(0, 1)


@_bounds_of("randint")
def _drawn(search: _Search, node: Node) -> Bounds:
    numbers = [search.of(arg).lower for arg in node.args if not isinstance(arg, list | tuple)]
    low, high = numbers if len(numbers) == 2 else (0, numbers[0])
    return Bounds(low, None if high is None else high - 1)


# --- arithmetic ----------------------------------------------------------------------------------


@_bounds_of("add")
def _added(search: _Search, node: Node) -> Bounds:
    one, other = _operands(search, node)
    if one is None or other is None:
        return UNKNOWN
    return Bounds(one[0] + other[0], one[1] + other[1])


@_bounds_of("sub")
def _subtracted(search: _Search, node: Node) -> Bounds:
    one, other = _operands(search, node)
    if one is None or other is None:
        return UNKNOWN
    return Bounds(one[0] - other[1], one[1] - other[0])


@_bounds_of("mul")
def _multiplied(search: _Search, node: Node) -> Bounds:
    one, other = _operands(search, node)
    if one is None or other is None:
        return UNKNOWN
    products = [a * b for a in one for b in other]
    return Bounds(min(products), max(products))


def _operands(search: _Search, node: Node) -> list[tuple[int, int] | None]:
    """The bounds of two operands, where a sum or product of them does not overflow."""
    if node.kwargs or len(node.args) != 2:
        return [None, None]
    return [_small(search.of(arg)) for arg in node.args]


@_bounds_of("remainder")
def _rest(search: _Search, node: Node) -> Bounds:
    """What a positive number leaves has its sign."""
    least, greatest = search.of(node.args[1])
    if not isinstance(least, int) or least <= 0:
        return UNKNOWN
    return Bounds(0, None if greatest is None else greatest - 1)


@_bounds_of("clamp", "clip", "clamp_min", "clamp_max")
def _clamped(search: _Search, node: Node) -> Bounds:
    found, name = search.of(node.args[0]), name_of(node)
    names = {"clamp_min": ("min",), "clamp_max": ("max",)}.get(name, ("min", "max"))
    given = {**dict(zip(names, node.args[1:], strict=False)), **node.kwargs}
    low, high = (
        None if given.get(end) is None else search.of(given[end]) for end in ("min", "max")
    )
    lower, upper = found
    if low is not None:
        lower = low.lower
        upper = None if upper is None or low.upper is None else maximum(upper, low.upper)
    if high is not None:
        lower = None if lower is None or high.lower is None else minimum(lower, high.lower)
        upper = high.upper
    return Bounds(lower, upper)


# --- truths --------------------------------------------------------------------------------------


@_bounds_of("eq", "ne", "lt", "le", "gt", "ge")
def _compared(search: _Search, node: Node) -> Bounds:
    """By the difference, where it is one number, else by bounds that do not overlap."""
    one, other = node.args
    if _type(one).dtype.is_floating_point:
        return _UNDECIDED
    name, apart = name_of(node), difference(one, other)
    if apart is not None:
        return _always(name, Bounds(apart, apart), Bounds(0, 0))
    a, b = (_of_affine(each) or search.of(each) for each in (one, other))
    if not isinstance(other, Node) and not _is_within(b, _of_dtype(_type(one).dtype)):
        return _UNDECIDED  # PyTorch wraps the number
    return _always(name, a, b)


def _always(name: str, a: Bounds, b: Bounds) -> Bounds:
    """Whether numbers within bounds compare so whichever they are."""
    if name in {"gt", "ge"}:
        return _always({"gt": "lt", "ge": "le"}[name], b, a)
    is_less, is_greater = _are_below(a, b, lt), _are_below(b, a, lt)
    no_greater, no_less = _are_below(a, b, le), _are_below(b, a, le)
    if name in {"lt", "le"}:
        holds, fails = (is_less, no_less) if name == "lt" else (no_greater, is_greater)
    else:
        holds, fails = no_greater and no_less, is_less or is_greater
    if holds or fails:
        return _TRUE if holds is (name != "ne") else _FALSE
    return _UNDECIDED


def _are_below(a: Bounds, b: Bounds, relation: Callable[[Int, Int], Truth]) -> bool:
    return a.upper is not None and b.lower is not None and known(relation(a.upper, b.lower)) is True


@_bounds_of("all", "any")
def _quantified(search: _Search, node: Node) -> Bounds:
    """Of nothing, all are true."""
    lower, upper = search.of(node.args[0])
    is_true = lower is not None and known(ge(lower, 1)) is True
    is_false = lower == upper == 0
    if not is_true and not is_false:
        return _UNDECIDED
    if is_true is (name_of(node) == "all"):
        return _TRUE if is_true else _FALSE
    is_any = known(ge(product(_type(node.args[0]).shape), 1)) is True
    return _UNDECIDED if not is_any else _TRUE if is_true else _FALSE


@_bounds_of("logical_not", "bitwise_not")
def _opposite(search: _Search, node: Node) -> Bounds:
    found = _small(search.of(node.args[0]))
    if found is None or not _is_of_truths(node.args[0]):
        return UNKNOWN
    return Bounds(1 - found[1], 1 - found[0])


@_bounds_of("logical_and", "bitwise_and", "__and__", "logical_or", "bitwise_or", "__or__")
def _both(search: _Search, node: Node) -> Bounds:
    """The least, or the greatest, of two truths."""
    one, other = (_small(search.of(each)) for each in node.args)
    if one is None or other is None or not all(map(_is_of_truths, node.args)):
        return UNKNOWN
    choose = min if "and" in name_of(node) else max
    return Bounds(choose(one[0], other[0]), choose(one[1], other[1]))


# --- reading -------------------------------------------------------------------------------------


def _of_affine(node: Any) -> Bounds | None:
    """Of elements that count along their dimensions, the first and the last."""
    found = affine(node) if isinstance(node, Node) else None
    if found is None or found.start is None:
        return None
    lower = upper = found.start
    for step, size in zip(found.steps, shape_of(node), strict=True):
        lower, upper = lower + min(step, 0) * (size - 1), upper + max(step, 0) * (size - 1)
    return Bounds(lower, upper)


def _of_dtype(dtype: torch.dtype) -> Bounds:
    if dtype == torch.bool:
        return Bounds(0, 1)
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.int64:
        return UNKNOWN
    info = torch.iinfo(dtype)
    return Bounds(info.min, info.max)


def _of_constant(value: torch.Tensor | None) -> Bounds:
    if value is None or not 0 < value.numel() <= _SMALL:
        return UNKNOWN
    with without_modes():
        return Bounds(int(value.min()), int(value.max()))


def _is_of_truths(argument: Any) -> bool:
    """Whether it is a tensor of bools, and no number, which `&` and `|` take as well."""
    value = argument.meta.get("val") if isinstance(argument, Node) else None
    return isinstance(value, AbstractTensor) and value.tensor_type.dtype == torch.bool


def _type(node: Any) -> TensorType:
    return node.meta["val"].tensor_type


def _size(x: TensorType, dim: Any) -> Int:
    return x.shape[wrap_dim(dim, len(x.shape))] if x.shape else 1


def _last(size: Int) -> Int:
    """The last position; of nothing there is no element to be in range."""
    return maximum(size - 1, 0)


def _small(found: Bounds) -> tuple[int, int] | None:
    """Bounds that are plain numbers, not large."""
    lower, upper = found
    if not isinstance(lower, int) or not isinstance(upper, int):
        return None
    return (lower, upper) if max(abs(lower), abs(upper)) <= _SMALL else None


def _is_within(inner: Bounds, outer: Bounds) -> bool:
    """Whether the bounds are surely within a dtype's."""
    if outer.lower is None:
        return True
    lower, upper = inner
    if not isinstance(lower, int) or not isinstance(upper, int):
        return lower is None and upper is None
    return known(ge(lower, outer.lower)) is True and known(le(upper, outer.upper or 0)) is True


__all__ = ["UNKNOWN", "Bounds", "bounds", "limit_size", "state_bounds"]
