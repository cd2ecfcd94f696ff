"""Views of a part of one dimension: slices, rows, chunks.

Law: with a size n, bounds are counted from the end where negative and clamped to 0 … n, and the
slice has max(min(end, n) - max(start, 0), 0) elements per step. Written so, the bounds never need
to be compared with each other, and n[1:] and n[:-1] have the same size as expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.dims import wrap_dim
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import (
    Expr,
    active,
    any_of,
    ceildiv,
    choose,
    eq,
    fixed,
    fresh,
    ge,
    gt,
    is_symbol,
    known,
    le,
    lt,
    maximum,
    minimum,
    require,
    total,
)
from monograph.rules.operand_checks import check_rank, need_dimensions, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import at_least, need_equal, surely_equal
from monograph.rules.views.dimensions import at_least_zero, shorter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.diagnostics import MonographError
    from monograph.integers import Int, Truth


TO_THE_END = 2**63 - 1


# ---------------------------------------------------------------------------------------- slices


def part_of(x: TensorType, dim: int, start: Int, length: Int, step: Int = 1) -> TensorType:
    """`length` elements of dimension `dim`, from `start`, every `step`-th."""
    shape, strides = x.shape, x.strides
    sizes = (*shape[:dim], length, *shape[dim + 1 :])
    if strides is None:
        if (dim == 0 or length is shape[dim]) and step == 1:
            # Row-major strides do not depend on the first size.
            if start == 0:
                return TensorType(sizes, x.dtype, x.device, None, x.offset)
            offset = x.offset + start * x.stride()[dim]
            return TensorType(sizes, x.dtype, x.device, None, offset)
        strides = x.stride()
    offset = x.offset if start == 0 else x.offset + start * strides[dim]
    if step != 1:
        strides = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :])
    return TensorType(sizes, x.dtype, x.device, strides, offset)


@rule(aten.slice.Tensor)
def slice_tensor(
    x: TensorType,
    dim: int = 0,
    start: Int | None = None,
    end: Int | None = None,
    step: Int = 1,
) -> TensorType:
    """x: [*a, n, *b] -> [*a, k, *b], k the elements of `start:end:step`."""
    shape = x.shape
    check_rank(shape, "slice", "at least 1 dimension", 0)
    dim = wrap_dim(dim, len(shape))
    if (end is None or end == TO_THE_END) and (start is None or start == 0) and step == 1:
        return TensorType(shape, x.dtype, x.device, x.strides, x.offset)
    first, length = slice_range(shape[dim], start, end)
    if step != 1:
        require(
            gt(step, 0), "operator-refused-types", op="slice", reason="slice step must be positive"
        )
        length = ceildiv(length, step)
    return part_of(x, dim, first, length, step)


def slice_range(n: Int, start: Int | None, end: Int | None) -> tuple[Int, Int]:
    """First element and number of elements of `start:end` in a dimension of size n."""
    if type(n) is int and not isinstance(start, Expr) and not isinstance(end, Expr):
        first = 0 if start is None else max(start + n, 0) if start < 0 else min(start, n)
        last = n if end is None else end + n if end < 0 else min(end, n)
        return first, max(last - first, 0)
    if _is_open(start) or _is_open(end):
        return _open_range(n, start, end)
    if start is None or (isinstance(start, int) and start == 0):
        if end is None or _reaches_end(n, end):
            return 0, n
        return 0, at_least_zero(shorter(_from_end(n, end), n))
    if end is None or _reaches_end(n, end):
        if isinstance(start, int) and start < 0:
            length = shorter(-start, n)
            return n - length, length
        begin = at_least_zero(_from_end(n, start))
        return shorter(begin, n), at_least_zero(n - begin)
    begin = at_least_zero(_from_end(n, start))
    length = at_least_zero(shorter(_from_end(n, end), n) - begin)
    is_long = isinstance(length, Expr) and length.kind == "max" and _many_unknowns(length)
    return _named(n, start, end) if is_long else (shorter(begin, n), length)


def _many_unknowns(*numbers: Int) -> bool:
    """Whether more than one number out of data decides these."""
    symbols = {each for e in numbers if isinstance(e, Expr) for each in e.symbols}
    return sum(map(active().depends_on_data, symbols)) > 1


def _named(n: Int, start: Int, end: Int) -> tuple[Int, Int]:
    """As `slice_range`; the length is a symbol, the same one for the same slice.

    What bounds of many numbers out of data make, written out, is beyond what can be proved, printed
    or saved: the slice for each expert of a mixture ends where the numbers before it add up to.
    """
    facts = active()
    key = n, start, end
    if key not in facts.named:
        upper = n if isinstance(n, int) else None  # a relation for each would slow down all proofs
        facts.named[key] = fresh("the length of a slice", 0, upper)
    return minimum(maximum(counted_from_start(n, start), 0), n), facts.named[key]


def _is_open(bound: Int | None) -> bool:
    """Whether the sign of a bound depends on data."""
    if not isinstance(bound, Expr) or not active().depends_on_data(bound):
        return False
    if _many_unknowns(bound):  # what else is known of a sum takes long to find
        return active().interval(bound).lower < 0
    return known(ge(bound, 0)) is None


def _open_range(n: Int, start: Int | None, end: Int | None) -> tuple[Int, Int]:
    """As `slice_range` where only the run tells the sign of a bound: right for either.

    x[:u] and x[u:] have sizes that add up to n.
    """
    if end is None or _reaches_end(n, end):
        first = 0 if start is None else _clamped(n, start)
        return first, n - first
    if start is not None and start != 0 and _many_unknowns(start, end):
        return _named(n, start, end)
    first, last = 0 if start is None else _clamped(n, start), _clamped(n, end)
    return first, last if isinstance(first, int) and first == 0 else at_least_zero(last - first)


def _clamped(n: Int, bound: Int) -> Int:
    """Where a bound lies in 0 … n."""
    at = counted_from_start(n, bound) if _is_open(bound) else _from_end(n, bound)
    return shorter(at_least_zero(at), n)


def counted_from_start(n: Int, bound: Int) -> Int:
    """The bound, and n more where it is negative, for either sign."""
    return bound + n * minimum(maximum(-bound, 0), 1)


def _reaches_end(n: Int, end: Int) -> bool:
    if end is n:
        return True
    if isinstance(end, int):
        return end >= TO_THE_END
    return known(ge(end, n)) is True


def _from_end(n: Int, bound: Int) -> Int:
    """A bound where negative ones count from the end.

    Raises: data-dependent-size where its sign depends on data.
    """
    if isinstance(bound, int):
        return bound + n if bound < 0 else bound
    return bound if at_least(bound, 0) else bound + n


@rule(aten.narrow.default)
def narrow(x: TensorType, dim: int, start: Int, length: Int) -> TensorType:
    """x: [*a, n, *b] -> [*a, length, *b], from `start`; nothing is clamped."""
    need_dimensions(x, 1, "narrow")
    dim = wrap_dim(dim, len(x.shape))
    n = x.shape[dim]
    reason = "start and length exceed the size of the dimension"
    first = counted_from_start(n, start) if _is_open(start) else _from_end(n, start)
    for inside in (ge(length, 0), ge(first, 0), le(first + length, n)):
        require(inside, "operator-refused-types", op="narrow", reason=reason)
    return part_of(x, dim, first, length)


@rule(aten.narrow.Tensor)
def narrow_tensor(x: TensorType, dim: int, start: TensorType, length: Int) -> TensorType:
    """x: [*a, n, *b], start: i64[] -> [*a, length, *b]; where it starts depends on data."""
    if start.shape or start.dtype.is_floating_point or start.dtype == torch.bool:
        raise refusal("narrow", "start must be a 0-dim integer")
    dim = wrap_dim(dim, len(x.shape))
    n = x.shape[dim]
    if surely_equal(n, length):
        return part_of(x, dim, 0, length)
    first = fresh("start of narrow", 0, n if isinstance(n, int) else None)
    return part_of(x, dim, first, length)


@rule(aten.select.int)
def select(x: TensorType, dim: int, index: Int) -> TensorType:
    """x: [*a, n, *b] -> [*a, *b], at `index` in -n … n - 1.

    Raises: operator-refused-types where the index is out of range.
    """
    shape, strides = x.shape, x.stride()
    check_rank(shape, "select", "at least 1 dimension", 0)
    dim = wrap_dim(dim, len(shape))
    n = shape[dim]
    at = _from_either_end(n, index)
    if not (isinstance(at, int) and isinstance(n, int) and 0 <= at < n):
        reason = "the index is out of range"
        require(lt(at, n), "operator-refused-types", op="select", reason=reason)
        require(ge(at, 0), "operator-refused-types", op="select", reason=reason)
    offset = x.offset if isinstance(at, int) and at == 0 else x.offset + at * strides[dim]
    sizes = shape[:dim] + shape[dim + 1 :]
    if dim == 0 and x.strides is None:
        return TensorType(sizes, x.dtype, x.device, None, offset)
    return TensorType(sizes, x.dtype, x.device, strides[:dim] + strides[dim + 1 :], offset)


def _from_either_end(n: Int, index: Int) -> Int:
    """The index counted from the start; where its sign depends on data, an unknown one in range.

    The kernel checks the range at run time, so nothing is asserted or learnt about the index.
    """
    if not _is_open(index):
        return _from_end(n, index)
    at = fresh("the selected index", 0, n - 1 if isinstance(n, int) else None)
    active().assume(lt(at, n), None)
    return at


@rule(aten.unbind.int)
def unbind(x: TensorType, dim: int = 0) -> list[TensorType]:
    """x: [*a, n, *b] -> n times [*a, *b]; the program is one for this n."""
    need_dimensions(x, 1, "unbind")
    n = count_of(x.shape[wrap_dim(dim, len(x.shape))])
    return [select(x, dim, i) for i in range(n)]


def count_of(n: Int) -> int:
    """A size that says how many results there are: a number, by a guard where it is a symbol.

    Raises: data-dependent-size.
    """
    if isinstance(n, int):
        return n
    return fixed(n, lambda count: _state_count(n, count), lambda _: _unknown_count(n))


def _state_count(n: Int, count: int) -> None:
    require(eq(n, count), "data-dependent-size", question=f"{n} == {count}", size=n)


def _unknown_count(n: Int) -> MonographError:
    return problem("data-dependent-size", question="count(...)", size=_spoken(n))


def _spoken(size: Int) -> object:
    """A size that depends on data, by where it comes from."""
    if not isinstance(size, Expr) or not is_symbol(size):
        return size
    return active().source_of(size) or size


# ------------------------------------------------------------------------------ several pieces


def pieces(x: TensorType, dim: int, sizes: Sequence[Int]) -> list[TensorType]:
    """Consecutive parts of one dimension."""
    start: Int = 0
    parts: list[TensorType] = []
    for size in sizes:
        parts.append(part_of(x, dim, start, size))
        start = start + size
    return parts


def split_sizes(n: Int, size: Int) -> list[Int]:
    """n in parts of `size`, the last what is left; the number of parts is guarded.

    Raises: operator-refused-types, data-dependent-size.
    """
    if isinstance(n, int) and isinstance(size, int):
        if size < 0 or (size == 0 and n > 0):
            raise refusal("split", f"a split size of {size} for a dimension of size {n}")
        count = max(-(-n // size), 1) if size else 1
        sizes: list[Int] = [size] * count
        sizes[-1] = n - size * (count - 1)
        return sizes
    if surely_equal(n, size):  # one part, also where both are 0
        return [n]
    require(gt(size, 0), "size-must-be-positive", size=size, what="split")
    count = maximum(ceildiv(n, size), 1)
    unknown = n if active().is_unbacked(n) else size
    if isinstance(count, int):
        _state_parts(n, size, count)
    else:
        count = fixed(
            count, lambda count: _state_parts(n, size, count), lambda _: _unknown_count(unknown)
        )
    return _parts(n, size, count)


def _parts(n: Int, size: Int, count: int) -> list[Int]:
    return [size] * (count - 1) + [n - (count - 1) * size]


def _are_parts(n: Int, size: Int, count: int) -> tuple[Truth, ...]:
    """(count - 1)*size < n <= count*size, but n = 0 is one part too."""
    last = n - (count - 1) * size
    return (gt(last, 0), le(last, size)) if count > 1 else (le(last, size),)


def _state_parts(n: Int, size: Int, count: int) -> None:
    question = f"{(count - 1) * size} < {n} <= {count * size}"
    for relation in _are_parts(n, size, count):
        require(relation, "data-dependent-size", question=question, size=n)


def chunk_sizes(n: Int, chunks: int) -> list[Int]:
    """n in at most `chunks` parts of ceil(n / chunks).

    Raises: operator-refused-types, data-dependent-size.
    """
    if chunks <= 0:
        raise refusal("chunk", f"chunk expects a number of chunks greater than 0, not {chunks}")
    size = ceildiv(n, chunks)
    if isinstance(n, int):
        return split_sizes(n, size) if n else [0] * chunks
    if size * chunks is n:
        return [size] * chunks
    enough = gt(n, (chunks - 1) * size)
    if known(enough) is True:
        return _parts(n, size, chunks)
    # Of a size of 0 there are `chunks` parts of 0 elements.
    general = any_of(eq(n, 0), enough)
    if choose(general) is None:
        fewer = range(chunks - 1, 0, -1)
        case = choose(*(_are_parts(n, size, count) for count in fewer))
        if case is not None:
            return _parts(n, size, fewer[case])
        require(general, "data-dependent-size", question=f"{n} in {chunks} parts", size=n)
    return _parts(n, size, chunks)


def _dim(x: TensorType, dim: int, op: str) -> int:
    need_dimensions(x, 1, op)
    return wrap_dim(dim, len(x.shape))


@rule(aten.chunk.default, aten.unsafe_chunk.default)
def chunk(x: TensorType, chunks: int, dim: int = 0) -> list[TensorType]:
    """x: [*a, n, *b] -> parts [*a, ceil(n/chunks), *b], the last smaller."""
    dim = _dim(x, dim, "chunk")
    return pieces(x, dim, chunk_sizes(x.shape[dim], chunks))


@rule(aten.split.Tensor, aten.unsafe_split.Tensor)
def split(x: TensorType, split_size: Int, dim: int = 0) -> list[TensorType]:
    """x: [*a, n, *b] -> parts [*a, split_size, *b], the last smaller."""
    dim = _dim(x, dim, "split")
    return pieces(x, dim, split_sizes(x.shape[dim], split_size))


@rule(aten.split_with_sizes.default, aten.unsafe_split_with_sizes.default)
def split_with_sizes(x: TensorType, split_sizes: Sequence[Int], dim: int = 0) -> list[TensorType]:
    """x: [*a, Σ n_i, *b] -> [*a, n_i, *b] for each i."""
    dim = _dim(x, dim, "split_with_sizes")
    n, summed = x.shape[dim], total(split_sizes)
    for size in split_sizes:
        if not isinstance(size, int) or size < 0:
            require(ge(size, 0), "sizes-disagree", left=size, right=n, dim=dim)
    need_equal(summed, n, dim=dim)
    return pieces(x, dim, split_sizes)


@rule(aten.split.sizes)
def split_by_sizes(x: TensorType, split_size: Sequence[Int], dim: int = 0) -> list[TensorType]:
    """x: [*a, Σ n_i, *b] -> [*a, n_i, *b] for each i."""
    return split_with_sizes(x, split_size, dim)


@rule(aten.tensor_split.sections)
def tensor_split(x: TensorType, sections: Int, dim: int = 0) -> list[TensorType]:
    """x: [*a, n, *b] -> `sections` parts, of which the first n % sections are one longer."""
    dim = _dim(x, dim, "tensor_split")
    count = count_of(sections)
    if count <= 0:
        raise refusal("tensor_split", f"number of sections must be larger than 0, got {count}")
    n = x.shape[dim]
    # floor(n/k) + (1 if i < n % k) = floor((n + k - 1 - i) / k)
    return pieces(x, dim, [(n + (count - 1 - i)) // count for i in range(count)])


@rule(aten.tensor_split.indices)
def tensor_split_indices(x: TensorType, indices: Sequence[Int], dim: int = 0) -> list[TensorType]:
    """x: [*a, n, *b] -> the slices between the indices: `0:i_0, i_0:i_1, ..., i_k:n`."""
    dim = _dim(x, dim, "tensor_split")
    n = x.shape[dim]
    bounds = [0, *indices, n]
    ranges = [slice_range(n, bounds[i], bounds[i + 1]) for i in range(len(bounds) - 1)]
    return [part_of(x, dim, start, length) for start, length in ranges]


@shared_rule(aten.hsplit.int, aten.hsplit.array, axis=1, needed=1, op="hsplit")
@shared_rule(aten.vsplit.int, aten.vsplit.array, axis=0, needed=2, op="vsplit")
@shared_rule(aten.dsplit.int, aten.dsplit.array, axis=2, needed=3, op="dsplit")
def hsplit(
    x: TensorType,
    axis: int,
    needed: int,
    op: str,
    sections: int | None = None,
    indices: Sequence[int] = (),
) -> list[TensorType]:
    """x: [a, n, *b] or [n] -> `sections` equal parts of n, or the slices between the indices."""
    if x.rank < needed:
        raise problem("rank-disagrees", what=op, expected=f"at least {needed}", got=x.rank)
    axis = 0 if x.rank == 1 else axis
    if sections is None:
        return tensor_split_indices(x, indices, axis)
    n = x.shape[axis]
    if sections == 0:
        raise refusal("tensor_split", "0 sections")
    require(eq(n % sections, 0), "sizes-disagree", left=n % sections, right=0, dim=axis)
    return tensor_split(x, sections, axis)
