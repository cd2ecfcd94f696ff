"""Contents of containers, read past whatever their classes make of reading.

A class of the user's may make objects when it is asked for an item; looking must change nothing.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any, Final

_ATOMS: Final = frozenset({int, float, bool, str, bytes, type(None)})
CONTAINERS: Final = (dict, list, deque, set)


def same(one: Any, other: Any) -> bool:
    """Whether two values are one object, or equal numbers or texts."""
    return one is other or (type(one) is type(other) and type(one) in _ATOMS and one == other)


def content_of(owner: Any) -> Any:
    """A copy of a container's content, as a plain dict, list or set; None of anything else."""
    if isinstance(owner, dict):
        return dict(_kind_of(owner).items(owner))
    if isinstance(owner, list | deque):
        return list(_kind_of(owner).__iter__(owner))
    return set(set.__iter__(owner)) if isinstance(owner, set) else None


def same_content(one: Any, other: Any) -> bool:
    """Whether two copies of content are of the same objects, in the same order."""
    if len(one) != len(other):
        return False
    if isinstance(one, dict):
        return all(map(same, one, other)) and all(map(same, one.values(), other.values()))
    if isinstance(one, set):
        return one == other
    return all(map(same, one, other))


def refill_content(owner: Any, content: Any) -> None:
    """Give a container exactly this content."""
    if isinstance(owner, dict):
        kind = _kind_of(owner)
        kind.clear(owner)
        for key, value in content.items():
            kind.__setitem__(owner, key, value)
    elif isinstance(owner, set):
        set.clear(owner)
        set.update(owner, content)
    else:
        kind = _kind_of(owner)
        kind.clear(owner)
        kind.extend(owner, content)


def _kind_of(owner: Any) -> Any:
    """The class of Python's whose methods go straight to the content."""
    return next(kind for kind in (OrderedDict, dict, list, deque) if isinstance(owner, kind))
