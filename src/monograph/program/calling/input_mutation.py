"""Input mutation: write-back to the objects that callers pass in, as the original wrote.

Before the first operator runs the objects are found, and must hold what they held at the export;
after the last one they get what they hold then. Law: a call that is refused changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.capture.inputs.mutation_spec import (
    Change,
    Changes,
    FromInput,
    FromObject,
    FromOutput,
    GivenObject,
    attributes_of,
    entries_of,
    kind_of,
    objects_among,
    steps_text,
)
from monograph.diagnostics import Clause, problem
from monograph.host.objects import delete_attribute, may_stand_for, write_attribute
from monograph.host.trees import unflatten
from monograph.program.calling.checks import same_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monograph.capture.inputs.mutation_spec import Source
    from monograph.program.signature import CallNames


@dataclass(frozen=True, slots=True)
class InputObjects:
    """The leaves of one call, and the objects it was given, by their numbers."""

    leaves: Sequence[Any]
    objects: dict[int, Any]


class InputWriteBack:
    """Does in each call of a program what the changes say."""

    def __init__(self, changes: Changes, names: CallNames, out_spec: Any) -> None:
        self.changes = changes
        self.names = names
        self.out_spec = out_spec
        self.given = {
            number: each
            for number, each in enumerate(changes.objects)
            if isinstance(each, GivenObject)
        }

    # --- before the call ---------------------------------------------------------------------

    def find(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], leaves: Sequence[Any]
    ) -> InputObjects:
        """The objects of this call.

        Raises: contract-broken.
        """
        objects = {number: self._at(each, args, kwargs) for number, each in self.given.items()}
        if self.changes.changed:
            self._check_apart(objects, args, kwargs)
        for change in self.changes.changed:
            self._check_held(change, objects)
        return InputObjects(leaves, objects)

    def _at(self, given: GivenObject, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        found: Any = args[given.root] if isinstance(given.root, int) else kwargs[given.root]
        for how, key in given.steps:
            held = attributes_of(found) if how == "attribute" else entries_of(found) or {}
            if key not in held:
                raise self._refusal(given, given.kind, "nothing")
            found = held[key]
        if kind_of(found) != given.kind and not may_stand_for(found, given.kind):
            raise self._refusal(given, given.kind, kind_of(found))
        return found

    def _check_apart(
        self, objects: dict[int, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        """As many ways lead to each object that changes as led to it at the export."""
        visits: dict[int, int] = {}
        for _, each in objects_among(args, kwargs):
            visits[id(each)] = visits.get(id(each), 0) + 1
        for change in self.changes.changed:
            given = self.given[change.number]
            count = visits.get(id(objects[change.number]), 0)
            if count != given.visits:
                expected = "an object of its own" if given.visits == 1 else f"{given.visits} times"
                raise self._refusal(given, expected, f"one that is passed in {count} times")

    def _check_held(self, change: Change, objects: dict[int, Any]) -> None:
        given, owner = self.given[change.number], objects[change.number]
        if change.entries_before is not None:
            now = entries_of(owner) or {}
            if list(now) != [key for key, _ in change.entries_before]:
                raise self._refusal(given, f"{len(change.entries_before)} entries", f"{len(now)}")
            self._check_values(given, dict(change.entries_before), now, objects)
        if change.attributes_before or change.attributes or change.deleted:
            held = attributes_of(owner)
            names = [name for name, _ in (*change.attributes_before, *change.attributes)]
            now = {name: held[name] for name in names if name in held}
            before = dict(change.attributes_before)
            for name in now.keys() ^ before.keys():
                expected = f"{'no ' if name in now else 'an '}attribute {name}"
                raise self._refusal(given, expected, "another")
            self._check_values(given, before, now, objects)

    def _check_values(
        self,
        given: GivenObject,
        before: Mapping[Any, Source | None],
        now: Mapping[Any, Any],
        objects: dict[int, Any],
    ) -> None:
        for key, source in before.items():
            value = now[key]
            if source is None:
                continue
            if isinstance(source, FromObject):
                fits = value is objects[source.number]
                expected = "the object it held"
            else:
                expected = repr(getattr(source, "value", None))
                fits = same_value(getattr(source, "value", None), value)
            if not fits:
                got = "a tensor" if isinstance(value, torch.Tensor) else repr(value)
                raise self._refusal(given, f"{key!r} to be {expected}", got)

    def _refusal(self, given: GivenObject, expected: str, got: str) -> Exception:
        clause = Clause(way_text(given, self.names), expected, got)
        return problem("contract-broken", clauses=[clause])

    # --- after the call ----------------------------------------------------------------------

    def finish(self, found: InputObjects, outputs: Sequence[Any]) -> Any:
        """Give the objects what they hold after the call; returns its result."""
        values = _Values(self.changes, found, outputs)
        changed = [(found.objects[each.number], each) for each in self.changes.changed]
        held = [
            (
                owner,
                None if each.entries is None else values.pairs(each.entries),
                values.pairs(each.attributes),
            )
            for owner, each in changed
        ]
        for (owner, entries, attributes), (_, each) in zip(held, changed, strict=True):
            if entries is not None:
                _refill(owner, entries)
            for name in each.deleted:
                delete_attribute(owner, name)
            for name, value in attributes.items():
                write_attribute(owner, name, value)
        if self.changes.result is not None:
            return values.value(self.changes.result)
        leaves = list(outputs[: self.out_spec.num_leaves])
        return unflatten(leaves, self.out_spec)


class _Values:
    """What the sources of one call are."""

    def __init__(self, changes: Changes, found: InputObjects, outputs: Sequence[Any]) -> None:
        self.table = changes.objects
        self.leaves = found.leaves
        self.outputs = outputs
        self.objects = dict(found.objects)

    def pairs(self, sources: tuple[tuple[Any, Source], ...]) -> dict[Any, Any]:
        return {key: self.value(source) for key, source in sources}

    def value(self, source: Source) -> Any:
        if isinstance(source, FromOutput):
            return self.outputs[source.index]
        if isinstance(source, FromInput):
            return self.leaves[source.index]
        if isinstance(source, FromObject):
            if source.number not in self.objects:
                self.objects[source.number] = self._made(source.number)
            return self.objects[source.number]
        return source.value

    def _made(self, number: int) -> Any:
        entry: Any = self.table[number]
        return unflatten([self.value(part) for part in entry.parts], entry.structure)


def _refill(owner: Any, entries: Mapping[Any, Any]) -> None:
    """Give a container these entries, whatever its class makes of writing them."""
    if isinstance(owner, dict):
        kind: Any = OrderedDict if isinstance(owner, OrderedDict) else dict
        kind.clear(owner)
        for key, value in entries.items():
            kind.__setitem__(owner, key, value)
        return
    kind = deque if isinstance(owner, deque) else list
    kind.clear(owner)
    kind.extend(owner, entries.values())


def way_text(given: GivenObject, names: CallNames) -> str:
    """How a user writes where an object is: `cache.layers[0]`."""
    root = names.positional[given.root] if isinstance(given.root, int) else given.root
    return f"{root}{steps_text(given.steps)}"


__all__ = ["InputObjects", "InputWriteBack", "way_text"]
