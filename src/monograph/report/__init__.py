"""What an export found out, for people and for tools: as text, JSON, SARIF and one HTML page.

    monograph.report.write(error, "problems.html")

`source` is what `export` raised, or a program, or its `report`. The data is the same in each form:
`findings(source)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from monograph.report.findings import Finding, findings
from monograph.report.json_text import as_json
from monograph.report.page import as_html
from monograph.report.sarif import as_sarif
from monograph.report.terminal import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.report.findings import Source

_FORMS: Final[Mapping[str, Callable[..., str]]] = {
    ".html": as_html,
    ".json": as_json,
    ".sarif": as_sarif,
    ".txt": as_text,
}


def write(source: Source, path: str | Path) -> None:
    """Write a report to a file, in the form that its name ends with: .html .json .sarif .txt.

    Raises: ValueError (another ending), TypeError (no source of a report).
    """
    form = _FORMS.get(Path(path).suffix)
    if form is None:
        raise ValueError(f"a report is written to {', '.join(_FORMS)}; not to {path}")
    Path(path).write_text(form(source), encoding="utf-8")


__all__ = ["Finding", "as_html", "as_json", "as_sarif", "as_text", "findings", "write"]
