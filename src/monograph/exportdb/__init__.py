"""ExportDB: executable examples of what is supported, what is refused, and how that is rewritten.

for case in monograph.exportdb.search("optional input"):
    print(case.name, case.support, case.text)
    print(case.export())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from monograph.diagnostics import page_names
from monograph.exportdb.error_cases import ErrorCase, error_case
from monograph.exportdb.registry import REGISTRY, TAGS, Case, Support, search

if TYPE_CHECKING:
    from collections.abc import Mapping

import_module("monograph_exportdb")  # its files register their cases
for _name in page_names():
    REGISTRY.add(error_case(_name))
cases: Mapping[str, Case | ErrorCase] = REGISTRY.cases
"""All cases, by name; that of an error has the error's."""

__all__ = ["TAGS", "Case", "ErrorCase", "Support", "cases", "search"]
