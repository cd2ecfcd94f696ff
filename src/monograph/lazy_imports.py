"""Lazy imports: names whose modules are imported when they are first used (PEP 562).

What plain export does not need (files, other systems, reports, decompositions) is named in tables
of `module:name`, and costs nothing before. The tables are tested: each name in them exists.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFERRED: set[str] = set()
"""Every `module:name` that somebody may import late."""


def deferred(place: str) -> Callable[..., Any]:
    """A function that imports `module:name` when it is first called, and is that from then on."""
    DEFERRED.add(place)
    found: list[Callable[..., Any]] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not found:
            found.append(resolved(place))
        return found[0](*args, **kwargs)

    return call


def resolved(place: str) -> Any:
    """What stands at `module:name`; without a name, the module."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def attributes(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package some of whose names are imported late.

    `places` gives where each name is defined, as `module`, or as `module:` for a module itself.
    """
    full = {name: where if ":" in where else f"{where}:{name}" for name, where in places.items()}
    DEFERRED.update(full.values())

    def find(name: str) -> Any:
        if name not in full:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = resolved(full[name])
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *full})

    return find, listed


def keep_function(package: str, name: str, place: str) -> None:
    """Keep a name of a package for the function at `module:name`, though a submodule has it too.

    The import system sets the submodule as an attribute of its package, whenever it is imported.
    """
    DEFERRED.add(place)

    def get(module: ModuleType) -> Any:
        found = vars(module)
        return found[name] if name in found else resolved(place)

    def put(module: ModuleType, value: Any) -> None:
        if not isinstance(value, ModuleType):
            vars(module)[name] = value

    def remove(module: ModuleType) -> None:
        del vars(module)[name]

    kept = sys.modules[package]
    kept.__class__ = type("Package", (type(kept),), {name: property(get, put, remove)})


__all__ = ["DEFERRED", "attributes", "deferred", "keep_function", "resolved"]
