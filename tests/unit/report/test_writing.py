"""A report is written in the form that the file's name asks for."""

import json

import pytest

from monograph import report
from tests.unit.report import sample


def test_the_suffix_chooses_the_form(tmp_path):
    """Each of four suffixes gives its form; another one is refused."""
    error = sample.error()
    for suffix, form in {
        ".txt": report.as_text,
        ".json": report.as_json,
        ".sarif": report.as_sarif,
        ".html": report.as_html,
    }.items():
        path = tmp_path / f"report{suffix}"
        report.write(error, path)
        assert path.read_text(encoding="utf-8") == form(error)
    assert json.loads((tmp_path / "report.sarif").read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match=r"\.html, \.json, \.sarif, \.txt"):
        report.write(error, tmp_path / "report.pdf")
