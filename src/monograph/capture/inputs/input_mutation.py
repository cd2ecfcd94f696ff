"""Input mutation: which of the caller's own objects forward changes, and programs with it.

Law: after forward returned, every object that the arguments lead to is as it was, or `changes` says
what it holds now, or the export is refused.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.flags import ATTRIBUTES, has_attributes
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.inputs.example_inputs import CONSTANTS, flattened
from monograph.capture.inputs.mutation_spec import (
    Change,
    Changes,
    FromInput,
    FromObject,
    FromOutput,
    GivenObject,
    MadeContainer,
    PlainValue,
    Way,
    attributes_of,
    entries_of,
    kind_of,
    objects_among,
    steps_text,
)
from monograph.capture.inputs.outputs import plain_key, with_plain_keys
from monograph.diagnostics import problem
from monograph.host.objects import is_plain
from monograph.host.trees import children_of, flatten, is_container

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from monograph.capture.inputs.example_inputs import Inputs
    from monograph.capture.inputs.mutation_spec import Source
    from monograph.diagnostics import Frame, MonographError

_NUMBERS: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
_ATOMS: Final = frozenset({int, float, bool, str, bytes, type(None)})
_IN_ORDER: Final = (list, deque, dict)
_NOT_THERE: Final = object()
GIVEN: Final = "given"
"""Stands for all of an object beside its identity, where lines are noted."""


@dataclass(slots=True)
class _Known:
    """One object, and what it held before the run."""

    way: Way
    owner: Any
    entries: dict[Any, Any] | None
    attributes: dict[str, Any]
    kind: type
    visits: int = 1

    def is_changed(self) -> bool:
        """Whether it holds other objects now, or in another order, or is of another class."""
        if type(self.owner) is not self.kind:
            return True
        entries = entries_of(self.owner)
        if entries is not None and (
            list(entries) != list(self.entries or {}) or _differing(self.entries or {}, entries)
        ):
            return True
        return bool(_differing(self.attributes, attributes_of(self.owner)))


@dataclass(slots=True)
class Aftermath:
    """What a run did to what it was given: as data, and the values that must leave the graph."""

    changes: Changes | None = None
    values: list[Any] = field(default_factory=list[Any])
    lost: tuple[Any, ...] = ()
    """The objects whose change no program can make."""


class _LostError(Exception):
    """A change cannot be made by a program."""


class Given:
    """The objects that one run of user code is given, as they were."""

    __slots__ = ("_inputs", "_known", "_leaves", "_names")

    def __init__(
        self, inputs: Inputs, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """`leaves` are those of `(args, kwargs)`, as user code gets them."""
        names = list(inputs.arguments.by_name)
        positional = names[: len(names) - len(kwargs)]
        last = len(positional) - 1
        self._names: dict[int | str, str] = {i: positional[min(i, last)] for i in range(len(args))}
        self._leaves, self._inputs = leaves, inputs.leaves
        self._known: dict[int, _Known] = {}
        for way, owner in objects_among(args, kwargs):
            if id(owner) in self._known:
                self._known[id(owner)].visits += 1
            else:
                held = entries_of(owner), attributes_of(owner)
                self._known[id(owner)] = _Known(way, owner, *held, type(owner))

    def looks_after(self, owner: Any, aftermath: Aftermath) -> bool:
        """Whether an object is one of these, and what became of it is not lost."""
        return id(owner) in self._known and all(owner is not each for each in aftermath.lost)

    def aftermath(self, result: Any) -> Aftermath:
        """What became of the objects in a run that returned `result`."""
        given = [each for each in self._leaves if isinstance(each, AbstractTensor)]
        lost: list[Any] = [*filter(has_attributes, filter(ATTRIBUTES.__get__, given))]
        if not self._known:
            return Aftermath(lost=tuple(lost))
        changed = [known for known in self._known.values() if known.is_changed()]
        writer = _SpecWriter(self._known, self._leaves, flattened(result, {"output": result})[0])
        found: list[Change] = []
        for known in changed:
            try:
                found.append(_change(known, writer))
            except _LostError:
                lost.append(known.owner)
        returned = None if lost else writer.result(result)
        if lost or not (found or returned):
            return Aftermath(lost=tuple(lost))
        return Aftermath(Changes(writer.table(), tuple(found), returned), writer.values)

    def counted(self, aftermath: Aftermath, paths: AbstractSet[str]) -> frozenset[str]:
        """The paths of the ints, among those of inputs, in whose place there are others now."""
        found: set[str] = set()
        changes = Changes(()) if aftermath.changes is None else aftermath.changes
        for change in changes.changed:
            given: Any = changes.objects[change.number]
            owner = self._names.get(given.root, str(given.root)) + steps_text(given.steps)
            before = [(".{}", *pair) for pair in change.attributes_before]
            before += [("[{!r}]", *pair) for pair in change.entries_before or ()]
            now = [*change.attributes, *(change.entries or ())]
            for step, name, held in before:
                is_int = isinstance(held, PlainValue) and type(held.value) is int
                if is_int and (name, held) not in now:
                    found.add(owner + step.format(name))
        return frozenset(found & paths)

    def differences(self) -> dict[tuple[int, str], Callable[[], bool]]:
        """How to ask whether an object is changed, by what `lines` of a refusal go by."""
        tensors = {
            (id(each), GIVEN): partial(has_attributes, each)
            for each in self._leaves
            if isinstance(each, AbstractTensor)
        }
        return tensors | {(key, GIVEN): known.is_changed for key, known in self._known.items()}

    def refusal(
        self, owner: Any, lines: Mapping[tuple[int, str], tuple[Frame, ...]]
    ) -> MonographError:
        """The refusal of a run that changed this object."""
        at = lines.get((id(owner), GIVEN), ())
        if isinstance(owner, AbstractTensor):
            pairs = zip(self._inputs, self._leaves, strict=True)
            name = next(leaf.path for leaf, tensor in pairs if tensor is owner)
            return problem("write-outlives-call", at=at, kind="object", name=name)
        root, _ = self._known[id(owner)].way
        name = self._names.get(root, str(root))
        return problem("write-outlives-call", at=at, kind="argument", name=name)


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in _ATOMS and one == other)


def _differing(before: dict[Any, Any], now: dict[Any, Any]) -> list[Any]:
    """The keys under which there is something else than before, or under which there was nothing.

    Those under which there is nothing any more are among them.
    """
    return [
        key
        for key in {**before, **now}
        if not _same(before.get(key, _NOT_THERE), now.get(key, _NOT_THERE))
    ]


def _change(known: _Known, writer: _SpecWriter) -> Change:
    """What one object held, and what it holds.

    Raises: _LostError.
    """
    owner = known.owner
    if type(owner) is not known.kind:
        raise _LostError
    before, now = known.entries or {}, entries_of(owner) or {}
    has_other_entries = list(before) != list(now) or bool(_differing(before, now))
    if has_other_entries and not isinstance(owner, _IN_ORDER):
        raise _LostError
    attributes = attributes_of(owner)
    names = _differing(known.attributes, attributes)
    number = writer.number(owner)
    return Change(
        number,
        _pairs(before, writer.before) if has_other_entries else None,
        _pairs(now, writer.source) if has_other_entries else None,
        _pairs({n: known.attributes[n] for n in names if n in known.attributes}, writer.before),
        _pairs({n: attributes[n] for n in names if n in attributes}, writer.source),
        tuple(name for name in names if name not in attributes),
    )


def _pairs(held: dict[Any, Any], source: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple((plain_key(key), source(value)) for key, value in held.items())


class _SpecWriter:
    """Says where values come from, and numbers the objects that are spoken of."""

    def __init__(self, known: dict[int, _Known], leaves: list[Any], returned: list[Any]) -> None:
        self.values: list[Any] = []
        """What must leave the graph beside the result."""
        self._known = known
        self._inputs = {id(leaf): i for i, leaf in enumerate(leaves) if not _is_plain(leaf)}
        self._outputs = {id(leaf): i for i, leaf in reversed([*enumerate(returned)])}
        self._n_returned = len(returned)
        self._numbers: dict[int, int] = {}
        self._table: list[Any] = []
        self._kept: list[Any] = []  # what was numbered by identity stays alive

    def table(self) -> tuple[Any, ...]:
        """The objects by number."""
        return tuple(self._table)

    def number(self, owner: Any) -> int:
        """The number of an object that was given."""
        known = self._known[id(owner)]
        if id(owner) not in self._numbers:
            given = GivenObject(*known.way, kind_of(owner), known.visits)
            self._add(owner, given)
        return self._numbers[id(owner)]

    def _add(self, owner: Any, entry: Any) -> int:
        self._table.append(entry)
        self._kept.append(owner)
        self._numbers[id(owner)] = len(self._table) - 1
        return len(self._table) - 1

    def before(self, value: Any) -> Source | None:
        """What stands for a former value, where it can be told from others."""
        if id(value) in self._known:
            return FromObject(self.number(value))
        return PlainValue(value) if _is_plain(value) else None

    def source(self, value: Any) -> Source:
        """Where a value comes from; what the call made is put on the table.

        Raises: _LostError.
        """
        if isinstance(value, (torch.Tensor, *_NUMBERS)):
            return self._leaf(value)
        if id(value) in self._known:
            return FromObject(self.number(value))
        if id(value) in self._numbers:
            number = self._numbers[id(value)]
            if self._table[number] is None:  # it holds itself
                raise _LostError
            return FromObject(number)
        if _is_plain(value):
            return PlainValue(value)
        return self._made(value)

    def _leaf(self, value: Any) -> Source:
        if id(value) in self._inputs:
            return FromInput(self._inputs[id(value)])
        if id(value) not in self._outputs:
            self._outputs[id(value)] = self._n_returned + len(self.values)
            self.values.append(value)
        return FromOutput(self._outputs[id(value)])

    def _made(self, value: Any) -> Source:
        if not is_container(value) or any(child is value for _, child in children_of(value)):
            raise _LostError
        number = self._add(value, None)
        parts, structure = flatten(value, is_leaf=lambda each: each is not value)
        self._table[number] = MadeContainer(
            with_plain_keys(structure), tuple(map(self.source, parts))
        )
        return FromObject(number)

    def result(self, result: Any) -> Source | None:
        """Where the result comes from, if an object that was given, or put there, is in it."""
        known = {*self._known, *(id(each) for each in self._kept if not isinstance(each, tuple))}

        def is_known(value: Any) -> bool:
            return id(value) in known

        parts, structure = flatten(result, is_leaf=is_known)
        if not any(map(is_known, parts)):
            return None
        sources: list[Source] = []
        for part in parts:
            if is_known(part):
                given = id(part) in self._known
                number = self.number(part) if given else self._numbers[id(part)]
                sources.append(FromObject(number))
            else:
                sources.append(FromOutput(self._outputs[id(part)]))
        if is_known(result):
            return sources[0]
        return FromObject(
            self._add(result, MadeContainer(with_plain_keys(structure), tuple(sources)))
        )


def _is_plain(value: Any) -> bool:
    return isinstance(value, CONSTANTS) or is_plain(value)


def are_given(one: Any, other: Any) -> bool:
    """Whether two values are different inputs, which a caller may give as one tensor."""
    return one is not other and _is_given(one) and _is_given(other)


def _is_given(value: Any) -> bool:
    if not isinstance(value, AbstractTensor) or value.node is None:
        return False
    recorder: Any = value.recorder
    return value.node.op == "placeholder" and value.node in recorder.input_nodes


def same_number(left: Any, right: Any) -> Any:
    """`left is right` of numbers of the program; NotImplemented where neither is one.

    There is one True and one False, and one object for each small int. How many there are for any
    other number, nobody may know.

    Raises: outside-read.
    """
    one, other = (each if isinstance(each, _NUMBERS) else None for each in (left, right))
    if one is None and other is None:
        return NotImplemented
    kinds = {_kind_of(left), _kind_of(right)}
    if kinds == {bool} and (one is None or other is None):
        flag = left if one is None else right
        number = right if one is None else left
        return number if flag else torch.sym_not(number)
    if len(kinds) > 1:
        return False
    if any(type(each) is int and each in _SMALL_INTS for each in (left, right)):
        return left == right
    because = "whether two equal numbers are one object"
    raise problem("outside-read", what="is", because=because, instead="compare them by ==")


_SMALL_INTS: Final = range(-5, 257)
"""The ints that every version of CPython makes once, before anything runs."""


_STANDS_FOR: Final[dict[type, type]] = {
    torch.SymBool: bool,
    torch.SymInt: int,
    torch.SymFloat: float,
}


def _kind_of(value: Any) -> type:
    return _STANDS_FOR.get(type(value), type(value))


def identity_refusal(
    at: tuple[Frame, ...] | None = None, because: str = "whether two inputs are the same tensor"
) -> MonographError:
    """The refusal to say whether two tensors are one: that differs between calls."""
    return problem("outside-read", at=at, what="is", because=because)


__all__ = ["GIVEN", "Aftermath", "Given", "are_given", "identity_refusal", "same_number"]
