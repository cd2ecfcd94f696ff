"""Python's own `while` on a value inside a tensor, as one `while_loop`.

The interpreter stands at the test of a loop whose answer depends on data. One round is run by a
copy of the frame, from behind the test to the next test, as the step of a loop. What differs after
it from what it began with is *carried*: the step is recorded again with unknown values there, until
nothing else differs. The test's own answer is carried too, so it does not matter how the loop asks:
before a round, after it, or in the middle.

Law: what is not carried is the same object in every round, so the recorded step is every step.
Floats and truths are carried as tensors of one element. What cannot be carried (an object made in
every round, a list that grows) is refused with the variable's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import MISSING, stand_alike
from monograph.bytecode.forking import move, run_round
from monograph.capture.control_flow import while_loop
from monograph.capture.doubts import differences, shared
from monograph.capture.joining import carried, described, is_same, kind_of_number
from monograph.diagnostics import MonographError, problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monograph.bytecode import Frame
    from monograph.bytecode.forking import LoopTest
    from monograph.capture.recorder import Recorder

NAME: Final = "while"
"""How messages call the loop."""
_CONTAINERS: Final = (list, tuple, dict)

Path = tuple[int, ...]
"""Where a value stands: the place in the frame, then the places in containers."""


class _More(Exception):  # noqa: N818 - nothing is wrong: more is carried than was known
    """A round changed something that was not carried yet."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    path: Path
    value: Any
    name: str


def loop(recorder: Recorder, frame: Frame, value: Any, test: LoopTest) -> Any:
    """Record the loop, and put the frame behind it.

    Writes to what it began with, or to what it carried, are refused from then on: see `forking`.

    Raises: loop-carry-changes, branch-writes, branch-side-effect, and what a round refuses.
    """
    carrying = _Carrying(recorder, frame, test)
    first = as_truth(value)
    while True:
        begun = [first if test.stays_if else first.logical_not(), *carrying.begin()]
        try:
            ended = while_loop(
                recorder, lambda going, *_: going.clone(), carrying.step, begun, name=NAME
            )
        except _More:
            continue
        break
    stack, slots = carrying.state(ended[1:])
    carrying.note_doubts(begun[1:], ended[1:], [*stack, *slots])
    return move(frame, test.out, stack, slots)


def as_truth(value: Any) -> Any:
    """A condition as a tensor of one truth."""
    if isinstance(value, AbstractTensor):
        truth = value if value.dtype == torch.bool else value.ne(0)
        return truth.reshape(())
    return torch.scalar_tensor(value, dtype=torch.bool)


