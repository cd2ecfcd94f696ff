"""Reports of sweeps: one HTML page, JSON, JUnit XML and SARIF, written to the sweep's folder.

Source: the JUnit XML that CI systems read (testmoapp/junitxml); SARIF 2.1.0.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from monograph.pages.document_page import SEARCH, document_page, tables_body
from monograph.report.sarif import sarif_log
from monograph.sweep.results import REPORT, Sweep, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for, and programs print."""
FAILURES: Final = ("different", "refused", "failed")
"""Verdicts about the program; the others are about the model or its process."""


def write_reports(found: Sweep, folder: Path) -> None:
    """Write all forms; `report.json` last, as the next sweep is compared with it."""
    forms = {
        "report.html": as_html(found),
        "report.junit.xml": as_junit(found),
        "report.sarif": as_sarif(found),
        REPORT: json.dumps(found.as_dict(), indent=1) + "\n",
    }
    for name, text in forms.items():
        write_whole(folder / name, text)


def as_junit(found: Sweep) -> str:
    """A suite of test cases: a failure where the program is at fault, else an error."""
    bad = [each["verdict"] for each in found.results if each["verdict"] != "passed"]
    failures = sum(each in FAILURES for each in bad)
    counts = {"tests": len(found.results), "failures": failures, "errors": len(bad) - failures}
    suite = ET.Element("testsuite", {"name": "monograph", **{k: str(counts[k]) for k in counts}})
    for each in found.results:
        seconds = f"{sum(each['measured']['seconds'].values()):.3f}"
        case = ET.SubElement(
            suite, "testcase", name=_xml(each["name"]), classname="sweep", time=seconds
        )
        if each["verdict"] != "passed":
            kind = "failure" if each["verdict"] in FAILURES else "error"
            said = _xml("\n".join([problem["headline"] for problem in each["problems"]]))
            inner = ET.SubElement(case, kind, type=each["verdict"], message=said)
            inner.text = _xml("\n\n".join([problem["text"] for problem in each["problems"]]))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    return NOT_XML.sub("?", text)


def as_sarif(found: Sweep) -> str:
    """All problems as one SARIF log; each result says in its properties which model it is of."""
    results: list[dict[str, Any]] = []
    for each in found.results:
        about = {"model": each["name"], "verdict": each["verdict"]}
        for problem in each["problems"]:
            said = {"text": f"{each['name']}: {problem['headline']}"}
            result: dict[str, Any] = problem.get("sarif") or {
                "ruleId": problem["name"],
                "level": "error",
                "message": said,
                **_location(problem["at"]),
            }
            results.append({**result, "properties": {**result.get("properties", {}), **about}})
    return sarif_log(results)


def _location(at: str) -> dict[str, Any]:
    file, _, line = at.rpartition(":")
    if not file:
        return {}
    where = {"artifactLocation": {"uri": Path(file).absolute().as_uri()}}
    return {"locations": [{"physicalLocation": {**where, "region": {"startLine": int(line)}}}]}


def as_html(found: Sweep) -> str:
    """One page: counts, what changed, problems by name, all models, and what each problem says."""
    counts = ", ".join([f"{n} {verdict}" for verdict, n in found.counts.items()])
    peers = {each["name"]: each for each in found.peers}
    head = ["model", "verdict", "before", "problem", "capture s", "before", "all s", "MB at most"]
    head += ["nodes", "file bytes", *(["torch.export", "its capture s"] if peers else [])]
    body = tables_body(
        [f"{len(found.results)} models: {counts}."],
        [
            ("Beside the sweep before", ("change", "models"), _lists(found.changes)),
            ("Problems by name", ("problem", "models"), _lists(found.groups)),
            ("Models", head, [_row(each, found.before, peers) for each in found.results]),
        ],
        before=SEARCH,
    )
    shown = [each for each in (*found.results, *found.peers) if each["problems"]]
    return document_page("Sweep", "\n".join([body, *map(_section, shown)]))


def _lists(groups: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, ", ".join(models)) for name, models in groups.items() if models]


def _row(
    one: dict[str, Any], before: Mapping[str, dict[str, Any]], peers: Mapping[str, dict[str, Any]]
) -> list[object]:
    last, peer, sizes = before.get(one["name"]), peers.get(one["name"]), one["sizes"]
    cells: list[object] = [
        one["name"],
        one["verdict"],
        last["verdict"] if last else "",
        ", ".join(dict.fromkeys(each["name"] for each in one["problems"])),
        _seconds(one, "capture"),
        _seconds(last, "capture"),
        f"{sum(one['measured']['seconds'].values()):.2f}",
        f"{one['measured'].get('peak bytes', 0) / 1e6:.0f}",
        sizes.get("nodes", ""),
        sizes.get("file bytes", ""),
    ]
    return cells + ([peer["verdict"], _seconds(peer, "capture")] if peer else [])


def _seconds(one: dict[str, Any] | None, stage: str) -> str:
    seconds = None if one is None else one["measured"]["seconds"].get(stage)
    return "" if seconds is None else f"{seconds:.3f}"


def _section(one: dict[str, Any]) -> str:
    whose = "" if one["exporter"] == "monograph" else f" by {one['exporter']}"
    heading = f"<span>{escape(one['verdict'])}</span> {escape(one['name'] + whose)}"
    texts = "".join([f"<pre>{escape(each['text'])}</pre>" for each in one["problems"]])
    place = f"<p><code>{escape(one['place'])}</code>, stage {escape(one['stage'])}</p>"
    return f'<section class="error"><h2>{heading}</h2>{place}{texts}</section>'


__all__ = ["as_html", "as_junit", "as_sarif", "write_reports"]
