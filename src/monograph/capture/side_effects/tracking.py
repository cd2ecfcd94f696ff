"""Side-effect tracking: what user code wrote to, and which of it outlives the call.

The interpreter announces every write before it happens; the first one to each place is kept, with
what was there. Of what C and plain Python can write to, everything is (`digests`). When the run
has ended, places that hold again what they held are forgotten, and so are objects that the run
itself made. The rest was there before and is different now. It is put back in any case, and refused
unless it is a cache that the first call fills for all others.

Modules are not looked after here: `snapshots` and `aftermath` know more about them.

Which objects did the run make? The garbage collector knows (`garbage_collection`). A dict of plain
values it does not know until something else is put into it: such a one was there before if not all
references to it are new objects'.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections import Counter, defaultdict
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import (
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
)
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from torch import SymFloat, SymInt, Tensor
from torch.nn import Module

from monograph.bytecode import MISSING
from monograph.capture.hidden_state.container_contents import (
    OF_CLASSES,
    all_attributes,
    attributes_of,
    content_of,
    refill_content,
    same,
    same_content,
)
from monograph.capture.hidden_state.opaque_objects import CALLED
from monograph.capture.reference_counts import OF_VARIABLE
from monograph.capture.restart import Restart
from monograph.capture.side_effects.equal_states import are_alike
from monograph.capture.side_effects.garbage_collection import MadeSince, seeing_collections

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from monograph.bytecode import InterpreterFrame

Chain = tuple[tuple[CodeType, int], ...]
"""Frames as (code, offset), innermost first."""

_WHOLE: Final = frozenset({"attributes", "contents", "hidden"})


@dataclass(slots=True, eq=False)  # frozen, it would take thrice as long to make: hundreds are made
class WriteTarget:
    """A variable or an attribute that was written to, or an object whose content was.

    `kind` is attribute, cell, context (a ContextVar) or global; or, of the whole object, contents
    (of a container), attributes (all of them) or hidden (what no `__dict__` shows, see `opaque`):
    then `name` is "". `before` is what was there, or a copy of the content; `tracked` tells whether
    the garbage collector knew the owner at the first write; `by` are the frames that wrote first,
    `function` is the innermost one's.
    """

    kind: str
    owner: Any
    name: str
    before: Any
    tracked: bool
    by: Chain
    function: FunctionType | None = None
    after: Any = None
    """What a part of the run left there, which was put back since."""
    is_equal: bool = False
    """Whether it leads to what it led to before, through objects that are like those before."""

    @property
    def key(self) -> tuple[int, str]:
        """What tells it from other places: the identity of the owner, and the name."""
        return id(self.owner), self.kind if self.kind in _WHOLE else self.name

    def now(self) -> Any:
        """What is there now: the value, MISSING, or the object itself."""
        return self.owner if self.kind in _WHOLE else _value(self.owner, self.name)

    def is_as_before(self) -> bool:
        """Whether it holds the same objects again, or equal numbers and texts."""
        if self.kind == "hidden":
            return self.before.is_still_in(self.owner)
        if self.kind == "attributes":
            return same_content(all_attributes(self.owner), self.before)
        if self.kind == "contents":
            return same_content(content_of(self.owner), self.before)
        return same(self.now(), self.before)

    def as_now(self) -> WriteTarget:
        """The same place, with what is there now as what is to be put back."""
        if self.kind == "hidden":
            return replace(self, before=self.before.again(self.owner))
        is_whole = self.kind in _WHOLE
        return replace(self, before=_whole(self.kind, self.owner) if is_whole else self.now())

    def by_name(self) -> Iterator[WriteTarget]:
        """The attributes that are not what they were, each by itself; what is no such place."""
        if self.kind != "attributes":
            yield self
            return
        was, now = self.before, all_attributes(self.owner)
        for name in {**was, **now}:
            held = was.get(name, MISSING)
            if not same(now.get(name, MISSING), held):
                yield WriteTarget("attribute", self.owner, name, held, self.tracked, self.by)

    def changed_name(self) -> str:
        """The name of the attribute that is not what it was, where that is known."""
        return next((each.name for each in self.by_name()), "")

    def content(self) -> Any:
        """What a container held; None of anything else."""
        return self.before if self.kind == "contents" else None

    def class_name(self) -> str:
        """What the class whose attribute this is was called."""
        if self.kind in _WHOLE:
            return self.before["__name__"]
        return self.before if self.name == "__name__" else self.owner.__name__

    def news(self) -> list[Any] | None:
        """What was put where nothing was: a missing key, None; None if anything was replaced."""
        if self.kind not in _WHOLE:
            return [self.now()] if self.before is MISSING or self.before is None else None
        now = None if self.kind == "hidden" else _whole(self.kind, self.owner)
        if not isinstance(now, dict) or not same_content(
            {k: now.get(k) for k in self.before}, self.before
        ):
            return None
        return [value for key, value in now.items() if key not in self.before]

    def is_told(self) -> bool:
        """Whether others learn something here: what was there is not, or a number or text is new.

        None and False were nothing: what else comes in their place may be a cache. A text in a set
        says what was said once.
        """
        if self.kind not in _WHOLE:
            is_flag = isinstance(self.owner, Tensor) and self.before is False
            return is_flag or _is_told(self.now(), self.before)
        if self.kind == "hidden":
            return self.before is not CALLED
        now, before = _whole(self.kind, self.owner), self.before
        if isinstance(before, set):
            return not before <= now or any(isinstance(n, _NUMBERS) for n in now - before)
        if not isinstance(before, dict):
            return len(now) < len(before) or any(map(_is_told, now, before))
        if [key for key in now if key in before] != list(before):
            return True
        is_kept_by_reading = isinstance(self.owner, defaultdict) and len(now) > len(before)
        return is_kept_by_reading or any(
            _is_told(value, before.get(key, MISSING)) for key, value in now.items()
        )

    def put_back(self) -> None:
        """Restore what was there."""
        if self.kind == "hidden":
            self.before.put_back(self.owner)
        elif self.kind == "attributes":
            _give_attributes(self.owner, self.before)
        elif self.kind == "contents":
            refill_content(self.owner, self.before)
        else:
            _write(self.owner, self.name, self.before)


class Effects:
    """The writes of one run. Use as a context manager around user code."""

    def __init__(self, covered: Collection[int], shown: Sequence[Any] = ()) -> None:
        """`covered` are the identities of objects that somebody else looks after.

        `shown` will be the tensors that are made in the memory of arrays, which refer to those.
        """
        self._covered = covered
        self._places: dict[tuple[int, str], WriteTarget] = {}
        self._lasting: list[WriteTarget] | None = None
        self._made: MadeSince | None = None
        self._collections = seeing_collections()
        self.kept: list[list[Any]] = []
        """Lists of what others keep alive for the sake of this record."""
        self._shown = shown
        self.returned: list[Any] = []
        """What the run returned, which nobody has yet: a list that alone refers to it."""

    def __enter__(self) -> Self:
        """What there is now was there before the run."""
        self._collections.__enter__()
        self._made = MadeSince()
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what was there before, and is different now, and let go of all of it.

        What a program is made of outlives the run, and leads here.
        """
        lasting = self.lasting()
        for place in reversed(lasting):
            place.put_back()
        again = {id(place.before) for place in lasting} if lasting else ()
        for place in self._places.values() if lasting else ():
            if id(place.owner) in again and not place.is_as_before():  # filled, and let go of
                place.put_back()
        self._collections.__exit__(None, None, None)
        self._made = None
        self._places.clear()
        self.kept.clear()
        self.returned = []

    def written(
        self, kind: str, owner: Any, key: Any, old: Any, frame: InterpreterFrame | None
    ) -> None:
        """Something is about to change; `kind` and the rest are as the interpreter says them."""
        identity = id(owner)
        if identity in self._covered and key != "__class__":
            return
        if kind == "context":
            old = owner.get(MISSING)
        in_content = kind in {"contents", "item"}
        name = "contents" if in_content else key
        if (identity, name) in self._places:
            return
        if in_content:
            kind, old = "contents", content_of(owner)
            if old is None:
                return
        elif kind == "attribute" and issubclass(type(owner), Module):
            old = _value(owner, name)  # it may stand in a table
        where = kind, owner, "" if in_content else name, old, gc.is_tracked(owner)
        function = None if frame is None else frame.function
        self._places[identity, name] = WriteTarget(*where, chain_of(frame), function)

    def within_reach(self, kind: str, owner: Any, by: Chain, before: Any = None) -> bool:
        """The content of an object may change from now on; whether that was news.

        `before` is what it holds, where that is known.
        """
        key = (id(owner), kind)
        if id(owner) in self._covered or key in self._places:
            return False
        before = _whole(kind, owner) if before is None else before
        self._places[key] = WriteTarget(kind, owner, "", before, gc.is_tracked(owner), by)
        return True

    def made(self, value: Any) -> bool:
        """Whether an object was made meanwhile, for all one can tell. Raises: Restart."""
        if self._made is None:
            raise Restart("track objects")
        return gc.is_tracked(value) and self._made.includes(value)

    def changed(self) -> set[tuple[int, str]]:
        """The keys of the places that are not as they were."""
        return {place.key for place in self.differing()}

    def differing(self) -> list[WriteTarget]:
        """The places that are not as they were, whoever made their owners."""
        return [place for place in self._places.values() if not place.is_as_before()]

    def accept(self, keys: set[tuple[int, str]]) -> None:
        """Whatever these places hold now is to stay."""
        for key in keys:
            self._places[key] = self._places[key].as_now()
        if self._lasting is not None:
            self._lasting = [each for each in self._lasting if each.key not in keys]

    def covers(self, owner: Any) -> bool:
        """Whether somebody else looks after an object."""
        return id(owner) in self._covered

    def add(self, place: WriteTarget) -> None:
        """A variable of which somebody else knows what it held."""
        self._places.setdefault(place.key, place)

    def lasting(self) -> list[WriteTarget]:
        """What was there before the run and is different now, in the order of the writes."""
        if self._lasting is None:
            found = self._find_lasting()
            differing = self.differing() if found else ()
            changed = {id(each.owner): each.content() for each in differing}
            self._lasting = [_compared(place, changed) for place in found]
        return self._lasting

    def _find_lasting(self) -> list[WriteTarget]:
        changed = self.differing()
        changed = self._held_by_others(changed) if changed else changed
        if not changed:
            return []
        if self._made is None:
            raise Restart("track objects")
        untracked = [place.owner for place in changed if not place.tracked]
        elsewhere = self._known_elsewhere(untracked, self._made) if untracked else ()
        made = self._made.among([place.owner for place in changed if place.tracked])
        return [
            place
            for place in changed
            if (id(place.owner) not in made if place.tracked else id(place.owner) in elsewhere)
        ]

    def _held_by_others(self, changed: list[WriteTarget]) -> list[WriteTarget]:
        """Those places whose owners anybody holds but this record: nobody sees the others."""
        held = Counter([id(place.owner) for place in self._places.values()])
        for kept in (*self.kept, self.returned):
            held.update(map(id, kept))
        return [
            place for place in changed if sys.getrefcount(place.owner) - 1 > held[id(place.owner)]
        ]

    def _known_elsewhere(self, untracked: list[Any], made: MadeSince) -> set[int]:
        """Those (by identity) of some objects to which others refer than were made."""
        untracked = _views_first(untracked, self.kept)
        # An object from before may get its `__dict__` when somebody first looks for it.
        attributes = [each.owner for each in self._places.values() if each.kind == "attributes"]
        new = made.among(attributes)
        dicts = {id(attributes_of(each)) for each in attributes if id(each) not in new}
        referrers = gc.get_referrers(*untracked)
        new = (made.among(referrers) | {id(each) for each in self.kept}) - dicts
        by_new_objects = Counter(
            id(each)
            for referrer in referrers
            if id(referrer) in new
            for each in gc.get_referents(referrer)
        )
        by_new_objects.update(_inline_dicts(made, {id(each) for each in untracked}))
        by_new_objects.update(_lent(self._shown))
        found: set[int] = set()
        for each in untracked:
            if sys.getrefcount(each) - OF_VARIABLE > by_new_objects[id(each)]:
                found.add(id(each))
            elif issubclass(type(each), np.ndarray):
                by_new_objects[id(each.base)] += 1  # which no collector knows
        return found


