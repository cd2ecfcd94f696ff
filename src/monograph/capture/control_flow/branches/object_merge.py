"""Object merge: what two sides write to objects from outside (lists, dicts, attributes, variables).

Each side begins with the objects as they were: what it wrote is put back when it ends
(`RegionEffects`). Then either's writes are merged as variables are, place by place, and made once,
outside. Lists must have one length after both sides, and dicts the same keys, unless nobody will
see the object again.

Law: after a condition every object holds what it would hold in eager code, for either answer.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import MISSING, InterpreterFrame
from monograph.capture.hidden_state.readings import HiddenState
from monograph.capture.reference_counts import of_argument
from monograph.capture.side_effects.persistent_writes import lines
from monograph.capture.side_effects.tracking import WriteTarget
from monograph.diagnostics import Cause, MonographError, problem, user_frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.capture.control_flow.branches.state_merge import (
        MergedValue,
        MergedValues,
        StateMerge,
    )
    from monograph.capture.control_flow.region import Region
    from monograph.capture.control_flow.region_effects import RegionEffects
    from monograph.capture.recording.recorder import Recorder


class SavedValues(list[Any]):
    """What a frame held, for when it is put back."""


@dataclass(frozen=True, slots=True)
class MergedWrite:
    """What one place holds after either way; `keys` are those of a dict."""

    place: WriteTarget
    joined: tuple[MergedValue, ...]
    keys: tuple[Any, ...] | None = None


def can_merge(place: WriteTarget) -> bool:
    """Whether writes there may be one: to variables, attributes, lists, dicts and deques."""
    if place.kind == "contents":
        return isinstance(place.owner, list | dict | deque)
    if place.kind == "hidden":  # what C keeps in an object is no generator of Python's
        return not isinstance(place.before, HiddenState)
    return place.kind in {"attribute", "cell", "global"}


def said_of(place: WriteTarget) -> dict[str, Any]:
    """What messages say of a place that one side wrote to: its kind and its name."""
    if place.kind == "hidden" and not place.name:
        return {"kind": "object", "name": f"of type {type(place.owner).__name__}"}
    return {"kind": place.kind, "name": place.name or "a container"}


def met_writes(
    recorder: Recorder,
    frame: InterpreterFrame,
    join: StateMerge,
    regions: Sequence[Region],
    *,
    at_exit: bool,
) -> list[MergedWrite]:
    """The writes of two regions, as one; the frame has names for what is written to.

    `at_exit`: the frame is not run on.

    Raises: branch-side-effect.
    """
    taken = [
        {} if region.effects is None else {place.key: place for place in region.effects.taken}
        for region in regions
    ]
    found: list[MergedWrite] = []
    for key in {**taken[0], **taken[1]}:
        pair = [each.get(key) for each in taken]
        owner = next(each for each in pair if each is not None).owner
        if at_exit and _ends_with(owner, frame):
            continue
        try:
            found.append(_met(recorder, frame, join, pair))
        except MonographError:
            recorder.options.doubted.append(recorder.aliases.origin)
            raise
    return found


def _ends_with(owner: Any, frame: InterpreterFrame) -> bool:
    """Whether nobody holds an object but a frame, copies that ended, and the records of writes."""
    running: list[InterpreterFrame] = [frame]
    while running[-1].is_copy and running[-1].back is not None:
        running.append(running[-1].back)
    n_held = 0
    made_by = owner.node if isinstance(owner, AbstractTensor) else None
    for each in gc.get_referrers(owner):
        if type(each) is FrameType:
            continue
        is_of_graph = made_by is not None and each is made_by.meta
        is_record = type(each) in (WriteTarget, SavedValues)
        if not (is_of_graph or is_record or _is_aside(each, running)):
            return False
        n_held += [*map(id, gc.get_referents(each))].count(id(owner))
    return sys.getrefcount(owner) - n_held <= of_argument()


def _is_aside(held: Any, running: Sequence[InterpreterFrame]) -> bool:
    """Whether this is what frames hold that end with this call, or of those that were run aside."""
    for each in gc.get_referrers(held) if type(held) in (list, dict) else ():
        if type(each) is FrameType and type(held) is dict:  # a traceback's, of a copy of the code
            return each.f_code.co_qualname == running[0].code.co_qualname
        if isinstance(each, InterpreterFrame) and (held is each.slots or held is each.stack):
            is_aside = each.is_copy and each.back is None and each.code is running[0].code
            return is_aside or any(each is one for one in running)
    return False


def _met(
    recorder: Recorder,
    frame: InterpreterFrame,
    join: StateMerge,
    pair: Sequence[WriteTarget | None],
) -> MergedWrite:
    """One place, with what either way left there."""
    place = next(each for each in pair if each is not None)
    left, right = (place.before if each is None else each.after for each in pair)
    keys = None
    if place.kind == "hidden":
        if not left.is_like(right):
            raise _refused(recorder, frame, pair, "it goes on elsewhere after either")
        return MergedWrite(replace(place, before=left), ())
    if place.kind != "contents":
        if (left is MISSING) is not (right is MISSING):
            raise _refused(recorder, frame, pair, "it is there after one side alone")
        left, right = [left], [right]
    elif len(left) != len(right):
        reason = f"it holds {len(left)} after one side, and {len(right)} after the other"
        raise _refused(recorder, frame, pair, reason)
    elif isinstance(left, dict):
        keys = tuple(left)
        if not all(map(_is_key, left, right)):
            raise _refused(recorder, frame, pair, "its keys differ")
        left, right = list(left.values()), list(right.values())
    try:
        items = [join.meet(*each, place.name) for each in zip(left, right, strict=True)]
    except MonographError as error:
        reason = "nothing can stand for what either side leaves there"
        raise _refused(recorder, frame, pair, reason) from error
    return MergedWrite(place, tuple(items), keys)


def _is_key(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in (int, str) and one == other)


def _refused(
    recorder: Recorder, frame: InterpreterFrame, pair: Sequence[WriteTarget | None], reason: str
) -> MonographError:
    """The refusal of writes that cannot be one, with the lines of both."""
    places = [each for each in pair if each is not None]
    at, *others = (lines(each, recorder.scopes) for each in places)
    causes = [Cause(each, "and here, on the other side") for each in others]
    causes = causes or [Cause(user_frames(), "the other side of this leaves it as it was")]
    owner = places[0].owner
    names = (name for name, value in frame.f_locals.items() if value is owner)
    return problem(
        "branch-side-effect",
        at=at,
        operator="if",
        kind=places[0].kind,
        name=places[0].name or next(names, "a container"),
        reason=reason,
        causes=causes,
    )


def write(changes: Sequence[MergedWrite], made: MergedValues, part: RegionEffects | None) -> None:
    """Make the writes, of the values that stand for both."""
    for change in changes:
        values = [made.value(each) for each in change.joined]
        now: Any = values
        if change.place.kind == "hidden":
            now = change.place.before
        elif change.place.kind != "contents":
            now = values[0]
        elif change.keys is not None:
            now = dict(zip(change.keys, values, strict=True))
        assert part is not None, "it noted the writes"
        part.tell(change.place)
        _make(replace(change.place, before=now))


def _make(place: WriteTarget) -> None:
    """Make one write. Raises: branch-side-effect, of what C keeps as a plain number."""
    try:
        place.put_back()
    except TypeError as error:
        reason = "it takes no number that depends on data"
        raise problem(
            "branch-side-effect", operator="if", kind=place.kind, name=place.name, reason=reason
        ) from error


__all__ = ["MergedWrite", "SavedValues", "can_merge", "met_writes", "said_of", "write"]
