"""Findings: everything an error or a program has to say, as plain data."""

import html
from dataclasses import asdict

import pytest
import torch

from monograph import Dim, export, report
from tests.unit.report import sample

PLAIN = (str, int, bool, type(None))


def leaves(value):
    """Give everything inside nested dicts and sequences."""
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def test_an_error_and_a_draft_say_the_same():
    """The findings of both are alike but for what a draft assumes and computes."""
    error, draft = report.findings(sample.error()), report.findings(sample.draft())
    problems = [each for each in draft if each.level == "error"]
    assert [(e.name, e.headline, e.where) for e in error] == [
        (e.name, e.headline, e.where) for e in problems
    ]
    assert [e.name for e in error] == [
        "data-dependent-branch",
        "specialized-value",
        "value-read",
        "outside-read",
    ]
    assert all(each.assumed for each in problems)
    assert not any(each.assumed for each in error)


def test_findings_are_plain_data():
    """No code, no tensor, no symbol."""
    for finding in report.findings(sample.draft()):
        assert {type(leaf) for leaf in leaves(asdict(finding))} <= set(PLAIN)


def test_places_are_shown_with_their_source():
    """The first line is the innermost; its text stands among those around it."""
    branch = report.findings(sample.error())[0]
    at = branch.at[0]
    assert at.place.function == "is_bright"
    assert "x.sum() > 0" in at.lines[at.place.line - at.first]
    assert [each.place.function for each in branch.at] == ["is_bright", "Sample.forward"]


def test_the_values_of_a_line_are_given_with_their_types():
    """A draft knows the shapes of what the line computes."""
    branch = report.findings(sample.draft())[0]
    assert branch.values == ("sum_1: f32[]", "gt: b8[]", "item: Sym(u0 == 1)")


def test_a_program_without_problems_reports_what_it_keeps():
    """Specialisations are warnings, values that are kept are notes."""

    class Fixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 3

        def forward(self, x):
            return (x + torch.ones(4)) * self.scale

    program = export(Fixed(), (torch.rand(4),), dynamic_shapes={"x": {0: Dim.AUTO}})
    found = {each.name: each.level for each in report.findings(program)}
    assert found == {"specialised": "warning", "value-kept": "note"}
    assert report.findings(program.report) == report.findings(program)


def test_repeated_problems_count():
    """One line in four layers is one finding."""
    (finding,) = report.findings(sample.repeated())
    assert finding.times == 4


def test_every_form_names_the_page_and_the_case():
    """Of each message, as it is raised: text, JSON, SARIF and HTML."""
    error = sample.error()
    forms = [report.as_text(error), html.unescape(report.as_html(error))]
    forms += [form(error).replace('\\"', '"') for form in (report.as_json, report.as_sarif)]
    for problem in error.problems:
        see = problem.diagnostic.see
        assert f'exportdb.cases["{problem.diagnostic.name}"]' in see
        assert all(see in form for form in forms)


def test_only_errors_and_programs_have_findings():
    """Anything else is refused."""
    with pytest.raises(TypeError, match="not of a str"):
        report.findings("model.py")