class _Carrying:
    """What is known so far of what a loop carries."""

    def __init__(self, recorder: Recorder, frame: Frame, test: LoopTest) -> None:
        self.recorder = recorder
        self.frame = frame
        self.test = test
        self.n_stack = len(frame.stack) - 1  # the test's value is on top
        slots = (slot if test.live >> n & 1 else MISSING for n, slot in enumerate(frame.slots))
        self.values = [*frame.stack[:-1], *slots]
        self.names = [""] * self.n_stack + list(frame.body.slots)
        self.leaves = {leaf.path: leaf for leaf in _leaves(self.values, self.names)}
        self.carried: list[Path] = []
        self.made: list[Any] = []
        """What the last round that was recorded ended with, of what is carried."""
        self.roots: list[list[Any]] = []
        """The tensors that each of those may be one with."""

    def begin(self) -> list[Any]:
        """The values that the loop begins with."""
        return [carried(self.leaves[path].value) for path in self.carried]

    def state(self, news: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Stack and slots of the frame with these values carried."""
        known = {
            path: _as_it_was(self.leaves[path].value, value)
            for path, value in zip(self.carried, news, strict=True)
        }
        values = [_rebuilt(value, (n,), known) for n, value in enumerate(self.values)]
        return values[: self.n_stack], values[self.n_stack :]

    def step(self, _going: Any, *given: Any) -> list[Any]:
        """Run one round; returns whether another comes, and what is carried into it.

        Raises: _More.
        """
        end = run_round(self.frame, self.test, *self.state(given))
        if end.kind == "raised":
            if isinstance(end.value, MonographError | RecursionError | MemoryError):
                raise end.value
            raise problem("loop-raises", error=end.value)
        if end.kind != "joined":
            raise problem("loop-leaves", how=end.kind)
        going = as_truth(end.frame.stack.pop())
        slots = (
            slot if self.test.live >> n & 1 else MISSING for n, slot in enumerate(end.frame.slots)
        )
        ended = {leaf.path: leaf for leaf in _leaves([*end.frame.stack, *slots], self.names)}
        self._find_more(ended)
        self.made = [carried(ended[path].value) for path in self.carried]
        assert self.recorder.body is not None, "a round is recorded as a body"
        self.roots = shared(self.recorder.doubts, self.recorder.body, self.made)
        return [going if self.test.stays_if else going.logical_not(), *self.made]

    def note_doubts(self, begun: Sequence[Any], ended: Sequence[Any], values: list[Any]) -> None:
        """What comes out is what went in, where no round comes; else what a round made."""
        doubts = self.recorder.doubts
        for first, last, result, roots in zip(begun, self.made, ended, self.roots, strict=True):
            if isinstance(first, AbstractTensor):
                doubts.entangle([first, result, *roots])
                for question in differences(doubts, (first, last), result.tensor_type):
                    doubts.differ(question, result.node)
        for before, after in zip(self.values, values, strict=True):
            doubts.entangle(_made_anew(before, after))

    def _find_more(self, ended: dict[Path, _Leaf]) -> None:
        """Carry what differs and was not known to."""
        if ended.keys() != self.leaves.keys():
            different = next(iter(ended.keys() ^ self.leaves.keys()))
            leaf = ended.get(different) or self.leaves[different]
            raise _changed(leaf.name, "another structure", "a structure")
        more = [
            path
            for path, leaf in self.leaves.items()
            if path not in self.carried and not _stays(leaf.value, ended[path].value)
        ]
        for path in more:
            _require_carriable(self.leaves[path], ended[path])
        if more:
            self.carried += more
            raise _More


def _leaves(values: Sequence[Any], names: Sequence[str]) -> Iterator[_Leaf]:
    for n, (value, name) in enumerate(zip(values, names, strict=True)):
        yield from _leaves_in(value, (n,), name)


def _leaves_in(value: Any, path: Path, name: str) -> Iterator[_Leaf]:
    if type(value) not in _CONTAINERS:
        yield _Leaf(path, value, name)
        return
    yield _Leaf((*path, -1), _shape_of(value), name)
    for n, item in enumerate(_items(value)):
        yield from _leaves_in(item, (*path, n), f"{name}[...]")


def _shape_of(container: Any) -> Any:
    """What must stay: the kind and the length of a container, the keys of a dict."""
    keys = ",".join(map(repr, container)) if isinstance(container, dict) else len(container)
    return f"{type(container).__name__} {keys}"


def _items(container: Any) -> Sequence[Any]:
    return list(container.values()) if isinstance(container, dict) else container


def _rebuilt(value: Any, path: Path, known: dict[Path, Any]) -> Any:
    """The value with what is carried in its place; the same object where nothing in it is."""
    if path in known:
        return known[path]
    if type(value) not in _CONTAINERS:
        return value
    items = [_rebuilt(item, (*path, n), known) for n, item in enumerate(_items(value))]
    if all(map(_is, items, _items(value))):
        return value
    return dict(zip(value, items, strict=True)) if isinstance(value, dict) else type(value)(items)


def _made_anew(before: Any, after: Any) -> Iterator[Any]:
    """The containers that are not what they were, with those that they were."""
    if before is not after and type(before) in _CONTAINERS:
        yield before
        yield after
        for one, other in zip(_items(before), _items(after), strict=True):
            yield from _made_anew(one, other)


def _is(one: Any, other: Any) -> bool:
    return one is other


def _stays(before: Any, after: Any) -> bool:
    return stand_alike(before, after) or is_same(before, after)


def _require_carriable(before: _Leaf, after: _Leaf) -> None:
    """Raises: loop-carry-changes."""
    one, other = before.value, after.value
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return
    if kind_of_number(one) is not None and kind_of_number(one) is kind_of_number(other):
        return
    raise _changed(before.name, described(other), described(one))


def _changed(name: str, after: str, before: str) -> MonographError:
    return problem(
        "loop-carry-changes",
        operator=NAME,
        what="kind",
        result=f"`{name}`",
        before=before,
        after=after,
    )


def _as_it_was(before: Any, now: Any) -> Any:
    """What is carried, as the kind of value that it stands for."""
    if isinstance(before, torch.Tensor) or kind_of_number(before) is int:
        return now
    return now.item()


__all__ = ["NAME", "as_truth", "loop"]
