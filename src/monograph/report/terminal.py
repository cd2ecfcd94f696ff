"""A report for a terminal: each message as it is raised, below a line that counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics import Cause, Diagnostic, render
from monograph.report.findings import findings

if TYPE_CHECKING:
    from monograph.report.findings import Finding, Source


def as_text(source: Source, *, color: bool = False) -> str:
    """Return all findings as text, problems in full and the rest in a line each."""
    found = findings(source)
    if not found:
        return "nothing to report\n"
    problems = [each for each in found if each.level == "error"]
    rest = [each for each in found if each.level != "error"]
    parts = [_count(found), *[_message(each, color=color) for each in problems]]
    if rest:
        parts.append("\n".join([_line(each) for each in rest]))
    return "\n\n".join(parts) + "\n"


def _count(found: tuple[Finding, ...]) -> str:
    kinds = {"error": "problem", "warning": "warning", "note": "note"}
    counts = {kind: sum(each.level == kind for each in found) for kind in kinds}
    said = [f"{n} {kinds[kind]}{'s' if n > 1 else ''}" for kind, n in counts.items() if n]
    return ", ".join(said)


def _message(finding: Finding, *, color: bool) -> str:
    causes = [Cause((each.at.place,) if each.at else (), each.label) for each in finding.because]
    shown = render(
        Diagnostic(
            finding.name,
            finding.headline,
            tuple([each.place for each in finding.at]),
            finding.label,
            tuple(causes),
            finding.notes,
            finding.helps,
            times=finding.times,
        ),
        color=color,
    )
    shown = f"{shown}\n{finding.see}"
    if not finding.assumed:
        return shown
    checked = "checked at run time" if finding.is_checked else "not checked"
    return f"{shown}\nassumed: {finding.assumed} ({checked})"


def _line(finding: Finding) -> str:
    where = f" ({finding.where})" if finding.where else ""
    return f"{finding.level}[{finding.name}]: {finding.headline}{where}"


__all__ = ["as_text"]