def _views_first(owners: list[Any], kept: list[list[Any]]) -> list[Any]:
    """Some objects, behind the arrays that are views of them, each once."""
    views: list[Any] = []  # no dict: the collector does not look into one of arrays
    for each in itertools.chain(owners, *kept):
        is_new = _is_view(each) and not any(each is view for view in views)
        if is_new and any(each is one or each.base is one for one in owners):
            views.append(each)
    return [*views, *[each for each in owners if not _is_view(each)]]


def _is_view(value: Any) -> bool:
    """Whether it is an array in the memory of another object, to which it refers."""
    return issubclass(type(value), np.ndarray) and value.base is not None


def _lent(shown: Sequence[Any]) -> Iterator[int]:
    """The arrays that tensors were made of, which refer to them, once for each reference."""
    for each in shown:
        if each.holder is not None:
            yield from [id(each.holder())] * each.n_own


def _inline_dicts(made: MadeSince, wanted: set[int]) -> Iterator[int]:
    """Those of some dicts that are the `__dict__` of a new object, which hides that it holds it.

    From Python 3.13 on, where an object has its attributes within itself, the collector sees those.
    """
    young = [each for each in gc.get_objects(generation=0) if type(each).__flags__ & _INLINE_VALUES]
    new = made.among(young)
    held = (id(attributes_of(each)) for each in young if id(each) in new)
    yield from (each for each in held if each in wanted)


