"""List accumulation: lists to which every iteration of a `scan` appends as much.

The list stays the object that it is, with one item for all that a loop put there: `Accumulated`,
which holds what the iterations made, stacked. Its length is a symbolic number; `torch.stack` and
`torch.cat` of it, one of its items, and a loop over it are made of what is stacked.

Law: any other use of such a list is refused, as is any of `Accumulated` itself. The interpreter
asks before it does anything with a list or tuple that is known here (`Recorder.accumulated`), so
nobody counts one item for many. What makes lists of lists is in `list_operations`; a list in an
iteration that appends to it, in `growing_lists`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import SymbolicIterator, ours
from monograph.capture.control_flow.higher_order.loop_types import step_type
from monograph.capture.control_flow.loops.symbolic_sequences import Rows, made
from monograph.diagnostics import problem
from monograph.integers import Expr, eq, ge, known, lt, relation_text, require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.recording.recorder import Recorder
    from monograph.integers import Int


@ours
class Accumulated:
    """What one loop put into a list: one stacked tensor for each item of an iteration.

    `last` is the tensor that the last iteration put there last, where a variable holds it too.
    `owners` are the tensors that items may be one with, or views of: no item may be returned then.
    `order` are an item's dimensions as they lie in memory; None where that is as they are counted.
    """

    __slots__ = ("count", "last", "order", "owners", "stacks")

    refused_as = "list-grown"
    """The diagnostic where `forward` returns it."""

    def __init__(
        self,
        count: Int,
        stacks: Sequence[AbstractTensor],
        last: AbstractTensor | None = None,
        owners: Sequence[AbstractTensor] = (),
        order: Sequence[int] | None = None,
    ) -> None:
        self.count = count
        self.stacks = tuple(stacks)
        self.last = last
        self.owners = tuple(owners)
        self.order = order

    @property
    def width(self) -> int:
        """How many items an iteration put there."""
        return len(self.stacks)

    def require(self) -> None:
        """There is one of them. Raises: check-fails."""
        require_an_iteration(self.count)

    def __getattr__(self, name: str) -> NoReturn:
        if name == "__dict__":
            raise AttributeError(name)  # who looks through objects learns that there is none
        raise problem("list-grown", use=f".{name} of an item")

    def _refuse(self, *_: Any) -> NoReturn:
        raise problem("list-grown", use="one of its items")

    __bool__ = __len__ = __iter__ = __eq__ = __call__ = __getitem__ = __index__ = _refuse
    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __matmul__ = __str__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __truediv__ = __float__ = __format__ = _refuse
    __repr__ = _refuse
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class _Segment:
    """Some items of a list, one after the other: plain tensors, or those of iterations."""

    tensors: tuple[Any, ...]
    count: Int | None = None


def accumulate(recorder: Recorder, owner: list[Any], made: Accumulated, *, at_front: bool) -> None:
    """Put what the iterations put into a list.

    Nobody may write to an item from now on: others of the program may be the same tensor.
    """
    if at_front:
        stacks = [each.flip(0) for each in made.stacks]
        made = Accumulated(made.count, stacks, None, made.owners, made.order)  # pyright: ignore[reportArgumentType] - an abstract tensor's are
    alias(made.stacks)
    owner.insert(0 if at_front else len(owner), made)
    recorder.accumulated[id(owner)] = owner


def order_of(items: Sequence[AbstractTensor]) -> tuple[int, ...] | None:
    """The dimensions of an iteration's items as they lie in memory; None: as they are counted.

    Raises: list-grown (they do not lie alike).
    """
    orders = {_order(each.tensor_type) for each in items}
    if len(orders) > 1:
        raise problem("list-grown", use="items that lie in memory unlike each other")
    (order,) = orders
    return None if order == tuple(range(len(order))) else order


def _order(t: TensorType) -> tuple[int, ...]:
    if t.strides is None:
        return tuple(range(t.rank))
    strides = t.stride()

    def later(a: int, b: int) -> int:
        if known(lt(strides[a], strides[b])) is True:
            return 1
        return -1 if known(lt(strides[b], strides[a])) is True else a - b

    return tuple(sorted(range(t.rank), key=cmp_to_key(later)))


def find(recorder: Recorder, value: Any) -> list[Any] | None:
    """The list or tuple, if that is what a value is, and it holds what iterations put there."""
    if type(value) not in (list, tuple) or id(value) not in recorder.accumulated:
        return None
    return value if any(isinstance(item, Accumulated) for item in value) else None


def is_there_any(items: list[Any]) -> Any:
    """Whether it has an item."""
    return _length(items) != 0


def _length(items: list[Any]) -> Any:
    """`len` of it."""
    total: Any = 0
    for item in items:
        total = total + (item.width * item.count if isinstance(item, Accumulated) else 1)
    return to_sym(total)


def require_an_item(items: list[Any]) -> None:
    """Code goes on as if it were not empty.

    Raises: check-fails.
    """
    if all(isinstance(item, Accumulated) for item in items):
        require_an_iteration(to_python(_length(items)))


def rows(items: list[Any]) -> AbstractTensor | None:
    """A tensor whose slices along its first dimension are the items; None if there is none."""
    if any(isinstance(each, Accumulated) and not each.stacks for each in items):
        return None  # they are numbers
    pieces = _pieces(items)
    grown = [each for each in items if isinstance(each, Accumulated)]
    plain = [each for piece in pieces if piece.count is None for each in piece.tensors]
    if not all(isinstance(each, AbstractTensor) for each in plain):
        return None
    tensors: list[Any] = [
        torch.stack(piece.tensors) if piece.count is None else _interleaved(piece.tensors)
        for piece in pieces
    ]
    if len(tensors) > 1:
        is_plain = all(_order(each.tensor_type) == tuple(range(each.dim())) for each in plain)
        if any(each.order for each in grown) or not is_plain:
            return None
        types = [step_type(each.tensor_type) for each in tensors]
        if not all(are_alike(types[0], each) for each in types):
            return None
        tensors = [torch.cat(tensors)]
    (joined,) = tensors
    alias([joined])
    owners = [owner for each in grown for owner in each.owners]
    for owner in [*owners, *plain]:
        joined.recorder.aliases.copied(joined, owner.storage_root, "for")
    return _in_order(joined, grown[0].order)


def _in_order(stack: Any, order: Sequence[int] | None) -> Any:
    """The same with items that lie in memory as eager code has them."""
    if order is None:
        return stack
    moved = stack.permute(0, *[1 + dim for dim in order]).clone(
        memory_format=torch.contiguous_format
    )
    alias([moved])
    back = sorted(range(len(order)), key=lambda dim: order[dim])
    return moved.permute(0, *[1 + dim for dim in back])


def are_alike(one: TensorType, other: TensorType) -> bool:
    """Whether tensors of both hold as many elements of one kind in one shape."""
    same = (one.dtype, one.device, one.rank) == (other.dtype, other.device, other.rank)
    sizes = zip(one.shape, other.shape, strict=False)
    return same and all(known(eq(a, b)) is True for a, b in sizes)


def item_at(items: list[Any], key: Any) -> Any:
    """`items[key]`.

    Raises: list-grown, check-fails (there is no such item).
    """
    if type(key) is slice:
        return _part(items, key)
    index, last = to_python(key), items[-1]
    require_an_item(items)
    if type(index) is int and index == -1:
        if not isinstance(last, Accumulated):
            return last
        last.require()
        return last_of(last)
    n_plain = next(n for n, item in enumerate(items) if isinstance(item, Accumulated))
    if type(index) is int and 0 <= index < n_plain:
        return items[index]
    found = rows(items)
    if found is not None and isinstance(index, int | Expr) and type(index) is not bool:
        return found[to_sym(index)]
    raise problem("list-grown", use="one of its items")


def _part(items: list[Any], key: slice) -> Any:
    """`items[a:b:c]`, as a list of its own."""
    found = rows(items)
    is_reversed = (key.start, key.stop, key.step) == (None, None, -1)
    if found is None or not (is_reversed or _is_forward(key)):
        raise problem("list-grown", use="a slice of it")
    part: Any = found.flip(0) if is_reversed else found[key]
    alias([part])
    grown = [each for each in items if isinstance(each, Accumulated)]
    plain = [each for each in items if not isinstance(each, Accumulated)]
    owners = [*plain, *[owner for each in grown for owner in each.owners]]
    count = part.tensor_type.shape[0]
    made = type(items)([Accumulated(count, [part], None, owners, grown[0].order)])
    part.recorder.accumulated[id(made)] = made
    return made


def _is_forward(key: slice) -> bool:
    bounds = [to_python(each) for each in (key.start, key.stop) if each is not None]
    is_known = all(isinstance(each, int | Expr) for each in bounds)
    return is_known and (key.step is None or (type(key.step) is int and key.step > 0))


def answer(
    recorder: Recorder, callee: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any] | None:
    """What stands for a function of such a list, if it can be answered."""
    if any(callee is each for each in (enumerate, iter, reversed, zip)):
        given = [_iterator(recorder, each, backwards=callee is reversed) for each in args]
        new = any(one is not other for one, other in zip(given, args, strict=True))
        return made(iter if callee is reversed else callee, given, kwargs) if new else None
    items = find(recorder, args[0] if args else kwargs.get("tensors"))
    if items is None:
        return None
    if callee is len and len(args) == 1:
        length = _length(items)
        return lambda *_: length
    combine = _COMBINE.get(id(callee))
    dim = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0))
    known_names = kwargs.keys() <= {"tensors", "dim", "axis"}
    is_of_tensors = all(each.stacks for each in items if isinstance(each, Accumulated))
    is_known = len(args) <= 2 and known_names and type(dim) is int and is_of_tensors
    if combine is None or not is_known:
        return None
    require_an_item(items)
    result = combine(_pieces(items), dim)
    return lambda *_, **__: result


def _iterator(recorder: Recorder, value: Any, *, backwards: bool) -> Any:
    """What goes over a list that grew, in place of it."""
    items = find(recorder, value)
    found = None if items is None else rows(items)
    if found is None:
        return value
    return SymbolicIterator(Rows(found.flip(0) if backwards else found))  # pyright: ignore[reportArgumentType] - an abstract tensor's is one


def last_of(made: Accumulated) -> Any:
    """The tensor that the last iteration put there last, which lies in memory of its own.

    Raises: list-grown.
    """
    if made.last is None:
        last = item_of(made, -1, -1)
        if last.recorder.region is not None:
            return last  # nobody may use it outside
        made.last = last
    return made.last


def item_of(made: Accumulated, n: int, at: int) -> Any:
    """The n-th tensor that the iteration `at` put there, in memory of its own.

    Raises: list-grown.
    """
    if made.owners:
        raise problem("list-grown", use="one of its items, a view of another tensor")
    stack: Any = made.stacks[n]
    item = _in_order(stack.narrow(0, at, 1), made.order)[0].clone()
    alias([item])
    return item


def _pieces(items: list[Any]) -> list[_Segment]:
    found: list[_Segment] = []
    for item in items:
        if isinstance(item, Accumulated):
            found.append(_Segment(item.stacks, item.count))
        elif found and found[-1].count is None:
            found[-1] = _Segment((*found[-1].tensors, item))
        else:
            found.append(_Segment((item,)))
    return found


def _interleaved(stacks: Sequence[Any]) -> Any:
    """One slice for each item: the first of each, then the second of each."""
    if len(stacks) == 1:
        return stacks[0]
    rows: Any = torch.stack(tuple(stacks), 1).flatten(0, 1)
    alias([rows])
    return rows


def alias(tensors: Sequence[Any]) -> None:
    """Nobody may write to these."""
    for each in tensors:
        each.recorder.aliases.may_alias([each])


def _stack(pieces: list[_Segment], dim: int) -> Any:
    """`torch.stack` of a list."""
    made: list[Any] = []
    for piece in pieces:
        if piece.count is None:
            made.append(torch.stack(piece.tensors, dim))
        else:
            rows = _interleaved(piece.tensors)
            _check_dim(dim, rows.dim())
            made.append(rows.movedim(0, dim))
    return torch.cat(made, dim)


def _cat(pieces: list[_Segment], dim: int) -> Any:
    """`torch.cat` of a list."""
    made: list[Any] = []
    for piece in pieces:
        if piece.count is None:
            made += piece.tensors
            continue
        rows = _interleaved(piece.tensors)
        if rows.dim() == 1:
            raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
        _check_dim(dim, rows.dim() - 1)
        at = dim % (rows.dim() - 1)
        made.append(rows.movedim(0, at).flatten(at, at + 1))
    return torch.cat(made, dim)


def _check_dim(dim: int, rank: int) -> None:
    if not -rank <= dim < rank:
        legal = f"[{-rank}, {rank - 1}]"
        message = f"Dimension out of range (expected to be in range of {legal}, but got {dim})"
        raise IndexError(message)


_COMBINE: Final[dict[int, Any]] = {
    id(torch.stack): _stack,
    id(torch.cat): _cat,
    id(torch.concat): _cat,
    id(torch.concatenate): _cat,
}


def require_an_iteration(count: Int) -> None:
    """What only iterations make is used after the loop: without any, Python raises.

    Raises: check-fails.
    """
    some = ge(count, 1)
    if known(some) is not True:
        require(some, "check-fails", condition=relation_text(some))


__all__ = [
    "Accumulated",
    "accumulate",
    "alias",
    "answer",
    "are_alike",
    "find",
    "is_there_any",
    "item_at",
    "item_of",
    "last_of",
    "order_of",
    "require_an_item",
    "require_an_iteration",
    "rows",
]
