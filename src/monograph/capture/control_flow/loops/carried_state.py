"""Loop-carried state: found by running an iteration, not by reading the code.

An iteration is run by a copy of the frame. What differs after it from what it began with is
carried: it is recorded again with unknown values there, until nothing else differs.

Law: what is not carried is the same object in every iteration, so the recorded one is every one.
A list or dict that iterations write to stays that object, for all who hold it (decision 0087).
Numbers are carried as tensors of one element, beside which torch's operators differentiate. What
cannot be carried (an object made in every iteration) is refused with the variable's name.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import MISSING, stand_alike
from monograph.bytecode.analysis.control_flow_graph import live_unless_raised
from monograph.bytecode.branches.branch_targets import live_at
from monograph.capture.control_flow.branches.state_merge import (
    CONTAINERS,
    are_texts,
    carried,
    described,
    is_same,
    items_of,
    kind_of_number,
    one_of_texts,
)
from monograph.capture.queries.inference_tensors import note_inference
from monograph.capture.recording.autograd_views import is_made_leaf
from monograph.capture.recording.scalar_tensors import number_tensor
from monograph.capture.restart import Restart
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_targets import LoopTest
    from monograph.capture.recording.recorder import Recorder
    from monograph.diagnostics import MonographError

Path = tuple[int, ...]
"""Where a value stands: the place in the frame, then the places in containers."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    path: Path
    value: Any
    name: str


