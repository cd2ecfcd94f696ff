"""Symbolic sequences: what a `for` goes over a symbolic number of times, as data.

Ranges, rows of tensors, and pairs of these. `slices` are the tensors that a `scan` goes over, one
slice of each in an iteration, and `at` makes of these what the loop's variable is then. `unrolled`
are the values one by one, as plain Python has them, which fixes their number.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import SymbolicIterator
from monograph.bytecode.evaluation.calling import interpret_always
from monograph.capture.recording.element_values.value_ranges import state_bounds
from monograph.capture.recording.scalar_tensors import own
from monograph.capture.recording.symbolic_ranges import SymbolicRange
from monograph.integers import Expr, decide, eq, ge, known, lt, simplify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monograph.bytecode import Interpreter
    from monograph.capture.recording.recorder import Recorder
    from monograph.integers import Int

_arange = torch.ops.aten.arange.start_step


class SymbolicSequence(Protocol):
    """Values whose number is symbolic."""

    @property
    def count(self) -> Int:
        """How many there are."""
        ...

    def unrolled(self) -> Iterator[Any]:
        """The values one by one, which fixes how many there are."""
        ...

    def slices(self, recorder: Recorder) -> list[AbstractTensor]:
        """Tensors with as many slices along their first dimension."""
        ...

    def at(self, recorder: Recorder, slices: Iterator[AbstractTensor]) -> Any:
        """The value of one iteration, of its slices."""
        ...

    def backwards(self) -> SymbolicSequence | None:
        """The same values in the opposite order."""
        ...

    def first(self) -> Any:
        """The first value."""
        ...

    def rest(self) -> SymbolicSequence:
        """All other values."""
        ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a range."""

    start: Int
    step: int
    count: Int

    def unrolled(self) -> Iterator[Any]:
        """See `SymbolicSequence`."""
        numbers = range(int(to_sym(self.count)))
        return (to_sym(self.start + self.step * number) for number in numbers)

    def slices(self, recorder: Recorder) -> list[AbstractTensor]:
        """See `SymbolicSequence`."""
        stop = self.start + self.step * self.count
        bounds = (to_sym(self.start), to_sym(stop), self.step)
        made = recorder.call(_arange, bounds, {"device": torch.device("cpu")})
        own(made)
        return [made]

    def at(self, recorder: Recorder, slices: Iterator[AbstractTensor]) -> Any:
        """See `SymbolicSequence`."""
        number = recorder.item(next(slices))
        value = to_python(number)
        last = self.start + self.step * (self.count - 1)
        least, most = (self.start, last) if self.step > 0 else (last, self.start)
        recorder.facts.assume(ge(value, least))
        recorder.facts.assume(lt(value, most + 1))
        return number

    def backwards(self) -> Numbers:
        """See `SymbolicSequence`."""
        return Numbers(self.start + self.step * (self.count - 1), -self.step, self.count)

    def first(self) -> Any:
        """See `SymbolicSequence`."""
        return to_sym(self.start)

    def rest(self) -> Numbers:
        """See `SymbolicSequence`."""
        return Numbers(self.start + self.step, self.step, self.count - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A tensor's slices along its first dimension."""

    tensor: AbstractTensor

    @property
    def count(self) -> Int:
        """See `SymbolicSequence`."""
        return self.tensor.tensor_type.shape[0]

    def unrolled(self) -> Iterator[Any]:
        """See `SymbolicSequence`."""
        return iter(self.tensor)

    def slices(self, recorder: Recorder) -> list[AbstractTensor]:
        """See `SymbolicSequence`."""
        del recorder
        return [self.tensor]

    def at(self, recorder: Recorder, slices: Iterator[AbstractTensor]) -> Any:
        """See `SymbolicSequence`."""
        del recorder
        return next(slices)

    def backwards(self) -> None:
        """Python knows no `reversed` of tensors but torch's own, which flips them."""
        return

    def first(self) -> Any:
        """See `SymbolicSequence`."""
        return self.tensor[0]

    def rest(self) -> Rows:
        """See `SymbolicSequence`."""
        return Rows(self.tensor[1:])  # pyright: ignore[reportArgumentType] - an abstract tensor's is one


@dataclass(frozen=True, slots=True, eq=False)
class Elements(Rows):
    """What `tolist` makes of a tensor's slices: numbers, or lists of them."""

    def unrolled(self) -> Iterator[Any]:
        """See `SymbolicSequence`."""
        return (row.tolist() for row in self.tensor)

    def at(self, recorder: Recorder, slices: Iterator[AbstractTensor]) -> Any:
        """See `SymbolicSequence`."""
        row = next(slices)
        if row.tensor_type.rank:
            return row.tolist()
        number = recorder.item(row)
        value = to_python(number)
        if isinstance(value, Expr):
            state_bounds(recorder, self.tensor, value)
        return number

    def first(self) -> Any:
        """See `SymbolicSequence`."""
        return self.tensor[0].tolist()

    def rest(self) -> Elements:
        """See `SymbolicSequence`."""
        return Elements(self.tensor[1:])  # pyright: ignore[reportArgumentType] - an abstract tensor's is one


@dataclass(frozen=True, slots=True)
class Pairs:
    """What `zip` and `enumerate` make of others."""

    parts: tuple[SymbolicSequence, ...]

    @property
    def count(self) -> Int:
        """See `SymbolicSequence`."""
        return self.parts[0].count

    def unrolled(self) -> Iterator[Any]:
        """See `SymbolicSequence`."""
        return zip(*(part.unrolled() for part in self.parts), strict=True)

    def slices(self, recorder: Recorder) -> list[AbstractTensor]:
        """See `SymbolicSequence`."""
        return [each for part in self.parts for each in part.slices(recorder)]

    def at(self, recorder: Recorder, slices: Iterator[AbstractTensor]) -> Any:
        """See `SymbolicSequence`."""
        return tuple([part.at(recorder, slices) for part in self.parts])

    def backwards(self) -> None:
        """Neither can be reversed."""
        return

    def first(self) -> Any:
        """See `SymbolicSequence`."""
        return tuple([part.first() for part in self.parts])

    def rest(self) -> Pairs:
        """See `SymbolicSequence`."""
        return Pairs(tuple([part.rest() for part in self.parts]))


# --- what makes them ----------------------------------------------------------------------------


def source_of(value: Any) -> SymbolicSequence | None:
    """What a `for` over a value goes over, if its length is symbolic."""
    kind = type(value)
    if kind is SymbolicIterator and value.begun is None:
        return value.source
    if kind is SymbolicRange:
        return _numbers(value)
    if isinstance(value, AbstractTensor) and value.tensor_type.shape:
        rows = Rows(value)
        return rows if isinstance(rows.count, Expr) else None
    return None


def _numbers(numbers: SymbolicRange) -> Numbers | None:
    count, step = numbers.expression(), to_python(numbers.step)
    if isinstance(count, Expr) and type(step) is int:
        return Numbers(to_python(numbers.start), step, count)
    return None


def made(callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """What stands for `range`, `zip`, `enumerate`, `reversed` or `iter` of these arguments."""
    make = _MAKERS.get(id(callee))
    value = NotImplemented if make is None else make(*args, **kwargs)
    return None if value is NotImplemented else lambda *_, **__: value


def listed(interpreter: Interpreter, args: list[Any]) -> Callable[..., list[Any]] | None:
    """What stands for `list(x)` of a symbolic number of rows: a loop that appends each."""
    if len(args) != 1 or not isinstance(args[0], AbstractTensor) or source_of(args[0]) is None:
        return None
    return lambda rows: interpret_always(interpreter, _list_of, [rows])


def _list_of(rows: Any) -> list[Any]:
    found: list[Any] = []
    for row in rows:  # a comprehension would be a function of its own, which is not interpreted
        found.append(row)  # noqa: PERF402
    return found


def rows_of(callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """What stands for `unbind`, `tolist`, or `split` into slices of one that are gone over."""
    name, owner = getattr(callee, "__name__", ""), getattr(callee, "__self__", None)
    if name not in _ROWS:
        return None
    if isinstance(owner, AbstractTensor):
        args = [owner, *args]
    elif callee not in (getattr(torch, name, None), getattr(torch.Tensor, name)):
        return None
    found = _ROWS[name](*args, **kwargs)
    source = found if isinstance(found, Elements) else None if found is None else source_of(found)
    return None if source is None else lambda *_, **__: SymbolicIterator(source)


def _unbound(input: Any, dim: Any = 0) -> Any:  # noqa: A002 - torch's signature
    return input.movedim(dim, 0) if _varies(input, dim) else None


def _split(
    tensor: Any,
    split_size: Any = None,
    dim: Any = 0,
    *,
    split_size_or_sections: Any = None,
) -> Any:
    size = split_size_or_sections if split_size is None else split_size
    if type(size) is not int or size != 1 or not _varies(tensor, dim):
        return None
    if not decide(ge(tensor.tensor_type.shape[dim], 1)):  # of nothing, one slice of nothing
        return None
    return tensor.unsqueeze(dim + 1 if dim >= 0 else dim).movedim(dim if dim >= 0 else dim - 1, 0)


def _elements(tensor: Any) -> Elements | None:
    if not _varies(tensor, 0) or not all(type(n) is int for n in tensor.tensor_type.shape[1:]):
        return None
    return Elements(tensor)


def _varies(tensor: Any, dim: Any) -> bool:
    """Whether there is a symbolic number of slices along a dimension."""
    if not isinstance(tensor, AbstractTensor) or type(dim) is not int:
        return False
    shape = tensor.tensor_type.shape
    return -len(shape) <= dim < len(shape) and isinstance(simplify(shape[dim]), Expr)


_ROWS: dict[str, Callable[..., Any]] = {"split": _split, "tolist": _elements, "unbind": _unbound}


def _range(*args: Any) -> Any:
    """`range(n)`."""
    if not any(isinstance(to_python(arg), Expr) for arg in args):
        return NotImplemented
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    if not all(isinstance(arg, int | torch.SymInt) for arg in (start, stop, step)):
        return NotImplemented
    pace = to_python(step)
    if not (decide(ge(pace, 1)) if isinstance(pace, Expr) else pace):
        return NotImplemented
    return SymbolicRange(start, stop, to_sym(pace))


def _zip(*args: Any, strict: bool = False) -> Any:
    """`zip(a, b)` of as many values."""
    del strict
    parts = [source_of(arg) for arg in args]
    counts = {part.count if part is not None else None for part in parts}
    found = tuple(part for part in parts if part is not None)
    if len(found) < len(parts) or not found:
        return NotImplemented
    same = all(known(eq(found[0].count, each)) is True for each in counts if each is not None)
    return SymbolicIterator(Pairs(found)) if same else NotImplemented


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    source, first = source_of(iterable), to_python(start)
    if source is None or not isinstance(first, int | Expr):
        return NotImplemented
    return SymbolicIterator(Pairs((Numbers(first, 1, source.count), source)))


def _reversed(sequence: Any) -> Any:
    source = None if isinstance(sequence, SymbolicIterator) else source_of(sequence)
    backwards = None if source is None else source.backwards()
    return NotImplemented if backwards is None else SymbolicIterator(backwards)


def _iter(*args: Any) -> Any:
    source = source_of(args[0]) if len(args) == 1 else None
    if source is None:
        return NotImplemented
    return args[0] if type(args[0]) is SymbolicIterator else SymbolicIterator(source)


_MAKERS: dict[int, Callable[..., Any]] = {
    id(builtins.range): _range,
    id(builtins.zip): _zip,
    id(builtins.enumerate): _enumerate,
    id(builtins.reversed): _reversed,
    id(builtins.iter): _iter,
}


__all__ = ["SymbolicSequence", "made", "rows_of", "source_of"]
