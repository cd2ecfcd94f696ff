"""Lists of an arithmetic progression: `list(range(n))` of a symbolic number, its slices and sums.

Such a list holds one item for all numbers of a range, as a list that grew in a loop does for all
tensors (`list_accumulation`): its length and its items are sizes. What asks for more than that is
refused, and then the number is fixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.abstract.symbols import to_python, to_sym
from monograph.bytecode import SymbolicIterator, ours
from monograph.capture.control_flow.loops.list_accumulation import Accumulated, item_at, rows
from monograph.capture.control_flow.loops.symbolic_sequences import Numbers, source_of
from monograph.capture.recording.symbolic_ranges import SymbolicRange
from monograph.diagnostics import problem
from monograph.integers import ceildiv, ge, known, maximum, relation_text, require

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.capture.recording.recorder import Recorder


@ours
class Progression(Accumulated):
    """The numbers of a range, in a list."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Numbers) -> None:
        super().__init__(numbers.count, ())
        self.numbers = numbers

    @property
    def width(self) -> int:
        """Each is one item."""
        return 1

    def at(self, index: Any) -> Any:
        """One of the numbers, by its place, which may be told from the end. Raises: check-fails."""
        is_last = index < 0
        there = ge(self.count, -index if is_last else index + 1)
        if known(there) is not True:
            require(there, "check-fails", condition=relation_text(there))
        place = self.count + index if is_last else index
        return to_sym(self.numbers.start + self.numbers.step * place)

    def part(self, begin: int, end: int, step: int) -> Progression:
        """Those after the first `begin`, without the last `end`, every so many of them."""
        left = self.count - begin - end
        count = ceildiv(left if known(ge(left, 0)) is True else maximum(left, 0), step)
        start = self.numbers.start + self.numbers.step * begin
        return Progression(Numbers(start, self.numbers.step * step, count))


def listed(recorder: Recorder, numbers: Any) -> Callable[..., list[Any]] | None:
    """What stands for `list` of a symbolic range."""
    source = source_of(numbers) if type(numbers) is SymbolicRange else None
    if not isinstance(source, Numbers) or recorder.options.lists_made:
        return None
    recorder.options.lists.append("list")
    made: list[Any] = [Progression(source)]
    recorder.accumulated[id(made)] = made
    return lambda _: made


def iterated(items: list[Any]) -> Any:
    """The rounds of a `for` over a list that grew: over its numbers, or its tensors' rows.

    Raises: list-grown.
    """
    if len(items) == 1 and type(items[0]) is Progression:
        return SymbolicIterator(items[0].numbers)
    value = rows(items)
    if value is None:
        raise problem("list-grown", use="a loop over it")
    source = source_of(value)
    return NotImplemented if source is None else SymbolicIterator(source)


def item_of(recorder: Recorder, items: list[Any], key: Any) -> Any:
    """`items[key]` of a list that grew in a loop, or ends with the numbers of a range.

    Raises: list-grown, check-fails (there is no such item).
    """
    run, n_plain = items[-1], len(items) - 1
    if not any(isinstance(each, Progression) for each in items):
        return item_at(items, key)
    if type(run) is Progression and not any(isinstance(each, Accumulated) for each in items[:-1]):
        if type(key) is slice:
            bounds = (key.start or 0, key.stop or 0, key.step or 1)
            is_known = all(type(each) is int for each in bounds) and key.stop != 0
            begin, end, step = bounds
            if is_known and begin >= n_plain and end <= 0 < step:
                made = type(items)([run.part(begin - n_plain, -end, step)])
                recorder.accumulated[id(made)] = made
                return made
        elif type(index := to_python(key)) is int:
            if 0 <= index < n_plain:
                return items[index]
            return run.at(index if index < 0 else index - n_plain)
    raise problem("list-grown", use="one of its items")


__all__ = ["Progression", "item_of", "iterated", "listed"]