class CarriedState:
    """What is known so far of what a loop carries."""

    def __init__(
        self,
        recorder: Recorder,
        frame: InterpreterFrame,
        test: LoopTest,
        name: str,
        *,
        makes_last: bool,
    ) -> None:
        """The loop stands at its test, whose value is on top of the stack.

        `name` is how messages call the loop. With `makes_last`, variables that only iterations
        assign may be read after the loop.
        """
        self.recorder = recorder
        self.test = test
        self.name = name
        self.makes_last = makes_last
        self.n_stack = len(frame.stack) - 1
        self.values = [*frame.stack[:-1], *self._live(frame)]
        into_iteration = live_unless_raised(frame.code)[test.start]
        self.needed = {
            (self.n_stack + n,) for n in range(len(frame.slots)) if into_iteration >> n & 1
        }
        """The variables that an iteration may read before it assigns them."""
        self.read = live_at(frame, test.out) | into_iteration
        """A bit for each slot that somebody else reads than what comes after a suppressed error."""
        self.names = [""] * self.n_stack + list(frame.body.slots)
        self.leaves = {leaf.path: leaf for leaf in _leaves(self.values, self.names)}
        self.texts: dict[Path, Any] = {}
        """Texts that an iteration makes anew, which decide nothing."""
        self.carried: list[Path] = []
        self.same: dict[Path, Path] = {}
        """What is one tensor with something that is carried, before and after each iteration."""
        self.given: Sequence[Any] = ()
        """What stands for those in the last iteration that was recorded."""
        self.made: list[Any] = []
        """What the last iteration that was recorded ended with, of what is carried."""
        self.roots: list[list[Any]] = []
        """The tensors that each of those may be one with."""
        self.lasts: dict[Path, list[Any]] = {}
        """Last values that answer questions otherwise than the first, and what they may alias."""
        self.born: dict[Path, Any] = {}
        """Variables that an iteration assigns first, with what it made of them last."""
        self.begun = {id(each): (each, each.copy()) for each in _containers(self.values)}
        """The lists and dicts among the values, with copies of them from before the loop."""
        self.written: set[int] = set()
        """Those that iterations write to, by identity: they hold what the last one left."""

    def _live(self, frame: InterpreterFrame) -> list[Any]:
        live = self.test.live
        return [slot if live >> n & 1 else MISSING for n, slot in enumerate(frame.slots)]

    def begin(self) -> list[Any]:
        """The values that the loop begins with."""
        return [self._as_tensor(self.leaves[path].value) for path in self.carried]

    def begin_iteration(self, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Stack and slots of the frame in an iteration that is given these values."""
        self.given = given
        for path, each in zip(self.carried, given, strict=True):
            first = self.leaves[path].value
            if isinstance(first, torch.Tensor):
                ones = [self._as_tensor(first), *self.lasts.get(path, ())]
                self.recorder.aliases.may_alias([each, *ones])
                self.recorder.aliases.note_differences(ones[:2], each, "loop")
        return self.state(given)

    def state(self, news: Sequence[Any], born: Sequence[Any] = ()) -> tuple[list[Any], list[Any]]:
        """Stack and slots of the frame with these values carried, and these born."""
        known = {
            path: _as_it_was(self.leaves[path].value, value)
            for path, value in zip(self.carried, news, strict=True)
        }
        if born:
            known |= {
                path: _as_it_was(last, value)
                for (path, last), value in zip(self.born.items(), born, strict=True)
            }
        known |= self.texts | {path: known[first] for path, first in self.same.items()}
        values = [
            rebuilt(value, (n,), known, self._refilled) for n, value in enumerate(self.values)
        ]
        return values[: self.n_stack], values[self.n_stack :]

    def _refilled(self, container: Any, now: Any) -> bool:
        """Let a container that iterations write to hold what this one does, for all who hold it."""
        if id(container) in self.written:
            self.recorder.scopes.tell(container)
            refill(container, now)
        return id(container) in self.written

    def put_back(self) -> None:
        """Let containers that iterations write to hold what they held before the loop."""
        for each in self.written:
            refill(*self.begun[each])

    def _note_written(self, values: Sequence[Any]) -> None:
        """Find the containers that an iteration wrote to, which ended with these values.

        Raises: loop-carry-changes (it is another object, too, by the same name).
        """
        for n, (before, value) in enumerate(zip(self.values, values, strict=True)):
            for one, was, other in self._side_by_side(before, value):
                now = [*items_of(one)]
                is_written = len(now) == len(was) and not all(map(_stays, was, now))
                if one is other and is_written:
                    self.written.add(id(one))
                elif one is not other and (is_written or id(one) in self.written):
                    text = "a list or dict that is written to"
                    raise self._changed(self.names[n], "another object", text)

    def _side_by_side(self, before: Any, after: Any) -> Iterator[tuple[Any, list[Any], Any]]:
        """The lists and dicts in a value, what they held, and what stands in their place after."""
        if type(before) not in CONTAINERS:
            return
        was = [*items_of(self.begun.get(id(before), (before, before))[1])]
        if type(before) is not tuple:
            yield before, was, after
        others = items_of(after) if type(after) is type(before) else ()
        for one, other in zip(was, others, strict=False):
            yield from self._side_by_side(one, other)

    def ended(self, frame: InterpreterFrame) -> tuple[list[Any], list[Any]]:
        """What an iteration that ended there carries into the next, and what it gave birth to.

        Raises: Restart, loop-carry-changes.
        """
        values = [*frame.stack, *self._live(frame)]
        self._note_written(values)
        for n, (before, value) in enumerate(zip(self.values, values, strict=True)):
            slot = n - self.n_stack  # on the stack: what an inlined comprehension put aside
            is_last = self.makes_last and _is_carriable(value)
            if slot >= 0 and before is MISSING and not is_last and not self.read >> slot & 1:
                values[n] = MISSING
        ended = {leaf.path: leaf for leaf in _leaves(values, self.names)}
        parted = [path for path, first in self.same.items() if not _is_one(ended, path, first)]
        if parted:
            self.carried += parted
            self.same = {path: self.same[path] for path in self.same if path not in parted}
            raise Restart("carry")
        self._find_more(ended)
        self.made = [self._as_tensor(ended[path].value) for path in self.carried]
        self.put_back()
        return self.made, [self._as_tensor(ended[path].value) for path in self.born]

    def _as_tensor(self, value: Any) -> Any:
        """A value as loops carry it: a tensor of the module, too, is one of this capture."""
        is_int = kind_of_number(value) is int
        value = number_tensor(value, torch.int64) if is_int else carried(value)
        return self.recorder.abstract(value) if isinstance(value, torch.Tensor) else value

    def note_shared(self, others: Sequence[Any] = ()) -> list[list[Any]]:
        """Note what may be one with what is carried; returns the same of other results."""
        region = self.recorder.region
        assert region is not None, "an iteration is recorded as a region"
        found = region.shared([*self.made, *others])
        self.roots = found[: len(self.made)]
        known = len(self.lasts)
        for n, (given, last) in enumerate(zip(self.given, self.made, strict=True)):
            is_cut = given.tensor_type.requires_grad and not last.tensor_type.requires_grad
            is_part = last.tensor_type.offset != given.tensor_type.offset
            if self.roots[n] or is_cut or is_part or is_made_leaf(last.node):
                self.lasts[self.carried[n]] = [last, *self.roots[n]]
        if len(self.lasts) > known:
            raise Restart("carry")
        return found[len(self.made) :]

    def note_aliases(self, begun: Sequence[Any], ended: Sequence[Any], values: list[Any]) -> None:
        """What comes out is what went in, where no iteration comes; else what an iteration made."""
        aliases = self.recorder.aliases
        pairs = zip(begun, self.given, self.made, ended, self.roots, strict=True)
        for first, given, last, result, roots in pairs:
            if isinstance(first, AbstractTensor):
                aliases.may_alias([result, first, *roots])
                aliases.may_alias([given, first, result])
                if result.tensor_type.strides is None and first.tensor_type.strides is not None:
                    aliases.copied(result, first.storage_root, "loop")
                    self.recorder.layout_asked(first, "strides")
                aliases.note_differences((first, last), result, "loop")
                note_inference((first, last), result)
        for before, after in zip(self.values, values, strict=True):
            aliases.may_alias(_made_anew(before, after))

    def _find_more(self, ended: dict[Path, _Leaf]) -> None:
        """Carry what differs and was not known to."""
        if ended.keys() != self.leaves.keys():
            different = next(iter(ended.keys() ^ self.leaves.keys()))
            leaf = ended.get(different) or self.leaves[different]
            raise self._changed(leaf.name, "another structure", "a structure")
        more = [
            path
            for path, leaf in self.leaves.items()
            if path not in self.carried
            and path not in self.same
            and not _stays(leaf.value, ended[path].value)
        ]
        texts = [path for path in more if are_texts(self.leaves[path].value, ended[path].value)]
        if not self.texts.keys() >= set(texts):
            for path in texts:
                self.texts[path] = one_of_texts(self.leaves[path].value, ended[path].value)
            raise Restart("carry")
        fresh: list[Path] = []
        for path in more:
            if path in texts:
                continue
            last = ended[path].value
            is_born = self.leaves[path].value is MISSING and path not in self.needed
            if self.makes_last and is_born and _is_carriable(last):
                self.born[path] = last
            else:
                self._require_carriable(self.leaves[path], ended[path])
                fresh.append(path)
        if fresh:
            for path in fresh:
                ones = [each for each in self.carried if _is_one(self.leaves, path, each)]
                if ones and _is_one(ended, path, ones[0]):
                    self.same[path] = ones[0]
                else:
                    self.carried.append(path)
            self.born.clear()
            raise Restart("carry")

    def _require_carriable(self, before: _Leaf, after: _Leaf) -> None:
        """Raises: loop-carry-changes."""
        one, other = before.value, after.value
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            return
        if kind_of_number(one) is not None and kind_of_number(one) is kind_of_number(other):
            return
        raise self._changed(before.name, described(other), described(one))

    def _changed(self, name: str, after: str, before: str) -> MonographError:
        return problem(
            "loop-carry-changes",
            operator=self.name,
            what="kind",
            result=f"`{name}`",
            before=before,
            after=after,
        )


def _is_one(leaves: dict[Path, _Leaf], path: Path, other: Path) -> bool:
    """Whether one tensor stands in both places."""
    value = leaves[path].value if path in leaves else None
    return isinstance(value, torch.Tensor) and other in leaves and value is leaves[other].value


def _is_carriable(value: Any) -> bool:
    return issubclass(type(value), torch.Tensor) or kind_of_number(value) is not None


def _leaves(values: Sequence[Any], names: Sequence[str]) -> Iterator[_Leaf]:
    for n, (value, name) in enumerate(zip(values, names, strict=True)):
        yield from leaves_in(value, (n,), name)


def leaves_in(value: Any, path: Path, name: str = "") -> Iterator[_Leaf]:
    """What a value holds that is no container, and of what form containers are."""
    if type(value) not in CONTAINERS:
        yield _Leaf(path, value, name)
        return
    yield _Leaf((*path, -1), _shape_of(value), name)
    for n, item in enumerate(items_of(value)):
        yield from leaves_in(item, (*path, n), f"{name}[...]")


def _shape_of(container: Any) -> Any:
    """What must stay: the kind and the length of a container, the keys of a dict."""
    keys = ",".join(map(repr, container)) if isinstance(container, dict) else len(container)
    return f"{type(container).__name__} {keys}"


def rebuilt(
    value: Any,
    path: Path,
    known: dict[Path, Any],
    refilled: Callable[[Any, Any], bool] = lambda *_: False,
) -> Any:
    """The value with what is carried in its place; the same object where nothing in it is.

    So is a container that says to be `refilled` from one with that.
    """
    if path in known:
        return known[path]
    if type(value) not in CONTAINERS:
        return value
    items = [rebuilt(item, (*path, n), known, refilled) for n, item in enumerate(items_of(value))]
    if all(map(operator.is_, items, items_of(value))):
        return value
    made = dict(zip(value, items, strict=True)) if type(value) is dict else type(value)(items)
    return value if refilled(value, made) else made


def _containers(values: Iterable[Any]) -> Iterator[Any]:
    """The lists and dicts among values, and in these."""
    for value in values:
        if type(value) in CONTAINERS:
            if type(value) is not tuple:
                yield value
            yield from _containers(items_of(value))


def refill(container: Any, now: Any) -> None:
    """Let a list, set or dict hold what another one does."""
    container.clear()
    (container.extend if type(container) is list else container.update)(now)


def _made_anew(before: Any, after: Any) -> Iterator[Any]:
    """The containers that are not what they were, with those that they were."""
    if before is not after and type(before) in CONTAINERS:
        yield before
        yield after
        for one, other in zip(items_of(before), items_of(after), strict=True):
            yield from _made_anew(one, other)


def _stays(before: Any, after: Any) -> bool:
    return stand_alike(before, after) or is_same(before, after)


def _as_it_was(before: Any, now: Any) -> Any:
    """What is carried, as the kind of value that it stands for."""
    if isinstance(before, torch.Tensor) or not isinstance(now, torch.Tensor):
        return now
    return now.item()


__all__ = ["CarriedState", "Path", "leaves_in", "rebuilt", "refill"]
