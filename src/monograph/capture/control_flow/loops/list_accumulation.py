"""Lists that grew by as much in every round of a loop whose number of rounds is symbolic.

The list stays the object that it is, with one item for all that a loop put there: `Grown`, which
holds what the rounds made, stacked. Its length is a symbolic number; `torch.stack` and `torch.cat`
of it, one of its items, and a loop over it are made of what is stacked.

Law: any other use of such a list is refused, as is any of `Grown` itself. The interpreter asks
before it does anything with a list that is known here, so nobody counts one item for many.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.bytecode import ours
from monograph.capture.strict.polyfills import is_instance, type_of
from monograph.diagnostics import problem
from monograph.integers import Expr, ge, known, require

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from monograph.abstract.tensor import AbstractTensor
    from monograph.integers import Int


@ours
class Grown:
    """What the rounds of one loop put into a list: one stacked tensor for each item of a round.

    `last` is the tensor that the last round put there last, where a variable holds it too. With
    `is_view` it is a view of another tensor, which nobody can be given.
    """

    __slots__ = ("is_view", "last", "rounds", "stacks")

    def __init__(
        self,
        rounds: Int,
        stacks: Sequence[AbstractTensor],
        last: AbstractTensor | None,
        *,
        is_view: bool,
    ) -> None:
        self.rounds = rounds
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
class _Piece:
    """Some items of a list, one after the other: plain tensors, or those of rounds."""

    tensors: tuple[Any, ...]
    rounds: Int | None = None


class GrownLists(dict[int, "list[Any]"]):
    """The lists that loops let grow, by identity."""

    def __init__(self) -> None:
        super().__init__()
        self._growing: set[int] = set()
        """Those that grow in a round that is recorded: what they hold differs by round."""

    @contextmanager
    def growing(self, lists: Sequence[list[Any]]) -> Generator[None]:
        """While a round is recorded that appends to these: nobody may look into them."""
        news = [each for each in lists if id(each) not in self]
        inner = {id(each) for each in lists} - self._growing
        self.update({id(each): each for each in lists})
        self._growing |= inner
        try:
            yield
        finally:
            self._growing -= inner
            for each in news:
                self.pop(id(each), None)

    def add(
        self,
        grown: list[Any],
        rounds: Int,
        stacks: Sequence[AbstractTensor],
        last: AbstractTensor | None = None,
        *,
        is_view: bool = False,
    ) -> None:
        """Append what the rounds put into a list; for `last` and `is_view` see `Grown`.

        Nobody may write to an item from now on: others of the program may be the same tensor.
        """
        _entangle(stacks)
        grown.append(Grown(rounds, stacks, last, is_view=is_view))
        self[id(grown)] = grown

    def find(self, value: Any) -> list[Any] | None:
        """The list, if that is what a value is, and it still holds what rounds put there.

        Raises: list-grown (it grows in the round that is recorded).
        """
        if type(value) is not list or id(value) not in self:
            return None
        if id(value) in self._growing:
            raise problem("list-grown", use="the loop in which it grows")
        items: list[Any] = value
        return items if any(type(item) is Grown for item in items) else None

    def length(self, grown: list[Any]) -> Any:
        """`len` of it."""
        total: Any = 0
        for item in grown:
            total = total + (len(item.stacks) * item.rounds if type(item) is Grown else 1)
        return to_sym(total)

    def require_an_item(self, grown: list[Any]) -> None:
        """Code goes on as if it were not empty.

        Raises: loop-makes-nothing.
        """
        if all(type(item) is Grown for item in grown):
            require_a_round(to_python(self.length(grown)))

    def rows(self, grown: list[Any]) -> AbstractTensor | None:
        """A tensor whose slices along its first dimension are the items; None if there is none."""
        pieces = _pieces(grown)
        if len(pieces) > 1 or pieces[0].rounds is None:
            return None
        return _interleaved(pieces[0].tensors)

    def item(self, grown: list[Any], key: Any) -> Any:
        """`grown[key]` for an integer.

        Raises: list-grown.
        """
        self.require_an_item(grown)
        index, first, last = to_python(key), grown[0], grown[-1]
        if type(index) is int and index == -1 and type(last) is Grown:
            require_a_round(last.rounds)
            return _last_of(last)
        rows = self.rows(grown)
        if rows is not None and isinstance(index, int | Expr) and type(index) is not bool:
            return rows[to_sym(index)]
        if type(index) is int and index == -1:
            return last
        if type(index) is int and index == 0 and type(first) is not Grown:
            return first
        raise problem("list-grown", use="one of its items")

    def check(self, callee: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """A function is called natively: it must not look into such a list.

        Raises: list-grown.
        """
        owner = getattr(callee, "__self__", None)
        given = args[1:] if callee in _APPENDING else args
        for value in (*given, *kwargs.values(), owner):
            if type(value) is list and self.find(value) is not None and callee not in _HARMLESS:
                name = getattr(callee, "__name__", type(callee).__name__)
                raise problem("list-grown", use=f"{name}()")

    def made(
        self, callee: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Callable[..., Any] | None:
        """What stands for a function of such a list, if it can be answered."""
        grown = self.find(args[0] if args else kwargs.get("tensors"))
        if grown is None:
            return None
        if callee is len and len(args) == 1:
            length = self.length(grown)
            return lambda *_: length
        combine = _COMBINE.get(id(callee))
        dim = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0))
        known_names = kwargs.keys() <= {"tensors", "dim", "axis"}
        if combine is None or len(args) > 2 or not known_names or type(dim) is not int:
            return None
        self.require_an_item(grown)
        result = combine(_pieces(grown), dim)
        return lambda *_, **__: result


def _last_of(grown: Grown) -> Any:
    """The tensor that the last round put there last, which lies in memory of its own.

    Raises: list-grown.
    """
    if grown.last is None:
        if grown.is_view:
            raise problem("list-grown", use="one of its items, a view of another tensor")
        row: Any = grown.stacks[-1][-1]
        last = row.clone()
        _entangle([last])
        if last.recorder.body is not None:
            return last  # nobody may use it outside
        grown.last = last
    return grown.last


def _pieces(grown: list[Any]) -> list[_Piece]:
    found: list[_Piece] = []
    for item in grown:
        if type(item) is Grown:
            found.append(_Piece(item.stacks, item.rounds))
        elif found and found[-1].rounds is None:
            found[-1] = _Piece((*found[-1].tensors, item))
        else:
            found.append(_Piece((item,)))
    return found


def _interleaved(stacks: Sequence[Any]) -> Any:
    """One slice for each item: the first of each, then the second of each."""
    if len(stacks) == 1:
        return stacks[0]
    rows: Any = torch.stack(tuple(stacks), 1).flatten(0, 1)
    _entangle([rows])
    return rows


def _entangle(tensors: Sequence[Any]) -> None:
    for each in tensors:
        each.recorder.doubts.entangle([each])


def _stack(pieces: list[_Piece], dim: int) -> Any:
    """`torch.stack` of a list."""
    made: list[Any] = []
    for piece in pieces:
        if piece.rounds is None:
            made.append(torch.stack(piece.tensors, dim))
        else:
            rows = _interleaved(piece.tensors)
            _check_dim(dim, rows.dim())
            made.append(rows.movedim(0, dim))
    return torch.cat(made, dim)


def _cat(pieces: list[_Piece], dim: int) -> Any:
    """`torch.cat` of a list."""
    made: list[Any] = []
    for piece in pieces:
        if piece.rounds is None:
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
_HARMLESS: Final = (is_instance, type_of, id)
_APPENDING: Final = (list.append, list.extend, operator.iadd)


def require_a_round(rounds: Int) -> None:
    """What only rounds make is used after the loop.

    Raises: loop-makes-nothing.
    """
    if known(ge(rounds, 1)) is not True:
        require(ge(rounds, 1), "loop-makes-nothing")


__all__ = ["Grown", "GrownLists", "require_a_round"]
