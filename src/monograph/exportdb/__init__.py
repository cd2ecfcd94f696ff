"""ExportDB: executable examples of what is supported, what is refused, and how that is rewritten.

for case in monograph.exportdb.search("optional input"):
    print(case.name, case.support, case.text)
    print(case.export())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import monograph_exportdb
from monograph.exportdb.registry import REGISTRY, TAGS, Case, Support, search

if TYPE_CHECKING:
    from collections.abc import Mapping

cases: Mapping[str, Case] = REGISTRY.cases
"""All cases, by name."""
FILES = monograph_exportdb.__all__
"""The files that hold them, one subject each, in the package `monograph_exportdb`."""

__all__ = ["FILES", "TAGS", "Case", "Support", "cases", "search"]
