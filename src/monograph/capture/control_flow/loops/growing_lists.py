"""Growing lists: a list in an iteration that appends to it, where the iterations before did.

While the iteration is recorded, one item (`Growing`) stands in the list for all that they put
there. What of it the iteration asks for is carried from then on: how many there are is the number
of the iteration, the last is a tensor of its own, and all of them fill one of the final length.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor_type import TensorType
from monograph.bytecode import ours
from monograph.capture.control_flow.loops.list_accumulation import (
    Accumulated,
    alias,
    are_alike,
    last_of,
)
from monograph.capture.control_flow.region_effects import added
from monograph.capture.recording.scalar_tensors import filler
from monograph.capture.restart import Restart
from monograph.diagnostics import problem
from monograph.integers import ge, known, symbols

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from monograph.abstract.tensor import AbstractTensor
    from monograph.capture.control_flow.region import Region
    from monograph.capture.recording.recorder import Recorder
    from monograph.integers import Int

Asked = Literal["count", "last", "rows"]
_SCATTER: Final = torch.ops.aten.select_scatter.default


class Growth:
    """What is known of a list that grows, from one recording of an iteration to the next."""

    def __init__(self, loop: Any, owner: list[Any], news: Sequence[Any]) -> None:
        """`loop` is what records again, if the iteration asks for more; `news` what it appends."""
        self.loop = loop
        self.owner = owner
        self.asked: set[Asked] = set()
        self.types: list[TensorType] = [each.recorder.abstract(each).tensor_type for each in news]
        """Of the items of one iteration."""
        self.at_front = False
        self.given: list[AbstractTensor] = []
        """What is carried of it, in the iteration that is recorded."""
        self.index: Any = None

    def begin(self, count: Int) -> list[Any]:
        """What the loop begins with of what is carried."""
        begun: list[Any] = []
        if "last" in self.asked:
            begun.append(self._first_last())
        if "rows" in self.asked:
            size = count + 1  # a loop without an iteration tries one on zeros
            begun += [filler(TensorType((size, *t.shape), t.dtype, t.device)) for t in self.types]
        return begun

    def _first_last(self) -> Any:
        if not self.owner:
            return filler(self.types[-1])  # nobody reads it: there is no item
        last = self.owner[-1]
        return last_of(last) if isinstance(last, Accumulated) else last

    def ended(self, news: Sequence[Any], region: Region) -> list[Any]:
        """What the next iteration is given, after this one appended `news`. Raises: Restart."""
        types = [each.recorder.abstract(each).tensor_type for each in news]
        same = len(types) == len(self.types) and all(map(are_alike, types, self.types))
        self.types = types
        if not self.asked:
            return []
        if not same:
            raise Restart("carry")
        if any(not symbols(size) <= region.before for t in types for size in t.shape):
            raise problem("list-grown", use="the loop in which it grows")
        ended = [news[-1]] if "last" in self.asked else []
        if "rows" in self.asked:
            buffers = self.given[len(ended) :]
            ended += [
                region.recorder.call(_SCATTER, (buffer, new, 0, self.index), {})
                for buffer, new in zip(buffers, news, strict=True)
            ]
        return ended

    def require_an_iteration(self) -> None:
        """There is one before this one. Raises: Restart, list-grown."""
        if self.index is None:
            self.ask("count")
        if known(ge(to_python(self.index), 1)) is not True:
            raise problem("list-grown", use="the loop in which it grows")

    def ask(self, what: Asked) -> None:
        """The iteration needs it. Raises: Restart, list-grown."""
        is_plain = all(t.strides is None for t in self.types)
        if what != "count" and (self.at_front or not is_plain):
            raise problem("list-grown", use="the loop in which it grows")
        if what not in self.asked:
            self.asked.add(what)
            raise Restart("carry", self.loop)


@ours
class Growing(Accumulated):
    """What the iterations before put into a list, in the one that is recorded."""

    __slots__ = ("growth",)

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self.owners = ()
        self.order = None

    @property
    def count(self) -> Int:  # pyright: ignore[reportIncompatibleVariableOverride] - nobody sets it
        """How many iterations came before."""
        if self.growth.index is None:
            self.growth.ask("count")
        return to_python(self.growth.index)

    @property
    def width(self) -> int:
        """How many items each of them put there."""
        return len(self.growth.types)

    @property
    def stacks(self) -> tuple[Any, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What they put there: as many tensors as each of them appended items."""
        growth = self.growth
        count = to_sym(self.count)
        growth.ask("rows")
        made = [each.narrow(0, 0, count) for each in growth.given[-len(growth.types) :]]
        alias(made)
        return tuple(made)

    def require(self) -> None:
        """What is there before the loop is the last in its first iteration. Raises: list-grown."""
        if not self.growth.owner[:-1]:
            self.growth.require_an_iteration()

    @property
    def last(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The last of them."""
        self.growth.ask("last")
        last = self.growth.given[0]
        alias([last])
        return last


@contextmanager
def growing(
    recorder: Recorder, growths: Sequence[Growth], given: Iterator[Any], index: Any
) -> Generator[list[tuple[Growth, list[Any]]]]:
    """While an iteration is recorded, let something stand for what those before put into lists.

    Gives what this one put into which, once it has ended; the lists are then as before.
    """
    known_lists = recorder.accumulated
    before = {id(each.owner): known_lists.get(id(each.owner)) for each in growths}
    found: list[tuple[Growth, list[Any]]] = []
    marks: list[tuple[Growth, list[Any]]] = []
    for each in growths:
        n_given = len(each.types) * ("rows" in each.asked) + ("last" in each.asked)
        each.given, each.index = [next(given) for _ in range(n_given)], index
        recorder.scopes.tell(each.owner)
        marks.append((each, [*each.owner, Growing(each)]))
        each.owner.append(marks[-1][1][-1])
        known_lists[id(each.owner)] = each.owner
    try:
        yield found
        found += [(each, _news(each, was)) for each, was in marks]
    finally:
        for each, was in marks:
            each.owner[:] = was[:-1]
            del known_lists[id(each.owner)]
        known_lists.update({key: owner for key, owner in before.items() if owner is not None})


def _news(growth: Growth, was: list[Any]) -> list[Any]:
    """What an iteration put into a list, at its front or its end. Raises: list-grown."""
    news = added(growth.owner, was)
    if news is None:
        raise problem("list-grown", use="the loop in which it grows")
    growth.at_front = growth.owner[0] is not was[0]
    return news


__all__ = ["Growth", "growing"]
