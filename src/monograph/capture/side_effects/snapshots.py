"""Snapshots of what user code may write to: compared afterwards, and put back.

Every module's `__dict__`, and from there every container and every object of a user's class that
they lead to, each once. Objects keep their identity; only their contents are put back.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import ARGUMENT, view_chain
from monograph.abstract.flags import ATTRIBUTES
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.hidden_state.container_contents import attributes_of
from monograph.capture.hidden_state.native_state import package_of
from monograph.capture.hidden_state.opaque_objects import keep
from monograph.capture.hidden_state.python_objects import held_in, put_back_slots, slots_of
from monograph.capture.hidden_state.readings import HiddenState

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATOMS = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size})
_MAPPINGS = frozenset({dict, OrderedDict, defaultdict})
_EMPTIED = frozenset({*_MAPPINGS, set})
_SEQUENCES = frozenset({list, deque})
_LEAVES = (torch.nn.Module, torch.Tensor, type, FunctionType, MethodType, ModuleType)
_OWN_BUSINESS = frozenset(
    {
        *("torch", "builtins", __name__.partition(".")[0], "logging", "warnings", "re"),
        *("abc", "ast", "asyncio", "concurrent", "enum", "importlib"),
        *("inspect", "linecache", "multiprocessing", "os", "socket", "ssl", "subprocess", "sys"),
        *("loguru", "tempfile", "tokenize", "traceback", "typing", "unittest"),
    }
)
"""Packages whose objects' attributes are none of a model's state: they remember, and log."""
_OF_TRAINING = ("torch.optim.", "torch.distributions.")
"""Packages of PyTorch's whose objects are the user's to change."""
_MOST_OBJECTS = 10_000
_WITHOUT_SLOTS: Final = torch.nn.Module.__basicsize__
TABLES = ("_parameters", "_buffers", "_modules")


class Snapshot:
    """One module's `__dict__` and slots, its tables, and what its attributes lead to."""

    __slots__ = ("attributes", "empty", "module", "nested", "slots", "tables")

    def __init__(self, module: torch.nn.Module, seen: set[int]) -> None:
        """`seen` holds the identities of what other snapshots remember already."""
        self.module = module
        kind = type(module)
        self.slots = slots_of(kind) if kind.__basicsize__ != _WITHOUT_SLOTS else {}
        self.attributes: dict[str, Any] = dict(self.now())
        self.tables = {kind: dict(module.__dict__[kind]) for kind in TABLES}
        self.nested: dict[str, list[tuple[Any, Any]]] = {}
        self.empty: dict[str, Any] = {}
        """Containers without content: most modules have a dozen empty tables of hooks."""
        for name, value in self.attributes.items():
            kind = type(value)
            if kind in _ATOMS:
                continue
            if name in TABLES:
                for held, tensor in value.items() if name != "_modules" else ():
                    if tensor is not None and ATTRIBUTES.__get__(tensor):
                        self._markers(held, tensor, seen)
                continue
            if kind in _EMPTIED and not value:
                self.empty[name] = value
                seen.add(id(value))
                continue
            found = list(_contents(value, seen))
            if found:
                self.nested[name] = found

    def now(self) -> dict[str, Any]:
        """What attributes hold; without slots it is the module's own table."""
        current = self.module.__dict__
        return {**current, **held_in(self.module, self.slots)} if self.slots else current

    def _markers(self, name: str, tensor: torch.Tensor, seen: set[int]) -> None:
        """Objects that code hung on a parameter or buffer."""
        found = [
            each for held in ATTRIBUTES.__get__(tensor).values() for each in _contents(held, seen)
        ]
        if found:
            self.nested[name] = found

    def changed(self) -> list[str]:
        """The attributes that are not what they were; tables are compared by who swaps them."""
        current, names = self.now(), list[str]()
        if not _are_same(current, self.attributes):
            names += [name for name in current if name not in self.attributes]
            names += [
                name
                for name, value in self.attributes.items()
                if current.get(name, self) is not value
                and not _equal(current.get(name, self), value)
            ]
        if any(self.empty.values()):
            names += [name for name, value in self.empty.items() if value]
        for name, contents in self.nested.items():
            if any(not _holds(owner, content) for owner, content in contents):
                names.append(name)
        return list(dict.fromkeys(names))

    def restore(self) -> None:
        """Put everything back; objects keep their identity."""
        self.restore_attributes()
        for kind, table in self.tables.items():
            now = self.attributes[kind]
            if table or now:
                refill(now, table)

    def restore_attributes(self) -> None:
        """Put everything but the tables' entries back."""
        current, before = self.module.__dict__, self.attributes
        if self.slots:
            put_back_slots(self.module, self.slots, before)
            before = {name: value for name, value in before.items() if name not in self.slots}
        if not _are_same(current, before):
            for name in current.keys() - before.keys():
                del current[name]
            current.update(before)
            if list(current) != list(before):
                refill(current, before)
        if any(self.empty.values()):
            for container in self.empty.values():
                container.clear()
        for contents in self.nested.values():
            for owner, content in contents:
                _restore(owner, content)


