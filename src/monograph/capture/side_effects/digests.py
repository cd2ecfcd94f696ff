"""Digests of objects from outside of the call: what they held when the run first came to them.

Interpreted code announces its writes; C does not, nor does plain Python. So whatever a run comes to
and did not make is read when it first does, with all that it leads to, each once, and compared when
the run has ended (`tracking`). What the run made itself is read like the rest and sorted out then.
An opaque object is not read: calling it, or giving it to C, counts as a write (`native_state`).
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections import OrderedDict, defaultdict, deque
from contextvars import ContextVar
from types import (
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, Final
from weakref import ProxyTypes, ref

import torch

from monograph.abstract.tensor import StaticTensor, SymbolicTensor
from monograph.bytecode import MISSING
from monograph.capture.code_policy import is_users
from monograph.capture.hidden_state.container_contents import (
    CONTAINERS,
    attributes_of,
    content_of,
    parts_of,
)
from monograph.capture.hidden_state.memory_objects import looked_into
from monograph.capture.hidden_state.native_state import (
    BOUND_TO_C,
    CACHED,
    calls_of,
    package_of,
    referent_of,
    results_of_calls,
)
from monograph.capture.hidden_state.opaque_objects import CALLED, is_opaque, keep
from monograph.capture.installation import listening
from monograph.capture.queries.arrays_of_state import array_of_state
from monograph.capture.side_effects.place_names import Called, default_values
from monograph.capture.side_effects.snapshots import has_attributes
from monograph.capture.side_effects.tracking import WriteTarget, chain_of
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from types import FrameType

    from monograph.bytecode import InterpreterFrame
    from monograph.capture.hidden_state.readings import HiddenState
    from monograph.capture.recording.scopes import Scopes
    from monograph.capture.side_effects.tracking import Chain, Effects

LEAVES: Final = frozenset(
    {
        *(int, float, bool, str, bytes, complex, type(None), type(MISSING), type(Ellipsis)),
        *(torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format),
        *(StaticTensor, SymbolicTensor, torch.SymInt, torch.SymFloat, torch.SymBool),
        *(FunctionType, property, staticmethod, classmethod, slice, range),
        *(ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType),
        *(MethodDescriptorType, WrapperDescriptorType, functools.cached_property),
        threading.Condition,  # who waits there is a matter of threads
    }
)
"""Kinds of values that hold nothing that code would change, but for attributes of functions."""
GIVEN_AS_THEY_ARE: Final = LEAVES | {list, dict, tuple, set, type, ModuleType}
"""Kinds of values that C is given all the time: what there is outside is known when it is read."""
_IN_SNAPSHOTS: Final = LEAVES | {dict, OrderedDict, defaultdict, list, deque, set}
_TENSORS: Final = frozenset({torch.Tensor, torch.nn.Parameter})
_OF_AUTOGRAD: Final = ("requires_grad", "grad")
"""What code may set on tensors, beside their attributes in Python."""
_PASSED_THROUGH: Final = (tuple, frozenset)
_WITH_ATTRIBUTES: Final = (torch.nn.Module, SimpleNamespace, FunctionType)
_BOUND: Final = BOUND_TO_C | {MethodType}
_OF_NO_USER: Final = frozenset({"torch", "numpy", __name__.partition(".")[0]}) | (
    sys.stdlib_module_names - {"argparse", "collections", "weakref"}
)
"""Packages whose classes nobody writes to."""


class Digests:
    """What one run came to, and how code calls what led to it."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._seen: set[int] = set()
        self._kept: list[Any] = []
        """What was seen, so that no other object takes over an identity. A list: the garbage
        collector does not always know what a dict refers to, and `effects` asks it."""
        effects.kept.append(self._kept)
        self._classes: set[int] = set()
        """The classes that were read, by identity."""
        self._are_classes_written = False
        """Whether code was met that may write to the class of an object."""
        self._roots: dict[int, Called] = {}
        self.caches: list[tuple[Any, set[Any], Chain]] = []
        """Functions under `lru_cache`, and the calls that they remembered."""
        self.opaque: dict[int, Called] = {}
        """The opaque objects that were there before, by identity, and what led to them."""

    def follow(self, value: Any, root: Called, by: Chain, *, outside: bool = False) -> None:
        """Read a value and what it leads to; `outside`: it is known to be from before."""
        waiting = [value]
        while waiting:
            each = waiting.pop()
            kind = type(each)
            if kind is memoryview:
                waiting += looked_into(each)
                continue
            if kind in LEAVES and (
                kind is not FunctionType or not is_users(each.__code__.co_filename)
            ):
                continue
            if id(each) in self._seen:
                continue
            self._seen.add(id(each))
            self._kept.append(each)
            waiting += self._read(each, root, by)
            if outside and is_opaque(each) and not hasattr(type(each), "__get__"):
                self.opaque[id(each)] = root

    def has_met(self, place: WriteTarget) -> bool:
        """Whether the run came to a place, for all one can tell."""
        return place.kind == "cell" or id(place.owner) in self._seen

    def give(self, values: Iterable[Any], by: Chain) -> None:
        """C is given these, and may write to them: read what is not known yet."""
        for each in values:
            kind = type(each)
            if kind in LEAVES or is_terminal(each):
                continue
            if kind in _BOUND:
                if type(each.__self__) is not ModuleType:
                    self.give((each.__self__,), by)
                continue
            if kind is functools.partial:
                self.give((each.func, *each.args, *each.keywords.values()), by)
            if is_opaque(each):
                self.call(each, by)
            elif id(each) not in self._seen:
                self.follow(each, Called("object", kind.__name__), by)

    def call(self, opaque: Any, by: Chain) -> None:
        """An opaque object is called, and other than before from now on."""
        self._effects.within_reach("hidden", opaque, by, CALLED)

    def check_opaque(self, value: Any, scopes: Scopes, frame: FrameType | None = None) -> None:
        """An object is called. Raises: write-outlives-call, if it is opaque and from before."""
        root = self.opaque.get(id(value))
        if root is not None:
            at = scopes.user_frames(frame or sys._getframe())
            raise problem("write-outlives-call", at=at, kind=root.kind, name=root.name)

    def _read(self, value: Any, root: Called, by: Chain) -> Iterable[Any]:
        """Read one object; what it leads to."""
        kind = type(value)
        if kind in _TENSORS:
            self._whole("attributes", value, root, by)
            for name in _OF_AUTOGRAD if value.is_leaf else ():
                held = getattr(value, name)
                self._effects.add(WriteTarget("attribute", value, name, held, tracked=True, by=by))
            return attributes_of(value).values()
        if kind is ContextVar:
            before = value.get(MISSING)
            self._effects.add(
                WriteTarget("context", value, value.name, before, tracked=True, by=by)
            )
            return (before,)
        if kind is CACHED:
            self.caches.append((value, calls_of(value), by))
            return results_of_calls(value)
        if issubclass(type(value), type):
            self._class(value, by)
            return ()
        inside = _inside(value)
        if inside is not None:
            return inside
        if issubclass(type(value), CONTAINERS):
            content = content_of(value)
            self._whole("contents", value, root, by)
            own = self._own_attributes(value, root, by) if type(value).__dictoffset__ else ()
            return [*(content.values() if isinstance(content, dict) else content), *own]
        if self._effects.covers(value):
            return (*_beyond_snapshots(value), kind)
        own = self._own_attributes(value, root, by)
        state = _hidden_state(value)
        if state is None:
            return own
        self._whole("hidden", value, root, by, state)
        return [*own, *state.leads_to()]

    def _class(self, cls: type, by: Chain) -> None:
        """Follow what hangs on a class and its bases of the user's, but for what Python keeps."""
        for each in cls.__mro__:
            if id(each) in self._classes:
                continue
            self._classes.add(id(each))
            if not is_users_class(each):
                continue
            if self._are_classes_written:
                self._whole("attributes", each, Called("class", each.__name__), by)
            for name, value in vars(each).items():
                if type(value) not in LEAVES and not name.startswith("__") and name != "_abc_impl":
                    self.follow(value, Called("class", f"{each.__name__}.{name}"), by)

    def _own_attributes(self, value: Any, root: Called, by: Chain) -> Iterable[Any]:
        kind = type(value)
        if not kind.__dictoffset__ or not (
            has_attributes(kind) or issubclass(kind, _WITH_ATTRIBUTES)
        ):
            return (kind,) if is_users_class(kind) else ()
        self._whole("attributes", value, root, by)
        return (*attributes_of(value).values(), kind)

    def _whole(self, kind: str, owner: Any, root: Called, by: Chain, before: Any = None) -> None:
        if self._effects.within_reach(kind, owner, by, before):
            self._roots.setdefault(id(owner), root)

    def root_of(self, owner: Any) -> Called | None:
        """How code calls what led to an object."""
        return self._roots.get(id(owner))

    def close(self) -> None:
        """Empty caches that now hold tensors of the run, and let go of all."""
        for cached, before, _ in self.caches:
            if calls_of(cached) - before:
                cached.cache_clear()
        for held in (self._seen, self._kept, self._classes, self._roots, self.caches, self.opaque):
            held.clear()