_INLINE_VALUES: Final = 1 << 2


def _compared(place: WriteTarget, changed: Mapping[int, Any]) -> WriteTarget:
    """The place with `is_equal`; `changed` are the objects that do not hold what they held."""
    if place.kind == "hidden":
        return place
    now = place.as_now().before
    return replace(place, is_equal=are_alike(place.before, now, changed))


def chain_of(frame: InterpreterFrame | None) -> Chain:
    """The frames of interpreted code, innermost first."""
    found: list[tuple[CodeType, int]] = []
    while frame is not None:
        found.append((frame.code, frame.lasti))
        while frame.is_copy and frame.back is not None and frame.back.code is frame.code:
            frame = frame.back  # it is a copy of that one, on one side of a condition there
        frame = frame.back
    return tuple(found)


# --- variables and attributes ------------------------------------------------------------------


def _value(owner: Any, name: str) -> Any:
    """What is stored under a name in this very object, whatever its class would compute."""
    if issubclass(type(owner), CellType):
        try:
            return owner.cell_contents
        except ValueError:
            return MISSING
    if issubclass(type(owner), ContextVar):
        return owner.get(MISSING)
    if name == "__class__" and type(owner) is not dict:
        return type(owner)
    if issubclass(type(owner), Module):
        return _names_of(owner, name).get(name, MISSING)
    if issubclass(type(owner), type) and name in OF_CLASSES:
        return getattr(owner, name)
    if not (issubclass(type(owner), dict) or type(owner).__dictoffset__):
        return getattr(owner, name, MISSING)
    names = owner if type(owner) is dict else attributes_of(owner)  # of a subclass, attributes
    value = names.get(name, MISSING)
    if value is MISSING and type(owner) is not dict and not issubclass(type(owner), type):
        places = (vars(cls)[name] for cls in type(owner).__mro__ if name in vars(cls))
        place = next(places, None)
        if isinstance(place, GetSetDescriptorType | MemberDescriptorType):
            return getattr(owner, name, MISSING)
    return value