_DEEPEST: Final = 8


def _contents(value: Any, seen: set[int]) -> Iterator[tuple[Any, Any]]:
    """(container or object, copy of its contents) of everything a value leads to, once each."""
    waiting = [value]
    while waiting and len(seen) < _MOST_OBJECTS:
        owner = waiting.pop()
        kind = type(owner)
        if kind in _ATOMS or id(owner) in seen:
            continue
        if kind in _MAPPINGS:
            content, inner = dict(owner), owner.values()
        elif kind in _SEQUENCES:
            content, inner = list(owner), owner
        elif kind is set:
            content, inner = set(owner), ()
        elif kind is tuple:
            waiting.extend(owner)
            continue
        elif (state := None if issubclass(type(owner), _LEAVES) else keep(owner)) is not None:
            content, inner = state, state.leads_to()
        elif _is_users(kind):
            own = attributes_of(owner)
            content, inner = dict(own), own.values()
        else:
            continue
        seen.add(id(owner))
        yield owner, content
        waiting.extend(inner)


def held_of(value: Any, kind: Any) -> list[Any]:
    """What is of this kind among a value and what it holds."""
    held = [each for _, content in _contents(value, set()) for each in _values(content)]
    return [each for each in (value, *held) if isinstance(each, kind)]


def _values(content: Any) -> Any:
    if type(content) is HiddenState:
        return content.leads_to()
    return content.values() if isinstance(content, dict) else content


def _is_users(kind: type) -> bool:
    """Whether objects of a class are a user's, with attributes of their own."""
    return bool(kind.__dictoffset__) and not issubclass(kind, _LEAVES) and has_attributes(kind)


def has_attributes(kind: type) -> bool:
    """Whether the attributes of objects of a class are state that code may write to."""
    return package_of(kind) not in _OWN_BUSINESS or kind.__module__.startswith(_OF_TRAINING)


def _attributes(owner: Any) -> Any:
    return owner if type(owner) in _MAPPINGS or type(owner) in _SEQUENCES else attributes_of(owner)


def _holds(owner: Any, content: Any) -> bool:
    """Whether a container holds what it held: the same objects, or equal numbers and texts."""
    if type(content) is HiddenState:
        return content.is_still_in(owner)
    if type(owner) is set:
        return owner == content
    current = _attributes(owner)
    if len(current) != len(content):
        return False
    if type(owner) in _MAPPINGS and list(current) != list(content):
        return False
    if isinstance(content, dict):
        return all(
            key in current and (current[key] is value or _equal(current[key], value))
            for key, value in content.items()
        )
    return all(a is b or _equal(a, b) for a, b in zip(current, content, strict=True))


def _are_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two tables hold the very same objects under the same names, in the same order."""
    return list(one) == list(other) and all(map(operator.is_, one.values(), other.values()))


def _restore(owner: Any, content: Any) -> None:
    if type(content) is HiddenState:
        content.put_back(owner)
    elif type(owner) is set:
        if owner != content:
            refill(owner, content)
    elif type(owner) in _SEQUENCES:
        if len(owner) != len(content) or any(
            a is not b for a, b in zip(owner, content, strict=True)
        ):
            owner.clear()
            owner.extend(content)
    else:
        current = _attributes(owner)
        if list(current) != list(content) or any(current[k] is not v for k, v in content.items()):
            refill(current, content)


def _equal(now: Any, before: Any, depth: int = 0) -> bool:
    """Whether they are alike for all that a call may ask of what the one before it left."""
    if type(now) in _ATOMS:
        return type(now) is type(before) and now == before
    if now is before or _is_given_back(now, before):
        return True
    if isinstance(now, AbstractTensor) and isinstance(before, AbstractTensor):
        one, other = now.tensor_type, before.tensor_type
        is_alike = one.dtype == other.dtype and one.device == other.device
        return now.recorder is not before.recorder and is_alike and one.rank == other.rank
    if type(now) not in {list, tuple, dict} or type(now) is not type(before) or depth > _DEEPEST:
        return False
    if type(now) is dict and list(now) != list(before):
        return False
    pairs = zip(_values(now), _values(before), strict=False)
    return len(now) == len(before) and all(_equal(a, b, depth + 1) for a, b in pairs)


def _is_given_back(now: Any, before: Any) -> bool:
    """Whether operators that had nothing to do gave a tensor of the module's back."""
    if not isinstance(now, AbstractTensor) or not isinstance(before, torch.Tensor):
        return False
    writer: Any = getattr(now.recorder, "writer", None)
    stood: Any = None if writer is None else writer.represented(before)
    if now.node is None or stood is before or not isinstance(stood, AbstractTensor):
        return False
    return stood.node in view_chain(now.node, ARGUMENT)


def refill(container: Any, content: Any) -> None:
    """Give a dict or a set exactly this content, in this order."""
    container.clear()
    container.update(content)
