"""The JSON form: what was found, field by field."""

import json

from monograph import report
from tests.unit.report import sample


def test_the_record_holds_every_finding():
    """Reading it gives the findings' own fields."""
    draft = sample.draft()
    record = json.loads(report.as_json(draft))
    assert record["format"] == 1
    found = report.findings(draft)
    assert [each["name"] for each in record["findings"]] == [each.name for each in found]
    first, branch = record["findings"][0], found[0]
    assert first["headline"] == branch.headline
    assert first["helps"] == list(branch.helps)
    assert first["at"][0]["place"]["line"] == branch.at[0].place.line
    assert first["at"][0]["lines"] == list(branch.at[0].lines)