def is_terminal(value: Any) -> bool:
    """Whether a file or a debugger tells people something, which is none of a program's."""
    bdb = sys.modules.get("bdb")
    if bdb is not None and issubclass(type(value), bdb.Bdb):
        return True
    return any(value is each for each in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__))


class DigestsOfReads(Digests):
    """Of a strict run, which tells of every read from outside, and of what it gives to C."""

    def __init__(
        self, effects: Effects, scopes: Scopes, plain: Collection[tuple[int, str]]
    ) -> None:
        """`plain` are the places of numbers and texts that it read."""
        super().__init__(effects)
        self._scopes = scopes
        self._plain = plain
        self.objects: dict[int, Any] = {}
        """What was read from modules, globals, cells and other such objects, by identity."""

    def read(self, value: Any, root: Called, frame: InterpreterFrame) -> None:
        """Code comes to an object from outside."""
        if type(value) is not list:
            self.objects[id(value)] = value
        self.follow(value, root, chain_of(frame), outside=True)

    def defaults(self, function: FunctionType, frame: InterpreterFrame | None) -> None:
        """A function is called: its default values are from before, or as new as it is itself."""
        is_old = not function.__code__.co_flags & inspect.CO_NESTED
        for name, value in default_values(function):
            if type(value) in LEAVES or id(value) in self._seen:
                continue
            if is_old and type(value) is not list:
                self.objects[id(value)] = value
            by = ((function.__code__, 0), *chain_of(frame))
            self.follow(value, Called("default", name), by, outside=is_old)

    def give_now(self, values: Iterable[Any], frame: InterpreterFrame | None) -> None:
        """C is given these, and may write to them.

        Raises: write-outlives-call, of an opaque object from outside.
        """
        for each in values:
            if type(each) in GIVEN_AS_THEY_ARE:
                continue
            self.check_opaque(each, self._scopes)
            if id(each) not in self._seen:
                self.give((each,), chain_of(frame))

    def has_met(self, place: WriteTarget) -> bool:
        """Whether the run came to a place; of a global, whether it read what that held."""
        if place.kind != "global":
            return super().has_met(place)
        held = (id(place.before), id(place.now()))
        return place.key in self._plain or not self.objects.keys().isdisjoint(held)