def _names_of(module: Any, name: str) -> dict[str, Any]:
    """Where a module keeps an attribute: in a table, or itself."""
    own = vars(module)
    tables = (own.get(kind, {}) for kind in _TABLES)
    return next((table for table in tables if name in table), own)


_TABLES: Final = ("_parameters", "_buffers", "_modules")


def _write(owner: Any, name: str, value: Any) -> None:
    if issubclass(type(owner), CellType):
        _fill(owner, value)
    elif issubclass(type(owner), ContextVar):
        if value is not MISSING:  # otherwise it ends with the context that it was set in
            owner.set(value)
    elif (issubclass(type(owner), Module) and name != "__class__") or type(owner) is dict:
        table = _names_of(owner, name) if isinstance(owner, Module) else owner
        if value is MISSING:
            table.pop(name, None)
        else:
            table[name] = value
    else:
        _write_attribute(owner, name, value)


def _write_attribute(owner: Any, name: str, value: Any) -> None:
    """Past what a class of Python makes of it; classes of C have their own ways, for a reason."""
    if value is MISSING and _value(owner, name) is MISSING:
        return
    arguments: tuple[Any, ...] = (owner, name) if value is MISSING else (owner, name, value)
    method = "__delattr__" if value is MISSING else "__setattr__"
    if isinstance(getattr(type(owner), method), FunctionType):
        getattr(type if isinstance(owner, type) else object, method)(*arguments)
    else:
        (delattr if value is MISSING else setattr)(*arguments)


def _fill(cell: CellType, value: Any) -> None:
    if value is MISSING:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _is_told(now: Any, before: Any) -> bool:
    """Whether a value takes the place of another, or is a number or text where nothing was."""
    if before is MISSING or before is None or before is False:
        return isinstance(now, _DATA) and not isinstance(now, bool)
    return not same(now, before)


_NUMBERS: Final = (int, float, complex, SymInt, SymFloat)
_DATA: Final = (*_NUMBERS, str, bytes)


# --- whole objects -----------------------------------------------------------------------------


def _whole(kind: str, owner: Any) -> Any:
    """A copy of all that an object holds."""
    if kind != "attributes":
        return content_of(owner)
    # From Python 3.13 on the collector may not see a `__dict__`, nor what is copied in one step.
    return dict(all_attributes(owner).items())


def _give_attributes(owner: Any, attributes: dict[str, Any]) -> None:
    """Give an object or a class exactly these attributes."""
    now = dict(all_attributes(owner))
    for name in {**now, **attributes}:
        value = attributes.get(name, MISSING)
        if now.get(name, MISSING) is not value:
            _write_attribute(owner, name, value)
