"""A report as JSON: the findings field by field, under the names that the classes have."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from monograph.report.findings import findings

if TYPE_CHECKING:
    from monograph.report.findings import Source

FORMAT: Final = 1
"""Counts changes that a reader of an earlier form would trip over."""


def as_json(source: Source) -> str:
    """Return all findings as one JSON object: `{"format": 1, "findings": [...]}`."""
    record = {"format": FORMAT, "findings": [asdict(each) for each in findings(source)]}
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


__all__ = ["FORMAT", "as_json"]
