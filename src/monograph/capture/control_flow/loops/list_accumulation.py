"""List accumulation: lists to which every iteration of a `scan` appends as much.

The list stays the object that it is, with one item for all that a loop put there: `Accumulated`,
which holds what the iterations made, stacked. Its length is a symbolic number; `torch.stack` and
`torch.cat` of it, one of its items, and a loop over it are made of what is stacked.

Law: any other use of such a list is refused, as is any of `Accumulated` itself. The interpreter
asks before it does anything with a list that is known here (`Recorder.accumulated`: the list, and
whether it grows in the iteration that is recorded), so nobody counts one item for many.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.bytecode import ours
from monograph.diagnostics import problem
from monograph.integers import Expr, ge, known, relation_text, require

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from monograph.abstract.tensor import AbstractTensor
    from monograph.capture.recording.recorder import Recorder
    from monograph.integers import Int


@ours
class Accumulated:
    """What one loop put into a list: one stacked tensor for each item of an iteration.

    `last` is the tensor that the last iteration put there last, where a variable holds it too. With
    `is_view` it is a view of another tensor, which nobody can be given.
    """

    __slots__ = ("count", "is_view", "last", "stacks")

    def __init__(
        self,
        count: Int,
        stacks: Sequence[AbstractTensor],
        last: AbstractTensor | None,
        *,
        is_view: bool,
    ) -> None:
        self.count = count
        self.stacks = tuple(stacks)
        self.last = last
        self.is_view = is_view

    def __getattr__(self, name: str) -> NoReturn:
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


@contextmanager
def appending(recorder: Recorder, lists: Sequence[list[Any]]) -> Generator[None]:
    """While an iteration is recorded that appends to these: nobody may look into them."""
    known = recorder.accumulated
    before = {id(each): known.get(id(each)) for each in lists}
    known.update({id(each): (each, True) for each in lists})
    try:
        yield
    finally:
        for key, entry in before.items():
            del known[key]
            if entry is not None:
                known[key] = entry


def accumulate(
    recorder: Recorder,
    owner: list[Any],
    count: Int,
    stacks: Sequence[AbstractTensor],
    last: AbstractTensor | None,
    *,
    is_view: bool,
) -> None:
    """Append what the iterations put into a list; for `last` and `is_view` see `Accumulated`.

    Nobody may write to an item from now on: others of the program may be the same tensor.
    """
    _alias(stacks)
    owner.append(Accumulated(count, stacks, last, is_view=is_view))
    recorder.accumulated[id(owner)] = (owner, False)


def find(recorder: Recorder, value: Any) -> list[Any] | None:
    """The list, if that is what a value is, and it still holds what iterations put there.

    Raises: list-grown (it grows in the iteration that is recorded).
    """
    entry = recorder.accumulated.get(id(value)) if type(value) is list else None
    if entry is None:
        return None
    items, is_growing = entry
    if is_growing:
        raise problem("list-grown", use="the loop in which it grows")
    return items if any(type(item) is Accumulated for item in items) else None


def _length(items: list[Any]) -> Any:
    """`len` of it."""
    total: Any = 0
    for item in items:
        total = total + (len(item.stacks) * item.count if type(item) is Accumulated else 1)
    return to_sym(total)


def require_an_item(items: list[Any]) -> None:
    """Code goes on as if it were not empty.

    Raises: check-fails.
    """
    if all(type(item) is Accumulated for item in items):
        require_an_iteration(to_python(_length(items)))


def rows(items: list[Any]) -> AbstractTensor | None:
    """A tensor whose slices along its first dimension are the items; None if there is none."""
    pieces = _pieces(items)
    if len(pieces) > 1 or pieces[0].count is None:
        return None
    return _interleaved(pieces[0].tensors)


def item_at(items: list[Any], key: Any) -> Any:
    """`items[key]` for an integer.

    Raises: list-grown.
    """
    require_an_item(items)
    index, first, last = to_python(key), items[0], items[-1]
    if type(index) is int and index == -1 and type(last) is Accumulated:
        require_an_iteration(last.count)
        return _last_of(last)
    found = rows(items)
    if found is not None and isinstance(index, int | Expr) and type(index) is not bool:
        return found[to_sym(index)]
    if type(index) is int and index == -1:
        return last
    if type(index) is int and index == 0 and type(first) is not Accumulated:
        return first
    raise problem("list-grown", use="one of its items")


def check_call(
    recorder: Recorder, callee: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> None:
    """A function is called natively: it must not look into such a list.

    Raises: list-grown.
    """
    owner = getattr(callee, "__self__", None)
    given = args[1:] if callee in _APPENDING else args
    for value in (*given, *kwargs.values(), owner):
        if type(value) is list and find(recorder, value) is not None:
            name = getattr(callee, "__name__", type(callee).__name__)
            raise problem("list-grown", use=f"{name}()")


def answer(
    recorder: Recorder, callee: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any] | None:
    """What stands for a function of such a list, if it can be answered."""
    items = find(recorder, args[0] if args else kwargs.get("tensors"))
    if items is None:
        return None
    if callee is len and len(args) == 1:
        length = _length(items)
        return lambda *_: length
    combine = _COMBINE.get(id(callee))
    dim = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0))
    known_names = kwargs.keys() <= {"tensors", "dim", "axis"}
    if combine is None or len(args) > 2 or not known_names or type(dim) is not int:
        return None
    require_an_item(items)
    result = combine(_pieces(items), dim)
    return lambda *_, **__: result


def _last_of(made: Accumulated) -> Any:
    """The tensor that the last iteration put there last, which lies in memory of its own.

    Raises: list-grown.
    """
    if made.last is None:
        if made.is_view:
            raise problem("list-grown", use="one of its items, a view of another tensor")
        row: Any = made.stacks[-1][-1]
        last = row.clone()
        _alias([last])
        if last.recorder.region is not None:
            return last  # nobody may use it outside
        made.last = last
    return made.last


def _pieces(items: list[Any]) -> list[_Segment]:
    found: list[_Segment] = []
    for item in items:
        if type(item) is Accumulated:
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
    _alias([rows])
    return rows


def _alias(tensors: Sequence[Any]) -> None:
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
_APPENDING: Final = (list.append, list.extend, operator.iadd)


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
    "answer",
    "appending",
    "check_call",
    "find",
    "item_at",
    "require_an_item",
    "require_an_iteration",
    "rows",
]
