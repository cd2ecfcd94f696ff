"""Stand-ins for C functions, in files by family; `POLYFILLS` holds them all."""

from __future__ import annotations

from monograph.bytecode.polyfills import (
    attributes,
    callbacks,
    classes,
    containers,
    debuggers,
    scopes,
    specials,
)
from monograph.bytecode.polyfills.registry import METHOD_NAMES, POLYFILLS, polyfill

__all__ = [
    "METHOD_NAMES",
    "POLYFILLS",
    "attributes",
    "callbacks",
    "classes",
    "containers",
    "debuggers",
    "polyfill",
    "scopes",
    "specials",
]