def _hidden_state(value: Any) -> HiddenState | None:
    """What an object keeps to itself. Raises: memory-exposed, of an array of state."""
    state = None if issubclass(type(value), torch.nn.Module) else keep(value)
    if state is not None and (recorder := listening()) is not None:
        found = array_of_state(value, recorder.answers_noted.subjects)
        if found is not None:
            recorder.refuse(found.refusal())
    return state


def _inside(value: Any) -> Iterable[Any] | None:
    """What is inside of an object that does not change itself; None of all others."""
    if issubclass(type(value), ModuleType):
        return ()
    if issubclass(type(value), MappingProxyType):
        return value.values()
    if issubclass(type(value), _PASSED_THROUGH):
        return parts_of(value)
    if type(value) in _BOUND:
        return (value.__self__,)
    if issubclass(type(value), ref):
        return (ref.__call__(value),)
    if type(value) in ProxyTypes:
        return referent_of(value)
    return None


def _beyond_snapshots(value: Any) -> Iterable[Any]:
    """The attributes of a captured module that its snapshot does not look into."""
    if not issubclass(type(value), torch.nn.Module):
        return ()
    return [each for each in attributes_of(value).values() if type(each) not in _IN_SNAPSHOTS]


def is_users_class(cls: type) -> bool:
    """Whether what hangs on a class is the user's to change."""
    return package_of(cls) not in _OF_NO_USER
