"""A report in SARIF 2.1.0, which code hosts and editors show beside the lines it is about.

Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from monograph.diagnostics import Diagnostic, explain, page_names
from monograph.report.findings import findings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monograph.diagnostics import Edit
    from monograph.report.findings import Excerpt, Finding, Source

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_ROOT: Final = "SRCROOT"
_OTHERS: Final[Mapping[str, str]] = {
    "specialised": "A size that was left to be found out is the same in every call.",
    "side-effect": "A write that outlives the call, which the program does not make.",
    "left-out": "A size of 0 or 1 that was declared, and that the program refuses.",
    "ran-unseen": "A function that could not be interpreted.",
    "value-kept": "A plain value that the program keeps for good.",
}


def as_sarif(source: Source) -> str:
    """Return all findings as one SARIF log with one run; files are relative to this folder."""
    return sarif_log(sarif_results(source))


def sarif_results(source: Source) -> list[dict[str, Any]]:
    """The findings as results of a SARIF run, which `sarif_log` numbers the rules of."""
    return [_result(each) for each in findings(source)]


def sarif_log(results: Sequence[dict[str, Any]]) -> str:
    """A SARIF log of one run with these results, each with a `ruleId`."""
    names = list(dict.fromkeys(each["ruleId"] for each in results))
    run = {
        "tool": {"driver": {"name": "monograph", "rules": [_rule(name) for name in names]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": f"{Path.cwd().as_uri()}/"}},
        "results": [{**each, "ruleIndex": names.index(each["ruleId"])} for each in results],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _rule(name: str) -> dict[str, Any]:
    if name not in page_names():
        return {"id": name, "shortDescription": {"text": _OTHERS.get(name, name)}}
    page = explain(name)
    what = page.partition("## What happened\n\n")[2].partition("\n\n")[0]
    return {
        "id": name,
        "shortDescription": {"text": " ".join(what.split()) or name},
        "help": {"text": Diagnostic(name, what).see, "markdown": page},
    }


def _result(finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.name,
        "level": finding.level,
        "message": {"text": "\n".join(_sentences(finding))},
    }
    if finding.at:
        result["locations"] = [_location(finding.at[0], finding.label)]
        result["partialFingerprints"] = {"cause/v1": _fingerprint(finding)}
    if len(finding.at) > 1:
        frames = [{"location": _location(each)} for each in finding.at]
        result["stacks"] = [{"message": {"text": "the calls that led here"}, "frames": frames}]
    related = [each for each in finding.because if each.at is not None]
    if related:
        result["relatedLocations"] = [
            {"id": i, **_location(each.at, each.label)}
            for i, each in enumerate(related)
            if each.at is not None
        ]
    if finding.edits:
        result["fixes"] = [_fix(each) for each in finding.edits]
    if finding.times > 1:
        result["occurrenceCount"] = finding.times
    if finding.assumed:
        result["properties"] = {"assumed": finding.assumed, "isChecked": finding.is_checked}
    return result


def _fix(edit: Edit) -> dict[str, Any]:
    """An edit as whole lines: what is deleted ends where the line after it begins."""
    region = {
        "startLine": edit.first,
        "startColumn": 1,
        "endLine": max(edit.last + 1, edit.first),
        "endColumn": 1,
    }
    inserted = {"text": "".join([f"{line}\n" for line in edit.lines])}
    return {
        "description": {"text": edit.title},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(edit.file),
                "replacements": [{"deletedRegion": region, "insertedContent": inserted}],
            }
        ],
    }


def _sentences(finding: Finding) -> list[str]:
    return [
        finding.headline,
        *[f"because: {each.label}" for each in finding.because],
        *[f"note: {each}" for each in finding.notes],
        *[f"help: {each}" for each in finding.helps],
    ]


def _location(at: Excerpt, label: str = "") -> dict[str, Any]:
    where = at.place
    region: dict[str, Any] = {"startLine": where.line, "endLine": where.end_line}
    if where.column is not None and where.end_column is not None:
        region |= {"startColumn": where.column + 1, "endColumn": where.end_column + 1}
    inside = at.lines[where.line - at.first : where.end_line - at.first + 1]
    if inside:
        region["snippet"] = {"text": "\n".join(inside)}
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(where.file), "region": region}
    }
    if where.function and where.function != "<module>":
        location["logicalLocations"] = [{"fullyQualifiedName": where.function, "kind": "function"}]
    if label:
        location["message"] = {"text": label}
    return location


def _artifact(file: str) -> dict[str, str]:
    path = Path(file)
    if path.is_absolute() and not path.is_relative_to(Path.cwd()):
        return {"uri": path.as_uri()}
    relative = path.relative_to(Path.cwd()) if path.is_absolute() else path
    return {"uri": quote(relative.as_posix()), "uriBaseId": _ROOT}


def _fingerprint(finding: Finding) -> str:
    """The same for the same refusal of the same source text, wherever its line moved."""
    at = finding.at[0]
    line = at.lines[at.place.line - at.first] if at.lines else ""
    where = at.place
    said = f"{finding.name}\n{Path(where.file).name}\n{where.function}\n{line.strip()}"
    return hashlib.sha256(said.encode()).hexdigest()[:32]


__all__ = ["SCHEMA", "as_sarif", "sarif_log", "sarif_results"]
