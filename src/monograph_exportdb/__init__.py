"""The cases of `monograph.exportdb`: in a package of their own, so that they are users' code."""

from __future__ import annotations

from monograph_exportdb import (
    containers,
    control_flow,
    functions,
    objects,
    operators,
    sizes,
    writes,
)

__all__ = [
    "containers",
    "control_flow",
    "functions",
    "objects",
    "operators",
    "sizes",
    "writes",
]
